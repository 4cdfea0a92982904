import * as vscode from "vscode";
import { type Saved, readSaved, titleOf } from "./session/saved.js";

/** A conversation of this folder that can be continued. */
export interface Kept {
  id: string;
  title: string;
  /** When something was last said in it, in milliseconds since 1970. */
  at: number;
}

/** How many conversations are kept; the oldest are removed. */
const MOST_KEPT = 50;
const [FIRST, NEW] = ["first", ".new"];

/** Keeps the conversations of a workspace beyond the life of its window, each in a file in the extension's storage. */
export class Conversations {
  readonly #folder: vscode.Uri | undefined;
  /**
   * Holds the id of the conversation that the window continues. This is a file as well, because VS Code writes a
   * memento some time after its update, and a window may be reloaded before that.
   */
  readonly #current: vscode.Uri | undefined;
  /** Settles when all writes so far are done. Writes run one after the other, so that the last one is what stays. */
  #writing: Thenable<unknown> = Promise.resolve();
  #next: { root: string; saved: Saved } | undefined;
  #id = FIRST;

  constructor(storage: vscode.Uri | undefined) {
    this.#folder = storage && vscode.Uri.joinPath(storage, "conversations");
    this.#current = storage && vscode.Uri.joinPath(storage, "current");
  }

  /** The conversation about this folder that is to be continued, if there is one. */
  async load(root: vscode.Uri): Promise<Saved | "damaged" | undefined> {
    const id = this.#current && (await textOf(this.#current));
    if (id !== undefined && /^[0-9a-z-]+$/.test(id)) this.#id = id;
    const text = await this.#read(this.#id);
    if (text === undefined) return undefined;
    const end = text.indexOf("\n");
    if (text.slice(0, end) !== root.toString()) return end < 0 ? "damaged" : undefined;
    return readSaved(text.slice(end + 1)) ?? "damaged";
  }

  /** Keeps this state in place of the former one. */
  save(root: vscode.Uri, saved: Saved): void {
    if (saved.items.length === 0) return;
    if (this.#next === undefined) this.#writing = this.#writing.then(() => this.#write()).then(undefined, () => {});
    this.#next = { root: root.toString(), saved };
  }

  /** Makes another conversation that of the window: a kept one, or a new one. The former one stays kept. */
  async turnTo(id = newId()): Promise<void> {
    await this.#writing;
    this.#id = id;
    if (this.#current) await vscode.workspace.fs.writeFile(this.#current, new TextEncoder().encode(id));
  }

  /** The conversations about this folder, the newest first, without those that cannot be read. */
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
    // Before there were several conversations, the only one was kept at this address.
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
