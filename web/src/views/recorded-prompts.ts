import { html, nothing } from "lit-html";
import { isRecorded } from "../sample/recorded.js";
import { nearest } from "../sample/scenes.js";
import type { Session } from "../session/session.js";

/** The way on from a prompt that the recording does not know. */
export function recordedPrompts({ phase, isRecorded: answers, entries }: Session, send: (prompt: string) => void, chooseModel: () => void) {
  const asked = entries.findLast((entry) => entry.kind === "user");
  if (phase !== "idle" || !answers || asked?.kind !== "user" || isRecorded(asked.text)) return nothing;
  return html`<div class="card next" data-recorded>
    <p><strong>These prompts are in the recording:</strong></p>
    <p class="buttons">${nearest(asked.text).map(({ prompt }) => html`<button @click=${() => send(prompt)}>${prompt}</button>`)}</p>
    <p><button class="link" @click=${chooseModel}>Choose a model of your own</button>, and ask anything.</p>
  </div>`;
}
