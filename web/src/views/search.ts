import type { SearchHit } from "headstart/code-index";
import { visible } from "headstart";
import { html, nothing, render } from "lit-html";
import type { Session } from "../session/session.js";
import type { Found } from "../session/search.js";

export interface SearchActions {
  /** Opens a file of the project at these lines. */
  open(path: string, lines: SearchHit["lines"]): void;
  /** Shows the staged change of the path. */
  showStaged(path: string): void;
}

/** How many milliseconds after the last letter the search begins. */
const PAUSE_MS = 120;
/**
 * The longest query in characters. A longer one is cut, because nobody types it and a search would only take longer.
 */
const LONGEST_QUERY = 10_000;

/** The search line over the project's files. While it holds words, the best places are listed, staged ones included. */
export class SearchView {
  readonly line = document.createElement("div");
  readonly results = document.createElement("div");
  readonly #actions: SearchActions;
  readonly #onChange: () => void;
  #session: Session;
  #found: Found | undefined;
  #failed: string | undefined;
  /** The last search: its query, and the state in which it was made. */
  #asked = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #version = 0;

  constructor(session: Session, actions: SearchActions, onChange: () => void) {
    this.#session = session;
    this.#actions = actions;
    this.#onChange = onChange;
    this.line.className = "search";
    this.results.className = "search-results";
    render(
      html`<input
        id="search"
        type="search"
        placeholder="Search the project"
        aria-label="Search the project, staged edits included"
        autocomplete="off"
        spellcheck="false"
        @input=${() => this.#typed()}
        @keydown=${(event: KeyboardEvent) => this.#key(event)}
      />`,
      this.line,
    );
    this.use(session);
  }

  use(session: Session): void {
    this.#session = session;
    this.#version = 0;
    session.project.onChange(() => (this.#version += 1));
    this.clear();
  }

  get query(): string {
    return this.#input.value.trim();
  }

  /** Whether the results are shown in place of the list of files. */
  get isOpen(): boolean {
    return this.query !== "";
  }

  clear(): void {
    this.#input.value = "";
    this.#forget();
  }

  draw(): void {
    if (!this.isOpen) return;
    // The project or the staged changes may differ now, so the search is made again if they do.
    this.#search(0);
    const found = this.#found;
    render(
      html`<p class="quiet" role="status">${this.#failed ?? (found ? told(found) : "Searching…")}</p>
        <ol class="hits" @keydown=${(event: KeyboardEvent) => this.#keyInList(event)}>
          ${found?.hits.map((hit) => this.#row(hit)) ?? nothing}
        </ol>`,
      this.results,
    );
  }

  get #input(): HTMLInputElement {
    return this.line.firstElementChild as HTMLInputElement;
  }

  #row(hit: SearchHit) {
    const { path, lines, symbol } = hit;
    const isStaged = this.#staged?.summary().some((change) => change.path === path) ?? false;
    const place = lines[0] === 0 ? "" : `:${lines[0]}`;
    return html`<li>
      <button @click=${() => this.#open(hit, isStaged)}>
        <span class="place">${visible(path)}${place}</span>
        ${isStaged ? html`<span class="mark staged">staged</span>` : nothing}
        ${symbol === null ? nothing : html`<span class="symbol">${symbol}</span>`}
      </button>
    </li>`;
  }

  #open({ path, lines }: SearchHit, isStaged: boolean): void {
    if (isStaged) return this.#actions.showStaged(path);
    if (this.#session.project.files.has(path)) return this.#actions.open(path, lines);
    // The file was removed while the results were shown.
    this.#session.note(`${path} is not there any more.`, "plain");
    this.#asked = "";
    this.draw();
  }

  get #staged() {
    return this.#session.staged();
  }

  #typed(): void {
    if (this.isOpen) this.#search(PAUSE_MS);
    else this.#forget();
    this.#onChange();
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#asked = "";
    this.#found = this.#failed = undefined;
    render(nothing, this.results);
  }

  #search(pause: number): void {
    const staged = this.#staged;
    const query = this.query.slice(0, LONGEST_QUERY);
    const asked = JSON.stringify([query, this.#version, staged?.summary()]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      let [found, failed]: [Found | undefined, string | undefined] = [undefined, undefined];
      try {
        found = await this.#session.search.find(query, staged);
      } catch (error) {
        // A browser does not fetch a module again after it failed once, so only a reload helps.
        failed = `Nothing can be searched now (${(error as Error).message}); load the page again: what is here is kept.`;
      }
      // The result is dropped if another search has begun meanwhile.
      if (this.#asked !== asked) return;
      [this.#found, this.#failed] = [found, failed];
      this.#onChange();
    }, pause);
  }

  #key(event: KeyboardEvent): void {
    if (event.key === "Escape" && this.isOpen) {
      event.preventDefault();
      this.clear();
      this.#onChange();
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      const first = this.results.querySelector<HTMLElement>(".hits button");
      if (event.key === "Enter") first?.click();
      else first?.focus();
    }
  }

  #keyInList(event: KeyboardEvent): void {
    const buttons = [...this.results.querySelectorAll<HTMLElement>(".hits button")];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape") {
      this.clear();
      this.#onChange();
      this.#input.focus();
    } else if (event.key === "ArrowDown") buttons[at + 1]?.focus();
    else if (event.key === "ArrowUp") (buttons[at - 1] ?? this.#input).focus();
    else return;
    event.preventDefault();
  }
}

function told({ hits, progress: { percent } }: Found): string {
  const so = percent < 100 ? ` so far: ${percent} % of the files are indexed` : "";
  if (hits.length === 0) return `Nothing fits${so}.`;
  return `${hits.length} ${hits.length === 1 ? "place" : "places"}${so}, best first.`;
}
