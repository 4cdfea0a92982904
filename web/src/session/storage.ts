import type { Entry } from "./log.js";
import type { Step } from "./steps.js";

/** What survives a reload. Keys and addresses of models are not part of it, and neither is work that runs ahead. */
export interface Saved {
  version: 3;
  files: Record<string, string>;
  /** The conversation, as the agent keeps it. */
  lines: string;
  entries: Entry[];
  steps: Step[];
  /** The prompt of a turn that is under way. */
  working?: string;
  /** The name of the visitor's own model, where one answers. */
  modelName?: string;
}

/** Whether a reload finds it: the browser may have no room for it, or keep nothing at all. */
export type Kept = "kept" | "tooMuch" | "forbidden";

/** Why there is nothing to go on from although there was something. */
export type Lost = "damaged" | "tooMuch";

const NAME = "headstart.session";

/** Keeps this, or nothing: what was kept before is not what a reload should find. */
export function save(saved: Saved): Kept {
  try {
    sessionStorage.setItem(NAME, JSON.stringify(saved));
    return "kept";
  } catch (error) {
    forget();
    return isFull(error) && leaveWord() ? "tooMuch" : "forbidden";
  }
}

const isFull = (error: unknown) => error instanceof DOMException && error.name === "QuotaExceededError";

/** So that a reload can tell why there is nothing. */
function leaveWord(): boolean {
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ lost: "tooMuch" }));
    return true;
  } catch {
    return false;
  }
}

/** What was kept, or why it is lost. Paths and lines are looked at by whoever goes on from them. */
export function load(): Saved | Lost | undefined {
  let text: string | null = null;
  try {
    text = sessionStorage.getItem(NAME);
  } catch {
    return undefined;
  }
  if (text === null) return undefined;
  try {
    if ((JSON.parse(text) as { lost?: unknown }).lost === "tooMuch") return "tooMuch";
  } catch {
    return "damaged";
  }
  return whole(text) ?? "damaged";
}

/** What was saved, if this is all of it. */
export function whole(text: string): Saved | undefined {
  try {
    const saved = JSON.parse(text) as Partial<Saved>;
    const isWhole =
      saved.version === 3 &&
      typeof saved.lines === "string" &&
      [saved.entries, saved.steps].every(Array.isArray) &&
      Object.values(saved.files as object).every((content) => typeof content === "string");
    return isWhole ? (saved as Saved) : undefined;
  } catch {
    return undefined;
  }
}

export function forget(): void {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // Nothing was kept, then.
  }
}
