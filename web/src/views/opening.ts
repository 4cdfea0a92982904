import { html, render } from "lit-html";
import { keysOfLine } from "./composer.js";
import { intro, toBegin } from "./intro.js";

/**
 * The first screen while the engine is being fetched. Its line takes what is typed and sent, and the conversation
 * continues with that.
 */
export class Opening {
  readonly dom = document.createElement("section");
  readonly input = document.createElement("textarea");
  /** The prompts that were sent so far. */
  readonly sent: string[] = [];

  constructor(prompt: string) {
    this.dom.className = "play";
    this.dom.dataset["opening"] = "";
    this.input.id = "prompt";
    this.input.rows = 1;
    this.input.autocomplete = "off";
    this.input.setAttribute("aria-describedby", "prompt-keys");
    this.input.value = prompt;
    this.input.addEventListener("input", () => this.#draw());
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
      event.preventDefault();
      this.#send();
    });
    this.#draw();
  }

  #send(): void {
    const text = this.input.value.toWellFormed().trim();
    if (text === "") return;
    this.sent.push(text);
    this.input.value = "";
    this.#draw();
    this.input.focus();
  }

  #draw(): void {
    const panel = (place: string, title: string) => html`<section class="panel ${place}"><div class="panel-head"><h2>${title}</h2></div></section>`;
    render(
      html`
        ${intro()}
        <div class="grid">
          <section class="panel chat" aria-labelledby="chat-title">
            <div class="panel-head"><h2 id="chat-title">Conversation</h2></div>
            <div class="log">
              ${this.sent.length === 0 ? toBegin : html`<p class="said you"><span class="unseen">You: </span>${this.sent[0]}</p>`}
              <p class="working"><span class="pulse" aria-hidden="true"></span>The engine is being loaded…</p>
            </div>
            <div class="composer">
              <div class="line">
                <label for="prompt" class="unseen">Prompt</label>
                <div class="field">${this.input}</div>
                <button class="primary" @click=${() => this.#send()} ?disabled=${this.input.value.trim() === ""}>Send</button>
              </div>
              <div class="keys" id="prompt-keys">${1 < this.sent.length ? html`<span class="queued">Next: ${this.sent.slice(1).join("; ")}</span>` : keysOfLine}</div>
            </div>
          </section>
          ${panel("ahead", "Ahead of you")} ${panel("files", "Project")}
        </div>
      `,
      this.dom,
    );
  }
}
