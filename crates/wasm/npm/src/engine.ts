import { call, calling, textOf, toJson } from "./call.js";
import { DisposedError, InputError } from "./errors.js";
import { HostPort } from "./host.js";
import { raw } from "./raw.js";
import { Speculation } from "./speculation.js";
import { workspaceOf } from "./tree.js";
import { Turn } from "./turn.js";
import type { Conversation, EngineOptions, Suggested, ToolSchema, Transcript } from "./types.js";

/**
 * Guesses the user's next prompt, runs it ahead over staged files, and runs turns in the foreground.
 *
 * ```js
 * const tree = new MemoryTree({ "README.md": "# sample\n" });
 * const engine = new Engine({ model, tree, mode: "auto-edit" });
 * const { suggestion } = await engine.suggest(conversation);
 * const speculation = engine.speculate(conversation, suggestion);
 * // … the user reads, and takes it:
 * await speculation.accept();
 * ```
 */
export class Engine implements Disposable {
  #handle: raw.EngineHandle | undefined;

  constructor(options: EngineOptions) {
    if (typeof options !== "object" || options === null) {
      throw new InputError("options: must be an object with at least a `model` and a `tree`", "options");
    }
    const { modelName, workspace, deny, policies, limits, atBoundary, commit } = options;
    const port = new HostPort(options);
    const text = toJson("options", {
      modelName,
      limits: bounded(limits),
      atBoundary,
      commit,
      tools: port.tools,
      runsCommands: options.runCommand !== undefined,
    });
    const rules = toJson("options", { workspace, deny, policies });
    this.#handle = call(() => new raw.EngineHandle(text, rules, port, workspaceOf(options.tree)));
  }

  /** The tools as they are offered to the model. */
  get tools(): ToolSchema[] {
    return JSON.parse(this.#use().tools()) as ToolSchema[];
  }

  /**
   * Guesses what the user types next. Where there is no suggestion `suppressed` says why; an error of the model is `error`, in words.
   *
   * An abort rejects with the signal's reason.
   */
  async suggest(conversation: Conversation, options: { candidates?: number; signal?: AbortSignal | undefined } = {}): Promise<Suggested> {
    const { candidates = 1, signal } = options;
    signal?.throwIfAborted();
    const text = toJson("conversation", conversation);
    const query = call(() => this.#use().suggest(text, candidates));
    const stop = () => query.cancel();
    signal?.addEventListener("abort", stop);
    try {
      const answer = await calling(() => query.answer());
      signal?.throwIfAborted();
      return JSON.parse(answer as string) as Suggested;
    } finally {
      signal?.removeEventListener("abort", stop);
      query.free();
    }
  }

  /**
   * Begins to run a prompt ahead. A `StartError` where it is empty or a command of yours (`/clear`).
   */
  speculate(
    conversation: Conversation,
    prompt: string,
    options: { id?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): Speculation {
    const { id, signal } = options;
    return new Speculation(this.#speculate(conversation, prompt, id), signal);
  }

  /**
   * Begins a turn in the foreground: with a `prompt`, or with the `transcript` that an accept gave. That goes on where it stopped: a
   * call that needs consent is asked for and run, without asking the model again. `conversation` is what was before either.
   */
  turn(
    conversation: Conversation,
    next: { prompt: string } | { transcript: Transcript },
    options: { signal?: AbortSignal | undefined } = {},
  ): Turn {
    const text = toJson("conversation", conversation);
    return new Turn(call(() => this.#use().turn(text, toJson("next", next))), options.signal);
  }

  /** Frees its memory. Work that was begun goes on: it is disposed of by itself. */
  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #speculate(conversation: Conversation, prompt: string, id: string | undefined): raw.SpeculationHandle {
    const text = toJson("conversation", conversation);
    return call(() => this.#use().speculate(text, textOf("prompt", prompt), id));
  }

  #use(): raw.EngineHandle {
    if (this.#handle === undefined) throw new DisposedError("disposed", "the engine was disposed of");
    return this.#handle;
  }

  /** @internal */
  static speculate(options: EngineOptions & { conversation?: Conversation; prompt: string; signal?: AbortSignal }): Speculation {
    const engine = new Engine(options);
    try {
      const handle = engine.#speculate(options.conversation ?? { messages: [] }, options.prompt, undefined);
      return new Speculation(handle, options.signal, () => engine.dispose());
    } catch (error) {
      engine.dispose();
      throw error;
    }
  }
}

/** `new Engine(options).speculate(conversation, prompt)` in one call; disposing the speculation disposes the engine. */
export function speculate(
  options: EngineOptions & { conversation?: Conversation; prompt: string; signal?: AbortSignal },
): Speculation {
  return Engine.speculate(options);
}

/** `Infinity` is no number in JSON; as a limit it is the largest one. */
function bounded(value: unknown): unknown {
  if (value === Infinity) return Number.MAX_SAFE_INTEGER;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, bounded(inner)]));
}
