// The conversation as a front end shows it. The JSON is that of the Rust crate `agent`; fields are only ever added.
import type { Conflict, ChangeSummary, LeftOut, MaybePromise } from "./types-files.js";
import type { ContextItem, EngineOptions, Ending } from "./types-engine.js";
import type { ToolCall, Verdict } from "./types-gate.js";
import type { Usage } from "./types-model.js";

/** How much is done ahead: nothing, what the policy finds worth its price, or everything up to a dollar a day. */
export type Background = "off" | "auto" | "always";

/** Where a conversation is kept, as lines that are only ever added. */
export interface SessionStore {
  /** Adds lines at the end. Calls are made one after the other. */
  append(lines: string): MaybePromise<void>;
}

/** Where the costs of a project are kept, and what was learned of its user. */
export interface LedgerStore {
  /** The lines of earlier conversations in this project. */
  past?: string | undefined;
  /** What was learned of the user in all projects: the last `habits` that `append` was given, parsed or as the text. */
  habits?: string | undefined;
  /** Adds lines at the end, and replaces what is known of the user by `habits`. Calls are made one after the other. */
  append(lines: string, habits: string): MaybePromise<void>;
}

/** What is known of a model besides its name. */
export interface ModelFacts {
  /** Whether its tokens cost nothing; in that case `auto` asks it freely. */
  free?: boolean | undefined;
  /**
   * How many tokens it sees at once. If that is not known, a conversation is made shorter once its provider says that
   * it is too long.
   */
  window?: number | undefined;
  /** What a million tokens cost, in dollars. Without it, a usual price counts for what work ahead may cost on a day. */
  price?: { input: number; output: number; /** Default: `input`. */ cached?: number | undefined; /** Default: `input`. */ cacheWrite?: number | undefined } | undefined;
}

/** The mentions, with their names behind the `@`, that only the program around a conversation can tell about. */
export type MentionName = "diff" | "codebase" | "terminal" | "problems" | "open" | "selection";

/** A part of what is told about a mention. */
export interface MentionPart {
  /**
   * The file of the workspace to which the part belongs. If a rule closes that file, or its name suggests a secret, the
   * part is left out.
   */
  path?: string | undefined;
  text: string;
}

/**
 * What the model reads of such a mention; parts that belong to files say so. If it throws, the error is told to the
 * user, and the prompt is in the line again. `isAhead` says that work ahead mentions it and nobody waits.
 */
export type TellMention = (prompt: string, isAhead: boolean) => MaybePromise<string | MentionPart[]>;

/** Something that a prompt may mention, as `@src/`, with a few words about it if it is not a path. */
export interface Mentionable {
  mention: string;
  words?: string;
}

/** What could be meant by a mention that is being written. */
export interface Completion {
  /** Where the `@` is in the text. */
  at: number;
  choices: Mentionable[];
}

/** The project's rules that are sent to the model with a prompt. */
export interface RulesTold {
  /** The rules that are new to the model, or have changed, with their texts. */
  rules: { path: string; text: string }[];
  /** Files whose rules do not hold any more. */
  gone: string[];
  /** What is wrong with files of rules, for the user. It is told with each prompt until it is corrected. */
  problems: string[];
}

/** Where a conversation works; what is left out is not told to the model. */
export interface Surroundings {
  /** The project's folder: its name, or its path if `workspace` is the same path. */
  folder?: string | undefined;
  /** The operating system, and the shell in which commands run, in a few words. */
  system?: string | undefined;
  /** The day, as `2026-01-31`. */
  date?: string | undefined;
  /** The output of `git status --porcelain=v1 --branch`. Files that a rule closes are not named. */
  gitStatus?: string | undefined;
}

/** What an {@link Agent} works with. There is no `consent`, because a question is in the view. */
export interface AgentOptions extends Omit<EngineOptions, "consent">, ModelFacts {
  /** The system instruction. {@link systemText} makes a good one. */
  system?: string | undefined;
  /** How much is done ahead. Default: `auto`. */
  background?: Background | undefined;
  /** Whether suggestions run ahead. Default: they do. */
  speculation?: boolean | undefined;
  /** How many suggestions are asked for, up to 3. Default: 1. */
  candidates?: number | undefined;
  /**
   * Whether somebody is there to answer questions. If not, a call that needs consent is declined. Default: somebody is.
   */
  attended?: boolean | undefined;
  /** A first suggestion, before anything was said. Nothing runs ahead for it. */
  opening?: string | undefined;
  /**
   * Tells about mentions that only you know. A mention that is left out here is an error that says so; `@codebase` and
   * `@diff` are also told by tools with the names `codebase` and `view_diff`. Files, folders and `@rule:NAME` are read
   * from the tree, as far as the rules allow.
   */
  mentions?: { [Name in MentionName]?: TellMention | undefined } | undefined;
  /**
   * Has the project's own rules sent to the model (`AGENTS.md`, or what other products call theirs, and
   * `.headstart/rules/*.md`). It is told which rules, so that you can show them, because they came with the project.
   * Without this no rules are read, except those that a prompt mentions.
   */
  projectRules?: ((told: RulesTold) => void) | undefined;
  /** Keeps the conversation. */
  sessions?: SessionStore | undefined;
  /**
   * All the lines that a {@link SessionStore} was given: the conversation continues. An `InputError` says what is wrong
   * with them.
   */
  restore?: string | undefined;
  /** Keeps what is spent. Without it the policy only knows this conversation. */
  ledger?: LedgerStore | undefined;
}

/** A call of a tool. `output` or `error` is there once it has its result. */
export interface ViewCall {
  /** While it is `generating` the arguments may be incomplete. */
  call: ToolCall;
  /**
   * `generated`: it waits for the calls before it or for the user's answer; `canceled`: it did not run, or not to its
   * end; `boundary`: work ahead stopped before it.
   */
  state: "generating" | "generated" | "calling" | "done" | "errored" | "canceled" | "boundary";
  /** Whether the user is asked about it. */
  waiting?: boolean;
  /** Whether it belongs to a turn or to work that ran ahead. */
  origin: "turn" | "ahead";
  /** The state of the call, in words after "the agent". */
  sentence: string;
  /** What it has printed so far. */
  printed?: string;
  /** Milliseconds that it took. */
  tookMs?: number;
  output?: unknown;
  error?: string;
  /** The parts of the result, if they have names and places. */
  items?: readonly ContextItem[];
}

/**
 * Something that a call found, looked at or did, as a row ({@link itemRows}). Its texts may be put into a line of a
 * page, as text and not as HTML.
 */
export interface ItemRow {
  /** `auth.rs (10-32)`. */
  name: string;
  /** More of it. */
  description?: string;
  /** How a command ended. */
  status?: string;
  /** Where it is in the workspace, spelled as it is there. It can be opened if it exists yet. */
  place?: { path: string; lines?: readonly [first: number, last: number] };
  /** It is what the call itself names, and the only item, so a display of the call shows it already. */
  isNamed?: boolean;
}

/** One entry of the conversation. An item that did not change stays the same object. */
export type ViewItem = { readonly key: number } & (
  | { type: "prompt"; text: string }
  | { type: "answer"; text: string }
  | ({ type: "call" } & ViewCall)
  /** The result of the project's own check of work ahead. */
  | { type: "check"; command: string; passed: boolean; notRun?: string; tests?: string; millis: number }
  /** Work ahead was accepted. */
  | {
      type: "applied";
      /** {@link Agent.changes} has the changes, for the last twenty. */
      id: string;
      changes: ChangeSummary[];
      /** Those of the files that also contain an edit of the user. */
      merged: string[];
      /** What the work did to the git repository, in words: `1 commit on main`. */
      git?: string;
      /** What commands of the work wrote or removed and this did not bring; none if there is nothing. */
      notKept?: LeftOut[];
      /** Files of the project that were changed since the last command of the work ran in a view. */
      stale: string[];
      /** Those of the files that the user has put back as they were. */
      undone: string[];
      /** Milliseconds of work for which the user did not wait; none if the work had hardly begun. */
      savedMs?: number;
      /** How the work had ended. If it was not completed, a turn goes on from there. */
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
  /** A call was declined, because nobody is there to ask. */
  | { type: "declined"; call: ToolCall; verdict: Verdict }
  /**
   * `undone`: what the user has undone, as the model is told; `compacted`: the conversation was made shorter for its
   * model; `trouble`: something could not be kept; any other code: why nothing is suggested.
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
      /** What the call would change, if it is an edit. */
      diff?: string;
      /**
       * What the answer `always` would allow until the conversation ends: `` `cargo test` ``, `edits in src/`. None
       * if such calls are asked about each time.
       */
      always?: string;
    }
  /** May this work ahead, which the user took, be written? `changes` of the view's `taken` has all of it. */
  | { type: "changes"; changes: ChangeSummary[]; /** What the work would do to the git repository, in words. */ git?: string; /** Its commands that failed, in words. */ failures?: string[]; pendingCall?: ToolCall }
  /**
   * The user changed what the work builds on: one choice for each conflict, `anew` or no. To do the work anew costs
   * about this many tokens.
   */
  | { type: "conflicts"; conflicts: Conflict[]; changes: ChangeSummary[]; tokens: number }
  | { type: "commits"; conflicts: Conflict[] }
);

/**
 * The user's answer to a question. `always`: yes, and yes to calls like it in turns until the conversation ends
 * ({@link Agent.allowed}). `anew`: the work is dropped, and its prompt runs in the foreground. `keep`: for each
 * conflict, in the order of the conflicts, what the user has, what the work made, or a text with both between markers.
 * `no` with a text, for a call: the model is told this reason.
 */
export type ViewAnswer = "yes" | "always" | "no" | "anew" | { no: string } | { keep: ("yours" | "work" | "markers")[] };

/** Why an action of the user had no effect. A front end may ignore it. */
export type Refusal = "ended" | "stale" | "tooEarly" | "busy" | "empty";

/** Everything that there is to draw. */
export interface View {
  version: number;
  /** Grows with each change. */
  revision: number;
  /** `compacting`: the conversation is made shorter for its model; `asking`: work that the user took waits for their answer. */
  phase: "idle" | "opening" | "turn" | "compacting" | "accepting" | "asking" | "stopping" | "ended";
  items: readonly ViewItem[];
  /** Prompts that were sent while something went on. */
  queued: readonly string[];
  /** Prompts that are to be in the line again, before the text there: once for each revision. */
  draft?: { revision: number; text: string };
  /** The suggestion on screen; `rest` is the part that is not typed yet. */
  suggestion?: { text: string; rest?: string; number: number; of: number };
  /** The work that runs ahead for the suggestion. */
  ahead?: {
    id: string;
    /** `waits`: it stopped at `pendingCall`, which needs consent. */
    state: "running" | "ready" | "waits" | "stopped";
    calls: ViewCall[];
    /** What its model has said since the last call. */
    said: string;
    staged: ChangeSummary[];
    /** What the work did to the git repository, in words, once it has ended. */
    git?: string;
    /** Its commands and checks that did not end well, in words: where there is one, the work must not be called ready. */
    failures?: string[];
    ending?: Ending;
    pendingCall?: ToolCall;
  };
  /** The id of work that the user has taken and that is not handed over yet. */
  taken?: string;
  question?: ViewQuestion;
  /** Whether a suggestion is asked for at this moment. */
  isAsking: boolean;
  /** The code of the reason why the last question for a suggestion gave none. */
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
  /** Everything that there is to draw, as it was right after these changes. */
  view: View;
}

/** What a conversation has cost so far. */
export interface AgentCosts {
  /** The user's own turns, including work ahead that they took. */
  turns: Usage;
  /** Work ahead that was not taken, or not yet. */
  ahead: Usage;
  /** Questions for suggestions. */
  suggestions: Usage;
  /** How many requests were dropped half-way; what they cost is not known. */
  unmeasured: number;
  /** Milliseconds of work for which the user did not wait. */
  savedMs: number;
  /** What everything cost, if the price is known. */
  money?: number;
}
