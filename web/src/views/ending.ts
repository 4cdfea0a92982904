import { html } from "lit-html";
import { type Step, seconds, totals } from "../session/steps.js";

/** Shows what the visitor may do at the end of the recording. */
export function ending(steps: readonly Step[], { chooseModel, startOver }: { chooseModel(): void; startOver(): void }) {
  const { taken, savedMs, waitedMs } = totals(steps);
  const figures = taken === 0 ? "" : ` ${taken} ${taken === 1 ? "suggestion" : "suggestions"} taken: ${seconds(savedMs)} of work done while you read, ${seconds(waitedMs)} waited.`;
  return html`<div class="card next" data-ending>
    <p><strong>That was the recording.</strong>${figures} What now?</p>
    <ul>
      <li><button class="link" @click=${chooseModel}>Choose a model of your own</button>, and ask this project anything.</li>
      <li><button class="link" @click=${startOver}>Start over</button>, and edit a file that the work has staged, or type something else: your edits stay yours.</li>
      <li>See on the <a href="#timeline">timeline</a> where the time went, and at the <a href="#gate">gate</a> which commands may run unasked.</li>
      <li>Have it for your own projects: <a href="../chat.html">in a terminal</a>, <a href="../elsewhere/vscode.html">in VS Code</a>, or <a href="https://www.npmjs.com/package/headstart">in your own agent</a>.</li>
    </ul>
  </div>`;
}
