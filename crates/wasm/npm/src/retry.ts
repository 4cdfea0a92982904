// When a request that failed is made again, and which request goes first. The rules are those of
// `providers/src/retry.rs` and `http/retrying_model.rs`.
import { ModelError } from "./errors.js";
import { type Purpose, startTimer } from "./timers.js";
import type { ModelEvent, ProviderWait } from "./types.js";

/** How often a request is made again, and after how long. */
export interface Policy {
  /** The most tries after the first one. */
  readonly retries: number;
  /** The longest wait after the first failure; it doubles with each further one. */
  readonly firstMs: number;
  /** The longest wait at any time. */
  readonly longestMs: number;
  /**
   * The longest time that all waits of one request may take together. If a provider asks for more, the request is not
   * made again.
   */
  readonly patienceMs: number;
  /** Whether a request is made again that was refused because the provider is overloaded or limits the rate. */
  readonly repeatsLimited: boolean;
}

/** The numbers of the Rust crate; a test of the crate compares them. */
export const POLICIES = {
  foreground: { retries: 20, firstMs: 500, longestMs: 20_000, patienceMs: 60_000, repeatsLimited: true },
  background: { retries: 2, firstMs: 2_000, longestMs: 20_000, patienceMs: 30_000, repeatsLimited: false },
} as const satisfies Record<string, Policy>;

/** Whether somebody waits for an answer, or nobody does yet (a suggestion, a speculation). */
export type Priority = keyof typeof POLICIES;

/** A request that is to be made, and how. */
export interface Patience {
  readonly priority: Priority;
  readonly policy: Policy;
  readonly limiter: Limiter;
  /** Ends everything, including a wait. */
  readonly signal: AbortSignal;
  /** Is told of the waits of the user's own requests. */
  readonly onWait?: (wait: ProviderWait | undefined) => void;
}

/** Whether a timer for such a request keeps the process alive. */
export function purposeOf(priority: Priority): Purpose {
  return priority === "background" ? "limit" : "work";
}

/**
 * The events of an answer. Its request is made again if it failed for a passing reason, but never once a piece of the
 * answer was given. Events that only tell the cost are held back until then.
 *
 * A background request waits as long as the user's own is held up, and gives way to it. If nothing of its answer was
 * given, it is made again after that; otherwise it ends with an error.
 */
export async function* patiently(
  attempt: (connection: AbortController) => AsyncIterable<ModelEvent>,
  patience: Patience,
): AsyncGenerator<ModelEvent, undefined> {
  const { priority, policy, limiter, signal } = patience;
  let [failures, waitedMs] = [0, 0];
  let backsOff = false;
  let last: { error: unknown; costs: ModelEvent[] } | undefined;
  const tell = (wait: ProviderWait | undefined): void => {
    if (priority === "background") return;
    try {
      patience.onWait?.(wait);
    } catch (error) {
      console.error(error);
    }
  };
  const isThrough = (): void => {
    if (backsOff) limiter.backOff(-1);
    backsOff = false;
  };
  try {
    for (;;) {
      if (priority === "background") {
        const before = performance.now();
        const isFree = await limiter.turn(policy.patienceMs - waitedMs, signal);
        waitedMs += performance.now() - before;
        if (!isFree) {
          yield* last?.costs ?? [];
          throw last?.error ?? yielded();
        }
      }
      const connection = new AbortController();
      const end = (): void => connection.abort(signal.reason);
      const yields = (): void => connection.abort(YIELDS);
      let costs: ModelEvent[] = [];
      let isGiven = false;
      signal.addEventListener("abort", end, { once: true });
      if (priority === "background") limiter.running.add(yields);
      try {
        for await (const event of attempt(connection)) {
          if (!isGiven && event.type === "usage") {
            costs.push(event);
            continue;
          }
          if (!isGiven) {
            isGiven = true;
            isThrough();
            yield* costs;
            costs = [];
          }
          yield event;
        }
        yield* costs;
        return undefined;
      } catch (error) {
        if (error === YIELDS) {
          if (isGiven) throw yielded();
          continue;
        }
        if (isGiven || signal.aborted) throw error;
        last = { error, costs };
      } finally {
        limiter.running.delete(yields);
        signal.removeEventListener("abort", end);
      }
      failures += 1;
      const ms = delayMs(policy, failures, waitedMs, last.error, Math.random());
      if (isLimit(last.error)) {
        // This also holds if the wait is too long for this request, because no other request may ask before.
        limiter.limited(Math.max(ms ?? 0, last.error.retryAfterMs ?? 0));
        if (priority === "foreground") limiter.interrupt();
      }
      if (ms === undefined) {
        yield* last.costs;
        throw last.error;
      }
      if (isLimit(last.error) && priority === "foreground" && !backsOff) {
        limiter.backOff(1);
        backsOff = true;
      }
      tell({ ms, code: last.error instanceof ModelError ? last.error.code : "other" });
      try {
        await pause(ms, purposeOf(priority), signal);
      } finally {
        tell(undefined);
      }
      waitedMs += ms;
    }
  } finally {
    isThrough();
  }
}

/**
 * How long to wait before a request is made again that failed for the `failures`th time and has already waited this
 * long in all; undefined if it is not made again. What the provider asks for is kept; otherwise the wait is between one
 * half and all of a step that doubles; the last one ends with the policy's patience.
 */
export function delayMs(policy: Policy, failures: number, waitedMs: number, error: unknown, dice: number): number | undefined {
  if (policy.retries < failures || !passes(error)) return undefined;
  if (isLimit(error) && !policy.repeatsLimited) return undefined;
  if (error.code === "unreachable" && UNREACHABLE_RETRIES < failures) return undefined;
  const step = Math.min(policy.firstMs * 2 ** (failures - 1), policy.longestMs);
  const { retryAfterMs } = error;
  if (retryAfterMs === undefined) {
    const leftMs = policy.patienceMs - waitedMs;
    return leftMs > 0 ? Math.min(step * (0.5 + dice / 2), leftMs) : undefined;
  }
  const ms = retryAfterMs + (policy.firstMs * dice) / 10;
  return waitedMs + ms <= policy.patienceMs ? ms : undefined;
}

/**
 * A browser does not distinguish a network that is away for a moment from a wrong address, which should be reported
 * soon.
 */
const UNREACHABLE_RETRIES = 2;

/**
 * Whether the failure may pass: a rate limit, a server in trouble, or a network that is away for a moment. All other
 * requests would fail again.
 */
function passes(error: unknown): error is ModelError {
  if (!(error instanceof ModelError)) return false;
  const { code, status } = error;
  // These mean "not implemented" and "no such version", neither of which will change.
  return code === "rate_limited" || code === "unreachable" || (code === "server" && status !== 501 && status !== 505);
}

/** Whether the provider has less to give than is asked for: a limit for this key, or for everybody. */
function isLimit(error: unknown): error is ModelError {
  if (!(error instanceof ModelError)) return false;
  return error.code === "rate_limited" || (error.code === "server" && (error.status === 503 || error.status === 529));
}

/** The reason with which the connection of a background request is closed when it gives way. */
const YIELDS = Symbol("the user's own turn goes first");

function yielded(): ModelError {
  return new ModelError("rate_limited", "the provider limits the rate of requests, and your own turn goes first");
}

/** What the requests of one model know of its provider's rate limit. Requests of the user never wait for it. */
export class Limiter {
  /** Functions that give up the background requests that are under way. */
  readonly running = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  /** How many of the user's requests were limited and have not succeeded yet. */
  #backingOff = 0;
  /** Until this time only the user's requests may ask. */
  #until = -Infinity;

  /** Leaves the provider alone for this long. */
  limited(ms: number): void {
    this.#until = Math.max(this.#until, performance.now() + ms);
  }

  /** Gives up background requests, because one of the user's requests was limited and needs what they use. */
  interrupt(): void {
    for (const yields of [...this.running]) yields();
  }

  /** Notes that one of the user's requests begins to wait, or has succeeded. */
  backOff(step: 1 | -1): void {
    this.#backingOff += step;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits until background work may ask, but not longer than its patience; resolves to whether it may. */
  async turn(patienceMs: number, signal: AbortSignal): Promise<boolean> {
    const giveUp = performance.now() + patienceMs;
    for (;;) {
      const now = performance.now();
      const until = this.#backingOff > 0 ? Infinity : this.#until;
      if (until <= now) return true;
      // It is useless to wait for what comes too late.
      if (giveUp <= now || (until < Infinity && giveUp < until)) return false;
      await pause(Math.min(until, giveUp) - now, purposeOf("background"), signal, this.#waiting);
    }
  }
}

/** Waits this long, or until it is woken; rejects when the signal fires. */
function pause(ms: number, purpose: Purpose, signal: AbortSignal, woken?: Set<() => void>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const end = (): void => {
      stop();
      woken?.delete(wake);
      signal.removeEventListener("abort", abort);
    };
    const wake = (): void => {
      end();
      resolve();
    };
    const abort = (): void => {
      end();
      reject(signal.reason);
    };
    const stop = startTimer(ms, purpose, wake);
    woken?.add(wake);
    signal.addEventListener("abort", abort, { once: true });
  });
}
