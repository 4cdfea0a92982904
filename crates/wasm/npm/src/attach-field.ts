// The text of a field: of an `<input>`, a `<textarea>`, or an element whose content can be edited.
import type { Editor } from "./attach.js";
import { InputError } from "./errors.js";

/** A field with text, wherever the text is kept. */
export interface Field {
  readonly element: HTMLElement;
  readonly text: string;
  /** Whether the caret stands behind all of the text. */
  readonly isAtEnd: boolean;
  /** Replaces the text, and tells the page by an `input` event where nothing else does. */
  put(text: string): void;
  /** Calls this whenever the user or an editor has changed the text. */
  onChange(changed: () => void, signal: AbortSignal): void;
}

export type Native = HTMLInputElement | HTMLTextAreaElement;

export function isNative(element: unknown): element is Native {
  return element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement;
}

/** The field that an element is, if it is one. */
export function fieldOf(element: unknown, editor: Editor | undefined): Field | undefined {
  if (isNative(element)) return new NativeField(element);
  if (!(element instanceof HTMLElement)) return undefined;
  if (editor === undefined && "__lexicalEditor" in element) {
    throw new InputError("editor: Lexical keeps a document of its own; give the functions that read and replace its text", "editor");
  }
  const isEdited = editor !== undefined || ![null, "false"].includes(element.getAttribute("contenteditable"));
  return isEdited ? new EditedElement(element, editor) : undefined;
}

class NativeField implements Field {
  constructor(readonly element: Native) {}

  get text(): string {
    return this.element.value;
  }

  get isAtEnd(): boolean {
    const { value, selectionStart, selectionEnd } = this.element;
    return selectionStart === value.length && selectionEnd === value.length;
  }

  put(text: string): void {
    const { prototype } = this.element instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
    // This uses the property of the class, because a library may have put its own property on this element, and would
    // take the text for one that it has set.
    Object.getOwnPropertyDescriptor(prototype, "value")?.set?.call(this.element, text);
    this.element.setSelectionRange(text.length, text.length);
    this.element.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertReplacementText", data: text }));
  }

  onChange(changed: () => void, signal: AbortSignal): void {
    this.element.addEventListener("input", changed, { signal });
  }
}

class EditedElement implements Field {
  readonly #editor: Editor | undefined;

  constructor(
    readonly element: HTMLElement,
    editor: Editor | undefined,
  ) {
    this.#editor = editor;
  }

  get text(): string {
    const text = this.#editor?.text() ?? this.element.innerText ?? this.element.textContent ?? "";
    // A paragraph without text, and the last line of any, end with a line that nobody typed. The blank at the end of a
    // line is one that must not break, because the line would not show another.
    return text.replace(/\n+$/, "").replaceAll("\u{a0}", " ");
  }

  get isAtEnd(): boolean {
    const selection = document.getSelection();
    const { anchorNode, anchorOffset, isCollapsed } = selection ?? {};
    if (!isCollapsed || !anchorNode || anchorOffset === undefined || !this.element.contains(anchorNode)) return false;
    const behind = document.createRange();
    behind.selectNodeContents(this.element);
    behind.setStart(anchorNode, anchorOffset);
    return behind.toString() === "";
  }

  put(text: string): void {
    if (this.#editor) return this.#editor.replace(text);
    this.element.focus();
    document.getSelection()?.selectAllChildren(this.element);
    // This is the only way to edit as if the user had typed: the change can be undone, and is told by events. jsdom
    // cannot do it.
    if (document.execCommand?.("insertText", false, text)) return;
    this.element.textContent = text;
    this.element.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertReplacementText", data: text }));
  }

  /** Some editors have no `input` events, and others change their document after them. What shows changes in all. */
  onChange(changed: () => void, signal: AbortSignal): void {
    const seen = new MutationObserver(changed);
    seen.observe(this.element, { characterData: true, childList: true, subtree: true });
    signal.addEventListener("abort", () => seen.disconnect());
  }
}
