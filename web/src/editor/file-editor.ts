import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { Annotation, EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { languageOf } from "./language.js";
import { theme } from "./theme.js";

/** Marks a change that did not come from the user. */
const fromWork = Annotation.define<true>();

/** One editor for all files of the project; each file keeps its history and cursor while another one is open. */
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

  open(path: string, text: string): void {
    if (this.#path) this.#states.set(this.#path, this.#view.state);
    this.#path = path;
    this.#view.setState(this.#states.get(path) ?? this.#state(path, text));
    this.show(path, text);
  }

  /** The file has another content now. Only what differs is replaced, so that the cursor stays and an undo takes it back. */
  show(path: string, text: string): void {
    if (path !== this.#path) {
      this.#states.delete(path);
      return;
    }
    const now = this.#view.state.doc.toString();
    if (now === text) return;
    let start = 0;
    while (start < now.length && now[start] === text[start]) start += 1;
    let end = 0;
    while (end < Math.min(now.length, text.length) - start && now[now.length - 1 - end] === text[text.length - 1 - end]) end += 1;
    this.#view.dispatch({
      changes: { from: start, to: now.length - end, insert: text.slice(start, text.length - end) },
      annotations: fromWork.of(true),
      scrollIntoView: true,
    });
  }

  /** Puts the cursor to the beginning of a line, from 1, and shows it at the top; the last line, where there are fewer. */
  reveal(line: number): void {
    const { doc } = this.#view.state;
    const { from } = doc.line(Math.min(line, doc.lines));
    this.#view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "start" }) });
  }

  focus(): void {
    this.#view.focus();
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
        // Tab is left to the browser: it leads out of the editor.
        keymap.of([...defaultKeymap, ...historyKeymap]),
        languageOf(path),
        theme,
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
