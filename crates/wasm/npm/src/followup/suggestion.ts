// A suggestion compared with what its user types, and the candidates of one moment.
import { isWhiteSpace, trim, trimEnd } from "./characters.js";
import { maxCandidates } from "./tables.js";

/** Whether a text is this suggestion: the same except for white space around it and a full stop at its end. */
export function isSame(suggestion: string, text: string): boolean {
  return withoutFullStop(text) === withoutFullStop(suggestion);
}

function withoutFullStop(text: string): string {
  return trimEnd(trim(text).replace(/[.。]$/, ""), isWhiteSpace);
}

/**
 * The rest of the suggestion after a text with which it begins. Capital and small letters count as the same; blanks
 * count.
 */
export function restAfter(suggestion: string, typed: string): string | undefined {
  const own = [...suggestion];
  const all = [...typed];
  const goes = all.every((c, at) => c === own[at] || c.toLowerCase() === own[at]?.toLowerCase());
  return goes ? own.slice(all.length).join("") : undefined;
}

/** The suggestions without repetitions, as many as there is room for. */
export function candidates(suggestions: readonly string[]): string[] {
  const all: string[] = [];
  for (const suggestion of suggestions) {
    if (all.length < maxCandidates && !all.some((other) => isSame(other, suggestion))) all.push(suggestion);
  }
  return all;
}

/** The suggestions of one moment, and the one to which the user turned. */
export class Choice {
  /** At least one, best first. */
  readonly all: readonly string[];
  /** The candidate to show if it matches what is typed; otherwise the best that does. */
  #preferred = 0;

  constructor(all: readonly string[]) {
    this.all = all;
  }

  offersTheSameAs(other: Choice): boolean {
    return this.all.length === other.all.length && this.all.every((suggestion, at) => suggestion === other.all[at]);
  }

  /** The candidate to show after what is typed. */
  current(typed: string): string | undefined {
    const matching = this.#matching(typed);
    return this.all[this.#currentOf(matching)];
  }

  place(typed: string): { number: number; of: number } {
    const matching = this.#matching(typed);
    return { number: Math.max(1, matching.indexOf(this.#currentOf(matching)) + 1), of: Math.max(1, matching.length) };
  }

  /** Turns to another candidate that matches what is typed, in a cycle; `false` if there is no other. */
  turn(typed: string, step: 1 | -1): boolean {
    const matching = this.#matching(typed);
    const next = matching[(matching.indexOf(this.#currentOf(matching)) + step + matching.length) % matching.length];
    if (next === undefined) return false;
    this.#preferred = next;
    return 1 < matching.length;
  }

  #currentOf(matching: number[]): number {
    return matching.includes(this.#preferred) ? this.#preferred : (matching[0] ?? -1);
  }

  #matching(typed: string): number[] {
    const matches = (suggestion: string): boolean => restAfter(suggestion, typed) !== undefined || isSame(suggestion, typed);
    return this.all.flatMap((suggestion, at) => (matches(suggestion) ? [at] : []));
  }
}
