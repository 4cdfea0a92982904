import type { Ending, Finished, RunEvent, Speculation } from "headstart";
import { type Entry, tell } from "./log.js";
import { Stopwatch } from "./steps.js";

/** The speculation behind a suggestion, and what it has told so far. */
export class Ahead {
  readonly speculation: Speculation;
  readonly prompt: string;
  readonly watch: Stopwatch;
  readonly entries: Entry[] = [];
  ending: Ending | undefined;
  /** When all of it has been told. */
  readonly told: Promise<void>;
  /** Whoever shows the events from now on, once the user has taken the work. */
  follow: ((event: RunEvent) => void) | undefined;

  constructor(speculation: Speculation, onChange: () => void) {
    this.speculation = speculation;
    this.prompt = speculation.prompt;
    this.watch = new Stopwatch(this.prompt, true);
    this.watch.work("model");
    this.told = this.#listen(onChange);
  }

  get finished(): Promise<Finished> {
    return this.speculation.finished;
  }

  async #listen(onChange: () => void): Promise<void> {
    try {
      for await (const event of this.speculation) {
        this.watch.work(event.type === "toolCall" ? "tools" : "model");
        tell(this.entries, event, true);
        this.follow?.(event);
        onChange();
      }
      this.ending = (await this.finished).ending;
    } catch (error) {
      this.ending = { status: "failed", error: (error as Error).message, code: "other" };
    }
    // The call at a boundary is told and does not run.
    if (this.ending.status === "boundary") this.watch.drop();
    else this.watch.work();
    onChange();
  }
}
