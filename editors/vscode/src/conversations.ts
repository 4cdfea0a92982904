import * as vscode from "vscode";
import { type Saved, readSaved } from "./session/saved.js";

/** Where the conversation of a workspace outlives its window: a file of the extension's own, as large as need be. */
export class Conversations {
  readonly #folder: vscode.Uri | undefined;
  /** One after the other: the last one counts. */
  #writing: Thenable<unknown> = Promise.resolve();
  #next: { root: string; saved: Saved } | undefined;

  constructor(folder: vscode.Uri | undefined) {
    this.#folder = folder;
  }

  /** The conversation about this folder, if there is one. */
  async load(root: vscode.Uri): Promise<Saved | "damaged" | undefined> {
    const file = this.#file;
    if (file === undefined) return undefined;
    let text: string;
    try {
      text = new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
    } catch {
      return undefined;
    }
    const end = text.indexOf("\n");
    if (text.slice(0, end) !== root.toString()) return end < 0 ? "damaged" : undefined;
    return readSaved(text.slice(end + 1)) ?? "damaged";
  }

  /** Keeps this instead of what was there. */
  save(root: vscode.Uri, saved: Saved): void {
    if (this.#next === undefined) this.#writing = this.#writing.then(() => this.#write()).then(undefined, () => {});
    this.#next = { root: root.toString(), saved };
  }

  async forget(): Promise<void> {
    this.#next = undefined;
    await this.#writing;
    if (this.#file) await vscode.workspace.fs.delete(this.#file).then(undefined, () => {});
  }

  async #write(): Promise<void> {
    const { root, saved } = this.#next ?? {};
    this.#next = undefined;
    if (this.#folder === undefined || this.#file === undefined || saved === undefined) return;
    await vscode.workspace.fs.createDirectory(this.#folder);
    const whole = vscode.Uri.joinPath(this.#folder, "conversation.new");
    await vscode.workspace.fs.writeFile(whole, new TextEncoder().encode(`${root}\n${JSON.stringify(saved)}`));
    await vscode.workspace.fs.rename(whole, this.#file, { overwrite: true });
  }

  get #file(): vscode.Uri | undefined {
    return this.#folder && vscode.Uri.joinPath(this.#folder, "conversation");
  }
}
