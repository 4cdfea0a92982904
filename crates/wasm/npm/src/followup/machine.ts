// The state machine for the one suggestion on screen. It is the same as that of the Rust crate `followup-state`, whose
// tests hold both to the same histories.
import type { AcceptMethod, ControllerConfig, Effect } from "../types-controller.js";
import { Choice, candidates, restAfter } from "./suggestion.js";

/** An event whose texts have passed the filter. */
export type Event =
  | { type: "requested"; request: number }
  | { type: "suggested"; request: number; suggestions: string[] }
  | { type: "suppressed"; request: number; reason: string }
  | { type: "enabled"; enabled: boolean }
  | { type: "accept"; method: AcceptMethod; fallbackText: string | undefined; skipInsert: boolean }
  | { type: "keystroke"; typed: boolean }
  | { type: "edited"; text: string }
  | { type: "dismiss" | "clear" | "nextCandidate" | "previousCandidate" | "wake" | "cleanup" };

export const DEFAULTS: Required<ControllerConfig> = { enabled: true, showDelayMs: 300, acceptLockMs: 100, tabDelayMs: 400, slipMs: 2000 };

interface Shown {
  choice: Choice;
  at: number;
  firstKeystroke: number | undefined;
}

export class Machine {
  readonly #config: Required<ControllerConfig>;
  #enabled: boolean;
  #waiting: { choice: Choice; since: number } | undefined;
  #shown: Shown | undefined;
  #speculating: Choice | undefined;
  /**
   * The text of the input line, as far as the host tells it. What waits and what is shown begin with it, except during
   * a slip.
   */
  #typed = "";
  /** A slip: one key that leads away from everything that waits or is shown, and that may be taken back. */
  #slip: { at: number; length: number } | undefined;
  #acceptedAt: number | undefined;
  #newestRequest = -1;
  #settledRequest = -1;
  #effects: Effect[] = [];

  constructor(config: Required<ControllerConfig>) {
    this.#config = config;
    this.#enabled = config.enabled;
  }

  get visible(): string | undefined {
    return this.#shown?.choice.current(this.#typed);
  }

  handle(event: Event, now: number): Effect[] {
    this.#effects = [];
    switch (event.type) {
      case "requested": this.#newestRequest = Math.max(this.#newestRequest, event.request); break;
      case "suggested": if (this.#isCurrent(event.request)) this.#suggested(now, candidates(event.suggestions)); break;
      case "suppressed": if (this.#isCurrent(event.request)) this.#tell({ type: "record", outcome: { outcome: "suppressed", reason: event.reason } }); break;
      case "enabled": this.#setEnabled(event.enabled); break;
      case "accept": this.#accept(now, event.method, event.fallbackText, event.skipInsert); break;
      case "dismiss": this.#dismiss(now); break;
      case "keystroke": this.#keystroke(now, event.typed); break;
      case "edited": this.#edited(now, event.text); break;
      case "nextCandidate": this.#turn(now, 1); break;
      case "previousCandidate": this.#turn(now, -1); break;
      case "wake": this.#wake(now); break;
      case "clear": case "cleanup":
        this.#typed = "";
        this.#reset();
        if (event.type === "clear") this.#tell({ type: "hide" });
    }
    return this.#effects;
  }

  #tell(effect: Effect): void {
    this.#effects.push(effect);
  }

  /** Notes the request and says whether its answer may still change anything. */
  #isCurrent(request: number): boolean {
    if (request < this.#newestRequest || request <= this.#settledRequest) return false;
    this.#newestRequest = request;
    return true;
  }

  /** Makes every answer to a request known so far late. */
  #settle(): void {
    this.#settledRequest = this.#newestRequest;
  }

  #suggested(now: number, suggestions: string[]): void {
    this.#waiting = undefined;
    const [suggestion, ...others] = suggestions;
    if (suggestion === undefined) {
      this.#shown = undefined;
      this.#slip = undefined;
      this.#abandon();
      return this.#tell({ type: "hide" });
    }
    if (!this.#enabled) return;
    // Something else is on offer now, so a slip cannot lead back any more.
    if (this.#slip) this.#ignore(now);
    const choice = new Choice(suggestions);
    // The user is already typing something else.
    if (choice.current(this.#typed) === undefined) return this.#abandon();
    if (!this.#speculating?.offersTheSameAs(choice)) {
      this.#abandon();
      this.#tell({ type: "startSpeculation", suggestion, ...(others.length > 0 && { others }) });
      this.#speculating = choice;
    }
    this.#waiting = { choice, since: now };
    this.#tell({ type: "wakeAt", at: now + this.#config.showDelayMs });
  }

  #wake(now: number): void {
    if (this.#slip) return this.#wakeInSlip(now);
    if (!this.#waiting) return;
    // After a clock jumped back the wait begins anew, because otherwise it would last until the clock had caught up.
    this.#waiting.since = Math.min(this.#waiting.since, now);
    const { choice, since } = this.#waiting;
    if (now - since < this.#config.showDelayMs) return this.#tell({ type: "wakeAt", at: since + this.#config.showDelayMs });
    this.#waiting = undefined;
    if (this.#shown) this.#tell({ type: "hide" });
    this.#shown = { choice, at: now, firstKeystroke: undefined };
    this.#show();
  }

  #show(): void {
    const suggestion = this.visible;
    if (suggestion === undefined || !this.#shown) return;
    const place = this.#shown.choice.place(this.#typed);
    // Everything counts as typed if the text is the same except for blanks or a full stop.
    const rest = this.#typed !== "" && { rest: restAfter(suggestion, this.#typed) ?? "" };
    this.#tell({ type: "show", suggestion, ...rest, ...(1 < place.of && { place }) });
  }

  #turn(now: number, step: 1 | -1): void {
    if (this.#slip || !this.#shown) return;
    this.#shown.firstKeystroke ??= now;
    if (!this.#shown.choice.turn(this.#typed, step)) return;
    this.#tell({ type: "hide" });
    this.#show();
  }

  #edited(now: number, text: string): void {
    if (text === this.#typed) return;
    if (this.#shown) this.#shown.firstKeystroke ??= now;
    if (this.#slip && this.#config.slipMs <= since(this.#slip.at, now)) {
      // The wake of the slip is late, or never came.
      this.#dismiss(now);
      this.#typed = text;
      return;
    }
    if (!this.#slip && this.#leadsAway(text) && isOneKey(this.#typed, text)) return this.#beginSlip(now, text);
    const goesPast = (choice: Choice): boolean => choice.current(text) === undefined;
    const dropped = this.#waiting !== undefined && goesPast(this.#waiting.choice);
    if (dropped) this.#waiting = undefined;
    if (this.#shown && goesPast(this.#shown.choice)) this.#ignore(now);
    const isBack = this.#slip !== undefined;
    this.#slip = undefined;
    this.#typed = text;
    if (this.#shown) {
      this.#tell({ type: "hide" });
      this.#show();
    }
    // The wake of the wait may have come during the slip.
    if (this.#waiting && isBack) this.#tell({ type: "wakeAt", at: Math.max(this.#waiting.since + this.#config.showDelayMs, now) });
    if (!this.#waiting && (dropped || !this.#shown)) this.#abandon();
    if (!this.#waiting && !this.#shown && this.#typed !== "") this.#settle();
  }

  #accept(now: number, method: AcceptMethod, fallback: string | undefined, skipInsert: boolean): void {
    if (this.#acceptIsLocked(now) || this.#tabIsEarly(now, method)) return;
    this.#waiting = undefined;
    if (this.#slip) this.#ignore(now);
    const live = this.visible;
    const shown = this.#shown;
    this.#shown = undefined;
    const text = live ?? (fallback || undefined);
    if (text === undefined) return this.#abandon();
    this.#typed = "";
    this.#tell({
      type: "record",
      outcome: {
        outcome: "accepted",
        acceptMethod: method,
        source: shown ? "live" : "fallback",
        timeToAcceptMs: shown ? since(shown.at, now) : 0,
        ...timeToFirstKeystroke(shown),
        suggestionLength: [...text].length,
      },
    });
    if (shown) this.#tell({ type: "hide" });
    // The speculation of the accepted text now belongs to the host; a speculation of another text is not taken by
    // anybody.
    if (this.#speculating?.all.includes(text)) {
      if (this.#speculating.all.length > 1) this.#tell({ type: "abandonOthers", suggestion: text });
      this.#speculating = undefined;
    } else {
      this.#abandon();
    }
    if (!skipInsert) this.#tell({ type: "insert", text });
    this.#acceptedAt = now;
    this.#settle();
  }

  /** Whether the lock after an accept holds. A lock whose start lies in the future (the clock jumped back) does not. */
  #acceptIsLocked(now: number): boolean {
    return this.#acceptedAt !== undefined && this.#acceptedAt <= now && now - this.#acceptedAt < this.#config.acceptLockMs;
  }

  /** Whether the key was pressed before its user could see what it takes. */
  #tabIsEarly(now: number, method: AcceptMethod): boolean {
    const shown = this.#shown;
    const isEarly = shown !== undefined && !this.#slip && method === "tab" && shown.at <= now && now - shown.at < this.#config.tabDelayMs;
    if (isEarly) shown.firstKeystroke ??= now;
    return isEarly;
  }

  #dismiss(now: number): void {
    this.#waiting = undefined;
    this.#settle();
    this.#ignore(now);
    this.#abandon();
  }

  /** The user ignored what is on screen: just now, or with a slip that was the beginning of another text. */
  #ignore(now: number): void {
    const [slip, shown] = [this.#slip, this.#shown];
    const length = slip ? slip.length : [...(this.visible ?? "")].length;
    this.#slip = undefined;
    this.#shown = undefined;
    if (!shown) return;
    this.#tell({
      type: "record",
      outcome: { outcome: "ignored", timeToIgnoreMs: since(shown.at, slip ? slip.at : now), ...timeToFirstKeystroke(shown), suggestionLength: length },
    });
    if (!slip) this.#tell({ type: "hide" });
  }

  #keystroke(now: number, typed: boolean): void {
    if (this.#shown) this.#shown.firstKeystroke ??= now;
    if (typed) this.#dismiss(now);
  }

  #setEnabled(enabled: boolean): void {
    if (enabled === this.#enabled) return;
    const wasShown = this.#shown !== undefined;
    this.#enabled = enabled;
    this.#reset();
    if (wasShown) this.#tell({ type: "hide" });
  }

  #reset(): void {
    if (this.#slip) this.#ignore(this.#slip.at);
    this.#waiting = undefined;
    this.#shown = undefined;
    this.#acceptedAt = undefined;
    this.#settle();
    this.#abandon();
  }

  #abandon(): void {
    if (this.#speculating) this.#tell({ type: "abandonSpeculation" });
    this.#speculating = undefined;
  }

  /** Whether nothing that waits or is shown goes with the text, while something did before. */
  #leadsAway(text: string): boolean {
    const choices = [this.#waiting?.choice, this.#shown?.choice].filter((choice) => choice !== undefined);
    return choices.length > 0 && choices.every((choice) => choice.current(text) === undefined);
  }

  #beginSlip(now: number, text: string): void {
    this.#slip = { at: now, length: [...(this.visible ?? "")].length };
    this.#typed = text;
    if (this.#shown) this.#tell({ type: "hide" });
    this.#tell({ type: "wakeAt", at: now + this.#config.slipMs });
  }

  /** Gives up everything, once the time is over in which the key could be taken back. */
  #wakeInSlip(now: number): void {
    if (!this.#slip) return;
    // After a clock jumped back the wait begins anew.
    this.#slip.at = Math.min(this.#slip.at, now);
    const overAt = this.#slip.at + this.#config.slipMs;
    if (now < overAt) this.#tell({ type: "wakeAt", at: overAt });
    else this.#dismiss(now);
  }
}

function since(from: number, now: number): number {
  return Math.max(0, now - from);
}

function timeToFirstKeystroke(shown: Shown | undefined): { timeToFirstKeystrokeMs?: number } {
  return shown?.firstKeystroke === undefined ? {} : { timeToFirstKeystrokeMs: since(shown.at, shown.firstKeystroke) };
}

/** Whether one text results from the other by one key: one character more, one less, or another one. */
function isOneKey(before: string, after: string): boolean {
  const [one, other] = [[...before], [...after]];
  const differs = one.findIndex((c, at) => c !== other[at]);
  const start = differs < 0 ? one.length : differs;
  const [oneLeft, otherLeft] = [one.length - start, other.length - start];
  let end = 0;
  while (end < Math.min(oneLeft, otherLeft) && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return oneLeft - end <= 1 && otherLeft - end <= 1;
}
