import { html, render } from "lit-html";
import { type Conversation, conversations } from "../session/kept.js";

export interface ConversationsActions {
  goOn(id: string): void;
  rename(id: string, title: string): void;
  remove(id: string): void;
}

/** The dialog that lists the conversations which this browser has kept. */
export class ConversationsDialog {
  readonly dom = document.createElement("dialog");
  readonly #actions: ConversationsActions;
  #current: string | undefined;

  constructor(actions: ConversationsActions) {
    this.#actions = actions;
    this.dom.className = "settings";
    this.dom.setAttribute("aria-labelledby", "conversations-title");
  }

  /** Opens the dialog; `current` is the conversation that is open now. */
  open(current: string | undefined): void {
    this.#current = current;
    this.#draw();
    this.dom.showModal();
  }

  #draw(): void {
    const all = conversations();
    render(
      html`
        <div class="dialog-head"><h2 id="conversations-title">Conversations</h2><button @click=${() => this.dom.close()}>Close <kbd>Esc</kbd></button></div>
        <ul class="kept">
          ${all.map((conversation) => this.#row(conversation))}
        </ul>
        <p class="quiet">${all.length === 0 ? "None is kept yet. " : ""}They stay in this browser, with the files as they were left, until you remove them. Keys and addresses of models are not kept.</p>
      `,
      this.dom,
    );
  }

  #row({ id, title, last }: Conversation) {
    const rename = (event: Event) => {
      const field = event.target as HTMLInputElement;
      if (field.value.trim() === "") field.value = title;
      else this.#actions.rename(id, field.value);
    };
    const remove = () => {
      this.#actions.remove(id);
      this.#draw();
    };
    const goOn = () => {
      this.dom.close();
      this.#actions.goOn(id);
    };
    return html`<li>
      <input aria-label="Title" .value=${title} maxlength="60" autocomplete="off" @change=${rename} />
      <span class="quiet">${id === this.#current ? "this one" : new Date(last).toLocaleString()}</span>
      ${id === this.#current ? "" : html`<button aria-label="Go on: ${title}" @click=${goOn}>Go on</button><button aria-label="Remove: ${title}" @click=${remove}>Remove</button>`}
    </li>`;
  }
}
