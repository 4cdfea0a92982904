import type { Message } from "headstart";
import type { Entry } from "./log.js";
import type { Step } from "./steps.js";

/** What survives a reload. Keys and addresses of models are not part of it, and neither is work that runs ahead. */
export interface Saved {
  version: 1;
  files: Record<string, string>;
  messages: Message[];
  entries: Entry[];
  steps: Step[];
  /** The prompt of a turn that is under way. */
  working?: string;
}

const NAME = "headstart.session";

export function save(saved: Saved): void {
  try {
    sessionStorage.setItem(NAME, JSON.stringify(saved));
  } catch {
    // Full or forbidden: the session then begins anew at a reload, which tells so.
  }
}

/** What was saved; `"damaged"` where it cannot be read. Paths and messages are looked at by whoever goes on from them. */
export function load(): Saved | "damaged" | undefined {
  let text: string | null = null;
  try {
    text = sessionStorage.getItem(NAME);
  } catch {
    return undefined;
  }
  if (text === null) return undefined;
  try {
    const saved = JSON.parse(text) as Partial<Saved>;
    const isWhole =
      saved.version === 1 &&
      [saved.messages, saved.entries, saved.steps].every(Array.isArray) &&
      Object.values(saved.files as object).every((content) => typeof content === "string");
    return isWhole ? (saved as Saved) : "damaged";
  } catch {
    return "damaged";
  }
}

export function forget(): void {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // Nothing was saved, then.
  }
}
