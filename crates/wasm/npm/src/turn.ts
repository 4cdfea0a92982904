import { call, calling } from "./call.js";
import { DisposedError } from "./errors.js";
import type { raw } from "./raw.js";
import { RunEvents, abortOn } from "./run.js";
import type { RunEvent, TurnFinished } from "./types.js";

/**
 * A turn in the foreground: the user is asked about what the mode does not allow (`consent`), and the changes of a call
 * are in the tree before the next one runs. It is begun by `engine.turn`, and goes on even if it is not referenced any
 * more.
 */
export class Turn implements AsyncIterable<RunEvent>, Disposable {
  readonly #events: RunEvents;
  #handle: raw.TurnHandle | undefined;
  #finished: Promise<TurnFinished> | undefined;

  /** @internal */
  constructor(handle: raw.TurnHandle, signal?: AbortSignal | null) {
    this.#handle = handle;
    this.#events = new RunEvents(() => this.#use().nextEvent());
    abortOn(signal, () => handle.abort(), () => handle.finished());
  }

  /** The end of the turn. It does not reject: an error is an ending too, and so is an abort. */
  get finished(): Promise<TurnFinished> {
    this.#finished ??= this.#end(this.#use());
    return this.#finished;
  }

  /** Interrupts the turn where it is. What was done stays done, and is in the transcript. */
  abort(): void {
    call(() => this.#use().abort());
  }

  /**
   * The events, from the beginning. A second loop reads on where the first one stopped; leaving a loop does not end the
   * turn.
   */
  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    this.#use();
    return this.#events.iterator();
  }

  /** Frees its memory, and interrupts the turn if it still runs. What is still awaited is answered. */
  dispose(): void {
    this.#handle?.close();
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async #end(handle: raw.TurnHandle): Promise<TurnFinished> {
    return JSON.parse((await calling(() => handle.finished())) as string) as TurnFinished;
  }

  #use(): raw.TurnHandle {
    if (this.#handle === undefined) throw new DisposedError("disposed", "the turn was disposed of");
    return this.#handle;
  }
}
