import type { Message } from "headstart";
import type { Item } from "../view/protocol.js";
import { type Row, purposes } from "./costs.js";
import { newKey } from "./teller.js";

/** A conversation as it outlives its window. Work ahead, the two sides of changes and what the user has undone are not part of it. */
export interface Saved {
  version: 1;
  messages: Message[];
  items: Item[];
  costs: Row[];
  /** The prompt that is under way. */
  working?: string;
}

/** What was saved, or nothing if it is no such thing. The engine looks at the messages by itself. */
export function readSaved(text: string): Saved | undefined {
  try {
    const saved = JSON.parse(text) as Partial<Saved>;
    const isWhole =
      saved.version === 1 &&
      Array.isArray(saved.messages) &&
      (saved.items as unknown[]).every(isItem) &&
      (saved.costs as unknown[]).every((row) => purposes.includes((row as Row).purpose)) &&
      ["undefined", "string"].includes(typeof saved.working);
    return isWhole ? (saved as Saved) : undefined;
  } catch {
    return undefined;
  }
}

function isItem(item: unknown): boolean {
  const { kind, text, tool, files } = item as Record<string, unknown>;
  switch (kind) {
    case "user":
    case "model":
    case "note":
      return typeof text === "string";
    case "call":
      return typeof tool === "string";
    case "changes":
      return (files as { path: unknown }[]).every(({ path }) => typeof path === "string");
    default:
      return false;
  }
}

/** The same lines in a new window: what leads to something that is gone leads nowhere. */
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
