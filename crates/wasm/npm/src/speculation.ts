import { call, calling } from "./call.js";
import { ChangeSet } from "./change-set.js";
import { DisposedError } from "./errors.js";
import type { raw } from "./raw.js";
import { RunEvents, abortOn } from "./run.js";
import type { Acceptance, Cost, Finished, RunEvent, Status, Transcript } from "./types.js";

type Handle = raw.SpeculationHandle;

/**
 * A prompt that runs ahead of the user. It is begun by `engine.speculate`.
 *
 * ```js
 * for await (const event of speculation) show(event);
 * const { changes } = await speculation.finished;
 * console.log(changes.diff());
 * const acceptance = await speculation.accept();
 * if (acceptance.type === "accepted") history.push(...acceptance.transcript.messages);
 * ```
 *
 * Until it is accepted, nothing in the tree is changed. A speculation that is not referenced any more is given up.
 */
export class Speculation implements AsyncIterable<RunEvent>, Disposable {
  /** Its id: the one that was given, or `s1`, `s2`, … */
  readonly id: string;
  /** The prompt that runs. */
  readonly prompt: string;
  readonly #events: RunEvents;
  readonly #disposed: (() => void) | undefined;
  #handle: Handle | undefined;
  #finished: Promise<Finished> | undefined;

  /** @internal */
  constructor(handle: Handle, signal?: AbortSignal | null, disposed?: () => void) {
    this.#handle = handle;
    this.#disposed = disposed;
    this.id = handle.id();
    this.prompt = handle.prompt();
    this.#events = new RunEvents(() => this.#use().nextEvent());
    abortOn(signal, () => handle.abort(), () => handle.finished());
  }

  /** The state of the speculation. */
  get status(): Status {
    return this.#read((handle) => handle.status());
  }

  /** What it has cost so far. */
  get cost(): Cost {
    return this.#read((handle) => handle.cost());
  }

  /** What an accept would add to the conversation, as far as it has come. */
  get transcript(): Transcript {
    return this.#read((handle) => handle.transcript());
  }

  /** What it would change so far. */
  changes(): ChangeSet {
    return ChangeSet.ofText(call(() => this.#use().changes()));
  }

  /** The end of its work. It does not reject: an error is an ending too, and so is an abort. */
  get finished(): Promise<Finished> {
    this.#finished ??= this.#end(this.#use());
    return this.#finished;
  }

  /**
   * The suggestion for what comes after, when it is there; `undefined` if there is none. Only completed work has one.
   */
  async next(): Promise<string | undefined> {
    return (await this.candidates())[0];
  }

  /** As {@link next}, with further suggestions, best first, if `limits.candidates` asks for several. */
  async candidates(): Promise<string[]> {
    const handle = this.#use();
    return JSON.parse((await calling(() => handle.next())) as string) as string[];
  }

  /**
   * Hands over the work: waits for it if it still runs, and commits all of its changes or none, by the rules that are
   * in force now.
   *
   * If the engine's `aheadWrites` is `ask` and the mode asks before a write, the outcome is `asksFirst`, and nothing
   * was changed. Show the user what {@link changes} says, and call `agree()` of the outcome when they say yes.
   *
   * After a conflict it may be tried again. Rejects with an `AcceptError` if it was accepted before (`taken`) or stands
   * on turns that are not written (`not_yet`), and with a `TreeError` if the tree could not be written; in all these
   * cases nothing was changed.
   */
  accept(): Promise<Acceptance> {
    return this.#accept(false);
  }

  /**
   * Gives up the speculation: the model's request is dropped, staged files are forgotten. Work that was accepted
   * stays.
   */
  abort(): void {
    call(() => this.#use().abort());
  }

  /**
   * The events, from the beginning. A second loop reads on where the first one stopped; leaving a loop does not end the
   * work.
   */
  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    this.#use();
    return this.#events.iterator();
  }

  /** Frees its memory, and gives up the work unless it was accepted. What is still awaited is answered. */
  dispose(): void {
    const handle = this.#handle;
    if (handle === undefined) return;
    this.#handle = undefined;
    handle.close();
    handle.free();
    this.#disposed?.();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async #accept(agreed: boolean): Promise<Acceptance> {
    const handle = this.#use();
    const acceptance = JSON.parse((await calling(() => handle.accept(agreed))) as string) as Acceptance;
    if (acceptance.type !== "asksFirst") return acceptance;
    return { ...acceptance, agree: () => this.#accept(true) };
  }

  async #end(handle: Handle): Promise<Finished> {
    const [record, changes] = (await calling(() => handle.finished())) as [string, string];
    return { ...(JSON.parse(record) as Omit<Finished, "changes">), changes: ChangeSet.ofText(changes) };
  }

  #read<T>(text: (handle: Handle) => string): T {
    return JSON.parse(call(() => text(this.#use()))) as T;
  }

  #use(): Handle {
    if (this.#handle === undefined) throw new DisposedError("disposed", "the speculation was disposed of");
    return this.#handle;
  }
}
