import type { FileEditor } from "./file-editor.js";

/**
 * The editor of the project's files. It is fetched when the page can already be used; until then the open file is shown
 * as plain text.
 */
export class LateEditor {
  readonly dom = document.createElement("div");
  readonly #onEdit: (path: string, text: string) => void;
  readonly #shown = document.createElement("pre");
  #editor: FileEditor | undefined;
  #files: ReadonlyMap<string, string> = new Map();
  #path = "";
  /** What is to be done with the editor as soon as it has been fetched. */
  #after: ((editor: FileEditor) => void)[] = [];

  constructor(onEdit: (path: string, text: string) => void) {
    this.#onEdit = onEdit;
    this.dom.className = "editor";
    this.#shown.className = "unfetched";
    this.dom.append(this.#shown);
  }

  get path(): string {
    return this.#path;
  }

  async fetch(): Promise<void> {
    const { FileEditor } = await import("./file-editor.js");
    this.#editor = new FileEditor(this.#onEdit);
    this.#editor.load(this.#files);
    if (this.#path) this.#editor.open(this.#path);
    this.dom.replaceChildren(this.#editor.dom);
    for (const act of this.#after.splice(0)) act(this.#editor);
  }

  /** Takes the files of another project. */
  load(files: ReadonlyMap<string, string>): void {
    this.#files = files;
    this.#editor?.load(files);
  }

  open(path: string): void {
    this.#path = path;
    this.#shown.textContent = this.#files.get(path) ?? "";
    this.#editor?.open(path);
  }

  /** Shows a file that the work has changed; `files` are all files after the change. */
  show(path: string, files: ReadonlyMap<string, string>): void {
    this.#files = files;
    if (path === this.#path) this.#shown.textContent = files.get(path) ?? "";
    this.#editor?.show(path, files.get(path));
  }

  /** Removes the marks from what the work has changed so far. */
  unmark(): void {
    this.#editor?.unmark();
  }

  reveal(line: number): void {
    this.#with((editor) => editor.reveal(line));
  }

  focus(): void {
    this.#with((editor) => editor.focus());
  }

  #with(act: (editor: FileEditor) => void): void {
    if (this.#editor) act(this.#editor);
    else this.#after.push(act);
  }
}
