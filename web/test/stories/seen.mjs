// Replaces `headstart` for a session that plays a story, so that the test can look at its conversations.
import { Agent as Made } from "headstart";

export * from "headstart";

/** The agent of the story's session, and all lines that its agents have given. */
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
