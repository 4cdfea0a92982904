import { Prose } from "headstart/attach";
import { lexer } from "marked";

const shown = new WeakMap<object, { dom: HTMLElement; prose: Prose }>();

/** The text of a model as Markdown, in an element that belongs to what says it, and grows with it. */
export function proseOf(whose: object, text: string): HTMLElement {
  let found = shown.get(whose);
  if (found === undefined) {
    const dom = document.createElement("div");
    dom.className = "prose";
    found = { dom, prose: new Prose(dom, { lex: lexer }) };
    shown.set(whose, found);
  }
  found.prose.text = text;
  return found.dom;
}
