// The types that a strict TypeScript project sees in an ES module.
import { Agent, Engine, HeadstartError, MemoryTree, type Effect, type Model, FollowupController, classifyShell, init } from "headstart";
import * as controllerOnly from "headstart/controller";
import { attach } from "headstart/attach";
import * as core from "headstart/core";
import coreBytes from "headstart/core.wasm";
import { nodeFolder } from "headstart/folder";
import * as gate from "headstart/gate";
import gateBytes from "headstart/gate.wasm";
import bytes from "headstart/headstart.wasm";
import { fromOpenAI, toOpenAI } from "headstart/messages";
import { useFollowup } from "headstart/react";
import { Sessions, storagePlace } from "headstart/sessions";

export async function use(model: Model): Promise<string[]> {
  await init();
  const controller = new FollowupController({ showDelayMs: 0 });
  const effects: Effect[] = controller.handle({ type: "wake" }, 0);
  // @ts-expect-error an event that does not exist
  controller.handle({ type: "sleep" });
  // @ts-expect-error the core knows no grammar
  core.classifyShell("ls");
  const [part] = classifyShell("ls", { mode: "plan" }).parts;
  const engine = new Engine({ model, tree: new MemoryTree({ "a.txt": "a" }), mode: () => "auto-edit" });
  const speculation = engine.speculate({ messages: [] }, "go on", { signal: AbortSignal.timeout(1000) });
  for await (const event of speculation) {
    if (event.type === "toolCall") console.log(event.call.name);
  }
  const accepted = await speculation.accept();
  if (accepted.type === "conflict") return accepted.conflicts.map(({ path }) => path);
  return [part?.kind ?? "none", ...effects.map(({ type }) => type)];
}

/** All options that an engine can have, without type annotations. */
export function everything(model: Model): Engine {
  const tree = new MemoryTree();
  // @ts-expect-error a word that is not allowed
  new Engine({ model, tree, consent: async () => "rnu" });
  // @ts-expect-error an option that does not exist
  new Engine({ model, tree, denied: [] });
  return new Engine({
    model,
    tree,
    mode: "auto-edit",
    runCommand: async ({ command }) => ({ output: command }),
    tools: [{ name: "own", description: "", parameters: {}, run: async (_, view) => view.readText("a.txt") }],
    consent: async () => "run",
  });
}

/** Code that needs no module works with what any entry gives. */
export async function without(model: Model, field: HTMLTextAreaElement): Promise<void> {
  attach(field, { controller: new FollowupController() }).tell({ type: "clear" });
  attach(field, { controller: new controllerOnly.FollowupController(), onTab: (text) => text.length }).detach();
  const { tell } = useFollowup({ controller: undefined, value: "" });
  tell({ type: "clear" });
  const engine = new Engine({ model, tree: await nodeFolder(".") });
  const acceptance = await engine.speculate(fromOpenAI([{ role: "user", content: "hi" }]), "go on").accept();
  if (acceptance.type === "accepted") for (const { role } of toOpenAI(acceptance.transcript)) console.log(role);
}

export async function load(): Promise<void> {
  await init(bytes);
  await core.init(coreBytes);
  await gate.init(gateBytes);
  // @ts-expect-error the gate alone suggests nothing
  gate.filterSuggestion("run the tests");
  const verdict: gate.Classified = gate.classifyShell("ls", { mode: "plan" } satisfies gate.GateContext);
  const shown: controllerOnly.Effect[] = new controllerOnly.FollowupController().handle({ type: "wake" });
  console.log(verdict.decision, shown.length);
}

/** Errors are told apart by their codes. */
export async function later(engine: Engine): Promise<number | undefined> {
  const { ending } = await engine.speculate({ messages: [] }, "go").finished;
  if (ending.status === "failed" && ending.code === "rate_limited") return ending.retryAfterMs;
  const { suppressed, code, retryAfterMs } = await engine.suggest({ messages: [] }, { candidates: 2 }).then((guess) =>
    guess.suppressed === undefined ? { suppressed: undefined, code: undefined, retryAfterMs: undefined } : guess,
  );
  return suppressed === "error" && code !== "unauthorized" ? retryAfterMs : undefined;
}

export function code(error: unknown): string | undefined {
  return error instanceof HeadstartError ? error.code : undefined;
}

/** A conversation that is kept and continued. */
export async function kept(model: Model): Promise<Agent> {
  const sessions = new Sessions(storagePlace(localStorage));
  const { sessions: all } = await sessions.list();
  const going = all[0] === undefined ? { sessions: sessions.begin() } : await sessions.resume(all[0].id);
  return new Agent({ model, tree: new MemoryTree(), ...going });
}
