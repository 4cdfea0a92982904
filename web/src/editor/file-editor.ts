import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { EditorState, type TransactionSpec } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { applied, fromWork, unmark } from "./applied.js";
import { languageOf } from "./language.js";
import { lineChanges } from "./line-changes.js";
import { theme } from "./theme.js";

/** One editor for all files of the project. A file keeps its history and cursor while another one is open. */
export class FileEditor {
  readonly dom: HTMLElement;
  readonly #view: EditorView;
  readonly #states = new Map<string, EditorState>();
  readonly #onEdit: (path: string, text: string) => void;
  #path = "";

  constructor(onEdit: (path: string, text: string) => void) {
    this.#onEdit = onEdit;
    this.#view = new EditorView({ state: EditorState.create() });
    this.dom = this.#view.dom;
  }

  get path(): string {
    return this.#path;
  }

  /** Takes the files of another project. */
  load(files: ReadonlyMap<string, string>): void {
    this.#path = "";
    this.#states.clear();
    for (const [path, text] of files) this.#states.set(path, this.#state(path, text));
  }

  open(path: string): void {
    this.#keep();
    this.#path = path;
    this.#view.setState(this.#states.get(path) ?? this.#state(path, ""));
  }

  /**
   * Shows the content that the work has given the file, and marks the changed lines. Only what differs is replaced, so
   * that the cursor keeps its place and the user can undo the change.
   */
  show(path: string, text: string | undefined): void {
    this.#keep();
    if (text === undefined) {
      this.#states.delete(path);
      return;
    }
    const state = this.#states.get(path) ?? this.#state(path, "");
    const now = state.doc.toString();
    if (now === text) return;
    const changes = lineChanges(now, text);
    this.#change(path, state, { changes, annotations: fromWork.of(true) });
    // While the user is writing, nothing scrolls. Otherwise the editor scrolls to the first change, but the page does
    // not.
    const [first] = changes;
    if (path !== this.#path || first === undefined || this.#view.hasFocus) return;
    const { scrollDOM } = this.#view;
    scrollDOM.scrollTop = this.#view.lineBlockAt(first.from).top - scrollDOM.clientHeight / 3;
  }

  /** Removes the marks from what the work has changed so far. */
  unmark(): void {
    this.#keep();
    for (const [path, state] of this.#states) this.#change(path, state, { effects: unmark.of(null) });
  }

  /**
   * Puts the cursor at the beginning of a line, counted from 1, and scrolls it to the top. A file with fewer lines
   * shows its last line.
   */
  reveal(line: number): void {
    const { doc } = this.#view.state;
    const { from } = doc.line(Math.min(line, doc.lines));
    this.#view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "start" }) });
  }

  focus(): void {
    this.#view.focus();
  }

  #keep(): void {
    if (this.#path) this.#states.set(this.#path, this.#view.state);
  }

  #change(path: string, state: EditorState, spec: TransactionSpec): void {
    if (path === this.#path) this.#view.dispatch(spec);
    else this.#states.set(path, state.update(spec).state);
  }

  #state(path: string, text: string): EditorState {
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        // Tab is left to the browser, so that users of the keyboard can leave the editor.
        keymap.of([...defaultKeymap, ...historyKeymap]),
        languageOf(path),
        theme,
        applied,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": `Content of ${path}`, tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          const isOwn = update.transactions.some((transaction) => transaction.annotation(fromWork));
          if (update.docChanged && !isOwn) this.#onEdit(path, update.state.doc.toString());
        }),
      ],
    });
  }
}
