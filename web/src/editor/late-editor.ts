import type { FileEditor } from "./file-editor.js";

/** The editor of the project's files. It is fetched once the page can be used; until then the open file is only shown. */
export class LateEditor {
  readonly dom = document.createElement("div");
  readonly #onEdit: (path: string, text: string) => void;
  readonly #shown = document.createElement("pre");
  #editor: FileEditor | undefined;
  #path = "";
  /** What is to be done with the editor when it is there, and not before. */
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
    if (this.#path) this.#editor.open(this.#path, this.#shown.textContent);
    this.dom.replaceChildren(this.#editor.dom);
    for (const act of this.#after.splice(0)) act(this.#editor);
  }

  open(path: string, text: string): void {
    this.#path = path;
    this.#shown.textContent = text;
    this.#editor?.open(path, text);
  }

  /** The file has another content now. */
  show(path: string, text: string): void {
    if (path === this.#path) this.#shown.textContent = text;
    this.#editor?.show(path, text);
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
