/**
 * The choice of what answers: the recording, or a server of the user's. A key is held in memory only, here and in the
 * model made from it.
 */
export type Choice = { kind: "recorded" } | { kind: "remote"; baseUrl: string; model: string; key: string };

/** The dialog in which the user chooses what answers. */
export class SettingsDialog {
  readonly dom = document.createElement("dialog");
  readonly #form: HTMLFormElement;
  readonly #problem: HTMLElement;
  #inForce: Choice = { kind: "recorded" };

  constructor(onChoice: (choice: Choice) => void) {
    this.dom.className = "settings";
    this.dom.setAttribute("aria-labelledby", "settings-title");
    this.dom.innerHTML = `
      <form method="dialog" novalidate>
        <div class="dialog-head"><h2 id="settings-title">Who answers?</h2></div>
        <fieldset>
          <legend class="unseen">Model</legend>
          <label class="choice"><input type="radio" name="kind" value="recorded"> <span><strong>A recording.</strong> No key, no network. It knows the prompts of this page's small project.</span></label>
          <label class="choice"><input type="radio" name="kind" value="remote"> <span><strong>A model of your own.</strong> Any server that speaks OpenAI's chat completions and lets web pages ask (CORS): llama.cpp, vLLM, Ollama, a gateway.</span></label>
        </fieldset>
        <div class="fields">
          <label>Base URL <input name="baseUrl" type="url" placeholder="http://localhost:11434/v1" autocomplete="off" spellcheck="false"></label>
          <label>Model <input name="model" placeholder="llama3.3" autocomplete="off" spellcheck="false"></label>
          <label>Key <span class="meaning">if the server wants one</span> <input name="key" type="password" autocomplete="off"></label>
          <p class="quiet">Your browser sends the conversation and this page's sample files to that address and nowhere else. The key is kept in memory only and is gone when the page is loaded again.</p>
        </div>
        <p class="note bad" role="alert" hidden></p>
        <p class="buttons"><button class="primary" value="use">Use it</button> <button value="cancel" formnovalidate>Cancel <kbd>Esc</kbd></button></p>
      </form>`;
    const form = this.dom.querySelector("form");
    const problem = this.dom.querySelector<HTMLElement>("[role=alert]");
    if (!form || !problem) throw new Error("works because both are in the text above");
    this.#form = form;
    this.#problem = problem;
    form.addEventListener("change", () => this.#show());
    form.addEventListener("submit", (event) => {
      if ((event.submitter as HTMLButtonElement | null)?.value !== "use") return;
      const choice = this.#read();
      if (typeof choice === "string") {
        event.preventDefault();
        problem.textContent = choice;
        problem.hidden = false;
        return;
      }
      this.#inForce = choice;
      onChoice(choice);
    });
    // The form is reset, so that a choice that was not made is not kept and no key stays in a hidden form.
    this.dom.addEventListener("close", () => form.reset());
  }

  /** Opens the dialog with the choice in force. */
  open(): void {
    this.#problem.hidden = true;
    this.#fill(this.#inForce);
    this.#show();
    this.dom.showModal();
  }

  #fill(choice: Choice): void {
    for (const [name, value] of Object.entries(choice)) {
      const field = this.#form.elements.namedItem(name);
      if (field instanceof HTMLInputElement || field instanceof RadioNodeList) field.value = value;
    }
  }

  #show(): void {
    const isRemote = new FormData(this.#form).get("kind") === "remote";
    const fields = this.dom.querySelector<HTMLElement>(".fields");
    if (fields) fields.hidden = !isRemote;
  }

  /** The choice, or a message that says what is wrong with it. */
  #read(): Choice | string {
    const data = new FormData(this.#form);
    const text = (name: string) => String(data.get(name) ?? "").trim();
    if (text("kind") !== "remote") return { kind: "recorded" };
    const baseUrl = text("baseUrl");
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) return "The base URL must begin with http:// or https://, as in http://localhost:11434/v1.";
    if (text("model") === "") return "Name the model, as the server calls it.";
    return { kind: "remote", baseUrl, model: text("model"), key: text("key") };
  }
}
