// `headstart/attach`: suggestions in an input field of a page. No module is loaded: the controller is handed in.
import { InputError } from "./errors.js";
import type { ControllerEvent, Effect } from "./types-controller.js";

export { HeadstartError, InputError } from "./errors.js";
export { type MentionList, type MentionListOptions, attachMentions } from "./mention-list.js";
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
  /** The colour of what is not typed yet. Default: the field's own, at half its strength. */
  color?: string | undefined;
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

type Field = HTMLInputElement | HTMLTextAreaElement;

/** The properties of the field's look that decide where its letters are. */
const LOOK = [
  "direction", "font", "fontKerning", "fontFeatureSettings", "fontVariationSettings", "letterSpacing", "lineHeight", "tabSize", "textAlign", "textIndent",
  "textTransform", "wordSpacing", "paddingTop", "paddingRight", "paddingBottom", "paddingLeft", "borderTopWidth", "borderRightWidth", "borderBottomWidth",
  "borderLeftWidth", "boxSizing",
] as const;

/**
 * Shows suggestions as ghost text in an `<input>` or a `<textarea>`, and handles its keys: Tab takes a suggestion, the
 * right arrow at the end of the text puts it into the field, Escape dismisses it, Alt+] and Alt+[ turn to another one.
 * If no suggestion shows, all keys do what they always did. Text that the user composes (Japanese, Chinese, Korean) is
 * never cut short.
 *
 * ```js
 * const field = attach(document.querySelector("textarea"), { controller: new FollowupController() });
 * field.tell({ type: "suggested", request: 1, suggestion: "run the tests" });
 * ```
 *
 * If the page itself sets a text, report that with `field.tell({ type: "edited", text })`.
 */
export function attach(input: Field, options: AttachOptions): Attached {
  if (!(input instanceof HTMLTextAreaElement || input instanceof HTMLInputElement)) {
    throw new InputError("input: must be an input or a textarea of this page", "input");
  }
  if (typeof options?.controller?.handle !== "function") throw new InputError("controller: give a FollowupController", "controller");
  return new FieldWithGhost(input, options);
}

class FieldWithGhost implements Attached {
  readonly #input: Field;
  readonly #options: AttachOptions;
  readonly #ghost = document.createElement("div");
  readonly #typed = document.createElement("span");
  readonly #rest = document.createElement("span");
  readonly #listening = new AbortController();
  readonly #sized: ResizeObserver;
  #shown: { suggestion: string; rest: string } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;
  /** Whether the field is being changed by an `insert`, which the controller knows already. */
  #inserts = false;
  readonly #described: string | null;

  constructor(input: Field, options: AttachOptions) {
    this.#input = input;
    this.#options = options;
    this.#described = input.getAttribute("aria-description");
    this.#ghost.setAttribute("aria-hidden", "true");
    this.#ghost.dataset.headstart = "ghost";
    this.#typed.style.visibility = "hidden";
    if (options.color === undefined) this.#rest.style.opacity = "0.5";
    else this.#rest.style.color = options.color;
    this.#ghost.append(this.#typed, this.#rest);
    const { signal } = this.#listening;
    input.addEventListener("keydown", (event) => this.#onKey(event as KeyboardEvent), { signal });
    input.addEventListener("input", (event) => ((event as InputEvent).isComposing ? this.#ghost.remove() : this.#onInput()), { signal });
    input.addEventListener("compositionend", () => this.#onInput(), { signal });
    input.addEventListener("scroll", () => this.#place(), { signal });
    this.#sized = new ResizeObserver(() => this.#place());
    this.#sized.observe(input);
  }

  get suggestion(): string | undefined {
    return this.#shown?.suggestion;
  }

  tell(event: ControllerEvent): void {
    if (this.#isOver) return;
    for (const effect of this.#options.controller.handle(event, Date.now())) this.#carryOut(effect);
  }

  detach(): void {
    if (this.#isOver) return;
    this.tell({ type: "cleanup" });
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#listening.abort();
    this.#sized.disconnect();
    this.#show(undefined);
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
    const { prototype } = this.#input instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
    // This uses the property of the class, because a library may have put its own property on this element, and would
    // take the text for one that it has set.
    Object.getOwnPropertyDescriptor(prototype, "value")?.set?.call(this.#input, text);
    this.#input.setSelectionRange(text.length, text.length);
    this.#inserts = true;
    this.#input.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertReplacementText", data: text }));
    this.#inserts = false;
  }

  #onInput(): void {
    if (!this.#inserts) this.tell({ type: "edited", text: this.#input.value });
    this.#place();
  }

  #onKey(event: KeyboardEvent): void {
    if (event.isComposing || event.defaultPrevented || this.#shown === undefined) return;
    const { suggestion } = this.#shown;
    const { key, code, altKey, shiftKey, ctrlKey, metaKey } = event;
    if (altKey && !ctrlKey && !metaKey && (code === "BracketRight" || code === "BracketLeft")) {
      this.tell({ type: code === "BracketRight" ? "nextCandidate" : "previousCandidate" });
    } else if (altKey || shiftKey || ctrlKey || metaKey) {
      return;
    } else if (key === "Tab") {
      const { onTab } = this.#options;
      this.tell({ type: "accept", method: "tab", skipInsert: onTab !== undefined });
      // If a key came too soon after the suggestion, it took nothing.
      if (this.#shown === undefined) onTab?.(suggestion);
    } else if (key === "ArrowRight" && this.#isAtEnd) {
      this.tell({ type: "accept", method: "right" });
    } else if (key === "Escape") {
      this.tell({ type: "dismiss" });
    } else {
      return;
    }
    event.preventDefault();
  }

  get #isAtEnd(): boolean {
    const { value, selectionStart, selectionEnd } = this.#input;
    return selectionStart === value.length && selectionEnd === value.length;
  }

  #show(shown: { suggestion: string; rest: string } | undefined): void {
    this.#shown = shown;
    if (shown === undefined) {
      this.#ghost.remove();
      if (this.#described === null) this.#input.removeAttribute("aria-description");
      else this.#input.setAttribute("aria-description", this.#described);
      return;
    }
    this.#input.setAttribute("aria-description", `Suggestion: ${shown.suggestion}. Tab takes it, Escape dismisses it.`);
    this.#place();
  }

  /** Puts the ghost over the field, letter on letter; it takes no clicks. */
  #place(): void {
    const input = this.#input;
    if (this.#shown === undefined || !input.isConnected) return;
    const look = getComputedStyle(input);
    const { style } = this.#ghost;
    for (const property of LOOK) style[property] = look[property];
    const isLine = input instanceof HTMLInputElement;
    Object.assign(style, {
      position: "absolute", pointerEvents: "none", overflow: "hidden", borderStyle: "solid", borderColor: "transparent", background: "none", margin: "0",
      color: look.color, whiteSpace: isLine ? "pre" : "pre-wrap", overflowWrap: "break-word", zIndex: look.zIndex,
      left: `${input.offsetLeft}px`, top: `${input.offsetTop}px`, width: `${input.offsetWidth}px`, height: `${input.offsetHeight}px`, boxSizing: "border-box",
      // The text of a single line is in the middle of its height.
      ...(isLine && { lineHeight: `${input.clientHeight - Number.parseFloat(look.paddingTop) - Number.parseFloat(look.paddingBottom)}px` }),
    });
    this.#typed.textContent = input.value;
    this.#rest.textContent = this.#shown.rest;
    if (this.#ghost.parentElement !== input.parentElement) input.after(this.#ghost);
    this.#ghost.scrollTop = input.scrollTop;
    this.#ghost.scrollLeft = input.scrollLeft;
  }
}
