// The conversation as a front end shows it. The JSON is that of the Rust crate `agent`; fields are only ever added.
import type { Conflict, ChangeSummary, MaybePromise } from "./types-files.js";
import type { ContextItem, EngineOptions, Ending } from "./types-engine.js";
import type { ToolCall, Verdict } from "./types-gate.js";
import type { Usage } from "./types-model.js";

/** How much is done ahead: nothing, what the policy finds worth its price, or everything up to its caps. */
export type Background = "off" | "auto" | "always";

/** Where a conversation is kept, as lines that are only ever added. */
export interface SessionStore {
  /** Adds lines at the end. Calls come one after the other. */
  append(lines: string): MaybePromise<void>;
}

/** Where the costs of a project are kept, and what was learned of its user. */
export interface LedgerStore {
  /** The lines of earlier conversations in this project. */
  past?: string | undefined;
  /** What was learned of the user in all projects: the last `habits` that `append` was given, parsed or as the text that it was. */
  habits?: string | undefined;
  /** Adds lines at the end, and keeps `habits` in place of what was known. Calls come one after the other. */
  append(lines: string, habits: string): MaybePromise<void>;
}

/** What is known of a model beside its name. */
export interface ModelFacts {
  /** Whether it costs nothing for a token: then `auto` asks it freely. */
  free?: boolean | undefined;
  /** How many tokens it sees at once. Where that is not known, a conversation is made shorter once its provider says that it is too long. */
  window?: number | undefined;
  /** What a million tokens cost, in any currency. The caps of a session and a day are in money then. */
  price?: { input: number; output: number; /** Default: `input`. */ cached?: number | undefined; /** Default: `input`. */ cacheWrite?: number | undefined } | undefined;
}

/** What only the program around a conversation can tell of what a prompt mentions, behind the `@`. */
export type MentionName = "diff" | "codebase" | "terminal" | "problems" | "open" | "selection";

/** A part of what is told of a mention. */
export interface MentionPart {
  /** The file of the workspace that it is of: where a rule closes that, or it holds a secret by its name, the part is left out. */
  path?: string | undefined;
  text: string;
}

/**
 * What the model reads of such a mention; parts that are of files say so. What it throws is told to the user, and the prompt is in the line again. `isAhead`: work ahead mentions
 * it, and nobody waits.
 */
export type TellMention = (prompt: string, isAhead: boolean) => MaybePromise<string | MentionPart[]>;

/** Something that a prompt may mention: `@src/`, and for what is no path a few words about it. */
export interface Mentionable {
  mention: string;
  words?: string;
}

/** What could be meant by a mention that is being written. */
export interface Completion {
  /** Where its `@` stands in the text. */
  at: number;
  choices: Mentionable[];
}

/** The project's rules that go to the model with a prompt. */
export interface RulesTold {
  /** Those that are new to the model, or have changed, with what they say. */
  rules: { path: string; text: string }[];
  /** Files whose rules count no more. */
  gone: string[];
  /** What is wrong with files of rules, for the user. It is told with each prompt until it is mended. */
  problems: string[];
}

/** Where a conversation works; what is left out is not told. */
export interface Surroundings {
  /** The project's folder: its name, or its path where `workspace` is the same. */
  folder?: string | undefined;
  /** The operating system, and what commands run in, in a few words. */
  system?: string | undefined;
  /** The day, as `2026-01-31`. */
  date?: string | undefined;
  /** What `git status --porcelain=v1 --branch` prints. Files that a rule closes are not named. */
  gitStatus?: string | undefined;
}

/** What an {@link Agent} works with. Instead of `consent` a question stands in the view. */
export interface AgentOptions extends Omit<EngineOptions, "consent">, ModelFacts {
  /** The system instruction. {@link systemText} makes a good one. */
  system?: string | undefined;
  /** How much is done ahead. Default: `auto`. */
  background?: Background | undefined;
  /** Whether suggestions run ahead. Default: they do. */
  speculation?: boolean | undefined;
  /** How many suggestions are asked for, up to 3. Default: 1. */
  candidates?: number | undefined;
  /** How many of them run at the same time. Default: 1. */
  parallel?: number | undefined;
  /** Whether somebody is there to answer questions. If not, what needs consent is declined. Default: somebody is. */
  attended?: boolean | undefined;
  /** A first suggestion, before anything was said. Nothing runs ahead for it. */
  opening?: string | undefined;
  /**
   * Tells what a prompt mentions and only you know. What is left out is an error that says so; `@codebase` and `@diff` are also told by tools of the names
   * `codebase` and `view_diff`. Files, folders and `@rule:NAME` are read from the tree, as far as the rules leave it open.
   */
  mentions?: { [Name in MentionName]?: TellMention | undefined } | undefined;
  /**
   * Has the project's own rules go to the model (`AGENTS.md`, or what other products call theirs, and `.headstart/rules/*.md`), and is told which, so that you
   * show them: they came with the project. Without it they are not read, but for those that a prompt mentions.
   */
  projectRules?: ((told: RulesTold) => void) | undefined;
  /** Keeps the conversation. */
  sessions?: SessionStore | undefined;
  /** All the lines that a {@link SessionStore} was given: the conversation goes on. An `InputError` says what is wrong with them. */
  restore?: string | undefined;
  /** Keeps what is spent. Without it the policy knows this conversation only. */
  ledger?: LedgerStore | undefined;
}

/** A call of a tool. `output` or `error` is there once it has its result. */
export interface ViewCall {
  /** While it is `generating` the arguments may be incomplete. */
  call: ToolCall;
  /** `generated`: it waits, for the calls before it or for the user's answer; `canceled`: it did not run, or not to its end; `boundary`: work ahead stopped before it. */
  state: "generating" | "generated" | "calling" | "done" | "errored" | "canceled" | "boundary";
  /** Whether the user is asked about it. */
  waiting?: boolean;
  /** Whether it was a turn's or that of work which ran ahead. */
  origin: "turn" | "ahead";
  /** How far it is, in words behind "the agent". */
  sentence: string;
  /** What it has printed so far. */
  printed?: string;
  /** Milliseconds that it took. */
  tookMs?: number;
  output?: unknown;
  error?: string;
  /** What the result is made of, where that has names and places. */
  items?: readonly ContextItem[];
}

/** One thing that a call found, looked at or did, as a row ({@link itemRows}). Its texts can stand in a line of a page, as text and not as HTML. */
export interface ItemRow {
  /** `auth.rs (10-32)`. */
  name: string;
  /** More of it. */
  description?: string;
  /** How it ended, of a command. */
  status?: string;
  /** Where it is in the workspace, spelled as it is there: it can be opened, if it is there yet. */
  place?: { path: string; lines?: readonly [first: number, last: number] };
  /** It is what the call itself names, and the only one: whoever shows the call shows it already. */
  isNamed?: boolean;
}

/** One thing in the conversation. An item that did not change stays the same object. */
export type ViewItem = { readonly key: number } & (
  | { type: "prompt"; text: string }
  | { type: "answer"; text: string }
  | ({ type: "call" } & ViewCall)
  /** The project's own check of work ahead. */
  | { type: "check"; command: string; passed: boolean; tests?: string; millis: number }
  /** Work ahead is the user's now. */
  | {
      type: "applied";
      /** {@link Agent.changes} has the changes, for the last twenty. */
      id: string;
      changes: ChangeSummary[];
      /** Of these, files that hold an edit of the user's as well. */
      merged: string[];
      /** Of these, files that were changed since a command of the work saw them. */
      stale: string[];
      /** Of these, files that the user has put back as they were. */
      undone: string[];
      /** Milliseconds of work that the user did not wait for; none where it had hardly begun. */
      savedMs?: number;
      /** How the work had ended. Unless completed, a turn goes on from there. */
      ending: Ending;
    }
  /** Work that the user took was not applied; with `anew` its prompt runs in the foreground. */
  | {
      type: "notTaken";
      /** {@link Agent.changes} has what it would have changed, for the last twenty. */
      id: string;
      why:
        | { type: "conflict"; conflicts: Conflict[] }
        | { type: "withdrawn"; call: ToolCall; verdict: Verdict }
        | { type: "discarded" }
        | { type: "failed"; error: string }
        | { type: "interrupted" };
      anew: boolean;
    }
  /** A call was declined, because there is nobody to ask. */
  | { type: "declined"; call: ToolCall; verdict: Verdict }
  /**
   * `undone`: what the user has undone, as the model is told; `compacted`: the conversation was made shorter for its model; `trouble`: something could
   * not be kept; else why nothing is suggested.
   */
  | { type: "note"; code: string; text: string }
  /** A turn is over. */
  | { type: "end"; ending: Ending }
);

/** What the user is asked. */
export type ViewQuestion = { id: string } & (
  /** May this call run? */
  | {
      type: "call";
      call: ToolCall;
      verdict: Verdict;
      /** What it would change, where it is an edit. */
      diff?: string;
      /** What the answer `always` would let run until the conversation ends: `` `cargo test *` ``, `edits in src/`. None where such calls are asked about each time. */
      always?: string;
    }
  /** May this work ahead, which they took, be written? `changes` of the view's `taken` has all of it. */
  | { type: "changes"; changes: ChangeSummary[]; pendingCall?: ToolCall }
  /** They changed what the work rests on: one choice for each conflict, `anew` or no. To do it anew costs about so many tokens. */
  | { type: "conflicts"; conflicts: Conflict[]; changes: ChangeSummary[]; tokens: number }
  | { type: "commits"; conflicts: Conflict[] }
);

/**
 * What the user says to a question. `always`: yes, and to calls like it until the conversation ends ({@link Agent.allowed}), of turns alone. `anew`: the work is dropped, and its prompt runs in the foreground. `keep`: of each conflict, in their order,
 * what they have, what the work made, or a text with both between markers. `no` with a text, to a call: the model is told why.
 */
export type ViewAnswer = "yes" | "always" | "no" | "anew" | { no: string } | { keep: ("yours" | "work" | "markers")[] };

/** Why nothing came of what the user did. A front end may ignore it. */
export type Refusal = "ended" | "stale" | "tooEarly" | "busy" | "empty";

/** All that there is to draw. */
export interface View {
  version: number;
  /** Grows with each change. */
  revision: number;
  /** `compacting`: the conversation is made shorter for its model; `asking`: work that the user took waits for their answer. */
  phase: "idle" | "opening" | "turn" | "compacting" | "accepting" | "asking" | "stopping" | "ended";
  items: readonly ViewItem[];
  /** Prompts that were sent while something went on. */
  queued: readonly string[];
  /** Prompts that are to be in the line again, before what is typed there: once for each revision. */
  draft?: { revision: number; text: string };
  /** The suggestion on screen; `rest` is what of it is not typed yet. */
  suggestion?: { text: string; rest?: string; number: number; of: number };
  /** The work that runs ahead for it. */
  ahead?: {
    id: string;
    /** `waits`: it stopped at `pendingCall`, which needs consent. */
    state: "running" | "ready" | "waits" | "stopped";
    calls: ViewCall[];
    /** What its model has said since the last call. */
    said: string;
    staged: ChangeSummary[];
    ending?: Ending;
    pendingCall?: ToolCall;
    /** How many further steps run on top of it. */
    above: number;
  };
  /** The id of work that the user has taken and that is not handed over yet. */
  taken?: string;
  question?: ViewQuestion;
  /** Whether a suggestion is asked for at this moment. */
  isAsking: boolean;
  /** The code of why there is none, after the last time one was asked for. */
  unsuggested?: string;
}

/** A change of the items. */
export type ViewItemChange =
  | { type: "added"; item: ViewItem }
  /** More words of an answer; `item` has all of them. */
  | { type: "appended"; item: ViewItem; text: string }
  | { type: "changed"; item: ViewItem }
  /** The conversation was forgotten. */
  | { type: "cleared" };

/** What has changed since the update before. */
export interface ViewUpdate {
  items: readonly ViewItemChange[];
  /** All that there is to draw, as it was right after these changes. */
  view: View;
}

/** What a conversation has cost so far. */
export interface AgentCosts {
  /** The user's own turns, work ahead that they took included. */
  turns: Usage;
  /** Work ahead that nobody took, or has not taken yet. */
  ahead: Usage;
  /** Questions for suggestions. */
  suggestions: Usage;
  /** Requests that were dropped half-way: what they cost nobody says. */
  unmeasured: number;
  /** Milliseconds of work that the user did not wait for. */
  savedMs: number;
  /** What all of it cost, where the price is known. */
  money?: number;
}
