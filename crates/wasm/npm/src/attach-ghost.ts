// The drawing of a suggestion over a field, letter on letter.
import { type Field, type Native, isNative } from "./attach-field.js";

/** The properties of a text's look that decide where its letters are. */
const LETTERS = [
  "direction", "font", "fontKerning", "fontFeatureSettings", "fontVariationSettings", "letterSpacing", "lineHeight", "tabSize", "textAlign", "textTransform",
  "wordSpacing",
] as const;

/** Those of a field's box. */
const BOX = [
  "textIndent", "paddingTop", "paddingRight", "paddingBottom", "paddingLeft", "borderTopWidth", "borderRightWidth", "borderBottomWidth", "borderLeftWidth",
  "boxSizing",
] as const;

/** What the rest of a suggestion looks like behind the text of a field. */
export class Ghost {
  readonly #field: Field;
  readonly #dom = document.createElement("div");
  readonly #typed = document.createElement("span");
  readonly #rest = document.createElement("span");
  /** All of a suggestion that is longer than the line of an `<input>`. */
  readonly #whole = document.createElement("div");
  readonly #ownMinHeight: string;
  #isShown = false;

  /** @param onTake A press on the whole suggestion, where one shows. */
  constructor(field: Field, color: string | undefined, onTake: () => void) {
    this.#field = field;
    this.#ownMinHeight = field.element.style.minHeight;
    this.#dom.dataset.headstart = "ghost";
    this.#whole.dataset.headstart = "whole";
    for (const part of [this.#dom, this.#whole]) part.setAttribute("aria-hidden", "true");
    this.#typed.style.visibility = "hidden";
    if (color === undefined) this.#rest.style.opacity = "0.5";
    else this.#rest.style.color = color;
    this.#dom.append(this.#typed, this.#rest);
    // The field keeps the focus.
    this.#whole.addEventListener("pointerdown", (event) => event.preventDefault());
    this.#whole.addEventListener("mousedown", (event) => event.preventDefault());
    this.#whole.addEventListener("click", onTake);
  }

  hide(): void {
    if (!this.#isShown) return;
    this.#isShown = false;
    this.#dom.remove();
    this.#whole.remove();
    this.#field.element.style.minHeight = this.#ownMinHeight;
  }

  /** Whether a point of the window is on the letters. */
  isAt(x: number, y: number): boolean {
    const isIn = ({ left, right, top, bottom }: DOMRect): boolean => left <= x && x <= right && top <= y && y <= bottom;
    return this.#dom.isConnected && [...this.#rest.getClientRects()].some(isIn);
  }

  /** Puts the ghost over the field as it is now; it takes no clicks. */
  place(suggestion: string, rest: string): void {
    const { element, text } = this.#field;
    if (!element.isConnected) return;
    this.#isShown = true;
    this.#rest.textContent = rest;
    Object.assign(this.#dom.style, {
      position: "absolute", pointerEvents: "none", background: "none", margin: "0", overflowWrap: "break-word", zIndex: getComputedStyle(element).zIndex,
    });
    if (this.#dom.parentElement !== element.parentElement) element.after(this.#dom);
    if (isNative(element)) this.#placeOverNative(element, text, suggestion);
    else this.#placeBehindText(element);
  }

  #placeOverNative(element: Native, text: string, suggestion: string): void {
    const look = getComputedStyle(element);
    const isLine = element instanceof HTMLInputElement;
    const { style } = this.#dom;
    for (const property of [...LETTERS, ...BOX]) style[property] = look[property];
    this.#typed.textContent = text;
    Object.assign(style, {
      color: look.color, borderStyle: "solid", borderColor: "transparent", overflow: "hidden", whiteSpace: isLine ? "pre" : "pre-wrap", textOverflow: "ellipsis", boxSizing: "border-box",
      left: `${element.offsetLeft}px`, top: `${element.offsetTop}px`, width: `${element.offsetWidth}px`,
      // The text of a single line is in the middle of its height.
      ...(isLine && { lineHeight: `${element.clientHeight - Number.parseFloat(look.paddingTop) - Number.parseFloat(look.paddingBottom)}px` }),
    });
    if (!isLine) {
      style.height = "auto";
      this.#makeRoom(this.#dom.offsetHeight);
    }
    Object.assign(style, { left: `${element.offsetLeft}px`, top: `${element.offsetTop}px`, height: `${element.offsetHeight}px` });
    this.#dom.scrollTop = element.scrollTop;
    this.#dom.scrollLeft = element.scrollLeft;
    if (isLine && this.#dom.clientWidth < this.#dom.scrollWidth) this.#placeWhole(element, look, suggestion);
    else this.#whole.remove();
  }

  /** Puts the ghost behind the last letter of an element, in that letter's look. */
  #placeBehindText(element: HTMLElement): void {
    const { block, at } = endOf(element);
    const look = getComputedStyle(block);
    const box = block.getBoundingClientRect();
    const inner = (side: "Left" | "Right" | "Top"): number => Number.parseFloat(look[`padding${side}`]) + Number.parseFloat(look[`border${side}Width`]) || 0;
    const [left, right] = [box.left + inner("Left"), box.right - inner("Right")];
    const { style } = this.#dom;
    for (const property of LETTERS) style[property] = look[property];
    const lineHeight = Number.parseFloat(look.lineHeight) || at?.height || Number.parseFloat(look.fontSize) * 1.2;
    const top = at === undefined ? box.top + inner("Top") : at.top + (at.height - lineHeight) / 2;
    const indent = at === undefined ? 0 : look.direction === "rtl" ? right - at.left : at.right - left;
    Object.assign(style, { color: look.color, whiteSpace: "pre-wrap", left: "0", top: "0", width: `${right - left}px`, textIndent: `${indent}px` });
    // Where it is to be is known in the window, and where it is is known only in that which it is in.
    const origin = this.#dom.getBoundingClientRect();
    Object.assign(style, { left: `${left - origin.left}px`, top: `${top - origin.top}px` });
    const outer = element.getBoundingClientRect();
    const below = getComputedStyle(element);
    this.#makeRoom(top - outer.top + this.#dom.offsetHeight + Number.parseFloat(below.paddingBottom) + Number.parseFloat(below.borderBottomWidth));
  }

  /** Makes the field at least this high, with its padding and border. */
  #makeRoom(height: number): void {
    const { element } = this.#field;
    const { style } = element;
    style.minHeight = this.#ownMinHeight;
    if (height <= element.offsetHeight + 1) return;
    const look = getComputedStyle(element);
    const around = [look.paddingTop, look.paddingBottom, look.borderTopWidth, look.borderBottomWidth].map(Number.parseFloat).reduce((sum, one) => sum + one);
    style.minHeight = `${Math.ceil(look.boxSizing === "border-box" ? height : height - around)}px`;
  }

  /** Shows all of the suggestion below the line, or above it where there is no room below. */
  #placeWhole(element: HTMLElement, look: CSSStyleDeclaration, suggestion: string): void {
    this.#whole.textContent = suggestion;
    if (!this.#whole.isConnected) element.after(this.#whole);
    const isClear = ["transparent", "rgba(0, 0, 0, 0)"].includes(look.backgroundColor);
    Object.assign(this.#whole.style, {
      position: "absolute", zIndex: look.zIndex === "auto" ? "1" : look.zIndex, font: look.font, cursor: "pointer", overflowWrap: "break-word",
      color: isClear ? "CanvasText" : look.color, background: isClear ? "Canvas" : look.backgroundColor, border: "1px solid", boxSizing: "border-box",
      padding: `4px ${look.paddingRight} 4px ${look.paddingLeft}`, left: `${element.offsetLeft}px`, width: `${element.offsetWidth}px`,
    });
    const hasRoom = element.getBoundingClientRect().bottom + this.#whole.offsetHeight <= document.documentElement.clientHeight;
    this.#whole.style.top = `${element.offsetTop + (hasRoom ? element.offsetHeight : -this.#whole.offsetHeight)}px`;
  }
}

/** The place of the last letter of an element, if it has one, and the block in which a next letter would be. */
function endOf(element: HTMLElement): { block: HTMLElement; at: DOMRect | undefined } {
  const letters = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let last: Node | undefined;
  while (letters.nextNode()) if (/\S/.test(letters.currentNode.textContent ?? "")) last = letters.currentNode;
  let block: HTMLElement | null = last?.parentElement ?? (element.lastElementChild as HTMLElement | null);
  while (block && block !== element && (getComputedStyle(block).display.startsWith("inline") || block.tagName === "BR")) block = block.parentElement;
  if (last === undefined) return { block: block ?? element, at: undefined };
  const range = document.createRange();
  const { length } = last.textContent ?? "";
  range.setStart(last, Math.max(0, length - 1));
  range.setEnd(last, length);
  // jsdom, for example, knows no places.
  const at = range.getClientRects?.();
  return { block: block ?? element, at: at?.[at.length - 1] };
}
