import { type ChangeSummary, type Conflict, type ViewAnswer, type ViewQuestion, classifyShell, visible } from "headstart";
import { html, nothing } from "lit-html";
import { type Entry, outcome, title } from "../session/log.js";
import type { Question, Session } from "../session/session.js";
import { seconds } from "../session/steps.js";
import { decisionBadge, markedCommand } from "./effects.js";
import { type Places, itemList, ownPlace } from "./item-rows.js";
import { proseOf } from "./prose.js";

export interface ConversationActions extends Places {
  openFile(path: string): void;
  rerun(prompt: string): void;
  /** Called after a question was answered. The card that had the focus is removed. */
  answered(): void;
}

/** The lines of the conversation. */
export function conversation(session: Session, actions: ConversationActions) {
  const { entries, phase, question } = session;
  const isWaiting = phase !== "idle" && !question;
  const asked = question?.about.type === "call" ? question.about.call.id : undefined;
  return html`
    ${entries.map((entry) => line(entry, asked, actions))} ${question ? questionCard(question, actions) : nothing}
    ${session.allowed.map((allowed) => allowedLine(allowed, session))}
    ${isWaiting ? html`<p class="working"><span class="pulse" aria-hidden="true"></span>${phase === "accept" ? "Finishing what runs already…" : "Working…"}</p>` : nothing}
  `;
}

function allowedLine(allowed: string, session: Session) {
  return html`<p class="quiet" data-allowed>
    Runs without a question: <code>${allowed.replaceAll("`", "")}</code> <button class="link" @click=${() => session.askAgain(allowed)}>Ask again</button>
  </p>`;
}

function line(entry: Entry, asked: string | undefined, actions: ConversationActions) {
  switch (entry.kind) {
    case "user":
      return html`<p class="said you"><span class="unseen">You: </span>${entry.text}</p>`;
    case "model":
      return html`<div class="said model"><span class="unseen">Model: </span>${proseOf(entry, entry.text)}</div>`;
    case "call":
      return callLine(entry, actions, asked === entry.call.id);
    case "applied":
      return applied(entry, actions);
    case "conflict":
      return conflict(entry.conflicts, actions);
    case "failed":
      return failed(entry, actions);
    case "note":
      return html`<p class="note ${entry.tone}">${entry.text}</p>`;
  }
}

export function callLine({ call, result, rows = [], ahead }: Extract<Entry, { kind: "call" }>, places: Places, isStopped = false) {
  const isError = result !== undefined && "error" in result;
  const state = result ? outcome(call, result, ahead) : isStopped ? "waits for you" : "running…";
  const text = result ? ("error" in result ? result.error : result.output) : "";
  // The output of a test run is open at once, because the visitor waits for it.
  const isShown = call.name === "shell" && /\bℹ tests\b|ℹ tests/.test(text);
  const summary = html`<span class="tool">${call.name}</span> <span class="what">${title(call).slice(call.name.length + 1)}</span>
    <span class="state ${isError ? "bad" : ""}">${state}</span>`;
  if (text.trim() === "") return html`<p class="call">${summary}</p>`;
  return html`<div class="called">
    <details class="call" ?open=${isShown}>
      <summary>${summary}</summary>
      ${ownPlace(rows, places)}
      <pre tabindex="0" aria-label="What ${call.name} gave">${text}</pre>
    </details>
    ${itemList(rows, places)}
  </div>`;
}

export function changeList(changes: readonly ChangeSummary[], open?: (path: string) => void) {
  return html`<ul class="changes">
    ${changes.map(
      ({ path, type, from, added, removed }) => html`<li>
        ${from === undefined ? nothing : html`<span class="path">${visible(from)} →</span>`}
        ${open && type !== "delete" ? html`<button class="link" @click=${() => open(path)}>${visible(path)}</button>` : html`<span class="path">${visible(path)}</span>`}
        <span class="counts"><span class="good">+${added}</span> <span class="bad">−${removed}</span></span>
      </li>`,
    )}
  </ul>`;
}

type Applied = Extract<Entry, { kind: "applied" }>;

/** Says which part of the work was done while the user read. The timeline has the same figures. */
function doneWhen({ savedMs, restMs }: Applied): string {
  if (restMs < 1) return `The work took ${seconds(savedMs)}, done while you read.`;
  if (savedMs < 1) return `The work took ${seconds(restMs)}, and you waited for it.`;
  return `${seconds(savedMs)} of the work were done while you read, ${seconds(restMs)} while you waited.`;
}

function applied(entry: Applied, actions: ConversationActions) {
  const { changes, merged, tookMs } = entry;
  return html`<div class="card good" data-applied>
    <p><strong>Applied in ${seconds(tookMs)}.</strong> ${doneWhen(entry)}</p>
    ${changeList(changes, actions.openFile)}
    ${merged.length ? html`<p>Merged with your own edits: ${merged.join(", ")}.</p>` : nothing}
  </div>`;
}

const CONFLICTS: Readonly<Record<Conflict["kind"], string>> = {
  modified: "you changed the same place",
  deleted: "you deleted it",
  created: "you created it, too",
  replaced: "something else is there now",
  staleRead: "the work read it, and you have changed it since",
  ref: "you have committed since",
};

function conflictList(conflicts: readonly Conflict[], actions: ConversationActions) {
  return html`<ul>
    ${conflicts.map(({ path, kind }) => html`<li><button class="link" @click=${() => actions.openFile(path)}>${visible(path)}</button>: ${CONFLICTS[kind]}</li>`)}
  </ul>`;
}

function conflict(conflicts: readonly Conflict[], actions: ConversationActions) {
  return html`<div class="card bad">
    <p><strong>Conflict: your edits were kept, and the prompt ran anew.</strong></p>
    ${conflictList(conflicts, actions)}
  </div>`;
}

/** Asks the user how to settle a conflict. Nothing was changed so far. */
function conflictCard({ about, prompt, answer }: Question, conflicts: readonly Conflict[], actions: ConversationActions) {
  const settle = (said: ViewAnswer) => {
    answer(said);
    actions.answered();
  };
  const keep = (side: "yours" | "work") => settle({ keep: conflicts.map(() => side) });
  return html`<div class="card bad" id="question" role="group" tabindex="-1" aria-label="A conflict" data-conflict>
    <p><strong>Conflict: nothing was applied, your edits are as you left them.</strong></p>
    ${conflictList(conflicts, actions)}
    <p class="buttons">
      <button @click=${() => settle("anew")}>Run “${prompt}” on your files as they are now</button>
      ${about.type === "conflicts" ? html`<button @click=${() => keep("yours")}>Keep mine, take the rest</button> <button @click=${() => keep("work")}>Take the work's</button>` : nothing}
      <button @click=${() => settle("no")}>Drop the work</button>
    </p>
  </div>`;
}

function failed({ prompt, text }: Extract<Entry, { kind: "failed" }>, actions: ConversationActions) {
  return html`<div class="card bad" data-failed>
    <p>${text}</p>
    <p><button aria-label="Try again: ${prompt}" @click=${() => actions.rerun(prompt)}>Try again</button></p>
  </div>`;
}

/**
 * Keys within this time after a question came up are no answer, because they were pressed before the user could read
 * it.
 */
const DEAF_MS = 400;

function questionCard(question: Question, actions: ConversationActions) {
  const { about } = question;
  if (about.type === "call") return consentCard(question, about, actions);
  // In the mode of this page, changes are taken without a question.
  return about.type === "changes" ? nothing : conflictCard(question, about.conflicts, actions);
}

/** The arguments of a call that are text. */
function textsOf(args: Record<string, unknown>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(args).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function consentCard({ askedAt, answer: settle }: Question, { call, verdict, always }: ViewQuestion & { type: "call" }, actions: ConversationActions) {
  const { command, directory, description } = textsOf(call.args);
  const parts = command === undefined ? [] : classifyShell(command, { workspace: "/workspace", mode: "auto-edit" }).parts;
  const answer = (consent: "yes" | "always" | "no") => {
    settle(consent);
    actions.answered();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const key = event.key.toLowerCase();
    const said = key === "y" ? "yes" : key === "n" ? "no" : key === "a" && always !== undefined ? "always" : undefined;
    if (said === undefined) return;
    event.preventDefault();
    if (DEAF_MS <= event.timeStamp - askedAt) answer(said);
  };
  return html`<div class="card ask" id="question" role="group" tabindex="-1" aria-label="The agent asks to run ${title(call)}" @keydown=${onKey}>
    <p><strong>May this run?</strong></p>
    <pre class="command">${command === undefined ? title(call) : markedCommand(command, parts)}</pre>
    ${command === undefined || directory === undefined ? nothing : html`<p>In the folder <bdi>${visible(directory)}</bdi></p>`}
    ${command === undefined || description === undefined ? nothing : html`<p class="meaning">The model says: <bdi>${visible(description)}</bdi></p>`}
    <p>${decisionBadge(verdict)}</p>
    <p>${verdict.detail}</p>
    <p class="buttons">
      <button class="primary" @click=${() => answer("yes")}>Run <kbd>Y</kbd></button>
      ${always === undefined ? nothing : html`<button @click=${() => answer("always")}>Always: <code>${always.replaceAll("`", "")}</code> <kbd>A</kbd></button>`}
      <button @click=${() => answer("no")}>Decline <kbd>N</kbd></button>
    </p>
  </div>`;
}
