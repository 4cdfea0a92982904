// The suggestion on screen, and the filter.

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
  /**
   * Milliseconds after an accept during which another accept is ignored, so that a key that repeats counts once.
   * Default: 100.
   */
  acceptLockMs?: number;
  /**
   * Milliseconds after a suggestion came on screen during which Tab does not take it, because the key may be meant for
   * something else. Default: 400.
   */
  tabDelayMs?: number;
  /**
   * Milliseconds in which a typing slip can be taken back, which brings back the suggestion and its work. Default:
   * 2000.
   */
  slipMs?: number;
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
      /** Further candidates, best first; at most three count in all. */
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
  /** A new turn or chat began: everything is forgotten, and nothing is recorded. */
  | { type: "clear" }
  /** A key was pressed. If you know the text, send `edited` instead. */
  | { type: "keystroke"; /** Whether it put text into the line; such a key dismisses. */ typed: boolean }
  /**
   * The input line holds this text now. Candidates that begin with it stay, and the rest of one shows. A key that leads away from all
   * of them hides them; taken back within `slipMs` it brings them back, and a second such key dismisses.
   */
  | { type: "edited"; text: string }
  /** Shows the next candidate that matches what is typed; after the last comes the first. */
  | { type: "nextCandidate" }
  /** Shows the previous candidate. */
  | { type: "previousCandidate" }
  /** The time that `wakeAt` asked for has come. Early and superfluous events do no harm. */
  | { type: "wake" }
  /** The view goes away: everything is forgotten, and the screen is not touched any more. */
  | { type: "cleanup" };

/** What the controller asks of you. */
export type Effect =
  /** Put this on screen. Nothing is on screen when this comes. */
  | {
      type: "show";
      /** What an accept would insert. */
      suggestion: string;
      /** The part that is not typed yet; absent if nothing is typed. */
      rest?: string;
      /** The position among the candidates, from 1; absent if it is the only one. */
      place?: { number: number; of: number };
    }
  /** Take the suggestion off the screen. This is harmless if nothing is there. */
  | { type: "hide" }
  /** Put this text into the input line, in place of what is typed there. Do not send it. */
  | { type: "insert"; text: string }
  /** Send `wake` at this time, on the clock of `now`. A later one replaces it. */
  | { type: "wakeAt"; at: number }
  /** Write down what became of a suggestion. */
  | { type: "record"; outcome: Outcome }
  /** Begin to run this suggestion ahead, and as many of the others as you like. */
  | { type: "startSpeculation"; suggestion: string; others?: string[] }
  /** Drop the work that was started last and is not accepted. */
  | { type: "abandonSpeculation" }
  /** This candidate is accepted: drop what was started for the others. */
  | { type: "abandonOthers"; suggestion: string };

/** What became of a suggestion. It has lengths and times, never the text. */
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
