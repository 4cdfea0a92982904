// `headstart/attach`: suggestions in an input field of a page. No module is loaded: the controller is handed in.
import { type Field, fieldOf, isNative } from "./attach-field.js";
import { Ghost } from "./attach-ghost.js";
import { InputError } from "./errors.js";
import type { ControllerEvent, Effect } from "./types-controller.js";

export { HeadstartError, InputError } from "./errors.js";
export { type MentionList, type MentionListOptions, attachMentions } from "./mention-list.js";
export { Prose, type ProseOptions, type ProseToken } from "./prose.js";
export { visible, visibleLines } from "./visible.js";
export type { Completion, Mentionable } from "./types-agent.js";
export type { AcceptMethod, ControllerEvent, Effect, Outcome } from "./types-controller.js";

/** A `FollowupController`, of whichever entry. */
export interface Controller {
  handle(event: ControllerEvent, now?: number): Effect[];
}

export interface AttachOptions {
  controller: Controller;
  /**
   * Takes the suggestion for which Tab was pressed, instead of the field, for a page that has run it ahead. Without
   * this, Tab puts the text into the field, as the right arrow does.
   */
  onTab?: ((suggestion: string) => void) | undefined;
  /** Gets every effect after the field has done its part of it: what to run ahead, to give up, or to write down. */
  onEffect?: ((effect: Effect) => void) | undefined;
  /**
   * What reads and replaces the text, if the field belongs to an editor with a document of its own (Lexical,
   * ProseMirror, TipTap). Without it the element's text counts, and is replaced as if the user had typed.
   */
  editor?: Editor | undefined;
  /** The colour of what is not typed yet. Default: the field's own, at half its strength. */
  color?: string | undefined;
}

/** The text of an editor. */
export interface Editor {
  text(): string;
  /** Puts this text in place of all that is there, and the caret behind it. */
  replace(text: string): void;
}

/** A field with suggestions. */
export interface Attached {
  /**
   * Tells the controller, and carries out its effects. Use it for `suggested`, for `clear` after a prompt was sent, and
   * so on.
   */
  tell(event: ControllerEvent): void;
  /** What is on screen. */
  readonly suggestion: string | undefined;
  /** Removes everything from the field again. */
  detach(): void;
}

/** Events that count only with the text as it is in the field, which a page may have set without telling. */
const ABOUT_THE_TEXT: ReadonlySet<string> = new Set(["accept", "wake", "nextCandidate", "previousCandidate"]);

/**
 * Shows suggestions as ghost text in an `<input>`, a `<textarea>` or an element with `contenteditable`, and handles its
 * keys: Tab takes a suggestion, the right arrow at the end of the text puts it into the field, Escape dismisses it, Alt+]
 * and Alt+[ turn to another one. In a field that has the focus, a tap on the ghost is as Tab. If no suggestion shows,
 * all keys do what they always did. A field becomes as high as a suggestion needs, and one that is too long for an
 * `<input>` is shown whole beside it. Text that the user composes (Japanese, Chinese, Korean) is never cut short, and a
 * text that is in the field, whoever put it there, is never replaced by a suggestion that does not begin with it.
 *
 * ```js
 * const field = attach(document.querySelector("textarea"), { controller: new FollowupController() });
 * field.tell({ type: "suggested", request: 1, suggestion: "run the tests" });
 * ```
 *
 * If the page itself sets a text while a suggestion shows, report that with `field.tell({ type: "edited", text })`, so
 * that the ghost follows at once.
 */
export function attach(input: HTMLElement, options: AttachOptions): Attached {
  const { controller, editor } = options ?? {};
  const field = fieldOf(input, editor);
  if (field === undefined) throw new InputError("input: must be an input, a textarea or an element with contenteditable of this page", "input");
  if (typeof controller?.handle !== "function") throw new InputError("controller: give a FollowupController", "controller");
  if (editor !== undefined && (typeof editor.text !== "function" || typeof editor.replace !== "function")) {
    throw new InputError("editor: give its functions text and replace", "editor");
  }
  return new FieldWithGhost(field, options);
}

class FieldWithGhost implements Attached {
  readonly #field: Field;
  readonly #options: AttachOptions;
  readonly #ghost: Ghost;
  readonly #listening = new AbortController();
  /** Not everywhere is there one: jsdom has no sizes. */
  readonly #sized = typeof ResizeObserver === "undefined" ? undefined : new ResizeObserver(() => this.#place());
  #shown: { suggestion: string; rest: string } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  #isComposing = false;
  /** Whether the field is being changed by an `insert`, which the controller knows already. */
  #inserts = false;
  /** Whether the pointer went down on the ghost, in a field that had the focus: the first tap in a field only leads there. */
  #isTapped = false;
  readonly #described: string | null;

  constructor(field: Field, options: AttachOptions) {
    this.#field = field;
    this.#options = options;
    this.#ghost = new Ghost(field, options.color, () => this.#take());
    const { element } = field;
    this.#described = element.getAttribute("aria-description");
    const { signal } = this.#listening;
    // An editor has keys of its own, which it would have first.
    element.addEventListener("keydown", (event) => this.#onKey(event), { signal, capture: !isNative(element) });
    field.onChange(() => this.#onInput(), signal);
    element.addEventListener("compositionstart", () => this.#compose(true), { signal });
    element.addEventListener("compositionend", () => this.#compose(false), { signal });
    element.addEventListener("scroll", () => this.#place(), { signal });
    element.addEventListener("pointerdown", (event) => this.#onPointer(event), { signal });
    element.addEventListener("click", (event) => this.#onClick(event), { signal });
    this.#sized?.observe(element);
    if (field.text !== "") this.tell({ type: "edited", text: field.text });
  }

  get suggestion(): string | undefined {
    return this.#shown?.suggestion;
  }

  tell(event: ControllerEvent): void {
    if (this.#isOver) return;
    if (ABOUT_THE_TEXT.has(event.type)) this.#tellText();
    this.#handle(event);
  }

  detach(): void {
    if (this.#isOver) return;
    this.tell({ type: "cleanup" });
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#listening.abort();
    this.#sized?.disconnect();
    this.#show(undefined);
  }

  #handle(event: ControllerEvent): void {
    for (const effect of this.#options.controller.handle(event, Date.now())) this.#carryOut(effect);
  }

  /** Tells the text as it is; one that is known changes nothing. */
  #tellText(): void {
    if (!this.#isComposing) this.#handle({ type: "edited", text: this.#field.text });
  }

  #carryOut(effect: Effect): void {
    if (effect.type === "show") this.#show({ suggestion: effect.suggestion, rest: effect.rest ?? effect.suggestion });
    if (effect.type === "hide") this.#show(undefined);
    if (effect.type === "insert") this.#insert(effect.text);
    if (effect.type === "wakeAt") {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.tell({ type: "wake" }), Math.max(0, effect.at - Date.now()));
    }
    this.#options.onEffect?.(effect);
  }

  #insert(text: string): void {
    this.#inserts = true;
    try {
      this.#field.put(text);
    } finally {
      this.#inserts = false;
    }
  }

  #onInput(): void {
    if (!this.#inserts) this.#tellText();
    if (!this.#isOver) this.#place();
  }

  #compose(isComposing: boolean): void {
    this.#isComposing = isComposing;
    if (isComposing) this.#ghost.hide();
    else this.#onInput();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.isComposing || event.defaultPrevented || this.#shown === undefined) return;
    const { key, code, altKey, shiftKey, ctrlKey, metaKey } = event;
    if (altKey && !ctrlKey && !metaKey && (code === "BracketRight" || code === "BracketLeft")) {
      this.tell({ type: code === "BracketRight" ? "nextCandidate" : "previousCandidate" });
    } else if (altKey || shiftKey || ctrlKey || metaKey) {
      return;
    } else if (key === "Tab") {
      this.#tellText();
      // The page has set a text with which the suggestion does not go.
      if (this.#shown === undefined) return;
      this.#take();
    } else if (key === "ArrowRight" && this.#field.isAtEnd) {
      this.tell({ type: "accept", method: "right" });
    } else if (key === "Escape") {
      this.tell({ type: "dismiss" });
    } else {
      return;
    }
    event.preventDefault();
    if (!isNative(this.#field.element)) event.stopImmediatePropagation();
  }

  /** Takes what is shown, as Tab does. */
  #take(): void {
    this.#tellText();
    const { onTab } = this.#options;
    const suggestion = this.#shown?.suggestion;
    if (suggestion === undefined) return;
    this.tell({ type: "accept", method: "tab", skipInsert: onTab !== undefined });
    // If a key came too soon after the suggestion, it took nothing.
    if (this.#shown === undefined) onTab?.(suggestion);
  }

  #onPointer({ pointerType, clientX, clientY }: PointerEvent): void {
    const { element } = this.#field;
    const hasFocus = (element.getRootNode() as Document | ShadowRoot).activeElement === element;
    this.#isTapped = hasFocus && pointerType !== "mouse" && this.#ghost.isAt(clientX, clientY);
  }

  #onClick(event: MouseEvent): void {
    if (!this.#isTapped || !this.#ghost.isAt(event.clientX, event.clientY)) return;
    this.#isTapped = false;
    event.preventDefault();
    this.#take();
  }

  #show(shown: { suggestion: string; rest: string } | undefined): void {
    this.#shown = shown;
    const { element } = this.#field;
    if (shown === undefined) {
      this.#ghost.hide();
      if (this.#described === null) element.removeAttribute("aria-description");
      else element.setAttribute("aria-description", this.#described);
      return;
    }
    element.setAttribute("aria-description", `Suggestion: ${shown.suggestion}. Tab takes it, Escape dismisses it.`);
    this.#place();
  }

  #place(): void {
    if (this.#shown !== undefined && !this.#isComposing) this.#ghost.place(this.#shown.suggestion, this.#shown.rest);
  }
}
