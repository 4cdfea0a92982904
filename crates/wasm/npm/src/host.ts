// The callbacks of an engine, as the module calls them. None of them throws, whatever the developer's own do.
import { Answers, single, wantsName } from "./answers.js";
import { toJson } from "./call.js";
import { ChangeSet } from "./change-set.js";
import { InputError, mistyped } from "./errors.js";
import { Overlay } from "./files.js";
import { rest } from "./init.js";
import { optional, required } from "./options.js";
import type { raw } from "./raw.js";
import { Sleep } from "./timers.js";
import { itemsOf } from "./tool-items.js";
import type {
  AgentOptions,
  ApprovalMode,
  CommandRequest,
  EngineOptions,
  MentionName,
  Model,
  ModelEvent,
  ModelRequest,
  Probe,
  RulesTold,
  ToolCall,
  ToolSchema,
  Tree,
  Verdict,
  ViewRequest,
} from "./types.js";

const MODES: readonly ApprovalMode[] = ["plan", "chat", "default", "auto-edit", "yolo"];

/** The character before a text that a command has printed; no JSON begins with it. */
const PRINTED = "+";
/** The shortest time between two reports of what a command has printed, in milliseconds. */
const TOLD_EVERY_MS = 100;

/** A request for a view as the module writes it. */
type ViewFields = Omit<ViewRequest, "below" | "staged"> & { below: unknown; staged: unknown };

/** What is sent along with the prompts of a conversation. */
export type BesidePrompts = Pick<AgentOptions, "mentions" | "projectRules">;

/** What the module holds of the developer's options. */
export class HostPort {
  readonly #options: EngineOptions;
  readonly #beside: BesidePrompts;
  #model: Model;
  #asksForMode = false;

  constructor(options: EngineOptions, beside: BesidePrompts = {}) {
    const { model, modelName, mode, tools, views } = options;
    checkModel(model, modelName);
    if (mode !== undefined && mode !== null && typeof mode !== "function") checkMode(mode);
    if (views !== undefined && views !== null) {
      required("views.run", views.run, "function");
      required("views.end", views.end, "function");
    }
    tools?.forEach((tool, number) => {
      required(`tools[${number}].run`, tool?.run, "function");
      optional(`tools[${number}].reads`, tool.reads, "list");
    });
    this.#options = options;
    this.#beside = beside;
    this.#model = model;
  }

  /** Sets another model, which is asked from now on. */
  setModel(model: Model, modelName: string): void {
    checkModel(model, modelName);
    this.#model = model;
  }

  /** The developer's tools as they are offered to a model. */
  get tools(): ToolSchema[] {
    return (this.#options.tools ?? []).map(({ name, description, parameters }) => ({ name, description, parameters }));
  }

  /** For each of these tools, the arguments that are paths, if it only reads. */
  get reads(): (string[] | null)[] {
    return (this.#options.tools ?? []).map(({ reads }) => reads ?? null);
  }

  /** The mode. If the text is not a mode, or the mode is asked for within its own function, nothing may happen. */
  mode(): string {
    const { mode } = this.#options;
    if (typeof mode !== "function") return mode ?? "default";
    if (this.#asksForMode) return "plan";
    this.#asksForMode = true;
    try {
      return `${mode()}`;
    } catch {
      return "plan";
    } finally {
      this.#asksForMode = false;
    }
  }

  ask(request: string, inBackground: boolean): Answers {
    const model = this.#model;
    const source = (signal: AbortSignal) => events(model.stream(JSON.parse(request) as ModelRequest, signal));
    return new Answers(source, "other", inBackground);
  }

  command(request: string): Answers {
    return new Answers((signal) => this.#command(request, signal), "internal");
  }

  /** From time to time the end of what the command has printed so far, behind a mark, and at last its result. */
  async *#command(request: string, signal: AbortSignal): AsyncGenerator<string> {
    const { runCommand } = this.#options;
    let end: string | undefined;
    let heard = (): void => {};
    const printed = (text: string): void => {
      end = required("printed", text, "string");
      heard();
    };
    const run = async () => ({ output: toJson("output", await runCommand?.(JSON.parse(request) as CommandRequest, signal, printed)) });
    const came = run();
    for (;;) {
      // The result comes first, because nothing is told after it.
      const last = await Promise.race([came, end === undefined ? new Promise<void>((resolve) => (heard = resolve)) : undefined]);
      if (last) return yield last.output;
      yield `${PRINTED}${end}`;
      end = undefined;
      await Promise.race([came, new Sleep(TOLD_EVERY_MS, "limit").next()]);
    }
  }

  /** If asking for it fails, there are no views. */
  viewTier(): string | undefined {
    try {
      return this.#options.views?.tier;
    } catch {
      return undefined;
    }
  }

  view(request: string, handle: raw.OverlayHandle): Answers {
    return single(async (signal) => {
      const changes = new Overlay(handle as unknown as Tree);
      try {
        const { below, staged, ...fields } = JSON.parse(request) as ViewFields;
        const [under, over] = [ChangeSet.ofText(JSON.stringify(below)), ChangeSet.ofText(JSON.stringify(staged))];
        return toJson("output", await this.#options.views?.run({ ...fields, below: under, staged: over }, changes, signal));
      } finally {
        changes.dispose();
      }
    }, "internal");
  }

  endView(view: string): void {
    try {
      this.#options.views?.end(view);
    } catch (error) {
      console.error(error);
    }
  }

  changedSince(unixMs: number): Answers {
    return single(async () => toJson("changedSince", (await this.#options.views?.changedSince?.(unixMs)) ?? []), "internal");
  }

  /** Without a `look` nothing is known of the machine. */
  look(probe: string): Answers {
    const { look } = this.#options;
    return single(async () => {
      const probed = (await look?.(JSON.parse(probe) as Probe)) ?? "unknown";
      if (typeof probed !== "object" || !("file" in probed)) return toJson("look", probed);
      const { file } = probed;
      return toJson("look", { file: [...(typeof file === "string" ? new TextEncoder().encode(file) : file)] });
    }, "internal");
  }

  /**
   * Everything that the engine limits in this way is the work of other code, which keeps the process alive if that is
   * wanted.
   */
  sleep(ms: number): Sleep {
    return new Sleep(ms, "limit");
  }

  /** The view belongs to the tool as long as the tool runs. */
  tool(number: number, args: string, handle: raw.OverlayHandle): Answers {
    const tool = this.#options.tools?.[number];
    return single(async (signal) => {
      const view = new Overlay(handle as unknown as Tree);
      try {
        const output = await tool?.run(JSON.parse(args) as Record<string, unknown>, view, signal);
        const items = itemsOf(output);
        if (items !== undefined) return toJson("output", { items });
        return toJson("output", { text: typeof output === "string" ? output : output === undefined ? "" : toJson("output", output) });
      } finally {
        view.dispose();
      }
    }, "internal");
  }

  mention(what: string, prompt: string, isAhead: boolean): Answers {
    return single(async () => {
      const told = await this.#beside.mentions?.[what as MentionName]?.(prompt, isAhead);
      if (Array.isArray(told)) return toJson(`mentions.${what}`, told);
      return toJson(`mentions.${what}`, [{ text: required(`what mentions.${what} gives`, told as string, "string") }]);
    }, "internal");
  }

  /** If showing the rules fails, the prompt goes on all the same. */
  rulesTold(told: string): void {
    try {
      this.#beside.projectRules?.(JSON.parse(told) as RulesTold);
    } catch (error) {
      console.error(error);
    }
  }

  consent(call: string, verdict: string): Answers {
    const { consent } = this.#options;
    return single(async () => {
      const answer = await consent?.(JSON.parse(call) as ToolCall, JSON.parse(verdict) as Verdict);
      if (answer === undefined || answer === "run" || answer === "decline" || answer === "stop") return answer ?? "decline";
      throw new InputError(`must give "run", "decline" or "stop", and gave ${String(answer)}`);
    }, "internal");
  }
}

function checkModel(model: Model, modelName: string | null | undefined): void {
  if (typeof model?.stream !== "function") {
    throw new InputError("model: must be an object with a method `stream`", "model");
  }
  if (!modelName && wantsName.has(model)) {
    throw new InputError("modelName: is missing; set it to the provider's name of the model, as \"qwen3\"", "modelName");
  }
}

function checkMode(mode: ApprovalMode): void {
  if (MODES.includes(mode)) return;
  throw mistyped("mode", `one of ${MODES.join(", ")} or a function`, mode);
}

async function* events(answer: AsyncIterable<ModelEvent>): AsyncGenerator<string> {
  // An `async` method that returns a generator is easily written by mistake, so it is accepted too.
  const iterable = await answer;
  if (typeof iterable?.[Symbol.asyncIterator] !== "function") {
    throw new InputError("the model's `stream` gave nothing that can be iterated");
  }
  // The part of the module that handles an answer, or an error, may still be on its way, so it is waited for.
  try {
    for await (const event of iterable) {
      const missing = rest();
      if (missing) await missing;
      yield toJson("event", event);
    }
  } finally {
    const missing = rest();
    if (missing) await missing;
  }
}
