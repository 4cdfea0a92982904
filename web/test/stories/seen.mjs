// In place of `headstart` for a session that plays a story: its conversations can be looked at.
import { Agent as Made } from "headstart";

export * from "headstart";

/** What the agent of the story's session is, and all that its agents gave. */
export const seen = { agent: undefined, lines: "", ledger: "" };

export class Agent extends Made {
  constructor(options) {
    const { sessions, ledger } = options;
    super({
      ...options,
      sessions: { append: (lines) => ((seen.lines += lines), sessions.append(lines)) },
      ledger: { ...ledger, append: (lines, habits) => ((seen.ledger += lines), ledger.append(lines, habits)) },
    });
    seen.agent = this;
  }
}
