import type { Entry } from "./log.js";
import type { Step } from "./steps.js";

/**
 * The state that survives a reload. Keys and addresses of models are not part of it, and neither is work that runs
 * ahead.
 */
export interface Saved {
  version: 3;
  files: Record<string, string>;
  /** The conversation, in the lines of the agent. */
  lines: string;
  entries: Entry[];
  steps: Step[];
  /** The prompt of a running turn. */
  working?: string;
  /** The name of the visitor's own model, if one answers. */
  modelName?: string;
}

/** Whether a reload finds the state: the browser may have no room for it, or keep nothing at all. */
export type Kept = "kept" | "tooMuch" | "forbidden";

/** Why there is nothing to continue although there was something. */
export type Lost = "damaged" | "tooMuch";

const NAME = "headstart.session";

/** Keeps this state. If that fails, nothing is kept, because a reload must not find an older state. */
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

/** Stores the reason of the loss, so that a reload can tell why there is nothing. */
function leaveWord(): boolean {
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ lost: "tooMuch" }));
    return true;
  } catch {
    return false;
  }
}

/**
 * The state that was kept, or why it is lost. Its paths and lines are not checked here, but by the code that continues
 * from them.
 */
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

/** The saved state, if the text holds all of it. */
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
    // The browser keeps nothing, so there is nothing to remove.
  }
}
