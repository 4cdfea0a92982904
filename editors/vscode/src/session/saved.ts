import type { Message } from "headstart";
import type { Item } from "../view/protocol.js";
import { type Costs, noCosts, purposes } from "./costs.js";
import { newKey } from "./items.js";

/**
 * A conversation in the form that outlives its window. Work ahead, the two sides of changes, and what the user has
 * undone are not part of it.
 */
export interface Saved {
  version: 2;
  /** The conversation, in the lines of the agent. */
  lines: string;
  items: Item[];
  costs: Costs;
  /** The prompt of a running turn. */
  working?: string;
  /** The title that the user gave it. */
  title?: string;
}

/** The former form, with messages and rows of costs. It can be read, and is saved in the new form afterwards. */
interface Old {
  version: 1;
  messages: Message[];
  items: Item[];
  working?: string;
}

/** The saved conversation, or `undefined` if the text is none. The agent checks its lines itself. */
export function readSaved(text: string): Saved | undefined {
  try {
    const saved = JSON.parse(text) as Saved | Old;
    const isWhole = saved.items.every(isItem) && [saved.working, (saved as Saved).title].every((text) => ["undefined", "string"].includes(typeof text));
    if (!isWhole) return undefined;
    if (saved.version === 1) return Array.isArray(saved.messages) ? ofOld(saved) : undefined;
    const hasCosts = purposes.every((purpose) => typeof saved.costs[purpose].inputTokens === "number");
    return saved.version === 2 && typeof saved.lines === "string" && hasCosts ? saved : undefined;
  } catch {
    return undefined;
  }
}

function ofOld({ messages, items, working }: Old): Saved {
  const header = { type: "session", version: 1, id: "chat", title: "", model: "", created: 0 };
  const lines = [header, ...messages.map((message) => ({ type: "message", message }))].map((line) => `${JSON.stringify(line)}\n`);
  return { version: 2, lines: messages.length === 0 ? "" : lines.join(""), items, costs: noCosts(), ...(working !== undefined && { working }) };
}

/** The title in a list: the one that the user gave, or else the first prompt. */
export function titleOf({ items, title }: Pick<Saved, "items" | "title">): string {
  if (title !== undefined) return title;
  const first = items.find(({ kind }) => kind === "user") as (Item & { kind: "user" }) | undefined;
  const words = (first?.text ?? "").split(/\s+/).join(" ").trim();
  return words.length <= 80 ? words : `${words.slice(0, 79)}…`;
}

function isItem(item: unknown): boolean {
  const { kind, text, tool, rows = [], files } = item as Record<string, unknown>;
  switch (kind) {
    case "user":
    case "model":
    case "note":
      return typeof text === "string";
    case "call":
      return typeof tool === "string" && (rows as { name: unknown }[]).every(({ name }) => typeof name === "string");
    case "changes":
      return (files as { path: unknown }[]).every(({ path }) => typeof path === "string");
    default:
      return false;
  }
}

/** The same items for a new window. Calls that still ran are interrupted, and what would lead to diffs is removed, because both ended with the old window. */
export function revived(items: Item[]): Item[] {
  return items.map((item) => {
    const again = { ...item, key: newKey() };
    switch (again.kind) {
      case "call":
        return again.state === "done" || again.state === "failed" ? again : { ...again, state: "failed", detail: "interrupted" };
      case "changes":
        return { ...again, files: again.files.map(({ staged: _, ...file }) => file) };
      case "note": {
        const { actions, ...plain } = again;
        const left = actions?.filter(({ action }) => action !== "diff");
        return left?.length ? { ...plain, actions: left } : plain;
      }
      default:
        return again;
    }
  });
}
