import type { Usage } from "headstart";

/** What a session has spent, by what it was spent for. */
export type Purpose = "turns" | "ahead" | "suggestions";

export const purposes: readonly Purpose[] = ["turns", "ahead", "suggestions"];

export interface Row extends Spent {
  purpose: Purpose;
}

interface Spent {
  input: number;
  cached: number;
  output: number;
}

export class Costs {
  readonly #spent: Record<Purpose, Spent> = { turns: none(), ahead: none(), suggestions: none() };
  savedMs = 0;

  constructor(rows: Row[] = []) {
    for (const { purpose, input, cached, output } of rows) this.#spent[purpose] = { input, cached, output };
  }

  add(purpose: Purpose, usage: Usage): void {
    const spent = this.#spent[purpose];
    spent.input += usage.inputTokens;
    spent.cached += usage.cachedInputTokens;
    spent.output += usage.outputTokens;
  }

  get tokens(): number {
    return Object.values(this.#spent).reduce((sum, { input, output }) => sum + input + output, 0);
  }

  /** One row for each purpose. */
  rows(): Row[] {
    return purposes.map((purpose) => ({ purpose, ...this.#spent[purpose] }));
  }
}

/** What was spent after a first look. */
export function difference(later: Usage, first: Usage): Usage {
  return {
    inputTokens: later.inputTokens - first.inputTokens,
    cachedInputTokens: later.cachedInputTokens - first.cachedInputTokens,
    outputTokens: later.outputTokens - first.outputTokens,
  };
}

function none(): Spent {
  return { input: 0, cached: 0, output: 0 };
}

/** 950, 1.2k, 3.4M */
export function shortNumber(number: number): string {
  if (number < 1_000) return String(number);
  const [value, unit] = number < 999_500 ? [number / 1_000, "k"] : [number / 1_000_000, "M"];
  return `${value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}
