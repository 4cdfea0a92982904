import { call, calling, toJson } from "./call.js";
import { DisposedError } from "./errors.js";
import { COMMIT, QUOTA } from "./files.js";
import { HostPort } from "./host.js";
import { type Fields, options as checked, plainOptions, required } from "./options.js";
import { raw } from "./raw.js";
import { Speculation } from "./speculation.js";
import { workspaceOf } from "./tree.js";
import { Turn } from "./turn.js";
import type {
  Conversation,
  EngineOptions,
  Limits,
  SpeculateOptions,
  Suggested,
  SuggestOptions,
  ToolSchema,
  Transcript,
  TurnOptions,
} from "./types.js";

/** @internal The options of an engine. */
export const ENGINE: Fields<EngineOptions> = {
  model: "any",
  modelName: "string",
  tree: "any",
  mode: "any",
  workspace: "string",
  deny: "list",
  denyDefaults: "boolean",
  policies: "list",
  toolPolicies: "object",
  projectToolPolicies: "object",
  runCommand: "function",
  look: "function",
  views: "any",
  tools: "list",
  limits: "object",
  atBoundary: "word",
  aheadWrites: "word",
  commit: "object",
  consent: "function",
};
const LIMITS: Fields<Limits> = {
  turns: "whole",
  messages: "whole",
  tokens: "whole",
  timeMs: "number",
  candidates: "whole",
  staged: "object",
};
const SUGGEST: Fields<SuggestOptions> = { candidates: "count", signal: "signal" };
const SPECULATE: Fields<SpeculateOptions> = { id: "string", signal: "signal" };
const TURN: Fields<TurnOptions> = { signal: "signal" };
const NEXT: Fields<{ prompt: string; transcript: Transcript }> = { prompt: "string", transcript: "object" };

/** The options of an {@link Engine}, and the prompt that it runs. */
type InOneCall = EngineOptions & { conversation?: Conversation | undefined; prompt: string; signal?: AbortSignal | undefined };
const IN_ONE_CALL: Fields<InOneCall> = { ...ENGINE, conversation: "object", prompt: "string", signal: "signal" };

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
    const plain = plainOptions("", options, ENGINE);
    const port = new HostPort(options);
    const text = engineText(plain, port);
    this.#handle = call(() => new raw.EngineHandle(text, rulesText(plain), port, workspaceOf(options.tree)));
  }

  /** The tools as they are offered to the model. */
  get tools(): ToolSchema[] {
    return JSON.parse(this.#use().tools()) as ToolSchema[];
  }

  /**
   * Guesses what the user types next. If there is no suggestion, `suppressed` says why; an error of the model is told
   * with its `code`. An abort rejects with the signal's reason.
   */
  async suggest(conversation: Conversation, options: SuggestOptions = {}): Promise<Suggested> {
    const { candidates, signal } = checked("options", options, SUGGEST);
    signal?.throwIfAborted();
    const text = toJson("conversation", conversation);
    const query = call(() => this.#use().suggest(text, candidates ?? 1));
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

  /** Begins to run a prompt ahead. Throws a `StartError` if the prompt is empty or a command of yours (`/clear`). */
  speculate(conversation: Conversation, prompt: string, options: SpeculateOptions = {}): Speculation {
    const { id, signal } = checked("options", options, SPECULATE);
    return new Speculation(this.#speculate(conversation, prompt, id), signal);
  }

  /**
   * Begins a turn in the foreground, with a `prompt` or with the `transcript` of an accept. With a transcript it goes
   * on where the work stopped: a call that needs consent is asked about and run, without asking the model again.
   * `conversation` is what came before either.
   */
  turn(conversation: Conversation, next: { prompt: string } | { transcript: Transcript }, options: TurnOptions = {}): Turn {
    const text = toJson("conversation", conversation);
    const { signal } = checked("options", options, TURN);
    return new Turn(call(() => this.#use().turn(text, toJson("next", checked("next", next, NEXT)))), signal);
  }

  /** Frees its memory. Work that was begun goes on; it is disposed of separately. */
  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #speculate(conversation: Conversation, prompt: string, id: string | undefined): raw.SpeculationHandle {
    const text = toJson("conversation", conversation);
    required("prompt", prompt, "string");
    return call(() => this.#use().speculate(text, prompt, id ?? undefined));
  }

  #use(): raw.EngineHandle {
    if (this.#handle === undefined) throw new DisposedError("disposed", "the engine was disposed of");
    return this.#handle;
  }

  /** @internal */
  static speculate(options: InOneCall): Speculation {
    const { conversation, prompt, signal, ...rest } = plainOptions("", options, IN_ONE_CALL);
    const engine = new Engine(rest as EngineOptions);
    try {
      const handle = engine.#speculate(conversation ?? { messages: [] }, prompt as string, undefined);
      return new Speculation(handle, signal, () => engine.dispose());
    } catch (error) {
      engine.dispose();
      throw error;
    }
  }
}

/** @internal What the module is told of an engine, besides its callbacks. */
export function engineText({ modelName, atBoundary, aheadWrites, runCommand, ...options }: Partial<EngineOptions>, port: HostPort, hasRules = false): string {
  const limits = plainOptions("limits", options.limits ?? {}, LIMITS);
  const staged = plainOptions("limits.staged", limits.staged ?? {}, QUOTA);
  const commit = plainOptions("commit", options.commit ?? {}, COMMIT);
  return toJson("options", {
    modelName,
    limits: { ...limits, staged },
    atBoundary,
    aheadWrites,
    commit,
    tools: port.tools,
    reads: port.reads,
    runsCommands: typeof runCommand === "function",
    hasRules,
  });
}

/** @internal What the module is told of the gate's rules. */
export function rulesText({ workspace, deny, denyDefaults, policies, toolPolicies, projectToolPolicies }: Partial<EngineOptions>): string {
  return toJson("options", { workspace, deny, denyDefaults, policies, toolPolicies, projectToolPolicies });
}

/** `new Engine(options).speculate(conversation, prompt)` in one call; disposing the speculation disposes the engine. */
export function speculate(options: InOneCall): Speculation {
  return Engine.speculate(options);
}
