import type { FromPage } from "../protocol.js";
import { Prose } from "headstart/attach";
import { lexer } from "marked";
import { namedIn } from "../../files/placing.js";
import { element } from "./dom.js";

type Post = (message: FromPage) => void;

/** Shows the text of a model in an element. Code can be copied, inserted into the editor or applied to its file, and paths can be opened. */
export function proseIn(box: HTMLElement, post: Post): Prose {
  return new Prose(box, {
    lex: lexer,
    place: (text) => (isPath(text) ? pathButton(text, post) : undefined),
    over: (fence, code) => buttons(fence, code, post),
  });
}

function buttons(fence: string, code: () => string, post: Post): HTMLElement[] {
  const button = (title: string, action: "copy" | "insert") =>
    element("button", { type: "button", class: "quiet", click: () => post({ type: "act", action: { title, action, text: code() } }) }, title);
  const path = namedIn(fence);
  const apply = () => post({ type: "act", action: { title: "Apply", action: "apply", text: code(), ...(path !== undefined && { path }) } });
  const into = path === undefined ? "Into the file in the editor, where its first and last line are; you see it before" : `Into ${path}; you see it before`;
  return [button("Copy", "copy"), button("Insert", "insert"), element("button", { type: "button", class: "quiet", title: into, click: apply }, "Apply")];
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
