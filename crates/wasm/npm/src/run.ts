// What a speculation and a turn share: events for one reader at a time, and a signal that ends them.
import { call, calling } from "./call.js";
import type { RunEvent } from "./types.js";

/** The events of a run. */
export class RunEvents {
  readonly #next: () => Promise<unknown>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(next: () => Promise<unknown>) {
    this.#next = next;
  }

  /** Reads on where the last reader stopped. Leaving a loop only ends the loop. */
  iterator(): AsyncIterator<RunEvent> {
    return {
      next: async (): Promise<IteratorResult<RunEvent>> => {
        // The events come one after the other, even if the caller does not wait for each.
        const event = this.#last.then(() => calling(this.#next));
        this.#last = event.catch(() => undefined);
        const text = (await event) as string | undefined;
        return text === undefined ? { done: true, value: undefined } : { done: false, value: JSON.parse(text) as RunEvent };
      },
      return: async () => ({ done: true, value: undefined }),
    };
  }
}

/** Has a signal end a run, as long as the run lasts. */
export function abortOn(signal: AbortSignal | null | undefined, abort: () => void, ended: () => Promise<unknown>): void {
  if (!signal) return;
  if (signal.aborted) return abort();
  signal.addEventListener("abort", abort, { once: true });
  const forget = () => signal.removeEventListener("abort", abort);
  call(ended).then(forget, forget);
}
