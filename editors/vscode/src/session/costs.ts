import type { AgentCosts, Usage } from "headstart";

export type Purpose = "turns" | "ahead" | "suggestions";

export const purposes: readonly Purpose[] = ["turns", "ahead", "suggestions"];

/** The costs of a conversation, by purpose. */
export type Costs = Omit<AgentCosts, "unmeasured">;

export function noCosts(): Costs {
  const none = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
  return { turns: none, ahead: none, suggestions: none, savedMs: 0 };
}

/** The costs of a conversation in two windows together. */
export function sum(one: Costs, other: Costs): Costs {
  const both = (purpose: Purpose): Usage => ({
    inputTokens: one[purpose].inputTokens + other[purpose].inputTokens,
    cachedInputTokens: one[purpose].cachedInputTokens + other[purpose].cachedInputTokens,
    outputTokens: one[purpose].outputTokens + other[purpose].outputTokens,
  });
  const money = one.money === undefined && other.money === undefined ? {} : { money: (one.money ?? 0) + (other.money ?? 0) };
  return { turns: both("turns"), ahead: both("ahead"), suggestions: both("suggestions"), savedMs: one.savedMs + other.savedMs, ...money };
}

export function tokens(costs: Costs): number {
  return purposes.reduce((total, purpose) => total + costs[purpose].inputTokens + costs[purpose].outputTokens, 0);
}

/** A short form of a number: 950, 1.2k, 3.4M. */
export function shortNumber(number: number): string {
  if (number < 1_000) return String(number);
  const [value, unit] = number < 999_500 ? [number / 1_000, "k"] : [number / 1_000_000, "M"];
  return `${value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}
