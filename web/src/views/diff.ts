import type { EditorView } from "@codemirror/view";
import type { ChangeSet, ChangeSummary } from "headstart";
import type { diffView } from "../editor/diff-view.js";

const KINDS: Readonly<Record<ChangeSummary["type"], string>> = {
  create: "new",
  modify: "changed",
  delete: "deleted",
  rename: "moved",
  createDirectory: "new folder",
};

/** Shows the staged changes file by file, before any of them is in the project. */
export class DiffDialog {
  readonly dom = document.createElement("dialog");
  readonly #files = document.createElement("div");
  readonly #take = document.createElement("button");
  #views: EditorView[] = [];
  #diffView: typeof diffView | undefined;
  #onTake: () => void = () => {};

  constructor() {
    this.dom.className = "diff";
    this.dom.setAttribute("aria-labelledby", "diff-title");
    const title = document.createElement("h2");
    title.id = "diff-title";
    title.textContent = "Staged changes";
    const close = document.createElement("button");
    close.innerHTML = "Close <kbd>Esc</kbd>";
    close.addEventListener("click", () => this.dom.close());
    this.#take.className = "primary";
    this.#take.textContent = "Accept";
    this.#take.addEventListener("click", () => {
      this.dom.close();
      this.#onTake();
    });
    const head = document.createElement("div");
    head.className = "dialog-head";
    head.append(title, this.#take, close);
    this.#files.className = "diff-files";
    this.dom.append(head, this.#files);
    this.dom.addEventListener("close", () => this.#clear());
  }

  /** Whether the code that shows a diff has been fetched. */
  get isFetched(): boolean {
    return this.#diffView !== undefined;
  }

  /** Fetches the code that shows a diff; has to be called before `open`. */
  async fetch(): Promise<void> {
    ({ diffView: this.#diffView } = await import("../editor/diff-view.js"));
  }

  open(changes: ChangeSet, canTake: boolean, onTake: () => void): void {
    this.#clear();
    this.#onTake = onTake;
    this.#take.hidden = !canTake;
    for (const change of changes.summary()) this.#files.append(this.#section(changes, change));
    this.dom.showModal();
  }

  /** Scrolls to the diff of a file, and gives it the focus. */
  reveal(path: string): void {
    const section = [...this.#files.children].find((section) => (section as HTMLElement).dataset["path"] === path);
    section?.scrollIntoView({ block: "nearest" });
    section?.querySelector<HTMLElement>(".cm-content")?.focus();
  }

  #section(changes: ChangeSet, { path, type, from, added, removed }: ChangeSummary): HTMLElement {
    const section = document.createElement("section");
    section.dataset["path"] = path;
    const heading = document.createElement("h3");
    const moved = from === undefined ? "" : `${from} → `;
    heading.textContent = `${moved}${path} (${KINDS[type]}, +${added} −${removed})`;
    section.append(heading);
    if (type === "createDirectory") return section;
    const { before, after } = changes.sides(path);
    const text = (bytes?: Uint8Array) => new TextDecoder().decode(bytes);
    const view = this.#diffView?.(path, text(before), text(after));
    if (!view) return section;
    this.#views.push(view);
    section.append(view.dom);
    return section;
  }

  #clear(): void {
    for (const view of this.#views) view.destroy();
    this.#views = [];
    this.#files.replaceChildren();
  }
}
