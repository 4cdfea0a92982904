// Where a conversation is kept, as the module calls it. Nothing here throws, whatever the developer's callbacks do.
import { type Answers, single } from "./answers.js";
import type { LedgerStore, SessionStore } from "./types.js";

/** What the module holds of the developer's stores. */
export class KeepPort {
  readonly #sessions: SessionStore | undefined;
  readonly #ledger: LedgerStore | undefined;

  constructor(sessions: SessionStore | undefined, ledger: LedgerStore | undefined) {
    this.#sessions = sessions;
    this.#ledger = ledger;
  }

  session(lines: string): Answers {
    return single(async () => {
      await this.#sessions?.append(lines);
      return "";
    }, "io");
  }

  ledger(lines: string, habits: string): Answers {
    return single(async () => {
      await this.#ledger?.append(lines, habits);
      return "";
    }, "io");
  }
}
