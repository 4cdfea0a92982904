// What a strict TypeScript project sees, as an ES module.
import { Engine, HeadstartError, MemoryTree, type Effect, type Model, FollowupController, classifyShell, init } from "headstart";
import * as core from "headstart/core";

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

export function code(error: unknown): string | undefined {
  return error instanceof HeadstartError ? error.code : undefined;
}
