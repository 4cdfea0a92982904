import { Prose } from "headstart/attach";
import { lexer } from "marked";

let read = 0;
const lex = (text) => {
  read += text.length;
  return lexer(text);
};
/** A button for a path, as an editor has it. */
const place = (text) => {
  if (!/^[\w/]+\.\w+$/.test(text)) return undefined;
  const button = document.createElement("button");
  button.textContent = text;
  button.addEventListener("click", () => globalThis.page.pressed.push(text));
  return button;
};
const over = (fence, code) => {
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.addEventListener("click", () => globalThis.page.pressed.push(code()));
  return [button];
};
const article = document.querySelector("article");
let prose = new Prose(article, { lex, place, over });

globalThis.page = {
  pressed: [],
  begin: () => {
    article.replaceChildren();
    prose = new Prose(article, { lex, place, over });
    read = 0;
  },
  say: (text) => (prose.text = text),
  /** How many characters were read by the lexer. */
  read: () => read,
  html: () => article.innerHTML,
  whole: (text) => {
    const box = document.createElement("article");
    new Prose(box, { lex, place, over }).text = text;
    return box.innerHTML;
  },
};
