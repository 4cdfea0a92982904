// Every type of the package. The JSON is that of the Rust crates, so a log that one of them wrote is read by the other.

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
