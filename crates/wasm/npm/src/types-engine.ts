// The engine: work that runs ahead, and turns.
import type { ChangeSet } from "./change-set.js";
import type { Overlay } from "./files.js";
import type { AtomicTree, ChangeSummary, CommitOptions, Conflict, MaybePromise, Quota, WritableTree } from "./types-files.js";
import type { ApprovalMode, PolicyRule, ToolCall, ToolPolicies, Verdict } from "./types-gate.js";
import type { Message, Model, Part, ToolResult, ToolSchema, Usage } from "./types-model.js";
import type { UndoWatch } from "./undo-watch.js";

/** How much a speculation may spend; each limit has an ending of its own. `Infinity` is no limit. */
export interface Limits {
  /** Answers of the model. Default: 20. */
  turns?: number | undefined;
  /** Entries of the transcript. Default: 100. */
  messages?: number | undefined;
  /** Tokens read and written, cached ones included. Default: 400,000. */
  tokens?: number | undefined;
  /** Milliseconds. Default: five minutes. */
  timeMs?: number | undefined;
  /** How many steps run ahead, each on top of the one before. Default: 1. */
  depth?: number | undefined;
  /** How many suggestions for what comes after are asked for, up to 3. Default: 1. */
  candidates?: number | undefined;
  /** How much may be staged. */
  staged?: Quota | undefined;
}

/** A command for the system's shell. What the gate's verdict on it rests on was looked at: see `look` of {@link EngineOptions}. */
export interface CommandRequest {
  /** For `bash -c`. */
  command: string;
  /** Where it runs: a folder in the workspace; `.` is the workspace itself. */
  directory: string;
  /**
   * Not consented: the whole environment of the command. Consented: variables over the user's own.
   */
  environment: Record<string, string>;
  /**
   * Whether the user approved this very command. If not, the gate has shown from its text that it only reads: run it with nothing but
   * `environment`, and in a sandbox if you have one.
   */
  consented: boolean;
  /**
   * `closed`: it must not read files that hold a secret by their name (`.env`, `*.pem`, …), whatever it looks for them with. Run it in a
   * sandbox that hides them, or answer with an error where its folder holds one: `judge` says `secret_path` of a read of such a file.
   */
  secrets: "closed" | "open";
  /** End it then. A second later nobody waits for it any more, and the signal fires. */
  timeLimitMs: number;
  /** Keep at most so many bytes of output. */
  outputLimit: number;
}

/**
 * Something of your machine that has to be looked at right before a command runs. A path is relative to the workspace, or absolute;
 * its `..` are those of the system.
 */
export type Probe =
  /** The version of the git that the command would find. */
  | { kind: "gitVersion" }
  /** Where this folder really lies, links followed. */
  | { kind: "folder"; path: string }
  /** What this file holds, links followed. */
  | { kind: "file"; path: string };

/** What was seen. */
export type Probed =
  | { version: [major: number, minor: number] }
  /** The folder's path in the workspace, without links; `.` is the workspace itself. */
  | { folder: string }
  | { file: string | Uint8Array }
  /** It is surely not there, also because a part of its path is no folder. */
  | "absent"
  /** The folder lies outside the workspace. */
  | "outside"
  /** It cannot be told, as for a file that may not be read, or that is a folder. */
  | "unknown";

/** What came of a command. */
export interface CommandOutput {
  /** Standard output and standard error, in the order they came. */
  output: string;
  /** 0 if it is left out; `null`: a signal ended it. */
  exitCode?: number | null | undefined;
  timedOut?: boolean;
  /** Whether output was cut. */
  truncated?: boolean;
}

/** A tool of your own. */
export interface Tool extends ToolSchema {
  /**
   * The arguments that name a path, or a list of paths, of a tool that only reads. With it the tool runs ahead and asks nobody: the gate holds these
   * paths against the rules, and what else the tool does is your word. It must read through `view` alone, leave out what the rules close,
   * run no program and reach no network. `[]`: it takes no path.
   */
  reads?: string[] | undefined;
  /**
   * Runs it. What it gives is for the model: a string, what JSON can say, or what {@link toolItems} makes. What it throws is told to the model. What it
   * writes to `view` is in the tree when it ends; the view is its own as long as it runs.
   */
  run(args: Record<string, unknown>, view: Overlay, signal: AbortSignal): MaybePromise<unknown>;
}

/** What an engine works with. */
export interface EngineOptions {
  /** Who is asked. */
  model: Model;
  /** The provider's name of the model, for its requests. A model of `fetchModel` needs it. */
  modelName?: string | undefined;
  /** The real files. Only an accept and a turn in the foreground write to it. In an {@link UndoWatch}, undone work is noticed. */
  tree: WritableTree | AtomicTree | UndoWatch;
  /**
   * How much may be done without asking; a function is asked for every call and at every accept. One that throws, or gives no mode,
   * counts as `plan`. Default: `default`, in which a speculation stops at the first write unless `aheadWrites` is `ask`.
   */
  mode?: ApprovalMode | (() => ApprovalMode) | undefined;
  /**
   * Where the workspace is, in paths of the model: as bash spells them, `/c/project` for `C:\project`. It need not be where the files
   * really are, so what is left out is right where the model is told nothing else. Default: `/workspace`.
   */
  workspace?: string | undefined;
  /** Paths that no tool may touch, as in `.gitignore`. */
  deny?: string[] | undefined;
  /**
   * `false`: files that hold a secret by their name (`.env`, `*.pem`, `id_rsa`, `credentials.json`, …) are as all others. By default
   * nothing ahead touches them, and a turn asks. Leave it out unless your user said so.
   */
  denyDefaults?: boolean | undefined;
  /** What the user adds to what the gate knows of programs. */
  policies?: PolicyRule[] | undefined;
  /** What the user says of each tool. An `InputError` names an entry that is wrong. */
  toolPolicies?: ToolPolicies | undefined;
  /** The same from the project itself, which can only have more asked or excluded: `automatic` in it is an `InputError`. */
  projectToolPolicies?: ToolPolicies | undefined;
  /**
   * Runs a command; without it there is no `shell` tool. What the command can reach is up to you: the gate judges its text. What this
   * throws is told to the model. The signal fires when the command is not wanted any more. `printed` may be told the end of what was printed so far, as
   * often as there is more: an {@link Agent} shows it as `printed` of the call, the last 4 KiB.
   */
  runCommand?: ((request: CommandRequest, signal: AbortSignal, printed: (end: string) => void) => Promise<CommandOutput>) | undefined;
  /**
   * Looks at your machine for a command that starts git and that nobody was asked about: git's version, and the files of a repository in which programs could be named. Each
   * command asks anew, and `runCommand` gets none of which this does not hold. Without it such commands answer with an error.
   */
  look?: ((probe: Probe) => MaybePromise<Probed>) | undefined;
  /** Tools of your own. One that does not say what it `reads` never runs ahead; in a turn it asks for consent. */
  tools?: Tool[] | undefined;
  limits?: Limits | undefined;
  /** What an accept does with work that stopped at a call which needs consent: it takes it (default), or takes nothing. */
  atBoundary?: "commit" | "discard" | undefined;
  /**
   * What becomes of an edit of work ahead in the mode `default`: the work stops there (`boundary`, the default), or it is staged, and the
   * accept answers `asksFirst` until the user agreed (`ask`). In `plan` nothing is staged either way.
   */
  aheadWrites?: "ask" | "boundary" | undefined;
  /** What becomes of files that changed meanwhile. */
  commit?: CommitOptions | undefined;
  /**
   * Asks the user whether a call may run. In turns only, never for a speculation. `stop` ends the turn there. Default: `decline`.
   */
  // Beside a plain word TypeScript would take `async () => "run"` for a promise of any text.
  consent?: ((call: ToolCall, verdict: Verdict) => PromiseLike<"run" | "decline" | "stop">) | undefined;
}

/** How a guess is asked for. */
export interface SuggestOptions {
  /** How many guesses at most, up to 3. Default: 1. */
  candidates?: number | undefined;
  /** An abort rejects with its reason. */
  signal?: AbortSignal | undefined;
}

/** How a prompt is run ahead. */
export interface SpeculateOptions {
  /** Default: `s1`, `s2`, … */
  id?: string | undefined;
  /** Gives it up. */
  signal?: AbortSignal | undefined;
}

/** How a turn is run. */
export interface TurnOptions {
  /** Interrupts it. */
  signal?: AbortSignal | undefined;
}

/** What happens in a run. Calls and results come in pairs, also where several ran at the same time. */
export type RunEvent =
  /** Words of the model, as they come. */
  | { type: "text"; text: string }
  /** A call runs, or is about to. */
  | { type: "toolCall"; call: ToolCall }
  /** It has its result, as the model will read it, and what that is made of, where it has names and places. */
  | { type: "toolResult"; result: ToolResult; items?: readonly ContextItem[] };

/** What `toolItems` makes. */
export interface ToolItems {
  readonly items: readonly ContextItem[];
}

/** One thing that a tool found, looked at or did. */
export interface ContextItem {
  /** `auth.rs (10-32)`. */
  name: string;
  description?: string;
  /** What the model reads of it. */
  content: string;
  /** A `file` is a path of the workspace, with its first and last line from 1, and can be opened. A `url` is shown and never followed. */
  uri?: { type: "file"; value: string; lines?: [number, number] } | { type: "url"; value: string };
  /** How it ended, of a command. */
  status?: string;
  /** It is not to be listed. */
  hidden?: boolean;
}

/** Where a speculation is. */
export type Status = "running" | "completed" | "boundary" | "exhausted" | "failed" | "aborted";

/** What a model failed with. */
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
   * For programs. `withheld`: by the provider; `empty`: there was nothing in the answer; `consent`: the user could not be asked;
   * `other`: something was thrown that is no error of this package; else the code of what was thrown.
   */
  code: ModelErrorCode | "withheld" | "empty" | "consent" | "other" | (string & {});
  /** Milliseconds after which the model may be asked again, if its provider said. */
  retryAfterMs?: number;
}

/** How a run ended. */
export type Ending =
  /** The model said its last word. */
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
}

/** What a run adds to a conversation. It is legal wherever the run was cut. */
export interface Transcript {
  /** The prompt first, every call with its result. Append these to the conversation. */
  messages: Message[];
  /** What the model said after the last finished call, the next call included. */
  rest: Part[];
  /** Whether `rest` continues the last message of the model. */
  restContinues: boolean;
  /** Results of calls of `rest` that stand behind one without a result. */
  ready?: ToolResult[];
  /** What results are made of, by the ids of their calls, where that has names and places. */
  items?: Record<string, readonly ContextItem[]>;
}

/** All that is left of a speculation when its work has ended. */
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
      /** Of these, files that changed meanwhile as well: they hold both edits. */
      merged: string[];
      /** What the work read and what changed since, where `commit.staleReads` allows it. */
      staleReads: Conflict[];
      /** What is added to the conversation. If the work had not ended, `engine.turn` goes on with it. */
      transcript: Transcript;
      /** The call that needs consent: `engine.turn` asks for it. */
      pendingCall?: ToolCall;
      ending: Ending;
      /** The suggestion for what comes after, if it is there already. */
      next?: string;
      /** Milliseconds of work that the user did not wait for. */
      timeSavedMs: number;
    }
  /** The tree changed where the work rests on it. Nothing was changed. */
  | { type: "conflict"; conflicts: Conflict[] }
  /** A call that ran is not allowed any more. Nothing was changed. */
  | { type: "withdrawn"; call: ToolCall; verdict: Verdict }
  /** It wrote in a mode that asks before a write, and the user was not asked. Nothing was changed. */
  | {
      type: "asksFirst";
      changes: ChangeSummary[];
      /** The call at which it stopped; it is asked about by itself, after these changes. */
      pendingCall?: ToolCall;
      /**
       * The user was shown these changes, and said yes: hands the work over. Everything is judged again, by the rules of that moment.
       */
      agree(): Promise<Acceptance>;
    }
  /** There is nothing to give: nothing was done, or it was aborted. */
  | { type: "nothing" }
  /** It stopped at a boundary, and `atBoundary` is `discard`. */
  | { type: "discarded" };

/** A guess, or why there is none. */
export type Suggested =
  | { suggestion: string; /** Further ones, best first. */ others: string[]; usage: Usage; suppressed?: never }
  | ({
      /**
       * `early_conversation` (fewer than two answers of the model), `empty`, `error`, `plan_mode`, or the code of the filter's rule.
       */
      suppressed: string;
      usage: Usage;
      suggestion?: never;
      // What went wrong is there where it was the model, and `suppressed` is `error`.
    } & Partial<RunFailure>);
