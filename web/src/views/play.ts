import { visible } from "headstart";
import { html, nothing, render } from "lit-html";
import { LateEditor } from "../editor/late-editor.js";
import { LAST_PROMPT } from "../sample/files.js";
import type { Session } from "../session/session.js";
import { seconds, totals } from "../session/steps.js";
import { aheadPanel } from "./ahead.js";
import { Composer } from "./composer.js";
import { conversation } from "./conversation.js";
import { DiffDialog } from "./diff.js";
import { ending } from "./ending.js";
import { intro, toBegin } from "./intro.js";
import { recordedPrompts } from "./recorded-prompts.js";
import { SearchView } from "./search.js";

export interface PlayActions {
  reset(): void;
  chooseModel(): void;
  showConversations(): void;
}

/** The view of the chat beside the project. */
export class PlayView {
  readonly dom = document.createElement("section");
  readonly composer: Composer;
  readonly diff = new DiffDialog();
  readonly #editor: LateEditor;
  readonly #search: SearchView;
  readonly #actions: PlayActions;
  #session: Session;
  #fresh = new Set<string>();
  #edited = new Set<string>();
  /** Whether the log scrolls to new lines. It does not while the visitor has scrolled back to read. */
  #follows = true;
  #lines = 0;

  constructor(session: Session, actions: PlayActions) {
    this.#session = session;
    this.#actions = actions;
    this.dom.className = "play";
    this.#editor = new LateEditor((path, text) => this.#session.project.write(path, text));
    this.composer = new Composer(session, () => this.openDiff());
    const places = { open: (path: string, lines: [number, number]) => this.#openAt(path, lines), showStaged: (path: string) => this.openDiff(path) };
    this.#search = new SearchView(session, places, () => this.draw());
    // The event is captured before the focused element gets it, because a question may have taken the focus from the
    // prompt.
    const swallow = (event: KeyboardEvent) => {
      if (!this.composer.isLeftOver(event)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    this.dom.addEventListener("keydown", swallow, { capture: true });
    this.dom.addEventListener("keydown", (event) => {
      if (event.key !== "F2") return;
      event.preventDefault();
      this.openDiff();
    });
    this.use(session);
  }

  /** Fetches the parts without which the page can already be used. */
  fetchRest(): void {
    this.#editor.fetch().catch(() => this.#session.unfetched("editor"));
    this.diff.fetch().catch(() => this.#session.unfetched("diff"));
  }

  /** Shows another session. */
  use(session: Session): void {
    this.#session = session;
    this.composer.use(session);
    this.#search.use(session);
    this.#fresh = new Set();
    this.#edited = new Set();
    this.#follows = true;
    session.project.onChange((paths, by) => {
      for (const path of paths) {
        (by === "work" ? this.#fresh : this.#edited).add(path);
        if (by === "work") this.#editor.show(path, session.project.files);
      }
    });
    session.onInsert = (text) => {
      this.composer.text = text;
    };
    session.onReturn = (prompt) => {
      const text = [prompt, this.composer.text].filter((part) => part !== "").join("\n");
      this.composer.text = text;
      session.edited(text);
    };
    // A user who is typing keeps the focus, because otherwise the next letter would answer the question.
    session.onQuestion = () => {
      if (this.composer.text === "") requestAnimationFrame(() => this.dom.querySelector<HTMLElement>("#question")?.focus());
      else if (session.question?.about.type === "call") session.onAnnounce("The agent asks whether a command may run.");
    };
    session.onPrompt = () => this.#editor.unmark();
    this.#editor.load(session.project.files);
    this.openFile("src/slugify.js");
    this.draw();
  }

  openFile(path: string): void {
    if (!this.#session.project.files.has(path)) return;
    this.#fresh.delete(path);
    this.#editor.open(path);
    this.draw();
  }

  openDiff(path?: string): void {
    const changes = this.#session.staged();
    if (!changes || changes.isEmpty || this.diff.dom.open) return;
    // After the fetch everything is checked again, because other changes may be staged by then.
    if (!this.diff.isFetched) return void this.diff.fetch().then(() => this.openDiff(path), () => this.#session.unfetched("diff"));
    this.diff.open(changes, this.#session.ghost !== undefined, () => {
      this.composer.accept();
      this.composer.input.focus();
    });
    if (path !== undefined) this.diff.reveal(path);
  }

  draw(): void {
    const session = this.#session;
    const { savedMs, waitedMs } = totals(session.steps);
    const { isNew } = session;
    const staged = session.ahead?.work.staged ?? [];
    const places = { has: (path: string) => session.project.files.has(path), openAt: (path: string, line: number) => this.#openAt(path, [line, line]) };
    this.composer.hasDiff = 0 < staged.length;
    render(
      html`
        ${isNew ? intro() : html`<h1 class="unseen">Playground</h1>`}
        <div class="grid">
          <section class="panel chat" aria-labelledby="chat-title">
            <div class="panel-head">
              <h2 id="chat-title">Conversation</h2>
              ${savedMs ? html`<a class="saved" href="#timeline">${seconds(savedMs)} saved, ${seconds(waitedMs)} waited</a>` : nothing}
              <button class="plain" @click=${this.#actions.showConversations}>Conversations</button>
              ${session.entries.length === 0 ? nothing : html`<button class="plain" @click=${this.#actions.reset}>Start over</button>`}
            </div>
            <div class="log" tabindex="0" role="region" aria-label="What was said and done" @scroll=${(event: Event) => this.#scrolled(event.currentTarget as HTMLElement)}>
              ${isNew ? toBegin : nothing}
              ${conversation(session, { ...places, openFile: (path) => this.#openAndFocus(path), rerun: (prompt) => this.#rerun(prompt), answered: () => this.composer.input.focus() })}
              ${recordedPrompts(session, (prompt) => this.#rerun(prompt), this.#actions.chooseModel)}
              ${this.#isOver ? ending(session.steps, { chooseModel: this.#actions.chooseModel, startOver: this.#actions.reset }) : nothing}
            </div>
            ${this.composer.dom}
          </section>
          <section class="panel ahead" aria-labelledby="ahead-title">
            <div class="panel-head"><h2 id="ahead-title">Ahead of you</h2></div>
            <div class="ahead-body" tabindex="0" role="region" aria-label="What runs ahead">${aheadPanel(session, staged, places, () => this.openDiff())}</div>
          </section>
          <section class="panel files" aria-labelledby="files-title">
            <div class="panel-head">
              <h2 id="files-title">Project</h2>
              <span class="meaning">edit any file, also while work runs ahead</span>
              ${this.#search.line}
            </div>
            <div class="files-body">
              ${this.#search.isOpen
                ? this.#search.results
                : html`<ul class="file-list">
                    ${[...session.project.files.keys()].map((path) => this.#fileRow(path, staged.some((change) => change.path === path)))}
                  </ul>`}
              ${this.#editor.dom}
            </div>
          </section>
        </div>
      `,
      this.dom,
    );
    this.composer.draw();
    this.#search.draw();
    this.#followTheEnd();
  }

  /** Whether the recording is at its end. */
  get #isOver(): boolean {
    const { phase, isRecorded, steps } = this.#session;
    const last = steps.at(-1);
    return phase === "idle" && isRecorded && last !== undefined && ["done", "taken"].includes(last.fate) && last.prompt === LAST_PROMPT;
  }

  #fileRow(path: string, isStaged: boolean) {
    const isOpen = this.#editor.path === path;
    const mark = isStaged ? "staged" : this.#fresh.has(path) ? "applied" : this.#edited.has(path) ? "edited" : "";
    return html`<li>
      <button aria-current=${isOpen ? "true" : "false"} @click=${() => this.openFile(path)}>
        <span>${visible(path)}</span>${mark ? html`<span class="mark ${mark}">${mark}</span>` : nothing}
      </button>
    </li>`;
  }

  #rerun(prompt: string): void {
    if (this.#session.phase !== "idle") return;
    if (this.composer.text === prompt) this.composer.text = "";
    this.#session.send(prompt);
    this.composer.input.focus();
  }

  #openAndFocus(path: string): void {
    this.openFile(path);
    this.#editor.focus();
  }

  #openAt(path: string, [first]: [number, number]): void {
    this.openFile(path);
    if (first !== 0) this.#editor.reveal(first);
    this.#editor.focus();
  }

  #followTheEnd(): void {
    const log = this.dom.querySelector(".log");
    if (!log) return;
    const lines = log.scrollHeight;
    if (this.#follows && lines !== this.#lines) log.scrollTop = lines;
    this.#lines = lines;
  }

  #scrolled(log: HTMLElement): void {
    // A hidden log has no size, so it does not say where the visitor has scrolled.
    if (log.clientHeight) this.#follows = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  }
}
