import { html, nothing } from "lit-html";
import { type Step, type Stretch, seconds, totals } from "../session/steps.js";

const NAMES: Readonly<Record<Stretch["kind"], string>> = {
  model: "model",
  tools: "tools",
  read: "you read",
  decide: "you decide",
  wait: "you wait",
};

const FATES: Readonly<Record<Step["fate"], string>> = {
  running: "running",
  done: "done while you waited",
  taken: "ran ahead, taken",
  "given up": "given up",
  conflict: "conflict, kept yours",
  failed: "failed",
};

/** The longest drawn time of reading or deciding, because a user may read for minutes. */
const MOST_IDLE_MS = 2500;

/** Shows what happened when (model, tools, reading, waiting), and the sums. */
export function timeline(steps: readonly Step[]) {
  const { waitedMs, savedMs, taken, wastedMs } = totals(steps);
  const drawn = steps.map(squeeze);
  const longest = Math.max(1000, ...drawn.flat().map(({ to }) => to));
  return html`
    <div class="timeline-intro">
      <h1>Where the time went</h1>
      ${steps.length === 0
        ? html`<p>Nothing has happened yet. Send a prompt in the <a href="#play">playground</a> and take a suggestion or two.</p>`
        : html`<p class="sum">
            <strong>${seconds(savedMs)}</strong> of work were done while you read, in ${taken} taken ${taken === 1 ? "suggestion" : "suggestions"}. You
            waited <strong>${seconds(waitedMs)}</strong> in all.${wastedMs ? ` ${seconds(wastedMs)} of work ahead were given up.` : ""}
          </p>`}
    </div>
    ${steps.length
      ? html`<ul class="legend row" aria-hidden="true">
            ${Object.entries(NAMES).map(([kind, name]) => html`<li><span class="swatch ${kind}"></span>${name}</li>`)}
          </ul>
          <div class="chart" role="img" aria-label=${told(steps)}>
            ${steps.map((step, index) => row(step, drawn[index] ?? [], longest))}
          </div>
          ${table(steps)}`
      : nothing}
  `;
}

function row(step: Step, drawn: readonly Stretch[], longest: number) {
  const lane = (...kinds: Stretch["kind"][]) =>
    drawn
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ kind, from, to }) => html`<span class="bar ${kind}" style="left:${(from / longest) * 100}%;width:max(3px,${((to - from) / longest) * 100}%)"></span>`);
  return html`<div class="step">
    <p><strong>${step.prompt}</strong> <span class="meaning">${FATES[step.fate]}${step.savedMs ? `, ${seconds(step.savedMs)} saved` : ""}</span></p>
    <div class="lane"><span class="lane-name">agent</span><div class="track">${lane("model", "tools")}</div></div>
    <div class="lane"><span class="lane-name">you</span><div class="track">${lane("read", "decide", "wait")}</div></div>
  </div>`;
}

/** Shortens long stretches in which the user only reads or decides; everything after them moves up. */
function squeeze({ stretches }: Step): Stretch[] {
  const edges = [...new Set(stretches.flatMap(({ from, to }) => [from, to]))].sort((left, right) => left - right);
  let removed = 0;
  const shift = new Map<number, number>();
  edges.forEach((edge, index) => {
    const before = edges[index - 1];
    if (before !== undefined) {
      const busy = stretches.some(({ kind, from, to }) => kind !== "read" && kind !== "decide" && from <= before && edge <= to);
      if (!busy) removed += Math.max(0, edge - before - MOST_IDLE_MS);
    }
    shift.set(edge, removed);
  });
  return stretches.map(({ kind, from, to }) => ({ kind, from: from - (shift.get(from) ?? 0), to: to - (shift.get(to) ?? 0) }));
}

const sum = ({ stretches }: Step, kind: Stretch["kind"]) =>
  stretches.filter((stretch) => stretch.kind === kind).reduce((total, { from, to }) => total + to - from, 0);

function told(steps: readonly Step[]): string {
  const rows = steps.map((step) => `${step.prompt}: ${FATES[step.fate]}, work ${seconds(step.workMs)}, you waited ${seconds(step.waitedMs)}`);
  return `A bar chart of ${steps.length} steps. ${rows.join("; ")}. The table below has all figures.`;
}

function table(steps: readonly Step[]) {
  return html`<div class="table-wrap" tabindex="0" role="region" aria-label="The figures">
    <table>
      <caption>The same in figures, all measured in this page</caption>
      <thead>
        <tr><th scope="col">Prompt</th><th scope="col">What became of it</th><th scope="col">Model</th><th scope="col">Tools</th><th scope="col">You read</th><th scope="col">You waited</th><th scope="col">Saved</th></tr>
      </thead>
      <tbody>
        ${steps.map(
          (step) => html`<tr>
            <th scope="row">${step.prompt}</th>
            <td>${FATES[step.fate]}</td>
            <td>${seconds(sum(step, "model"))}</td>
            <td>${seconds(sum(step, "tools"))}</td>
            <td>${step.ahead ? seconds(sum(step, "read")) : "–"}</td>
            <td>${seconds(step.waitedMs)}</td>
            <td>${step.savedMs ? seconds(step.savedMs) : "–"}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
