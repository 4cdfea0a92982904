// `headstart/sessions`: conversations that were kept, to list and to continue. No module is loaded.
import { InputError } from "./errors.js";
import type { SessionStore } from "./types-agent.js";
import type { MaybePromise } from "./types-files.js";

export { HeadstartError, InputError } from "./errors.js";
export type { SessionStore } from "./types-agent.js";
export type { MaybePromise } from "./types-files.js";

/** What is known of a conversation from its lines, without what was said. */
export interface KeptSession {
  /** The id, unique in its place. */
  id: string;
  /** The title that the user gave, or otherwise the beginning of the first prompt. */
  title: string;
  /** The model with which it began; empty if that has no name. */
  model: string;
  /** When it began, in milliseconds since 1970. */
  created: number;
  /** When its last prompt was sent. */
  last: number;
  /** The root of the workspace, if it was written down. */
  workspace?: string;
  /** The user's prompts, oldest first. */
  prompts: string[];
  /** The numbers of the lines that are damaged, counted from 1; they are left out. */
  damaged: number[];
  /**
   * How many characters at the end were being written when their writer was stopped; they are cut off when the session
   * is continued.
   */
  torn: number;
}

/** Where sessions are kept, each as a text under its id. */
export interface SessionPlace {
  ids(): MaybePromise<string[]>;
  /** The text of a session; nothing if there is none. */
  read(id: string): MaybePromise<string | undefined>;
  /** Adds lines at the end; the first ones begin the session. */
  append(id: string, lines: string): MaybePromise<void>;
  /** Replaces the text of a session. */
  write(id: string, text: string): MaybePromise<void>;
  remove(id: string): MaybePromise<void>;
}

/** A session that cannot be read, and the reason. */
export interface UnreadableSession {
  id: string;
  problem: string;
}

/** What an `Agent` needs to continue a session. */
export interface ResumedSession {
  restore: string;
  sessions: SessionStore;
}

const VERSION = 1;
const TITLE_CHARACTERS = 60;

/**
 * What is known of a conversation from its lines, as an `Agent` or a chat of the binary has written them. Lines of an
 * unknown type are skipped, and so are damaged ones.
 *
 * @throws {InputError} The lines are of a newer version, or are not a session.
 */
export function readSession(lines: string): KeptSession {
  const whole = lines.slice(0, lines.lastIndexOf("\n") + 1);
  let session: KeptSession | undefined;
  for (const [index, line] of whole.split("\n").entries()) {
    if (line.trim() === "") continue;
    const read = parsed(line);
    if (session === undefined) session = begun(read);
    else if (!takesIn(session, read)) session.damaged.push(index + 1);
  }
  if (session === undefined) throw noSession();
  return { ...session, torn: lines.length - whole.length };
}

/** The line that gives a session another title. */
export function titleLine(title: string): string {
  return `${JSON.stringify({ type: "title", text: oneLine(title) })}\n`;
}

/**
 * The sessions of a place, in the form that the binary and every front end of headstart have in common.
 *
 * ```js
 * const sessions = new Sessions(storagePlace(localStorage));
 * const agent = new Agent({ model, tree, sessions: sessions.begin() });
 * // later
 * const [newest] = (await sessions.list()).sessions;
 * const again = new Agent({ model, tree, ...(await sessions.resume(newest.id)) });
 * ```
 */
export class Sessions {
  readonly #place: SessionPlace;

  constructor(place: SessionPlace) {
    this.#place = place;
  }

  /**
   * All sessions, the one with the newest prompt first. Those that cannot be read are listed separately, and stay as
   * they are.
   */
  async list(): Promise<{ sessions: KeptSession[]; unreadable: UnreadableSession[] }> {
    const sessions: KeptSession[] = [];
    const unreadable: UnreadableSession[] = [];
    for (const id of await this.#place.ids()) {
      try {
        const session = readSession(await this.#read(id));
        // Of a conversation whose first prompt got no answer there is nothing to go on with.
        if (0 < session.prompts.length) sessions.push({ ...session, id });
      } catch (error) {
        unreadable.push({ id, problem: error instanceof Error ? error.message : String(error) });
      }
    }
    return { sessions: sessions.sort((one, other) => other.last - one.last), unreadable };
  }

  /**
   * The store for a new conversation, under the id that its first line has. Nothing is written before there is
   * something to keep.
   */
  begin(): SessionStore {
    let id: string | undefined;
    return {
      append: async (lines) => {
        id ??= readSession(lines).id;
        await this.#place.append(id, lines);
      },
    };
  }

  /**
   * What an `Agent` needs to continue this session: `new Agent({ …, ...(await sessions.resume(id)) })`. If a writer
   * that was stopped left an incomplete line, it is cut off.
   *
   * @throws {InputError} There is no session with this id, or it cannot be read.
   */
  async resume(id: string): Promise<ResumedSession> {
    const text = await this.#read(id);
    const { torn } = readSession(text);
    const restore = text.slice(0, text.length - torn);
    if (0 < torn) await this.#place.write(id, restore);
    return { restore, sessions: { append: (lines) => this.#place.append(id, lines) } };
  }

  /** Gives a session another title. A session that cannot be read is not written to. */
  async rename(id: string, title: string): Promise<void> {
    const { sessions } = await this.resume(id);
    await sessions.append(titleLine(title));
  }

  async remove(id: string): Promise<void> {
    await this.#place.remove(id);
  }

  async #read(id: string): Promise<string> {
    const text = await this.#place.read(id);
    if (text === undefined) throw new InputError(`id: there is no session ${JSON.stringify(id)}`, "id");
    return text;
  }
}

/** What a browser keeps for a page: `localStorage` or `sessionStorage`. */
export type KeyedTexts = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/**
 * A place in a browser's storage, under names that begin with `prefix`. If the storage is full, its own error says so.
 */
export function storagePlace(storage: KeyedTexts, prefix = "headstart.sessions/"): SessionPlace {
  const read = (id: string) => storage.getItem(prefix + id) ?? undefined;
  return {
    ids: () => Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "").filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length)),
    read,
    append: (id, lines) => storage.setItem(prefix + id, (read(id) ?? "") + lines),
    write: (id, text) => storage.setItem(prefix + id, text),
    remove: (id) => storage.removeItem(prefix + id),
  };
}

type Line = Readonly<Record<string, unknown>>;

/** A line, or what is wrong with it. */
function parsed(line: string): Line | string {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Line) : "it is no object";
  } catch (error) {
    return (error as Error).message;
  }
}

function begun(line: Line | string): KeptSession {
  if (typeof line === "string" || line["type"] !== "session") throw noSession();
  const { version, id, title, model, created, workspace } = line;
  if (typeof version === "number" && VERSION < version) throw new InputError(`it is of version ${version}, and this package knows ${VERSION}: a newer one reads it`);
  const isWhole = typeof version === "number" && [id, title, model].every((text) => typeof text === "string") && typeof created === "number";
  if (!isWhole) throw noSession();
  const known = { id: id as string, title: title as string, model: model as string, created, last: created, prompts: [], damaged: [], torn: 0 };
  return typeof workspace === "string" ? { ...known, workspace } : known;
}

/** Takes in a line; whether it is whole. */
function takesIn(session: KeptSession, line: Line | string): boolean {
  if (typeof line === "string") return false;
  const { type, text, at } = line;
  switch (type) {
    case "title":
      if (typeof text !== "string") return false;
      session.title = text;
      return true;
    case "prompt":
      if (typeof text !== "string" || typeof at !== "number") return false;
      session.last = at;
      session.prompts.push(text);
      return true;
    case "withdrawn":
      session.prompts.pop();
      return true;
    default:
      return typeof type === "string";
  }
}

const noSession = () => new InputError("it does not begin as a session does");

function oneLine(text: string): string {
  // Half a character becomes U+FFFD.
  const whole = new TextDecoder().decode(new TextEncoder().encode(text));
  const words = [...whole.split(/\s+/).join(" ").trim()];
  return words.length <= TITLE_CHARACTERS ? words.join("") : `${words.slice(0, TITLE_CHARACTERS - 1).join("")}…`;
}
