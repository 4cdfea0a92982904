// Answers of a callback that come one after the other, as the module asks for them: a model's events, a user's consent.
import { failureOf } from "./errors.js";
import type { Model } from "./types.js";

/**
 * The signals of answers that nobody waits for yet. A model that passes its signal on to another model passes this on
 * too.
 */
export const inBackground = new WeakSet<AbortSignal>();

/** The models whose requests have to name a model of their provider. */
export const wantsName = new WeakSet<Model>();

/** What the module holds of the answers. Its promise also settles when the answers are not wanted any more. */
export class Answers {
  readonly #controller = new AbortController();
  readonly #source: (signal: AbortSignal) => AsyncIterator<string>;
  readonly #code: string;
  #iterator: AsyncIterator<string> | undefined;
  #settle: ((answer: string | undefined) => void) | undefined;

  /** `code` is for errors that have no code of their own. */
  constructor(source: (signal: AbortSignal) => AsyncIterator<string>, code: string, isInBackground = false) {
    if (isInBackground) inBackground.add(this.#controller.signal);
    this.#source = source;
    this.#code = code;
  }

  /** The next answer; `undefined` at the end. It rejects with the JSON of a failure. */
  next(): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#step().then(resolve, (thrown: unknown) => reject(JSON.stringify(failureOf(thrown, this.#code))));
    });
  }

  /** Says that the answers are not wanted any more. */
  cancel(): void {
    this.#settle?.(undefined);
    this.#controller.abort();
    try {
      // A generator that waits for something reaches its `finally` only when that is there.
      Promise.resolve(this.#iterator?.return?.()).catch(() => {});
    } catch {
      // Nobody is left who could be told of an error.
    }
  }

  async #step(): Promise<string | undefined> {
    this.#iterator ??= this.#source(this.#controller.signal);
    const { done, value } = await this.#iterator.next();
    return done === true ? undefined : value;
  }
}

/** One answer. */
export function single(answer: (signal: AbortSignal) => Promise<string>, code: string): Answers {
  return new Answers(async function* (signal) {
    yield await answer(signal);
  }, code);
}
