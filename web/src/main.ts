import "./style/base.css";
import "./style/chat.css";
import "./style/views.css";
import { init, initToBegin } from "headstart";
import { owned, remove, rename, take } from "./session/kept.js";
import { type Remote, remoteModel } from "./model/remote.js";
import { FIRST_PROMPT, SYSTEM, sampleFiles } from "./sample/files.js";
import { sceneModel } from "./sample/recorded.js";
import { Session, type SessionOptions } from "./session/session.js";
import { type Lost, forget, load } from "./session/storage.js";
import { ConversationsDialog } from "./views/conversations.js";
import type { GateView } from "./views/gate.js";
import { hasKeys } from "./views/keys.js";
import { Opening } from "./views/opening.js";
import { PlayView } from "./views/play.js";
import { type Choice, SettingsDialog } from "./views/settings.js";
import { timeline } from "./views/timeline.js";
import { html, render } from "lit-html";

/** How fast the recording plays: `?speed=4` is four times as fast. */
const SPEED = Math.max(0.1, Number(new URLSearchParams(location.search).get("speed")) || 1);
const VIEWS = { play: "Playground", gate: "Gate", timeline: "Timeline" } as const;
const LOST: Readonly<Record<Lost, string>> = {
  damaged: "What was saved before could not be read; this is a clean start.",
  tooMuch: "The page was loaded again. What it held was more than the browser keeps for a page, so this is a clean start.",
};
/** How many announcements stay in the live region for a screen reader. */
const MOST_LINES = 4;
type ViewName = keyof typeof VIEWS;

class App {
  readonly #main = element("main");
  readonly #live = element("live");
  readonly #play: PlayView;
  #gate: GateView | undefined;
  #fetchedGate: Promise<void> | undefined;
  readonly #timeline = document.createElement("section");
  readonly #settings = new SettingsDialog((choice) => void this.#choose(choice));
  readonly #conversations = new ConversationsDialog({
    goOn: (id) => void this.#goOn(id),
    rename: (id, title) => (id === this.#session.id ? this.#session.rename(title) : rename(id, title)),
    remove,
  });
  #session: Session;
  #remote: Remote | undefined;
  #modelName = "recording";
  #isEnabled = true;
  #isDrawing = false;

  constructor(found: ReturnType<typeof load>, isCopy: boolean, opening: Opening | undefined) {
    let lost = typeof found === "string" ? found : undefined;
    try {
      [this.#session, this.#play] = this.#open({ saved: typeof found === "string" ? undefined : found, isCopy });
    } catch (error) {
      if (found === undefined) throw error;
      lost = "damaged";
      [this.#session, this.#play] = this.#open();
    }
    this.#timeline.className = "timeline";
    if (this.#session.isNew) this.#play.composer.text = opening?.input.value ?? FIRST_PROMPT;
    this.#main.replaceChildren(this.#play.dom, this.#timeline);
    element("dialogs").append(this.#play.diff.dom, this.#settings.dom, this.#conversations.dom);
    window.addEventListener("hashchange", () => this.#route(true));
    window.addEventListener("pagehide", () => this.#session.saveNow());
    this.#route(false);
    this.#begin();
    if (opening) this.#play.composer.input.setSelectionRange(opening.input.selectionStart, opening.input.selectionEnd);
    for (const prompt of opening?.sent ?? []) this.#session.send(prompt);
    if (lost) this.#session.note(LOST[lost], "plain");
    this.#play.fetchRest();
    void this.#fetchGate();
  }

  /** Fetches the view of the gate, which is not loaded at first because a conversation does not need it. */
  #fetchGate(): Promise<void> {
    this.#fetchedGate ??= Promise.all([import("./views/gate.js"), init()]).then(
      ([{ GateView }]) => {
        this.#gate = new GateView(
          (text) => this.#announce(text),
          (address) => history.replaceState(null, "", `#${address}`),
        );
        this.#play.dom.after(this.#gate.dom);
        this.#gate.open(location.hash.slice(1));
        this.#gate.show(viewAsked() === "gate");
      },
      () => this.#session.unfetched("view of the gate"),
    );
    return this.#fetchedGate;
  }

  /**
   * Makes a session and its view, and draws the view once. Throws if the saved state has another shape than the one
   * that is saved now.
   */
  #open(given: Partial<SessionOptions> = {}): [Session, PlayView] {
    const session = this.#make(given);
    try {
      render(timeline(session.steps), document.createElement("section"));
      return [session, new PlayView(session, { reset: () => this.#reset(), chooseModel: () => this.#settings.open(), showConversations: () => this.#conversations.open(this.#session.id) })];
    } catch (error) {
      session.dispose();
      throw error;
    }
  }

  #make(given: Partial<SessionOptions>): Session {
    return new Session({ model: sceneModel(SPEED), system: SYSTEM, files: sampleFiles(), ...given });
  }

  #begin(): void {
    this.#session.onChange = () => this.#changed();
    this.#session.onAnnounce = (text) => this.#announce(text);
    this.#session.onSuggestion = (text) => this.#announce(`Suggestion: ${text}. ${hasKeys() ? "Tab to accept." : "Accept takes it."}`);
    this.#session.begin();
    this.#draw();
  }

  #reset(): void {
    this.#leave();
    this.#turnTo(this.#make(this.#answering));
    this.#play.composer.text = FIRST_PROMPT;
    this.#announce("Started over.");
  }

  /** Continues a conversation that was kept, with its files. */
  async #goOn(id: string): Promise<void> {
    const kept = take(id);
    try {
      if (kept === undefined) throw new Error("it cannot be read any more");
      const [session] = this.#open({ ...this.#answering, ...(await owned(kept)), isResumed: true });
      this.#leave();
      this.#turnTo(session);
    } catch (error) {
      this.#session.note(`That conversation cannot be gone on with: ${(error as Error).message}.`, "bad");
    }
  }

  /** The visitor's own model, if one answers. */
  get #answering(): Partial<SessionOptions> {
    return this.#remote ? { model: this.#remote.model, modelName: this.#modelName } : {};
  }

  /** Leaves the conversation, which stays among those that are kept. */
  #leave(): void {
    this.#session.saveNow();
    this.#session.dispose();
    forget();
  }

  #turnTo(session: Session): void {
    this.#session = session;
    if (!this.#isEnabled) session.enable(false);
    this.#play.composer.text = "";
    this.#play.use(session);
    this.#begin();
    this.#play.composer.input.focus();
  }

  async #choose(choice: Choice): Promise<void> {
    this.#remote?.close();
    const remote = choice.kind === "remote" ? remoteModel(choice.baseUrl, choice.key) : undefined;
    this.#remote = remote;
    // A real model searches the project by its index; the recording needs none.
    const session = this.#session;
    const load = () => session.search.load().catch(() => session.note("The index of the project could not be fetched: the model searches without it.", "plain"));
    const name = choice.kind === "remote" ? choice.model : undefined;
    await session.useModel(remote?.model ?? sceneModel(SPEED), name, remote ? load() : Promise.resolve());
    if (this.#remote !== remote) return;
    this.#modelName = name ?? "recording";
    this.#announce(`From now on ${this.#modelName} answers.`);
    this.#draw();
  }

  #changed(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#draw();
    });
  }

  #draw(): void {
    this.#play.draw();
    render(timeline(this.#session.steps), this.#timeline);
    const toggle = (event: Event) => {
      this.#isEnabled = (event.target as HTMLInputElement).checked;
      this.#session.enable(this.#isEnabled);
      this.#draw();
    };
    render(
      html`<label class="switch"><input type="checkbox" .checked=${this.#isEnabled} @change=${toggle} /> Run ahead</label>
        <button @click=${() => this.#settings.open()}>Model: ${this.#modelName}</button>`,
      element("tools"),
    );
  }

  #route(byUser: boolean): void {
    // A dialog belongs to the view in which it was opened, so it is closed.
    for (const dialog of document.querySelectorAll("dialog")) dialog.close();
    const asked = location.hash.slice(1);
    const view = viewAsked();
    this.#play.dom.hidden = view !== "play";
    this.#timeline.hidden = view !== "timeline";
    for (const link of document.querySelectorAll<HTMLElement>("[data-view]")) {
      if (link.dataset["view"] === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = view === "play" ? "headstart: your next prompt, done before you send it" : `headstart: ${VIEWS[view].toLowerCase()}`;
    this.#gate?.open(asked);
    this.#gate?.show(view === "gate");
    if (view === "play") this.#play.composer.input.focus({ preventScroll: asked !== "prompt" });
    else if (byUser) window.scrollTo(0, 0);
    this.#draw();
  }

  /**
   * Announces a text in a line of its own, so that a text right after it does not interrupt a screen reader that reads
   * the first.
   */
  #announce(text: string): void {
    const line = document.createElement("p");
    line.textContent = text;
    this.#live.append(line);
    while (MOST_LINES < this.#live.children.length) this.#live.firstElementChild?.remove();
  }
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`works because index.html has an element ${id}`);
  return found;
}

/** The view that the address names; the playground if it names none. */
function viewAsked(): ViewName {
  // A view may be followed by what it shows: `#gate=ls`.
  const asked = /^\w*/.exec(location.hash.slice(1))?.[0] ?? "";
  return Object.hasOwn(VIEWS, asked) ? (asked as ViewName) : "play";
}

const engine = initToBegin();
const found = load();
const opening = found === undefined && viewAsked() === "play" ? new Opening(FIRST_PROMPT) : undefined;
if (opening) {
  element("main").replaceChildren(opening.dom);
  opening.input.focus();
}
engine
  .then(async () => {
    const { saved, isCopy } = typeof found === "object" ? await owned(found) : { saved: found, isCopy: false };
    new App(saved, isCopy, opening);
  })
  .catch((error: unknown) => {
    element("main").textContent = `The page could not start: ${(error as Error).message}`;
    console.error(error);
  });
