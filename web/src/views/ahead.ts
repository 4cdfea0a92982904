import type { ChangeSummary, Verdict } from "headstart";
import { html, nothing } from "lit-html";
import type { Ahead } from "../session/ahead.js";
import type { Session } from "../session/session.js";
import { seconds } from "../session/steps.js";
import { callLine, changeList, prose } from "./conversation.js";

/** What runs ahead of the user, live. */
export function aheadPanel(session: Session, changes: readonly ChangeSummary[], openDiff: () => void) {
  const { ahead, givenUp } = session;
  if (!ahead) {
    const text = givenUp
      ? `“${givenUp}” was given up. Its files were staged in memory only: nothing in the project has changed.`
      : "Nothing runs ahead now. After each turn the next prompt is guessed and run here, on a staged copy, while you read.";
    return html`<p class="quiet" data-ahead="none">${text}</p>`;
  }
  const { modelMs, toolMs, toolCalls } = ahead.speculation.cost;
  return html`
    <div class="ahead-head" data-ahead=${ahead.ending?.status ?? "running"}>
      <strong>${ahead.prompt}</strong>
      ${statusOf(ahead)}
    </div>
    <div class="ahead-lines">
      ${ahead.entries.map((entry) =>
        entry.kind === "call" ? callLine(entry, ahead.ending !== undefined) : entry.kind === "model" ? html`<p class="said model">${prose(entry.text)}</p>` : nothing,
      )}
    </div>
    ${ahead.ending?.status === "boundary"
      ? html`<p class="quiet">It stopped before <code>${ahead.ending.verdict.detail}</code>. Take the suggestion, and the page asks you.
          ${IN_VIEWS.has(ahead.ending.verdict.reason) ? "A browser has no copy-on-write view of a project in which such a command could run ahead; in a terminal, headstart runs it in one." : nothing}</p>`
      : nothing}
    ${ahead.ending?.status === "failed" ? html`<p class="note bad">${ahead.ending.error}</p>` : nothing}
    ${changes.length
      ? html`<div class="staging">
          <p class="label">Staged, not in the project yet</p>
          ${changeList(changes)}
          <button @click=${openDiff}>See the diff <kbd>F2</kbd></button>
        </div>`
      : nothing}
    <p class="figures">${toolCalls} ${toolCalls === 1 ? "call" : "calls"} · model ${seconds(modelMs)} · tools ${toolMs < 1 ? "under 1 ms" : seconds(toolMs)}</p>
  `;
}

/** Reasons for which a command stops here that runs in a view where there are any. */
const IN_VIEWS: ReadonlySet<Verdict["reason"]> = new Set(["writes", "executes", "environment", "not_understood"]);

function statusOf({ ending }: Ahead) {
  switch (ending?.status) {
    case undefined:
      return html`<span class="badge running"><span class="pulse" aria-hidden="true"></span>running ahead</span>`;
    case "completed":
      return html`<span class="badge allow">ready</span>`;
    case "boundary":
      return html`<span class="badge boundary">waits for you</span>`;
    default:
      return html`<span class="badge boundary">stopped early</span>`;
  }
}
