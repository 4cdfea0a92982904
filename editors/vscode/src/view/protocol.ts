import type { Completion, ItemRow } from "headstart";

/**
 * The messages between the extension and the page of the chat view. Both are bundles of this package, so the messages
 * need no version.
 */

/** One line of the conversation. `key` stays the same while its content grows. */
export type Item =
  | { key: string; kind: "user"; text: string; ahead?: boolean }
  | { key: string; kind: "model"; text: string }
  | {
      key: string;
      kind: "call";
      tool: string;
      subject: string;
      /** The line in the file of the call at which the interesting part begins. */
      line?: number;
      state: "running" | "done" | "failed" | "waits";
      detail?: string;
      /** What the call found, unless the subject already says it. */
      rows?: ItemRow[];
      /** The end of the output of the call's command. */
      output?: string;
    }
  | { key: string; kind: "changes"; title: string; files: FileLine[] }
  | { key: string; kind: "note"; tone: "info" | "warning" | "error"; text: string; actions?: ItemAction[] };

/** A line about a changed file. `staged` is the id of the change set that holds both sides, as long as there is one. */
export interface FileLine {
  path: string;
  /** The former path of a moved file. */
  from?: string;
  change: "create" | "modify" | "delete" | "rename" | "createDirectory";
  added: number;
  removed: number;
  merged?: boolean;
  /** Whether the user has undone the change. */
  undone?: boolean;
  staged?: string;
}

export type ItemAction =
  | { title: string; action: "submit"; text: string }
  | { title: string; action: "command"; command: string }
  | { title: string; action: "diff"; staged: string; path?: string }
  /** Opens a path of the workspace, as the model wrote it. */
  | { title: string; action: "open"; path: string; line?: number }
  /** Puts text into the editor, or into the clipboard. */
  | { title: string; action: "insert" | "copy"; text: string }
  /**
   * Applies code to its file after the user has seen the change. The file is that of `path`, or else the one in the
   * editor.
   */
  | { title: string; action: "apply"; text: string; path?: string };

/** The suggestion on screen. */
export interface Ghost {
  text: string;
  /** The part of it that is not typed yet. */
  rest: string;
  place?: { number: number; of: number };
}

/** The work behind the suggestion. */
export interface AheadCard {
  state: "running" | "ready" | "waits" | "stopped";
  headline: string;
  calls: (Item & { kind: "call" })[];
  files: FileLine[];
  waitsFor?: string;
  /** It is done, and something that it ran failed. */
  failed?: boolean;
  /** Tests and builds do not run ahead here, because there are no views. */
  untested?: boolean;
}

export interface Question {
  id: string;
  /** What is asked, if the question is not whether a call may run. */
  title?: string;
  tool: string;
  subject: string;
  /** Everything that would be written or run. */
  content?: string;
  /** What the model says of its command. */
  said?: string;
  reason: string;
  choices: Choice[];
}

/**
 * The user's answers. `always` means yes, also to such calls for the rest of the conversation. `why` means no, and asks
 * the user for a reason that the model is told.
 */
export type Answer = "yes" | "always" | "no" | "why" | "stop" | "anew" | "yours" | "work";

export interface Choice {
  title: string;
  /** The key that gives this answer. */
  key: string;
  answer: Answer;
  primary?: boolean;
}

export interface ViewState {
  busy: "idle" | "turn" | "accept";
  enabled: boolean;
  /** What Tab does with a suggestion. */
  tab: "take" | "insert";
  ghost?: Ghost;
  ahead?: AheadCard;
  question?: Question;
  queued: string[];
  status: string;
  model: string;
  mode: string;
  /** How many milliseconds remain until a provider that was briefly unavailable is asked again. */
  waitsMs?: number;
  /** What the user has to know before the first prompt. */
  about?: string;
  /** What commands may do here; empty while that is not known. */
  commands: string;
  /** What is missing before a prompt can be answered. */
  setup?: { text: string; actions: ItemAction[] };
}

export type ToPage =
  | { type: "state"; state: ViewState; items: Item[]; /** whether `items` are all, or those that are new or grew */ all: boolean }
  | { type: "insert"; text: string }
  /**
   * The completions of the mention before the cursor, for the question of this number; without `found` there is no
   * mention.
   */
  | { type: "mentions"; id: number; found?: Completion }
  | { type: "focus" }
  | { type: "announce"; text: string };

export type FromPage =
  | { type: "ready"; draft: string }
  | { type: "focused"; focused: boolean }
  | { type: "edited"; text: string; /** whether an older prompt was called back */ recalled?: boolean }
  | { type: "complete"; id: number; before: string }
  | { type: "submit"; text: string }
  | { type: "accept"; method: "tab" | "enter" | "right" }
  | { type: "answer"; id: string; answer: Answer }
  | { type: "act"; action: ItemAction };
