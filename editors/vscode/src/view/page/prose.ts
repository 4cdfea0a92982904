import type { FromPage } from "../protocol.js";
import { namedIn } from "../../files/placing.js";
import { element } from "./dom.js";

type Post = (message: FromPage) => void;

/** Paragraphs, fenced and inline code of a model's text. Code can be copied, put into the editor or into its file, a path opens. */
export function prose(text: string, post: Post): Node[] {
  const nodes: Node[] = [];
  const blocks = text.split(/^(?:```|~~~)(.*)$/m);
  // Text, what the fence says, code, what the closing fence says, text …
  for (let at = 0; at < blocks.length; at += 2) {
    const block = blocks[at] ?? "";
    if (at % 4 === 2) {
      nodes.push(codeElement(block.replace(/^\n|\n$/g, ""), (blocks[at - 1] ?? "").trim(), post));
      continue;
    }
    for (const paragraph of block.split(/\n{2,}/)) {
      if (paragraph.trim() !== "") nodes.push(element("p", {}, ...inline(paragraph.trim(), post)));
    }
  }
  return nodes;
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

function inline(text: string, post: Post): (Node | string)[] {
  return text.split(/`([^`\n]+)`/).map((part, at) => {
    if (at % 2 === 0) return part;
    return element("code", {}, isPath(part) ? pathButton(part, post) : part);
  });
}

/** `src/view.ts`, `view.ts:12`: words with a folder or an ending, and no more than that. */
const PATH = /^(?:\.\/)?((?:[\w@.+-]+\/)*[\w@.+-]+\.\w{1,10})(?::(\d+))?(?:[:-]\d+)?$/;
/** Without a folder, `list.append` would be one. */
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
