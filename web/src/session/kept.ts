import { readSession, titleLine } from "headstart/sessions";
import { type Saved, whole } from "./storage.js";

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
    localStorage.setItem(PREFIX + readSession(saved.lines).id, JSON.stringify(saved));
    for (const { id } of conversations().slice(MOST)) remove(id);
  });
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
