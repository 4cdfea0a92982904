// Timers. In Node a running timer keeps the process alive, so each of the package's timers says whether it should.

/** A timer of Node. A browser's timer is a number, and keeps nothing alive. */
type Timer = { ref?(): unknown; unref?(): unknown };

/** The longest time that a timer can have. */
export const LONGEST_MS = 2 ** 31 - 1;

/**
 * What a timer is for. `work` takes time, and keeps the process alive until it is done, as a connection does. A `limit`
 * on work keeps it alive only while a caller waits for an answer of this package, because then the limit may be the
 * only thing that still ends that wait.
 */
export type Purpose = "work" | "limit";

const limits = new Set<Timer>();

let awaited = false;

/** Says whether a caller waits for an answer of this package. */
export function setAwaited(now: boolean): void {
  if (awaited === now) return;
  awaited = now;
  for (const timer of limits) hold(timer);
}

function hold(timer: Timer): void {
  if (awaited) timer.ref?.();
  else timer.unref?.();
}

/** Rings once, after at most {@link LONGEST_MS}. The returned function stops it. */
export function startTimer(ms: number, purpose: Purpose, ring: () => void): () => void {
  const timer = setTimeout(() => {
    limits.delete(timer as Timer);
    ring();
  }, Math.max(0, Math.min(ms, LONGEST_MS)));
  if (purpose === "limit") {
    limits.add(timer as Timer);
    hold(timer as Timer);
  }
  return () => {
    clearTimeout(timer);
    limits.delete(timer as Timer);
  };
}

/** A wait of the module: one answer, which is empty. It also comes when it is not wanted any more. */
export class Sleep {
  readonly #purpose: Purpose;
  #left: number;
  #end: () => void = () => {};

  constructor(ms: number, purpose: Purpose) {
    this.#left = ms;
    this.#purpose = purpose;
  }

  next(): Promise<undefined> {
    return new Promise((resolve) => this.#go(() => resolve(undefined)));
  }

  cancel(): void {
    this.#end();
  }

  #go(rung: () => void): void {
    const ms = Math.min(this.#left, LONGEST_MS);
    this.#left -= ms;
    const stop = startTimer(ms, this.#purpose, () => (this.#left > 0 ? this.#go(rung) : rung()));
    this.#end = () => {
      stop();
      rung();
    };
  }
}
