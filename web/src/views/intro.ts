import { html } from "lit-html";
import { byInput } from "./keys.js";

/** Explains the page to visitors who have not sent a prompt yet. */
export function intro() {
  return html`<div class="intro">
    <div>
      <h1>Your next prompt, done before you send it.</h1>
      <p>
        headstart guesses what you will ask your coding agent next and runs it while you read: on a staged copy, each call judged by a gate.
        <strong>${byInput("Tab", "Accept")}</strong> hands the finished work over. Type something else, and nothing ever happened.
      </p>
    </div>
    <ol>
      <li>${byInput(html`<strong>Enter</strong> sends`, html`<strong>Send</strong>`)} the first prompt. The agent works, you wait: the last time.</li>
      <li><strong>Read</strong> the answer. What you may ask next shows in grey and already runs, under “Ahead of you”.</li>
      <li><strong>${byInput("Tab", "Accept")}</strong> takes it: files changed in milliseconds, the next suggestion showing.</li>
    </ol>
    <p class="quiet">
      All of it happens in this page: engine, gate and overlay as WebAssembly, a small project with tests that really run. Only the model is a
      recording, unless you choose your own.
    </p>
  </div>`;
}

/** The hint in the place where the conversation will be. */
export const toBegin = html`<p class="quiet">The first prompt is in the line below. ${byInput(html`Press <kbd>Enter</kbd>.`, "Tap Send.")}</p>`;
