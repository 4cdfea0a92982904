// Every type of the package. The JSON is that of the Rust crates, so a log that one of them wrote is read by the other.
import type { ChangeSet } from "./change-set.js";
import type { Overlay } from "./files.js";

/** A value, or a promise of it. */
export type MaybePromise<T> = T | PromiseLike<T>;

// ── suggestion controller and filter ─────────────────────────────────────────────────────────────────────────────────

/** What the filter says of a text. */
export type FilterResult =
  | { keep: true; /** The text without the white space around it. */ suggestion: string }
  | { keep: false; /** The code of the rule that refused it. */ reason: string };

/** How the controller waits. */
export interface ControllerConfig {
  /** Whether suggestions may show at the start. Default: true. */
  enabled?: boolean;
  /** Milliseconds between a suggestion's arrival and its showing, so that it does not flicker. Default: 300. */
  showDelayMs?: number;
  /** Milliseconds after an accept during which another accept is ignored: a key that repeats delivers once. Default: 100. */
  acceptLockMs?: number;
}

/** The key, or gesture, with which the user took the text. */
export type AcceptMethod = "tab" | "enter" | "right";

/**
 * What happened, as you tell the controller.
 *
 * An answer (`suggested`, `suppressed`) is late when a newer request is known, or when the user has meanwhile accepted, dismissed,
 * typed or cleared. A late answer changes nothing.
 */
export type ControllerEvent =
  /** A request for a suggestion went out. Optional: it makes answers to older requests late at once. */
  | { type: "requested"; /** A higher number for each request. */ request: number }
  /**
   * A request was answered: with a suggestion, which shows after the delay, or with none, which takes away what is there. Every text
   * has to pass the filter, or it is an `InputError`.
   */
  | {
      type: "suggested";
      request: number;
      /** The best one. */
      suggestion?: string | null | undefined;
      /** Further candidates, best first; three in all count. */
      others?: string[] | undefined;
    }
  /** A request ended without a suggestion, because a guard or the filter refused. */
  | { type: "suppressed"; request: number; reason: string }
  /** The feature was turned on or off. */
  | { type: "enabled"; enabled: boolean }
  /** The user asked for the text. */
  | {
      type: "accept";
      method: AcceptMethod;
      /** What to insert when no suggestion is on screen, for example a placeholder. */
      fallbackText?: string | null | undefined;
      /** Record the acceptance but insert nothing: you have taken the text yourself. */
      skipInsert?: boolean | null | undefined;
    }
  /** The user refused the suggestion. */
  | { type: "dismiss" }
  /** A new turn or chat began: forget everything, record nothing. */
  | { type: "clear" }
  /** A key was pressed. Where you can tell the text, send `edited` instead. */
  | { type: "keystroke"; /** Whether it put text into the line; such a key dismisses. */ typed: boolean }
  /** The input line holds this text now. Candidates that begin with it stay, and the rest of one shows. */
  | { type: "edited"; text: string }
  /** Show the next candidate that matches what is typed; after the last comes the first. */
  | { type: "nextCandidate" }
  /** Show the candidate before. */
  | { type: "previousCandidate" }
  /** The time that `wakeAt` asked for has come. Early and superfluous ones do no harm. */
  | { type: "wake" }
  /** The view goes away: forget everything and touch the screen no more. */
  | { type: "cleanup" };

/** What the controller asks of you. */
export type Effect =
  /** Put this on screen. Nothing is there when this comes. */
  | {
      type: "show";
      /** What an accept would insert. */
      suggestion: string;
      /** What of it is not typed yet; absent where nothing is typed. */
      rest?: string;
      /** Which of the candidates it is, from 1; absent where it is the only one. */
      place?: { number: number; of: number };
    }
  /** Take it off the screen. Harmless when nothing is there. */
  | { type: "hide" }
  /** Put this text into the input line, in place of what is typed there. Do not send it. */
  | { type: "insert"; text: string }
  /** Send `wake` at this time, on the clock of `now`. A later one replaces it. */
  | { type: "wakeAt"; at: number }
  /** Write down what became of a suggestion. */
  | { type: "record"; outcome: Outcome }
  /** Begin to run this suggestion ahead, and as many of the others as you like. */
  | { type: "startSpeculation"; suggestion: string; others?: string[] }
  /** Drop what was started last and is not accepted. */
  | { type: "abandonSpeculation" }
  /** This candidate is accepted: drop what was started for the others. */
  | { type: "abandonOthers"; suggestion: string };

/** What became of a suggestion. It holds lengths and times, never the text. */
export type Outcome =
  | {
      outcome: "accepted";
      acceptMethod: AcceptMethod;
      /** The suggestion on screen, or the fallback of the accept. */
      source: "live" | "fallback";
      timeToAcceptMs: number;
      timeToFirstKeystrokeMs?: number;
      /** In characters. */
      suggestionLength: number;
    }
  | { outcome: "ignored"; timeToIgnoreMs: number; timeToFirstKeystrokeMs?: number; suggestionLength: number }
  | { outcome: "suppressed"; /** The code of the guard or of the filter's rule. */ reason: string };

// ── gate ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * How much the user lets an agent do without being asked. `plan`: reads run, nothing is written. `default`: reads run, every write
 * asks. `auto-edit`: edits of files run, too. `yolo`: the user's own turns ask nothing; a speculation treats it as `auto-edit`.
 */
export type ApprovalMode = "plan" | "default" | "auto-edit" | "yolo";

/** What a verdict depends on besides the call. */
export interface GateContext {
  /** Default: `default`. */
  mode?: ApprovalMode | undefined;
  /** Where the workspace is: an absolute path, which relative ones start from. Default: `/workspace`. */
  workspace?: string | undefined;
  /** Paths that no tool may touch, as in `.gitignore`: `.env`, `*.pem`, `/config/prod.yml`. */
  deny?: string[] | undefined;
  /** What the user adds to what the gate knows of programs. */
  policies?: PolicyRule[] | undefined;
}

/** A rule about a program: `{ program: "terraform", words: ["show"], decision: "allow" }`. */
export interface PolicyRule {
  /** Its plain name. */
  program: string;
  /** The words behind the name: a sub-command. */
  words?: string[] | undefined;
  /**
   * For an allow: every option that may be given, as `--check`, `--format=json`, `--format=VALUE`, `--format VALUE` or `-jVALUE`. For a
   * boundary: options of which one must be there.
   */
  options?: string[] | undefined;
  /** For an allow: what else may be given. Default: `none`. */
  operands?: "none" | "files" | "any" | undefined;
  /** `allow`: it only reads, you say. `boundary`: it asks first, whatever the gate knows of it. */
  decision: "allow" | "boundary";
  /** Why, for people. */
  reason?: string | undefined;
  /** Commands that this rule must decide; checked when it is taken on. */
  match?: string[] | undefined;
  /** Commands that it must not decide. */
  not_match?: string[] | undefined;
}

/** What a call would do. */
export type EffectKind =
  | "readOnly"
  | "writesWorkspace"
  | "writesOutside"
  | "network"
  | "executes"
  | "readsOutside"
  | "environment"
  | "nonTerminating"
  | "unknown";

/** Why the gate decided so, for programs. */
export type VerdictReason =
  | "read_only"
  | "staged_write"
  | "invalid_argument"
  | "ambiguous_path"
  | "write_tool_no_auto"
  | "outside_workspace"
  | "denied_path"
  | "protected_path"
  | "denied_tool"
  | "unknown_tool"
  | "writes"
  | "network"
  | "executes"
  | "reads_outside"
  | "environment"
  | "reads_staged"
  | "policy"
  | "non_terminating"
  | "not_understood"
  | "limit";

/** What the gate says of a call. */
export interface Verdict {
  /** `allow`: it runs. `redirect`: it runs, and its writes are staged. `boundary`: it does not run without consent. */
  decision: "allow" | "redirect" | "boundary";
  /** Why, for programs. */
  reason: VerdictReason;
  /** Why, for people. */
  detail: string;
  /** What it would do. */
  effects: {
    kind: EffectKind;
    detail: string;
    /** Where in a shell command, in bytes of UTF-8; `classifyShell` has `parts` in JavaScript's own offsets. */
    span?: [from: number, to: number];
  }[];
  /** Paths in the workspace that may be read: `.` is all of it, a folder stands for all below it. Complete unless a boundary. */
  reads: string[];
  /** Paths in the workspace that are written, where they are known. */
  writes: string[];
  /** How an allowed command must run, where its plain form could do more than read. */
  hardened?: Hardened;
}

/** The form in which an allowed command must run, over an environment without anything that names programs. */
export interface Hardened {
  /** Variables that must be set. */
  environment: Record<string, string>;
  /** The command to run instead. */
  command?: string;
  /** What has to hold where it starts git. */
  git?: GitNeeds;
}

/** What no variable can make git do, so that you have to see to it before the command runs; else it must not run. */
export interface GitNeeds {
  /** `git version` is at least this. */
  version: [major: number, minor: number];
  /** Folders of the workspace from which git looks for a repository. */
  folders: string[];
  /** Files below `.git` that must not be there. */
  hides: string[];
}

/** A verdict on a shell command, with its parts. */
export interface Classified extends Verdict {
  /** Where in the command each effect comes from, sorted by `from`, in UTF-16 units as in `command.slice(from, to)`. They may overlap. */
  parts: { from: number; to: number; kind: EffectKind; detail: string }[];
}

/** A call of a tool, as a model wrote it. */
export interface ToolCall {
  /** Pairs it with its result; unique in a conversation. */
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** What the provider wants to see again with the call. */
  signature?: string;
}

// ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a name stands for. */
export type EntryKind = "file" | "directory" | "symlink" | "other";

/** What is at a path; of a link, the link itself. */
export interface Metadata {
  kind: EntryKind;
  /** In bytes. */
  size: number;
  executable?: boolean | undefined;
  /** Milliseconds, or any number that changes whenever the content does. Left out: contents are compared. */
  modified?: number | undefined;
}

export interface DirEntry {
  name: string;
  kind: EntryKind;
}

/**
 * Read access to files. Paths are relative, separated by "/"; "" is the root.
 *
 * Whatever a method throws becomes a `TreeError` that names it and the path. An error whose `code` says so (Node's `ENOENT`, an
 * editor's `FileNotFound`, the browser's `NotFoundError`, and so on) counts as "nothing there".
 */
export interface Tree {
  /** undefined: nothing there. */
  metadata(path: string): MaybePromise<Metadata | undefined>;
  read(path: string): MaybePromise<Uint8Array>;
  list(path: string): MaybePromise<DirEntry[]>;
  /** Where a link points, as it is written in the link. */
  readLink?(path: string): MaybePromise<string>;
}

/** A tree to which work can be committed. The bytes that `write` gets are the tree's to keep. */
export interface WritableTree extends Tree {
  /** Makes a file, or replaces its content. The folder is there. */
  write(path: string, content: Uint8Array, options: { executable: boolean }): MaybePromise<void>;
  /** Makes a folder where nothing is. The folder above is there. */
  createDir(path: string): MaybePromise<void>;
  /** Removes a file, a link, or an empty folder. */
  remove(path: string): MaybePromise<void>;
  symlink?(path: string, target: string): MaybePromise<void>;
}

/** How much an overlay may hold. */
export interface Quota {
  /** Staged paths; 10,000 if it is not said. */
  files?: number | undefined;
  /** Staged content and what it replaces, in bytes; 256 MiB. */
  bytes?: number | undefined;
  /** One file, in bytes; 64 MiB. */
  fileBytes?: number | undefined;
  /** Names in a path; 128. */
  depth?: number | undefined;
}

/** A change as it is listed, without content. */
export interface ChangeSummary {
  path: string;
  type: "create" | "modify" | "delete" | "rename" | "createDirectory";
  /** For a rename: the path before. */
  from?: string;
  /** Lines; 0 for a binary file. */
  added: number;
  removed: number;
  binary: boolean;
}

/** How a commit treats what changed meanwhile. */
export interface CommitOptions {
  /** What was only read and has changed since: a conflict (as if it were not said), or a warning. */
  staleReads?: "conflict" | "warn" | undefined;
  /** A text that both sides changed, in different places: merged (as if it were not said), or a conflict. */
  merge?: "text" | "never" | undefined;
}

/** What one side of a conflict has. */
export interface ConflictSide {
  kind: EntryKind;
  /** In bytes. */
  len: number;
  executable: boolean;
  /** A hash of the content, where it was looked at. */
  content?: string;
}

/** A path that is not what the change set rests on. */
export interface Conflict {
  /** "." is the root. */
  path: string;
  kind: "modified" | "deleted" | "created" | "replaced" | "staleRead";
  /** What the change set would put there; none: nothing. */
  staged?: ConflictSide;
  /** What is there now; none: nothing. */
  found?: ConflictSide;
}

export type CommitOutcome =
  | { type: "committed"; /** Files that hold both sides' edits. */ merged: string[]; staleReads: Conflict[] }
  | { type: "conflict"; /** Nothing was changed. */ conflicts: Conflict[] };

// ── wire formats ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The providers whose wire format is known. `openai` with another `baseUrl` is every server that speaks its chat completions. */
export type ProviderName = "openai" | "responses" | "anthropic" | "gemini" | "dashscope" | "ollama";

export interface WireOptions {
  provider: ProviderName;
  /** Where it is, if not at the provider's own address; it looks like `https://HOST/v1`. */
  baseUrl?: string | undefined;
}

/** All that `fetch` needs: `fetch(url, rest)`. */
export interface EncodedRequest {
  url: string;
  method: "POST";
  headers: Record<string, string>;
  body: string;
}

export interface FetchModelOptions extends WireOptions {
  /** It is sent to the base URL, and appears nowhere else: in no error and no JSON. */
  key?: string | undefined;
  /** In place of the global one: through a proxy of your own, with a header more, in a test. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** How long to wait. */
  timeouts?: ModelTimeouts | undefined;
}

/** In milliseconds. */
export interface ModelTimeouts {
  /** For the first bytes of an answer; 130 s. A queue, a model that is loaded first or a long prompt take their time. */
  firstByteMs?: number | undefined;
  /** For the next bytes; 120 s. */
  idleMs?: number | undefined;
  /** For the next piece of the answer, where only signs of life come; 600 s. */
  stalledMs?: number | undefined;
}

// ── conversation and models ──────────────────────────────────────────────────────────────────────────────────────────

/** The answer to a call: what came out, or why it could not be done, in words that the model can act on. */
export type ToolResult = { id: string; name: string } & ({ output: unknown } | { error: string });

/** A piece of a message. */
export type Part = { type: "text"; text: string } | ({ type: "toolCall" } & ToolCall) | ({ type: "toolResult" } & ToolResult);

/**
 * One entry of a conversation. Every call has exactly one result, in the tool message that follows, in the order of the calls.
 */
export interface Message {
  role: "user" | "model" | "tool";
  parts: Part[];
}

/** What was said so far. */
export interface Conversation {
  /** The system instruction. */
  system?: string | undefined;
  messages: Message[];
}

/** A tool as it is offered to a model. */
export interface ToolSchema {
  name: string;
  /** What it does and when to use it, for the model. */
  description: string;
  /** JSON schema of the arguments, an object. */
  parameters: object;
}

/** What a request cost, in tokens. */
export interface Usage {
  /** Read by the model, those from its cache included. */
  inputTokens: number;
  /** Of these, found in the provider's cache. */
  cachedInputTokens: number;
  /** Of these, put into that cache, where the provider counts them apart. */
  cacheCreationTokens?: number;
  /** Kept for this request under a name, times seconds. */
  cacheTokenSeconds?: number;
  /** Written by the model. */
  outputTokens: number;
}

/** All that a model is asked. */
export interface ModelRequest {
  /** The provider's name of the model. */
  model: string;
  system?: string;
  tools: ToolSchema[];
  messages: Message[];
  /** Whether it may think first. */
  thinking: boolean;
  /** JSON schema that the answer must have. */
  responseSchema?: object;
  /** At most so many tokens in the answer. */
  maxOutputTokens?: number;
}

/** Why an answer ended: the model had no more to say, its length was limited, the provider withheld it. */
export type FinishReason = "stop" | "length" | "contentFilter";

/** A piece of an answer. */
export type ModelEvent =
  /** Words. */
  | { type: "text"; text: string }
  /** The model's thinking; it is not part of the conversation. */
  | { type: "thought"; text: string }
  /** A call, whole. Without an id it gets one. */
  | ({ type: "toolCall" } & Omit<ToolCall, "id"> & { id?: string })
  /** What the request cost; the last one counts. */
  | { type: "usage"; usage: Partial<Usage> }
  /** The answer is complete. One that ends without this was cut, and is an error. */
  | { type: "finished"; reason: FinishReason };

/** A model is an object with one method. */
export interface Model {
  /** Asks, and streams the answer. The signal fires when the answer is not wanted any more. What it throws ends the run. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** The answers of a model, to be played again. */
export interface Recording {
  /** The answers in speculations and turns, in the order they were asked for. */
  turns?: RecordedTurn[];
  /** The answers to queries for a suggestion; an empty one is silence, several lines are several candidates. */
  suggestions?: (string | { text: string; delayMs?: number; usage?: Partial<Usage> })[];
}

/** One answer. */
export interface RecordedTurn {
  /** What the model said. */
  text?: string;
  /** What it called after that. */
  toolCalls?: { name: string; args?: Record<string, unknown> }[];
  /** Milliseconds before it began. */
  delayMs?: number;
  /** Milliseconds from its beginning to its end. */
  streamMs?: number;
  usage?: Partial<Usage>;
}

// ── engine ───────────────────────────────────────────────────────────────────────────────────────────────────────────

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

/** A command for the system's shell. */
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
  /** What has to hold if it starts git; else answer with an error instead. */
  git?: GitNeeds;
  /** End it then. A second later nobody waits for it any more, and the signal fires. */
  timeLimitMs: number;
  /** Keep at most so many bytes of output. */
  outputLimit: number;
}

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
   * Runs it. What it gives is for the model: a string, or what JSON can say. What it throws is told to the model. What it writes to
   * `view` is in the tree when it ends; the view is its own as long as it runs.
   */
  run(args: Record<string, unknown>, view: Overlay, signal: AbortSignal): MaybePromise<unknown>;
}

/** What an engine works with. */
export interface EngineOptions {
  /** Who is asked. */
  model: Model;
  /** The provider's name of the model, for its requests. */
  modelName?: string | undefined;
  /** The real files. Only an accept and a turn in the foreground write to it. */
  tree: WritableTree;
  /**
   * How much may be done without asking; a function is asked for every call and at every accept. One that throws, or gives no mode,
   * counts as `plan`. Default: `default`, in which a speculation stops at the first write: for most hosts `auto-edit` is right.
   */
  mode?: ApprovalMode | (() => ApprovalMode) | undefined;
  /** Where the workspace is, in paths of the model. Default: `/workspace`. */
  workspace?: string | undefined;
  /** Paths that no tool may touch, as in `.gitignore`. */
  deny?: string[] | undefined;
  /** What the user adds to what the gate knows of programs. */
  policies?: PolicyRule[] | undefined;
  /**
   * Runs a command; without it there is no `shell` tool. What the command can reach is up to you: the gate judges its text. What this
   * throws is told to the model. The signal fires when the command is not wanted any more.
   */
  runCommand?: ((request: CommandRequest, signal: AbortSignal) => Promise<CommandOutput>) | undefined;
  /** Tools of your own: never run ahead; in a turn they ask for consent. */
  tools?: Tool[] | undefined;
  limits?: Limits | undefined;
  /** What an accept does with work that stopped at a call which needs consent: it takes it (default), or takes nothing. */
  atBoundary?: "commit" | "discard" | undefined;
  /** What becomes of files that changed meanwhile. */
  commit?: CommitOptions | undefined;
  /**
   * Asks the user whether a call may run. In turns only, never for a speculation. `stop` ends the turn there. Default: `decline`.
   */
  consent?: ((call: ToolCall, verdict: Verdict) => MaybePromise<"run" | "decline" | "stop">) | undefined;
}

/** What happens in a run. Calls and results come in pairs, also where several ran at the same time. */
export type RunEvent =
  /** Words of the model, as they come. */
  | { type: "text"; text: string }
  /** A call runs, or is about to. */
  | { type: "toolCall"; call: ToolCall }
  /** It has its result, as the model will read it. */
  | { type: "toolResult"; result: ToolResult };

/** Where a speculation is. */
export type Status = "running" | "completed" | "boundary" | "exhausted" | "failed" | "aborted";

/** How a run ended. */
export type Ending =
  /** The model said its last word. */
  | { status: "completed" }
  /** A call needs the user's consent. */
  | { status: "boundary"; verdict: Verdict }
  /** A limit was reached; `output` is the provider's limit on one answer. */
  | { status: "exhausted"; limit: "turns" | "messages" | "tokens" | "cost" | "staged" | "time" | "output" }
  /** An error, in words. */
  | { status: "failed"; error: string }
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
  /** There is nothing to give: nothing was done, or it was aborted. */
  | { type: "nothing" }
  /** It stopped at a boundary, and `atBoundary` is `discard`. */
  | { type: "discarded" };

/** A guess, or why there is none. */
export type Suggested =
  | { suggestion: string; /** Further ones, best first. */ others: string[]; usage: Usage; suppressed?: never }
  | {
      /** `early_conversation`, `empty`, `error`, `plan_mode`, or the code of the filter's rule. */
      suppressed: string;
      usage: Usage;
      /** What went wrong, where it was the model. */
      error?: string;
      suggestion?: never;
    };
