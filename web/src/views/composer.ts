import { type MentionList, attachMentions } from "headstart/attach";
import { html, nothing, render } from "lit-html";
import type { Session } from "../session/session.js";

/** Two presses of Tab within this time count as one. */
const DOUBLE_PRESS_MS = 400;

/** The prompt line, with the rest of the suggestion as ghost text behind the typed text. */
export class Composer {
  readonly dom = document.createElement("div");
  readonly input = document.createElement("textarea");
  /** Whether there are staged changes that a diff can show. */
  hasDiff = false;
  readonly #openDiff: () => void;
  readonly #list = document.createElement("ul");
  readonly #mentions: MentionList;
  #session: Session;
  /** When Tab last took a suggestion. The next field says whether the key is still down. */
  #tabbed = Number.NEGATIVE_INFINITY;
  #isTabHeld = false;

  constructor(session: Session, openDiff: () => void) {
    this.#session = session;
    this.#openDiff = openDiff;
    this.dom.className = "composer";
    this.input.id = "prompt";
    this.input.rows = 1;
    this.input.autocomplete = "off";
    this.input.setAttribute("aria-describedby", "prompt-keys");
    this.#list.id = "mentions";
    this.#list.ariaLabel = "What may be mentioned";
    this.#mentions = attachMentions(this.input, { list: this.#list, complete: (before) => this.#session.complete(before) });
    this.input.addEventListener("input", () => {
      this.#session.edited(this.text);
      this.draw();
    });
    this.input.addEventListener("keydown", (event) => this.#onKey(event));
    window.addEventListener("resize", () => this.#fit());
  }

  use(session: Session): void {
    this.#session = session;
  }

  /** The typed text. Half a character becomes U+FFFD, because a prompt cannot hold it. */
  get text(): string {
    return this.input.value.toWellFormed();
  }

  set text(text: string) {
    this.#mentions.close();
    this.input.value = text;
    this.draw();
  }

  send(): void {
    const text = this.text.trim();
    if (text === "") return;
    this.text = "";
    this.#session.send(text);
  }

  accept(): void {
    if (this.#session.accept()) this.text = "";
  }

  /**
   * Whether this Tab is only a remainder of one that took a suggestion: the key is still held down, was pressed twice,
   * or the work is being handed over. Without this check it would move the focus away from the line in which the next
   * suggestion shows. If nothing was taken, Tab moves the focus as usual.
   */
  isLeftOver(event: KeyboardEvent): boolean {
    if (event.key !== "Tab" || event.shiftKey || isWithOtherKey(event)) return false;
    const hasGhost = this.#hasGhost && event.target === this.input;
    if (event.repeat) return this.#isTabHeld || hasGhost;
    this.#isTabHeld = false;
    if (hasGhost) return false;
    return event.timeStamp - this.#tabbed < DOUBLE_PRESS_MS || (this.#session.phase === "accept" && event.target === this.input);
  }

  draw(): void {
    const { phase, ghost, question, queued } = this.#session;
    const isIdle = phase === "idle";
    const shown = isIdle ? ghost : undefined;
    render(
      html`
        ${this.#list}
        <div class="line">
          <label for="prompt" class="unseen">Prompt</label>
          <div class="field">
            <div class="ghost" aria-hidden="true">${shown ? html`<span class="typed">${this.input.value}</span><span class="rest">${shown.rest}</span>` : nothing}</div>
            ${this.input}
          </div>
          ${isIdle
            ? html`<button class="primary" @click=${() => this.send()} ?disabled=${this.input.value.trim() === ""}>Send</button>`
            : html`<button @click=${() => this.#session.stop()}>Stop</button>`}
        </div>
        <div class="keys" id="prompt-keys">
          ${shown
            ? html`
                <button class="key" data-key="accept" @click=${() => this.#fromButton(() => this.accept())}><kbd>Tab</kbd> accept</button>
                ${this.hasDiff ? html`<button class="key" data-key="diff" @click=${this.#openDiff}><kbd>F2</kbd> diff</button>` : nothing}
                <button class="key" data-key="edit" @click=${() => this.#fromButton(() => this.#session.insert())}><kbd>→</kbd> edit it</button>
                <button class="key" data-key="dismiss" @click=${() => this.#fromButton(() => this.#session.dismiss())}><kbd>Esc</kbd> dismiss</button>
              `
            : isIdle
              ? html`${keysOfLine}`
              : html`<span class="for-keys"><kbd>Esc</kbd> stops</span>${queued.length ? html`<span class="queued">Next: ${queued.join("; ")}</span>` : html`<span class="for-keys"><kbd>Enter</kbd> queues</span>`}`}
        </div>
      `,
      this.dom,
    );
    this.input.placeholder = shown ? "" : isIdle ? "Ask for something else" : question ? "The agent waits for your answer" : "The agent is at work";
    this.#fit();
  }

  /** Makes the line as high as the typed text, the suggestion or the placeholder needs. */
  #fit(): void {
    this.input.style.height = "auto";
    const ghost = this.dom.querySelector(".ghost");
    this.input.style.height = `${Math.max(this.input.scrollHeight, ghost?.scrollHeight ?? 0)}px`;
  }

  #fromButton(act: () => void): void {
    act();
    this.input.focus();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.isComposing || isWithOtherKey(event)) return;
    const isAtEnd = this.input.selectionStart === this.input.value.length && this.input.selectionEnd === this.input.value.length;
    const hasGhost = this.#hasGhost;
    if (event.key === "Tab" && !event.shiftKey && hasGhost) {
      this.#tabbed = event.timeStamp;
      this.#isTabHeld = true;
      this.accept();
    } else if (event.key === "ArrowRight" && !event.shiftKey && hasGhost && isAtEnd) this.#session.insert();
    else if (event.key === "Escape" && this.#session.phase !== "idle") this.#session.stop();
    else if (event.key === "Escape" && (hasGhost || this.#session.ahead)) this.#session.dismiss();
    else if (event.key === "Enter" && !event.shiftKey) this.send();
    else return;
    event.preventDefault();
  }

  get #hasGhost(): boolean {
    return this.#session.ghost !== undefined && this.#session.phase === "idle";
  }
}

/** What the keys of the line do when there is no suggestion. */
export const keysOfLine = html`<span class="for-keys"><kbd>Enter</kbd> sends</span><span class="for-keys"><kbd>Shift</kbd> <kbd>Enter</kbd> new line</span>`;

const isWithOtherKey = ({ ctrlKey, altKey, metaKey }: KeyboardEvent) => ctrlKey || altKey || metaKey;
