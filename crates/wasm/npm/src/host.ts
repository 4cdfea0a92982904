// The callbacks of an engine, as the module calls them. None of them throws, whatever the developer's own do.
import { Answers, single } from "./answers.js";
import { toJson } from "./call.js";
import { InputError } from "./errors.js";
import type { ApprovalMode, EngineOptions, ModelEvent, ModelRequest, ToolCall, Verdict } from "./types.js";

const MODES: readonly ApprovalMode[] = ["plan", "default", "auto-edit", "yolo"];

/** What the module holds of the developer's options. */
export class HostPort {
  readonly #options: EngineOptions;

  constructor(options: EngineOptions) {
    const { model, mode, consent } = options;
    if (typeof model?.stream !== "function") {
      throw new InputError("model: must be an object with a method `stream`", "model");
    }
    if (mode !== undefined && typeof mode !== "function") checkMode(mode);
    if (consent !== undefined && typeof consent !== "function") {
      throw new InputError("consent: must be a function", "consent");
    }
    this.#options = options;
  }

  /** What is no mode lets nothing happen. */
  mode(): string {
    const { mode } = this.#options;
    if (typeof mode !== "function") return mode ?? "default";
    try {
      return `${mode()}`;
    } catch {
      return "plan";
    }
  }

  ask(request: string): Answers {
    const { model } = this.#options;
    return new Answers((signal) => events(model.stream(JSON.parse(request) as ModelRequest, signal)), "misconfigured");
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

function checkMode(mode: ApprovalMode): void {
  if (MODES.includes(mode)) return;
  throw new InputError(`mode: must be one of ${MODES.join(", ")} or a function, and is ${JSON.stringify(mode)}`, "mode");
}

async function* events(answer: AsyncIterable<ModelEvent>): AsyncGenerator<string> {
  // An `async` method that returns a generator is easily written; it is understood, too.
  const iterable = await answer;
  if (typeof iterable?.[Symbol.asyncIterator] !== "function") {
    throw new InputError("the model's `stream` gave nothing that can be iterated");
  }
  for await (const event of iterable) yield toJson("event", event);
}
