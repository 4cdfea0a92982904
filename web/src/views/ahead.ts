import { type ChangeSummary, type Verdict, itemRows } from "headstart";
import { html, nothing } from "lit-html";
import type { Ahead, Session } from "../session/session.js";
import { seconds } from "../session/steps.js";
import type { CallResult } from "../session/log.js";
import { callLine, changeList } from "./conversation.js";
import type { Places } from "./item-rows.js";
import { proseOf } from "./prose.js";

/** The panel that shows the work ahead while it runs. */
export function aheadPanel(session: Session, changes: readonly ChangeSummary[], places: Places, openDiff: () => void) {
  const { ahead, givenUp } = session;
  // Work whose suggestion was not on screen yet is not shown.
  if (ahead?.prompt === undefined) {
    const text = givenUp
      ? `“${givenUp}” was given up. Its files were staged in memory only: nothing in the project has changed.`
      : "Nothing runs ahead now. After each turn the next prompt is guessed and run here, on a staged copy, while you read.";
    return html`<p class="quiet" data-ahead="none">${text}</p>`;
  }
  const { ending, calls } = ahead.work;
  const done = calls.filter(({ state }) => state === "done" || state === "errored").length;
  const [modelMs, toolMs] = [ahead.watch.sum("model"), ahead.watch.sum("tools")];
  return html`
    <div class="ahead-head" data-ahead=${ending?.status ?? "running"}>
      <strong>${ahead.prompt}</strong>
      ${statusOf(ahead)}
    </div>
    <div class="ahead-lines">
      ${calls.map((told) => {
        const { call, output, error } = told;
        const result: CallResult | undefined = error !== undefined ? { error } : output !== undefined ? { output: textOf(output) } : undefined;
        return callLine({ kind: "call", call, ahead: true, rows: itemRows(told), ...(result && { result }) }, places, ending !== undefined);
      })}
      ${ahead.work.said.trim() === "" ? nothing : html`<div class="said model">${proseOf(ahead, ahead.work.said)}</div>`}
    </div>
    ${ending?.status === "boundary"
      ? html`<p class="quiet">It stopped before <code>${ending.verdict.detail}</code>. Take the suggestion, and the page asks you.
          ${IN_VIEWS.has(ending.verdict.reason) ? "A browser has no copy-on-write view of a project in which such a command could run ahead; in a terminal, headstart runs it in one." : nothing}</p>`
      : nothing}
    ${ending?.status === "failed" ? html`<p class="note bad">${ending.error}</p>` : nothing}
    ${changes.length
      ? html`<div class="staging">
          <p class="label">Staged, not in the project yet</p>
          ${changeList(changes)}
          <button @click=${openDiff}>See the diff <kbd>F2</kbd></button>
        </div>`
      : nothing}
    <p class="figures">${done} ${done === 1 ? "call" : "calls"} · model ${seconds(modelMs)} · tools ${toolMs < 1 ? "under 1 ms" : seconds(toolMs)}</p>
  `;
}

const textOf = (output: unknown) => (typeof output === "string" ? output : JSON.stringify(output));

/**
 * Reasons for which a command stops on this page, although it could run ahead in a view on a machine that has such
 * views.
 */
const IN_VIEWS: ReadonlySet<Verdict["reason"]> = new Set(["writes", "executes", "environment", "not_understood"]);

function statusOf({ work }: Ahead) {
  switch (work.ending?.status) {
    case undefined:
      return html`<span class="badge running"><span class="pulse" aria-hidden="true"></span>running ahead</span>`;
    case "completed":
      return work.failures ? html`<span class="badge boundary">${work.failures.length} failed</span>` : html`<span class="badge allow">ready</span>`;
    case "boundary":
      return html`<span class="badge boundary">waits for you</span>`;
    default:
      return html`<span class="badge boundary">stopped early</span>`;
  }
}
