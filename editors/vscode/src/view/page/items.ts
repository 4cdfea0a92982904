import type { ItemRow } from "headstart";
import { type Prose, visible } from "headstart/attach";
import type { AheadCard, Choice, FileLine, FromPage, Item, ItemAction, Question } from "../protocol.js";
import { element } from "./dom.js";
import { isPath, pathButton, proseIn } from "./prose.js";

type Post = (message: FromPage) => void;
type Call = Item & { kind: "call" };

const WORD: Record<Call["state"], string> = { running: "running", done: "done", failed: "failed", waits: "waits for you" };
const CHANGE: Record<FileLine["change"], [letter: string, word: string]> = {
  create: ["A", "new"],
  modify: ["M", "changed"],
  delete: ["D", "deleted"],
  rename: ["R", "moved"],
  createDirectory: ["A", "new folder"],
};

/** The answers that are shown, which grow where they stand. */
const proses = new WeakMap<HTMLElement, Prose>();

/** The element of an item. The one that shows an earlier state of it is kept where that is possible. */
export function itemElement(item: Item, post: Post, before?: HTMLElement): HTMLElement {
  switch (item.kind) {
    case "user":
      return element(
        "article",
        { class: "user", "aria-label": "You" },
        element("div", {}, item.text),
        item.ahead && element("span", { class: "badge", title: "This ran ahead, while you were reading" }, "ran ahead"),
      );
    case "model": {
      const shown = before && proses.get(before);
      const article = shown ? (before as HTMLElement) : element("article", { class: "model", "aria-label": "Model" });
      const prose = shown ?? proseIn(article, post);
      proses.set(article, prose);
      prose.text = item.text;
      return article;
    }
    case "call":
      return element("div", {}, callElement(item, post), item.rows && rowsElement(item.rows, post), item.output !== undefined && outputElement(item.output, item.state));
    case "changes":
      return element(
        "section",
        { class: "changes", "aria-label": item.title },
        element("h3", {}, item.title),
        fileList(item.files, post),
      );
    case "note":
      return noteElement(item.tone, item.text, item.actions, post);
  }
}

export function noteElement(tone: (Item & { kind: "note" })["tone"], text: string, actions: ItemAction[] | undefined, post: Post): HTMLElement {
  return element(
    "div",
    { class: `note ${tone}`, role: tone === "info" ? undefined : "note" },
    element("p", {}, text),
    actions && element("div", { class: "actions" }, ...actions.map((action) => actionButton(action, post))),
  );
}

function actionButton(action: ItemAction, post: Post): HTMLElement {
  return element("button", { type: "button", class: "secondary", click: () => post({ type: "act", action }) }, action.title);
}

export function callElement(call: Call, post: Post): HTMLElement {
  return element(
    "div",
    { class: `call ${call.state}` },
    element("span", { class: "mark", "aria-hidden": "true" }),
    element("span", { class: "tool" }, call.tool),
    element("span", { class: "subject" }, isPath(call.subject) ? pathButton(call.line === undefined ? call.subject : `${call.subject}:${call.line}`, post) : call.subject),
    element("span", { class: call.detail ? "detail" : "unseen" }, call.detail ?? WORD[call.state]),
  );
}

/** How many rows are in sight; the others are folded. */
const MOST_ROWS = 4;

/** The list of what a call found. */
function rowsElement(rows: ItemRow[], post: Post): HTMLElement {
  const list = (some: ItemRow[]) => element("ul", {}, ...some.map((row) => rowElement(row, post)));
  const more = rows.slice(MOST_ROWS);
  return element(
    "div",
    { class: "rows" },
    list(rows.slice(0, MOST_ROWS)),
    0 < more.length && element("details", {}, element("summary", {}, `${more.length} more`), list(more)),
  );
}

/**
 * A row of that list. Its texts are isolated, because a name that is written from right to left must not reorder the
 * text beside it.
 */
function rowElement({ name, description = "", status, place }: ItemRow, post: Post): HTMLElement {
  const open = place && ({ title: "", action: "open", path: place.path, line: place.lines?.[0] ?? 1 } as const);
  const words = element("bdi", { class: "name" }, name);
  const click = open && (() => post({ type: "act", action: open }));
  return element(
    "li",
    {},
    click ? element("button", { type: "button", class: "path", title: `${description === "" ? name : description}: open it`, click }, words) : words,
    description !== "" && element("bdi", { class: "about" }, description),
    status !== undefined && element("span", { class: "state" }, status),
  );
}

/** The output of a command. It is in sight while the command runs, and folded afterwards. */
function outputElement(output: string, state: Call["state"]): HTMLElement {
  const text = element("pre", { class: "output", tabindex: "0", "aria-label": "What it printed" }, output);
  return state === "running" ? text : element("details", { class: "printed" }, element("summary", {}, "Output"), text);
}

function fileList(files: FileLine[], post: Post): HTMLElement {
  return element("ul", { class: "files" }, ...files.map((file) => element("li", {}, fileElement(file, post))));
}

/** A button that shows the diff of a file, or only a line of text if there is no diff any more. */
function fileElement(file: FileLine, post: Post): HTMLElement {
  const { staged } = file;
  const [path, from] = [visible(file.path), file.from === undefined ? undefined : visible(file.from)];
  const [letter, change] = CHANGE[file.change];
  const word = from === undefined ? change : `${change} from ${from}`;
  const counts = `${file.added} added, ${file.removed} removed`;
  const at = path.lastIndexOf("/") + 1;
  const words = `${path}, ${word}, ${counts}${file.merged ? ", merged with your edits" : ""}${file.undone ? ", undone since" : ""}`;
  const kind = file.undone ? "file undone" : "file";
  const parts = [
    element("span", { class: `letter ${file.change}`, "aria-hidden": "true" }, letter),
    from !== undefined && element("span", { class: "from" }, `${from} →`),
    element("span", { class: "name" }, path.slice(at)),
    element("span", { class: "folder" }, path.slice(0, Math.max(0, at - 1))),
    file.merged && element("span", { class: "badge" }, "merged"),
    file.undone && element("span", { class: "badge" }, "undone"),
    element("span", { class: "added" }, `+${file.added}`),
    element("span", { class: "removed" }, `−${file.removed}`),
  ];
  if (staged === undefined) return element("div", { class: kind, role: "img", "aria-label": words, title: path }, ...parts);
  const show = () => post({ type: "act", action: { title: "", action: "diff", staged, path: file.path } });
  return element("button", { type: "button", class: kind, title: `${path}: show the diff`, "aria-label": `${words}: show the diff`, click: show }, ...parts);
}

export function aheadElement(card: AheadCard, post: Post): Node[] {
  const calls = card.calls.slice(-4);
  const earlier = card.calls.length - calls.length;
  return [
    element("div", { class: `headline ${card.state}` }, element("span", { class: "mark", "aria-hidden": "true" }), card.headline),
    ...(0 < earlier ? [element("div", { class: "earlier" }, `${earlier} earlier`)] : []),
    ...calls.map((call) => callElement(call, post)),
    ...(card.files.length === 0 ? [] : [fileList(card.files, post)]),
    ...(card.untested && card.state === "ready" && 0 < card.files.length ? [element("div", { class: "quiet" }, "Tests and builds are not run ahead here.")] : []),
    ...(card.waitsFor === undefined ? [] : [element("div", { class: "waits-for" }, card.waitsFor)]),
  ];
}

export function questionElement(question: Question, post: Post): Node[] {
  const button = ({ title, key, answer, primary }: Choice) =>
    element(
      "button",
      { type: "button", class: primary ? "primary" : "secondary", "data-answer": answer, "aria-keyshortcuts": key, click: () => post({ type: "answer", id: question.id, answer }) },
      title,
      element("kbd", { "aria-hidden": "true" }, key),
    );
  return [
    question.title === undefined
      ? element("h3", { id: "question-title" }, "Run ", element("code", {}, question.tool), ` ${question.subject}?`)
      : element("h3", { id: "question-title" }, `${question.title} ${question.subject}`),
    element("p", { id: "question-reason" }, question.reason),
    ...(question.content === undefined ? [] : [element("pre", { tabindex: "0", "aria-label": "What it would write" }, question.content)]),
    ...(question.said === undefined ? [] : [element("p", { class: "quiet" }, `The model says: ${question.said}`)]),
    element("div", { class: "actions" }, ...question.choices.map(button)),
  ];
}
