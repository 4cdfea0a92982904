import type { Completion, ItemRow } from "headstart";

/** What the extension and the page of the chat view say to each other. Both are bundles of this package, so no version is needed. */

/** One line of the conversation. `key` stays the same while its content grows. */
export type Item =
  | { key: string; kind: "user"; text: string; ahead?: boolean }
  | { key: string; kind: "model"; text: string }
  | {
      key: string;
      kind: "call";
      tool: string;
      subject: string;
      /** Where the file that it is about begins to be of interest. */
      line?: number;
      state: "running" | "done" | "failed" | "waits";
      detail?: string;
      /** What it found, unless its subject says so. */
      rows?: ItemRow[];
      /** The end of what its command printed. */
      output?: string;
    }
  | { key: string; kind: "changes"; title: string; files: FileLine[] }
  | { key: string; kind: "note"; tone: "info" | "warning" | "error"; text: string; actions?: ItemAction[] };

/** What a file line says, and the id of the change set that holds its two sides, as long as there is one. */
export interface FileLine {
  path: string;
  /** Where it was, if it was moved. */
  from?: string;
  change: "create" | "modify" | "delete" | "rename" | "createDirectory";
  added: number;
  removed: number;
  merged?: boolean;
  /** The user has taken it back. */
  undone?: boolean;
  staged?: string;
}

export type ItemAction =
  | { title: string; action: "submit"; text: string }
  | { title: string; action: "command"; command: string }
  | { title: string; action: "diff"; staged: string; path?: string }
  /** A path of the workspace, as the model wrote it. */
  | { title: string; action: "open"; path: string; line?: number }
  /** Into the editor, or the clipboard. */
  | { title: string; action: "insert" | "copy"; text: string }
  /** Into the file that the code is of, by its path or the one in the editor, after a look at what changes. */
  | { title: string; action: "apply"; text: string; path?: string };

/** The suggestion on screen. */
export interface Ghost {
  text: string;
  /** What of it is not typed yet. */
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
}

export interface Question {
  id: string;
  /** What is asked, where it is not whether a call may run. */
  title?: string;
  tool: string;
  subject: string;
  /** The whole of what would be written or run. */
  content?: string;
  reason: string;
  choices: Choice[];
}

/** What the user may answer. `always`: yes, and to calls like it for the rest of the conversation. `why`: no, and they are asked for words that the model is told. */
export type Answer = "yes" | "always" | "no" | "why" | "stop" | "anew" | "yours" | "work";

export interface Choice {
  title: string;
  /** The key that says so. */
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
  /** How long until the provider, which had no answer for a moment, is asked again. */
  waitsMs?: number;
  /** What has to be known before the first prompt. */
  about?: string;
  /** What may be done with commands here; empty while that is not known. */
  commands: string;
  /** What is missing before a prompt can be answered. */
  setup?: { text: string; actions: ItemAction[] };
}

export type ToPage =
  | { type: "state"; state: ViewState; items: Item[]; /** whether `items` are all, or those that are new or grew */ all: boolean }
  | { type: "insert"; text: string }
  /** What could be meant by the mention before the cursor, for the question of this number; none: there is no mention. */
  | { type: "mentions"; id: number; found?: Completion }
  | { type: "focus" }
  | { type: "announce"; text: string };

export type FromPage =
  | { type: "ready"; draft: string }
  | { type: "edited"; text: string; /** whether an older prompt was called back */ recalled?: boolean }
  | { type: "complete"; id: number; before: string }
  | { type: "submit"; text: string }
  | { type: "accept"; method: "tab" | "enter" | "right" }
  | { type: "answer"; id: string; answer: Answer }
  | { type: "act"; action: ItemAction };
