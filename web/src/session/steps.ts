/** A stretch of time, in milliseconds from the beginning of its step. */
export interface Stretch {
  kind: "model" | "tools" | "read" | "wait" | "decide";
  from: number;
  to: number;
}

/** One prompt with the times of everything that happened for it: a row of the timeline. */
export interface Step {
  prompt: string;
  /** Whether the work began before the user asked for it. */
  ahead: boolean;
  /** How the step ended. */
  fate: "running" | "done" | "taken" | "given up" | "conflict" | "failed";
  stretches: Stretch[];
  /** How long the work took, without the user's decisions. */
  workMs: number;
  /** How long the user waited from pressing the key until the end. */
  waitedMs: number;
  /** How long the work had taken when the user took it. */
  savedMs: number;
}

/** Records the times of a step while it happens. */
export class Stopwatch {
  readonly step: Step;
  readonly #began = performance.now();
  readonly #open = new Map<"work" | "user", { kind: Stretch["kind"]; from: number }>();

  constructor(prompt: string, ahead: boolean) {
    this.step = { prompt, ahead, fate: "running", stretches: [], workMs: 0, waitedMs: 0, savedMs: 0 };
  }

  get now(): number {
    return performance.now() - this.#began;
  }

  /** How long the work has taken so far. */
  get workMs(): number {
    return this.sum("model", "tools");
  }

  /** Sets what the work does from now on; without `kind` the work is over. */
  work(kind?: "model" | "tools"): void {
    this.#change("work", kind);
  }

  /** Forgets the last stretch of the work, because what was announced did not begin. */
  drop(): void {
    this.#open.delete("work");
  }

  /** Sets what the user does from now on; without `kind` nothing is recorded. */
  user(kind?: "read" | "wait" | "decide"): void {
    this.#change("user", kind);
  }

  end(fate: Step["fate"]): void {
    this.work();
    this.user();
    this.step.fate = fate;
    this.step.workMs = this.workMs;
    this.step.waitedMs = this.sum("wait");
  }

  /** How long stretches of these kinds took so far, in milliseconds. */
  sum(...kinds: Stretch["kind"][]): number {
    const open = [...this.#open.values()].map(({ kind, from }) => ({ kind, from, to: this.now }));
    return [...this.step.stretches, ...open].filter(({ kind }) => kinds.includes(kind)).reduce((total, { from, to }) => total + to - from, 0);
  }

  #change(lane: "work" | "user", kind?: Stretch["kind"]): void {
    const open = this.#open.get(lane);
    if (open?.kind === kind) return;
    const now = this.now;
    if (open) this.step.stretches.push({ ...open, to: now });
    if (kind) this.#open.set(lane, { kind, from: now });
    else this.#open.delete(lane);
  }
}

/** The sums over all steps. */
export function totals(steps: readonly Step[]): { waitedMs: number; savedMs: number; taken: number; wastedMs: number } {
  const sum = (pick: (step: Step) => number) => steps.reduce((total, step) => total + pick(step), 0);
  return {
    waitedMs: sum((step) => step.waitedMs),
    savedMs: sum((step) => step.savedMs),
    taken: steps.filter((step) => step.fate === "taken").length,
    wastedMs: sum((step) => (step.fate === "given up" ? step.workMs : 0)),
  };
}

export const seconds = (ms: number) => (ms < 95 ? `${ms < 9.95 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
