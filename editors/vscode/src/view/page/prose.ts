import type { FromPage } from "../protocol.js";
import { type MarkedToken, type Token, type Tokens, lexer } from "marked";
import { namedIn } from "../../files/placing.js";
import { element } from "./dom.js";

type Post = (message: FromPage) => void;

/**
 * Shows the text of a model, which is Markdown. Code can be copied, inserted into the editor or applied to its file,
 * and paths can be opened. HTML stays plain text, no picture is fetched, and a link shows where it leads.
 */
export function prose(text: string, post: Post): Node[] {
  return blocks(lexer(text), post);
}

function blocks(tokens: readonly Token[], post: Post): Node[] {
  return tokens.flatMap((token) => block(token as MarkedToken, post));
}

function block(token: MarkedToken, post: Post): Node[] {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "code":
      return [codeElement(token.text, (token.lang ?? "").trim(), post)];
    case "heading":
      // Headings begin at level 4, because the chat has headings of its own above them.
      return [element(`h${Math.min(6, token.depth + 3)}` as "h4", {}, ...inline(token.tokens, post))];
    case "blockquote":
      return [element("blockquote", {}, ...blocks(token.tokens, post))];
    case "hr":
      return [element("hr", {})];
    case "list":
      return [listElement(token, post)];
    case "table":
      return [tableElement(token, post)];
    case "paragraph":
      return [element("p", {}, ...inline(token.tokens, post))];
    case "text":
      return inline(token.tokens ?? [token], post).map((part) => (typeof part === "string" ? document.createTextNode(part) : part));
    default:
      return [element("p", {}, token.raw.trim())];
  }
}

function listElement({ ordered, start, items }: Tokens.List, post: Post): HTMLElement {
  const rows = items.map(({ task, checked, tokens }) => element("li", {}, task && (checked ? "☑ " : "☐ "), ...blocks(tokens, post)));
  return ordered ? element("ol", { start: `${start === "" ? 1 : start}` }, ...rows) : element("ul", {}, ...rows);
}

function tableElement({ header, rows }: Tokens.Table, post: Post): HTMLElement {
  const row = (tag: "th" | "td", cells: readonly Tokens.TableCell[]): HTMLElement => element("tr", {}, ...cells.map(({ tokens }) => element(tag, {}, ...inline(tokens, post))));
  return element("div", { class: "table", tabindex: "0" }, element("table", {}, element("thead", {}, row("th", header)), element("tbody", {}, ...rows.map((cells) => row("td", cells)))));
}

function codeElement(code: string, fence: string, post: Post): HTMLElement {
  const button = (title: string, action: "copy" | "insert") =>
    element("button", { type: "button", class: "quiet", click: () => post({ type: "act", action: { title, action, text: code } }) }, title);
  const path = namedIn(fence);
  const apply = { title: "Apply", action: "apply", text: code, ...(path !== undefined && { path }) } as const;
  const into = path === undefined ? "Into the file in the editor, where its first and last line are; you see it before" : `Into ${path}; you see it before`;
  return element(
    "figure",
    { class: "code" },
    element("figcaption", {}, element("span", {}, fence), button("Copy", "copy"), button("Insert", "insert"),
      element("button", { type: "button", class: "quiet", title: into, click: () => post({ type: "act", action: apply }) }, apply.title)),
    element("pre", { tabindex: "0" }, element("code", {}, code)),
  );
}

function inline(tokens: readonly Token[], post: Post): (Node | string)[] {
  return tokens.flatMap((given): (Node | string)[] => {
    const token = given as MarkedToken;
    switch (token.type) {
      case "text":
        return "tokens" in token && token.tokens !== undefined ? inline(token.tokens, post) : [token.text];
      case "escape":
        return [token.text];
      case "codespan":
        return [element("code", {}, isPath(token.text) ? pathButton(token.text, post) : token.text)];
      case "strong":
      case "em":
      case "del":
        return [element(token.type, {}, ...inline(token.tokens, post))];
      case "br":
        return [element("br", {})];
      case "link":
        return linkElement(token, post);
      case "image":
        return [token.text === "" ? token.href : `${token.text} (${token.href})`];
      default:
        return [token.raw];
    }
  });
}

/** Shows a link. Only web addresses become links, because another kind of address could be a command of the editor. */
function linkElement({ href, text, tokens }: Tokens.Link, post: Post): (Node | string)[] {
  if (isPath(href)) return [...(text === href ? [] : [...inline(tokens, post), " "]), pathButton(href, post)];
  const words = text === href ? [] : [...inline(tokens, post), " "];
  return [...words, /^https?:/i.test(href) ? element("a", { href, title: href }, href) : href];
}

/** A path such as `src/view.ts` or `view.ts:12`: a name with an extension, perhaps with folders and a line. */
const PATH = /^(?:\.\/)?((?:[\w@.+-]+\/)*[\w@.+-]+\.\w{1,10})(?::(\d+))?(?:[:-]\d+)?$/;
/** The extensions of a path without a folder. Without this list `list.append` would be a path. */
const ENDINGS = /\.(md|txt|json|jsonc|toml|ya?ml|xml|html|css|scss|[cm]?[jt]sx?|vue|svelte|py|rs|go|rb|php|java|kt|swift|cs|c|h|cc|cpp|hpp|sh|sql|lock|cfg|ini)$/i;

export function isPath(text: string): boolean {
  const path = PATH.exec(text)?.[1];
  return path !== undefined && !path.split("/").includes("..") && (path.includes("/") || ENDINGS.test(path));
}

export function pathButton(text: string, post: Post): HTMLElement {
  const [, path = text, line] = PATH.exec(text) ?? [];
  const open = { title: "", action: "open", path, ...(line !== undefined && { line: Number(line) }) } as const;
  return element("button", { type: "button", class: "path", title: `${path}: open it`, click: () => post({ type: "act", action: open }) }, text);
}
