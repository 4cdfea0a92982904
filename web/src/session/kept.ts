import { readSession, titleLine } from "headstart/sessions";
import { type Saved, whole } from "./storage.js";
import { claim } from "./tabs.js";

/** A conversation that can be continued. */
export interface Conversation {
  id: string;
  title: string;
  /** When its last prompt was sent, in milliseconds since 1970. */
  last: number;
}

/** How many conversations stay in the browser; the oldest are removed. */
const MOST = 20;
const PREFIX = "headstart.sessions/";

/**
 * Keeps a conversation with its files until the visitor removes it. A conversation in which nothing was said is not
 * kept.
 */
export function keep(saved: Saved): void {
  if (saved.lines === "") return;
  attempt(() => {
    const { id } = readSession(saved.lines);
    localStorage.setItem(PREFIX + id, JSON.stringify(saved));
    void claim(id);
    for (const { id } of conversations().slice(MOST)) remove(id);
  });
}

/**
 * The saved conversation, taken for this tab. If another tab has it open, it is a copy with an id of its own, because two
 * tabs would write over each other's words.
 */
export async function owned(saved: Saved): Promise<{ saved: Saved; isCopy: boolean }> {
  const session = attempt(() => readSession(saved.lines));
  if (session === undefined || (await claim(session.id))) return { saved, isCopy: false };
  const [first, ...rest] = saved.lines.split("\n");
  const copy = JSON.stringify({ ...(JSON.parse(first ?? "") as object), id: crypto.randomUUID() });
  return { saved: { ...saved, lines: [copy, ...rest].join("\n") }, isCopy: true };
}

/** All conversations that can be read, the one with the newest prompt first. */
export function conversations(): Conversation[] {
  const names = attempt(() => Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index) ?? "")) ?? [];
  const all = names.filter((name) => name.startsWith(PREFIX)).flatMap((name) => {
    const saved = take(name.slice(PREFIX.length));
    const session = saved && attempt(() => readSession(saved.lines));
    return session ? [{ id: name.slice(PREFIX.length), title: session.title, last: session.last }] : [];
  });
  return all.sort((one, other) => other.last - one.last);
}

/** The conversation that was kept under this id, if it can be continued. */
export function take(id: string): Saved | undefined {
  const text = attempt(() => localStorage.getItem(PREFIX + id));
  return text == null ? undefined : whole(text);
}

export function rename(id: string, title: string): void {
  const saved = take(id);
  if (saved) keep({ ...saved, lines: saved.lines + titleLine(title) });
}

export function remove(id: string): void {
  attempt(() => localStorage.removeItem(PREFIX + id));
}

/**
 * Runs `act`, and ignores errors: a browser may keep nothing, or have no room. The conversation itself tells what a
 * reload would find.
 */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
