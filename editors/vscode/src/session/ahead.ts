import type { ChangeSet, ChangeSummary, Finished, Speculation } from "headstart";
import type { AheadCard, FileLine } from "../view/protocol.js";
import { Teller, counted, subjectOf } from "./teller.js";

/** The work behind one suggestion, with what it has told so far. */
export class Ahead {
  readonly speculation: Speculation;
  readonly prompt: string;
  /** What the model was told before the prompt. */
  readonly note: string;
  readonly teller: Teller;
  /** Resolves when everything was told. */
  readonly told: Promise<Finished>;
  finished: Finished | undefined;
  #files: FileLine[] = [];

  constructor(speculation: Speculation, prompt: string, note: string, changed: () => void) {
    this.speculation = speculation;
    this.prompt = prompt;
    this.note = note;
    this.teller = new Teller(changed);
    this.told = this.#listen(changed);
    // Whoever waits hears of the error; where nobody does it is no unhandled one.
    this.told.catch(() => {});
  }

  get id(): string {
    return this.speculation.id;
  }

  get files(): FileLine[] {
    return this.#files;
  }

  changes(): ChangeSet {
    return this.finished?.changes ?? this.speculation.changes();
  }

  async #listen(changed: () => void): Promise<Finished> {
    for await (const event of this.speculation) {
      if (event.type === "toolResult") this.#files = fileLines(this.speculation.changes().summary(), this.id);
      this.teller.tell(event);
    }
    this.finished = await this.speculation.finished;
    this.#files = fileLines(this.finished.changes.summary(), this.id);
    this.teller.ended(this.finished.ending.status, this.finished.pendingCall);
    changed();
    return this.finished;
  }

  card(): AheadCard {
    const done = this.teller.calls.filter((call) => call.state === "done" || call.state === "failed").length;
    const facts = [
      ...(done === 0 ? [] : [counted(done, "call")]),
      ...(this.#files.length === 0 ? [] : [`${counted(this.#files.length, "file")} staged`]),
    ].join(", ");
    const headline = (word: string) => (facts === "" ? word : `${word}: ${facts}`);
    const files = this.#files;
    const calls = this.teller.calls.map((call) => ({ ...call }));
    const ending = this.finished?.ending;
    if (ending === undefined) return { state: "running", headline: headline("Working ahead"), calls, files };
    switch (ending.status) {
      case "completed":
        return { state: "ready", headline: headline("Ready"), calls, files };
      case "boundary": {
        const call = this.finished?.pendingCall;
        const waitsFor = call && `${call.name} ${subjectOf(call)}: ${ending.verdict.detail}`;
        return { state: "waits", headline: headline("Waits for your consent"), calls, files, ...(waitsFor && { waitsFor }) };
      }
      default:
        return { state: "stopped", headline: headline("Stopped early"), calls, files };
    }
  }
}

export function fileLines(changes: ChangeSummary[], staged: string, merged: string[] = []): FileLine[] {
  return changes.map(({ path, type, added, removed }) => ({
    path,
    change: type,
    added,
    removed,
    staged,
    ...(merged.includes(path) && { merged: true }),
  }));
}

/** The suggestions of this moment by their text, with the work that runs for them. */
export class Offers {
  readonly #work = new Map<string, Ahead>();

  get(text: string): Ahead | undefined {
    return this.#work.get(text);
  }

  add(text: string, work: Ahead): void {
    this.#work.set(text, work);
  }

  /** Hands the work for this prompt over: it is no longer dropped with the others. */
  take(text: string): Ahead | undefined {
    const work = this.#work.get(text);
    this.#work.delete(text);
    return work;
  }

  keepOnly(text: string, dropped: (work: Ahead) => void): void {
    for (const [key, work] of this.#work) {
      if (key === text) continue;
      this.#work.delete(key);
      dropped(work);
    }
  }

  giveUp(dropped: (work: Ahead) => void): void {
    for (const work of this.#work.values()) dropped(work);
    this.#work.clear();
  }

  find(id: string): Ahead | undefined {
    return [...this.#work.values()].find((work) => work.id === id);
  }
}

/** Change sets whose two sides can be looked at, newest last. */
export class KeptChanges {
  static readonly #MOST = 20;
  readonly #kept = new Map<string, ChangeSet>();

  get(id: string): ChangeSet | undefined {
    return this.#kept.get(id);
  }

  add(id: string, changes: ChangeSet): void {
    this.#kept.set(id, changes);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KeptChanges.#MOST) break;
      this.#kept.delete(oldest);
    }
  }
}
