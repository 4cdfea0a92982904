// When a request that failed is made again, and who goes first: as in `providers/src/retry.rs` and `http/retrying_model.rs`.
import { ModelError } from "./errors.js";
import { type Purpose, startTimer } from "./timers.js";
import type { ModelEvent, ProviderWait } from "./types.js";

/** How often, and after how long. */
export interface Policy {
  /** At most so many times after the first. */
  readonly retries: number;
  /** The longest wait after the first failure; it doubles with each further one. */
  readonly firstMs: number;
  /** The longest wait at any time. */
  readonly longestMs: number;
  /** The longest that all waits of one request may be together. A provider that asks for more is not waited for. */
  readonly patienceMs: number;
}

/** The numbers of the Rust crate; a test of the crate compares them. */
export const POLICIES = {
  foreground: { retries: 4, firstMs: 500, longestMs: 20_000, patienceMs: 60_000 },
  background: { retries: 2, firstMs: 2_000, longestMs: 20_000, patienceMs: 30_000 },
} as const satisfies Record<string, Policy>;

/** Whether somebody waits for an answer, or nobody yet: a suggestion, a speculation. */
export type Priority = keyof typeof POLICIES;

/** A request as it is to be made. */
export interface Patience {
  readonly priority: Priority;
  readonly policy: Policy;
  readonly limiter: Limiter;
  /** Ends everything, a wait too. */
  readonly signal: AbortSignal;
  /** Hears of the waits of the user's own requests. */
  readonly onWait?: (wait: ProviderWait | undefined) => void;
}

/** Whether a timer for such a request holds the process. */
export function purposeOf(priority: Priority): Purpose {
  return priority === "background" ? "limit" : "work";
}

/**
 * The events of an answer whose request is made again where it failed for a moment: never once a piece of the answer was given. What
 * only tells the cost is held back until then.
 *
 * A background request waits as long as the user's own is held up, and gives way to it: where nothing of its answer was given it is
 * made again after that, else it ends with an error.
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
        // Also where it is too long to be waited for here: nobody else may ask before.
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
 * How long to wait before a request is made again that failed for the `failures`th time, after it has waited so long in all; undefined:
 * not again. What the provider asks for is kept to, otherwise the wait is between one half and all of a step that doubles.
 */
export function delayMs(policy: Policy, failures: number, waitedMs: number, error: unknown, dice: number): number | undefined {
  if (policy.retries < failures || !passes(error)) return undefined;
  if (error.code === "unreachable" && UNREACHABLE_RETRIES < failures) return undefined;
  const step = Math.min(policy.firstMs * 2 ** (failures - 1), policy.longestMs);
  const { retryAfterMs } = error;
  const ms = retryAfterMs === undefined ? step * (0.5 + dice / 2) : retryAfterMs + (policy.firstMs * dice) / 10;
  return waitedMs + ms <= policy.patienceMs ? ms : undefined;
}

/** A browser does not tell a network that is away for a moment from a wrong address, which is to be told soon. */
const UNREACHABLE_RETRIES = 2;

/** A rate limit, a server in trouble, and a network that is away for a moment. Everything else would fail again. */
function passes(error: unknown): error is ModelError {
  if (!(error instanceof ModelError)) return false;
  const { code, status } = error;
  // Not implemented, and no such version: neither will be.
  return code === "rate_limited" || code === "unreachable" || (code === "server" && status !== 501 && status !== 505);
}

/** Whether the provider has less to give than is asked for: a limit for this key, or for everybody. */
function isLimit(error: unknown): error is ModelError {
  if (!(error instanceof ModelError)) return false;
  return error.code === "rate_limited" || (error.code === "server" && (error.status === 503 || error.status === 529));
}

/** Why the connection of a background request was closed that gave way. */
const YIELDS = Symbol("the user's own turn goes first");

function yielded(): ModelError {
  return new ModelError("rate_limited", "the provider limits the rate of requests, and your own turn goes first");
}

/** What the requests of one model know of its provider's rate limit. Those of the user never wait for it. */
export class Limiter {
  /** How background requests that are under way are given up. */
  readonly running = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  /** The user's requests that were limited and have not got through. */
  #backingOff = 0;
  /** Nobody but the user asks before. */
  #until = -Infinity;

  /** The provider is to be left alone for so long. */
  limited(ms: number): void {
    this.#until = Math.max(this.#until, performance.now() + ms);
  }

  /** One of the user's requests was limited: it needs what others use. */
  interrupt(): void {
    for (const yields of [...this.running]) yields();
  }

  /** One of the user's requests begins to wait, or is through. */
  backOff(step: 1 | -1): void {
    this.#backingOff += step;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Waits until background work may ask, for so long at the most; whether it may. */
  async turn(patienceMs: number, signal: AbortSignal): Promise<boolean> {
    const giveUp = performance.now() + patienceMs;
    for (;;) {
      const now = performance.now();
      const until = this.#backingOff > 0 ? Infinity : this.#until;
      if (until <= now) return true;
      // No use in waiting for what comes too late.
      if (giveUp <= now || (until < Infinity && giveUp < until)) return false;
      await pause(Math.min(until, giveUp) - now, purposeOf("background"), signal, this.#waiting);
    }
  }
}

/** Waits so long, or until it is woken; rejects when the signal fires. */
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
