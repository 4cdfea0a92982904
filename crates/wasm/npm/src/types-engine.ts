// The engine: work that runs ahead, and turns.
import type { ChangeSet } from "./change-set.js";
import type { Overlay } from "./files.js";
import type { AtomicTree, ChangeSummary, CommitOptions, Conflict, LeftOut, MaybePromise, Quota, WritableTree } from "./types-files.js";
import type { ApprovalMode, PolicyRule, ToolCall, ToolPolicies, Verdict } from "./types-gate.js";
import type { Message, Model, Part, ToolResult, ToolSchema, Usage } from "./types-model.js";
import type { Views } from "./types-views.js";
import type { UndoWatch } from "./undo-watch.js";

/** How much a speculation may spend; each limit has its own ending. `Infinity` is no limit. */
export interface Limits {
  /** Answers of the model. Default: 20. */
  turns?: number | undefined;
  /** Entries of the transcript. Default: 100. */
  messages?: number | undefined;
  /** Tokens read and written, cached ones included. Default: 400,000. */
  tokens?: number | undefined;
  /** Milliseconds. Default: five minutes. */
  timeMs?: number | undefined;
  /** How many suggestions for what comes after are asked for, up to 3. Default: 1. */
  candidates?: number | undefined;
  /** How much may be staged. */
  staged?: Quota | undefined;
}

/**
 * A command for the system's shell. The facts on which the gate's verdict depends were checked: see `look` of
 * {@link EngineOptions}.
 */
export interface CommandRequest {
  /** For `bash -c`. */
  command: string;
  /** Where it runs: a folder in the workspace; `.` is the workspace itself. */
  directory: string;
  /**
   * If not consented, the whole environment of the command; if consented, variables to add to the user's own.
   */
  environment: Record<string, string>;
  /**
   * Whether the user approved this very command. If not, the gate has shown from its text that it only reads: run it with nothing but
   * `environment`, and in a sandbox if you have one.
   */
  consented: boolean;
  /**
   * `closed`: the command must not read files whose names suggest a secret (`.env`, `*.pem`, …), in whichever way it
   * looks for them. Run it in a sandbox that hides them, or answer with an error if its folder has one: `judge` says
   * `secret_path` of a read of such a file.
   */
  secrets: "closed" | "open";
  /**
   * The deny rules: what they cover must not be read either, nor, by a command that starts no git, the files in which
   * repositories keep what was committed (`.git/objects`). `judge` stops a command that names such a path; a link that
   * leads there, or a whole folder with one in it (`grep -r`), is for your sandbox.
   */
  deny: string[];
  /** End the command after this time. A second later nobody waits for it any more, and the signal fires. */
  timeLimitMs: number;
  /** Keep at most this many bytes of output. */
  outputLimit: number;
}

/**
 * Something on your machine that has to be looked at right before a command runs. A path is relative to the workspace,
 * or absolute; a `..` in it is resolved by the system.
 */
export type Probe =
  /** The version of the git that the command would find. */
  | { kind: "gitVersion" }
  /** Where this folder really is, with links followed. */
  | { kind: "folder"; path: string }
  /** The content of this file, with links followed. */
  | { kind: "file"; path: string };

/** What was seen. */
export type Probed =
  | { version: [major: number, minor: number] }
  /** The folder's path in the workspace, without links; `.` is the workspace itself. */
  | { folder: string }
  | { file: string | Uint8Array }
  /** It certainly does not exist; that includes the case that a part of its path is not a folder. */
  | "absent"
  /** The folder lies outside the workspace. */
  | "outside"
  /** It cannot be told, for example for a file that may not be read, or that is a folder. */
  | "unknown";

/** The result of a command. */
export interface CommandOutput {
  /** Standard output and standard error, in the order they came. */
  output: string;
  /** The exit code, 0 if it is left out; `null` if a signal ended the command. */
  exitCode?: number | null | undefined;
  timedOut?: boolean;
  /** Whether output was cut. */
  truncated?: boolean;
}

/** A tool of your own. */
export interface Tool extends ToolSchema {
  /**
   * For a tool that only reads: the names of its arguments that name a path, or a list of paths. With this the tool
   * runs ahead and nobody is asked. The gate checks these paths against the rules; for everything else that the tool
   * does, it relies on you. The tool must read through `view` alone, leave out what the rules close, run no program and
   * use no network. `[]`: it takes no path.
   */
  reads?: string[] | undefined;
  /**
   * Runs it. The result is for the model: a string, what JSON can express, or what {@link toolItems} makes. If it
   * throws, the error is told to the model. What it writes to `view` is in the tree when it ends; the view belongs to
   * it as long as it runs.
   */
  run(args: Record<string, unknown>, view: Overlay, signal: AbortSignal): MaybePromise<unknown>;
}

/** What an engine works with. */
export interface EngineOptions {
  /** The model that is asked. */
  model: Model;
  /** The provider's name of the model, for its requests. A model of `fetchModel` needs it. */
  modelName?: string | undefined;
  /**
   * The real files. Only an accept and a turn in the foreground write to them. With an {@link UndoWatch}, undone work
   * is noticed.
   */
  tree: WritableTree | AtomicTree | UndoWatch;
  /**
   * How much may be done without asking. A function is called for every call of a tool and at every accept; if it
   * throws, or does not return a mode, that counts as `plan`. Default: `default`, in which a speculation stops at the
   * first write unless `aheadWrites` is `ask`.
   */
  mode?: ApprovalMode | (() => ApprovalMode) | undefined;
  /**
   * Where the workspace is, in paths of the model: as bash spells them, `/c/project` for `C:\project`. It need not be
   * where the files really are, so the default is right if the model is told nothing else. Default: `/workspace`.
   */
  workspace?: string | undefined;
  /** Paths that no tool may touch, as in `.gitignore`. */
  deny?: string[] | undefined;
  /**
   * If `false`, files whose names suggest a secret (`.env`, `*.pem`, `id_rsa`, `credentials.json`, …) are treated like
   * all others. By default nothing ahead touches them, and a turn asks. Leave it out unless your user said so.
   */
  denyDefaults?: boolean | undefined;
  /** What the user adds to what the gate knows of programs. */
  policies?: PolicyRule[] | undefined;
  /** The user's rules for each tool. An `InputError` names an entry that is wrong. */
  toolPolicies?: ToolPolicies | undefined;
  /**
   * The same rules from the project itself. They can only have more asked or excluded: `automatic` in them is an
   * `InputError`.
   */
  projectToolPolicies?: ToolPolicies | undefined;
  /**
   * Runs a command; without this there is no `shell` tool. What the command can reach is up to you: the gate judges its
   * text. If this throws, the error is told to the model. The signal fires when the command is not wanted any more.
   * `printed` may be called with the end of the output so far, each time there is more: an {@link Agent} shows the last
   * 4 KiB as `printed` of the call.
   */
  runCommand?: ((request: CommandRequest, signal: AbortSignal, printed: (end: string) => void) => Promise<CommandOutput>) | undefined;
  /**
   * Looks at your machine for a command that starts git and about which nobody was asked: at git's version, and at the
   * files of a repository that could name programs. It is called anew for each command, and `runCommand` gets no
   * command for which the requirements do not hold. Without this such commands answer with an error.
   */
  look?: ((probe: Probe) => MaybePromise<Probed>) | undefined;
  /**
   * Makes views, in which commands of work ahead may write; what they wrote is staged. Without this the work stops
   * before such a command. It needs a `runCommand`.
   */
  views?: Views | undefined;
  /**
   * Tools of your own. A tool that does not say what it `reads` never runs ahead; in a turn the user is asked about it.
   */
  tools?: Tool[] | undefined;
  limits?: Limits | undefined;
  /**
   * What an accept does with work that stopped at a call which needs consent: it takes the work (default), or takes
   * nothing.
   */
  atBoundary?: "commit" | "discard" | undefined;
  /**
   * What happens to an edit of work ahead in the mode `default`: the work stops there (`boundary`, the default), or the
   * edit is staged, and the accept answers `asksFirst` until the user agrees (`ask`). In `plan` nothing is staged
   * either way.
   */
  aheadWrites?: "ask" | "boundary" | undefined;
  /** What happens to files that changed meanwhile. */
  commit?: CommitOptions | undefined;
  /**
   * Asks the user whether a call may run. This is called in turns only, never for a speculation. `stop` ends the turn
   * there. Default: `decline`.
   */
  // With a plain word in the type, TypeScript would take `async () => "run"` for a promise of any text.
  consent?: ((call: ToolCall, verdict: Verdict) => PromiseLike<"run" | "decline" | "stop">) | undefined;
}

/** The options of a guess. */
export interface SuggestOptions {
  /** How many guesses at most, up to 3. Default: 1. */
  candidates?: number | undefined;
  /** An abort rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** The options of a prompt that runs ahead. */
export interface SpeculateOptions {
  /** Default: `s1`, `s2`, … */
  id?: string | undefined;
  /** Gives up the speculation. */
  signal?: AbortSignal | undefined;
}

/** The options of a turn. */
export interface TurnOptions {
  /** Interrupts the turn. */
  signal?: AbortSignal | undefined;
}

/** What happens in a run. Calls and results come in pairs, even if several ran at the same time. */
export type RunEvent =
  /** Words of the model, as they arrive. */
  | { type: "text"; text: string }
  /** A call runs, or is about to. */
  | { type: "toolCall"; call: ToolCall }
  /** The command of a call ran in a view; its result follows. `staged` is on how many paths that changed what is staged. */
  | { type: "shadowRan"; command: string; exitCode: number | null; millis: number; staged: number; warm: string[]; notKept?: LeftOut[]; network: number; tests?: string; view: string }
  /** A call has its result, as the model will read it, with its parts if they have names and places. */
  | { type: "toolResult"; result: ToolResult; items?: readonly ContextItem[] };

/** What `toolItems` makes. */
export interface ToolItems {
  readonly items: readonly ContextItem[];
}

/** Something that a tool found, looked at or did. */
export interface ContextItem {
  /** `auth.rs (10-32)`. */
  name: string;
  description?: string;
  /** What the model reads of it. */
  content: string;
  /**
   * A `file` is a path of the workspace, with its first and last line from 1, and can be opened. A `url` is shown and
   * never followed.
   */
  uri?: { type: "file"; value: string; lines?: [number, number] } | { type: "url"; value: string };
  /** How a command ended. */
  status?: string;
  /** The item is not to be listed. */
  hidden?: boolean;
}

/** The state of a speculation. */
export type Status = "running" | "completed" | "boundary" | "exhausted" | "failed" | "aborted";

/** The error of a model. */
export type ModelErrorCode =
  | "misconfigured"
  | "unauthorized"
  | "rate_limited"
  | "rejected"
  | "window_exceeded"
  | "tools_refused"
  | "server"
  | "unreachable"
  | "timeout"
  | "cut"
  | "malformed"
  | "wrong_server"
  | "recording_exhausted";

/** An error of the model, or of a callback. */
export interface RunFailure {
  /** In words. */
  error: string;
  /**
   * For programs. `withheld`: the provider withheld the answer; `empty`: the answer had no content; `written_call`: the model
   * wrote a call as text, which was not run; `repetition`: the model only repeated itself and was cut off; `consent`: the user
   * could not be asked; `other`: something was thrown that is not an error of this package; otherwise the code of what
   * was thrown.
   */
  code: ModelErrorCode | "withheld" | "empty" | "written_call" | "repetition" | "consent" | "other" | (string & {});
  /** After how many milliseconds the model may be asked again, if its provider said. */
  retryAfterMs?: number;
}

/** How a run ended. */
export type Ending =
  /** The model has given its last answer. */
  | { status: "completed" }
  /** A call needs the user's consent. */
  | { status: "boundary"; verdict: Verdict }
  /** A limit was reached; `output` is the provider's limit on one answer, `window` what the model sees at once, `repeated` a call that is always answered
   * with the same. */
  | { status: "exhausted"; limit: "turns" | "messages" | "tokens" | "cost" | "staged" | "time" | "output" | "window" | "repeated" }
  /** An error. */
  | ({ status: "failed" } & RunFailure)
  | { status: "aborted" };

/** What a run cost. */
export interface Cost extends Usage {
  /** Answers of the model. */
  turns: number;
  /** Calls that ran. */
  toolCalls: number;
  /** Paths staged. */
  stagedFiles: number;
  /** Content staged, in bytes. */
  stagedBytes: number;
  /** Milliseconds spent waiting for the model. */
  modelMs: number;
  /** Milliseconds spent in tools. */
  toolMs: number;
  /** Milliseconds from the start of the work to its end. */
  workMs: number;
  /** The part of `workMs` of the call at which the work stopped, which runs again; none if it is missing. */
  stoppedMs?: number;
}

/** What a run adds to a conversation. It is legal wherever the run was cut. */
export interface Transcript {
  /** First the prompt, then every call with its result. Append these to the conversation. */
  messages: Message[];
  /** What the model said after the last finished call, including the next call. */
  rest: Part[];
  /** Whether `rest` continues the last message of the model. */
  restContinues: boolean;
  /** Results of calls of `rest` that come after a call without a result. */
  ready?: ToolResult[];
  /** The parts of results, by the ids of their calls, if they have names and places. */
  items?: Record<string, readonly ContextItem[]>;
}

/** What is left of a speculation when its work has ended. */
export interface Finished {
  id: string;
  prompt: string;
  ending: Ending;
  transcript: Transcript;
  /** What it would change. */
  changes: ChangeSet;
  /** The call that needs consent. */
  pendingCall?: ToolCall;
  cost: Cost;
}

/** What is left of a turn when it has ended. */
export interface TurnFinished {
  ending: Ending;
  transcript: Transcript;
  cost: Cost;
}

/** How an accept ended. */
export type Acceptance =
  /** The changes are in the tree. */
  | {
      type: "accepted";
      changes: ChangeSummary[];
      /** Those of the files that were also changed meanwhile: they contain both edits. */
      merged: string[];
      /** What the work read and what has changed since, if `commit.staleReads` allows it. */
      staleReads: Conflict[];
      /** What commands of the work wrote or removed and this did not bring; none if there is nothing. */
      notKept?: LeftOut[];
      /** Files of the project that were changed since the last command of the work ran in a view. */
      changedSinceView: string[];
      /** What is added to the conversation. If the work was not completed, `engine.turn` goes on with it. */
      transcript: Transcript;
      /** The call that needs consent; `engine.turn` asks about it. */
      pendingCall?: ToolCall;
      ending: Ending;
      /** The suggestion for what comes after, if it is there already. */
      next?: string;
      /** Milliseconds of work for which the user did not wait. */
      timeSavedMs: number;
    }
  /** The tree has changed where the work depends on it. Nothing was changed. */
  | { type: "conflict"; conflicts: Conflict[] }
  /** A call that ran is not allowed any more. Nothing was changed. */
  | { type: "withdrawn"; call: ToolCall; verdict: Verdict }
  /** The work wrote in a mode that asks before a write, and the user was not asked. Nothing was changed. */
  | {
      type: "asksFirst";
      changes: ChangeSummary[];
      /** The call at which the work stopped; the user is asked about it separately, after these changes. */
      pendingCall?: ToolCall;
      /**
       * Says that the user was shown these changes and said yes, and hands over the work. Everything is judged again,
       * by the rules of that moment.
       */
      agree(): Promise<Acceptance>;
    }
  /** There is nothing to hand over, because nothing was done or the work was aborted. */
  | { type: "nothing" }
  /** The work stopped at a boundary, and `atBoundary` is `discard`. */
  | { type: "discarded" };

/** A guess, or why there is none. */
export type Suggested =
  | { suggestion: string; /** Further ones, best first. */ others: string[]; usage: Usage; suppressed?: never }
  | ({
      /**
       * `early_conversation` (fewer than two answers of the model), `empty`, `error`, `plan_mode`, `echo` (the model
       * said its question or the last prompt again), or the code of the filter's rule.
       */
      suppressed: string;
      usage: Usage;
      suggestion?: never;
      // The fields of the error are there if the model failed and `suppressed` is `error`.
    } & Partial<RunFailure>);
