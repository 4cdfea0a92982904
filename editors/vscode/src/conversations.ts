import * as vscode from "vscode";
import { type Saved, readSaved, titleOf } from "./session/saved.js";

/** A conversation of this folder that can be gone on with. */
export interface Kept {
  id: string;
  title: string;
  /** When something was said in it last, in milliseconds since 1970. */
  at: number;
}

/** So many are kept; the oldest go. */
const MOST_KEPT = 50;
const [FIRST, NEW] = ["first", ".new"];

/** Where the conversations of a workspace outlive its window: a file of the extension's own for each. */
export class Conversations {
  readonly #folder: vscode.Uri | undefined;
  /** Which of them goes on: a file too, because a memento is written some time after its update, and a window may be loaded again before that. */
  readonly #current: vscode.Uri | undefined;
  /** One after the other: the last one counts. */
  #writing: Thenable<unknown> = Promise.resolve();
  #next: { root: string; saved: Saved } | undefined;
  #id = FIRST;

  constructor(storage: vscode.Uri | undefined) {
    this.#folder = storage && vscode.Uri.joinPath(storage, "conversations");
    this.#current = storage && vscode.Uri.joinPath(storage, "current");
  }

  /** The conversation about this folder that goes on, if there is one. */
  async load(root: vscode.Uri): Promise<Saved | "damaged" | undefined> {
    const id = this.#current && (await textOf(this.#current));
    if (id !== undefined && /^[0-9a-z-]+$/.test(id)) this.#id = id;
    const text = await this.#read(this.#id);
    if (text === undefined) return undefined;
    const end = text.indexOf("\n");
    if (text.slice(0, end) !== root.toString()) return end < 0 ? "damaged" : undefined;
    return readSaved(text.slice(end + 1)) ?? "damaged";
  }

  /** Keeps this instead of what was there. */
  save(root: vscode.Uri, saved: Saved): void {
    if (saved.items.length === 0) return;
    if (this.#next === undefined) this.#writing = this.#writing.then(() => this.#write()).then(undefined, () => {});
    this.#next = { root: root.toString(), saved };
  }

  /** Another conversation is that of the window from now on: a kept one, or a new one. What was said stays kept. */
  async turnTo(id = newId()): Promise<void> {
    await this.#writing;
    this.#id = id;
    if (this.#current) await vscode.workspace.fs.writeFile(this.#current, new TextEncoder().encode(id));
  }

  /** Those about this folder, the newest first. One that cannot be read is not among them. */
  async list(root: vscode.Uri): Promise<Kept[]> {
    await this.#writing;
    if (this.#folder === undefined) return [];
    const folder = this.#folder;
    const names = (await entries(folder)).filter((name) => !name.endsWith(NEW));
    const all = await Promise.all(names.map(async (id) => ({ id, at: (await vscode.workspace.fs.stat(vscode.Uri.joinPath(folder, id))).mtime })));
    all.sort((one, other) => other.at - one.at);
    for (const { id } of all.splice(MOST_KEPT)) await this.remove(id);
    const kept = await Promise.all(all.map(async ({ id, at }) => {
      const text = (await this.#read(id)) ?? "";
      const end = text.indexOf("\n");
      const saved = text.slice(0, end) === root.toString() ? readSaved(text.slice(end + 1)) : undefined;
      return saved ? [{ id, at, title: titleOf(saved) }] : [];
    }));
    return kept.flat();
  }

  get current(): string {
    return this.#id;
  }

  async remove(id: string): Promise<void> {
    await this.#writing;
    if (this.#folder) await vscode.workspace.fs.delete(vscode.Uri.joinPath(this.#folder, id)).then(undefined, () => {});
  }

  async #read(id: string): Promise<string | undefined> {
    if (this.#folder === undefined) return undefined;
    const text = await textOf(vscode.Uri.joinPath(this.#folder, id));
    // Where the only one was, before there were several.
    return text ?? (id === FIRST ? textOf(vscode.Uri.joinPath(this.#folder, "..", "conversation")) : undefined);
  }

  async #write(): Promise<void> {
    const { root, saved } = this.#next ?? {};
    this.#next = undefined;
    if (this.#folder === undefined || saved === undefined) return;
    const id = this.#id;
    await vscode.workspace.fs.createDirectory(this.#folder);
    const whole = vscode.Uri.joinPath(this.#folder, id + NEW);
    await vscode.workspace.fs.writeFile(whole, new TextEncoder().encode(`${root}\n${JSON.stringify(saved)}`));
    await vscode.workspace.fs.rename(whole, vscode.Uri.joinPath(this.#folder, id), { overwrite: true });
  }
}

async function textOf(file: vscode.Uri): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
  } catch {
    return undefined;
  }
}

async function entries(folder: vscode.Uri): Promise<string[]> {
  try {
    return (await vscode.workspace.fs.readDirectory(folder)).map(([name]) => name);
  } catch {
    return [];
  }
}

function newId(): string {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
}
