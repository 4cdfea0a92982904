import * as vscode from "vscode";

type Entry = { type: "file"; bytes: Uint8Array; ctime: number; mtime: number } | { type: "folder"; ctime: number; mtime: number };

/** Files in memory, so that a first try touches nothing of the user's. */
export class MemoryFiles implements vscode.FileSystemProvider {
  readonly #entries = new Map<string, Entry>([["/", { type: "folder", ctime: 1, mtime: 1 }]]);
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;
  /** The time of files that exist from the start; 0 afterwards, so that the clock is used. */
  #time = 1_700_000_000_000;

  constructor(files: Record<string, string> = {}) {
    for (const [path, text] of Object.entries(files)) this.#put(path, new TextEncoder().encode(text));
    this.#time = 0;
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {});
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const entry = this.#at(uri);
    const { ctime, mtime } = entry;
    return entry.type === "file"
      ? { type: vscode.FileType.File, ctime, mtime, size: entry.bytes.length }
      : { type: vscode.FileType.Directory, ctime, mtime, size: 0 };
  }

  readDirectory(uri: vscode.Uri): [string, vscode.FileType][] {
    if (this.#at(uri).type !== "folder") throw vscode.FileSystemError.FileNotADirectory(uri);
    const below = uri.path === "/" ? "/" : `${uri.path}/`;
    return [...this.#entries]
      .filter(([path]) => path !== "/" && path.startsWith(below) && !path.slice(below.length).includes("/"))
      .map(([path, { type }]) => [path.slice(below.length), type === "file" ? vscode.FileType.File : vscode.FileType.Directory]);
  }

  readFile(uri: vscode.Uri): Uint8Array {
    const entry = this.#at(uri);
    if (entry.type !== "file") throw vscode.FileSystemError.FileIsADirectory(uri);
    return entry.bytes;
  }

  writeFile(uri: vscode.Uri, bytes: Uint8Array, options: { create: boolean; overwrite: boolean }): void {
    const entry = this.#entries.get(uri.path);
    if (entry?.type === "folder") throw vscode.FileSystemError.FileIsADirectory(uri);
    if (entry && !options.overwrite) throw vscode.FileSystemError.FileExists(uri);
    if (!entry && !options.create) throw vscode.FileSystemError.FileNotFound(uri);
    if (this.#entries.get(parentOf(uri.path))?.type !== "folder") throw vscode.FileSystemError.FileNotFound(uri);
    this.#put(uri.path, bytes);
    this.#fire(entry ? vscode.FileChangeType.Changed : vscode.FileChangeType.Created, uri);
  }

  createDirectory(uri: vscode.Uri): void {
    if (this.#entries.has(uri.path)) throw vscode.FileSystemError.FileExists(uri);
    this.#folder(uri.path);
    this.#fire(vscode.FileChangeType.Created, uri);
  }

  delete(uri: vscode.Uri, options: { recursive: boolean }): void {
    this.#at(uri);
    const below = [...this.#entries.keys()].filter((path) => path.startsWith(`${uri.path}/`));
    if (0 < below.length && !options.recursive) throw vscode.FileSystemError.Unavailable("the folder is not empty");
    for (const path of [uri.path, ...below]) this.#entries.delete(path);
    this.#fire(vscode.FileChangeType.Deleted, uri);
  }

  rename(from: vscode.Uri, to: vscode.Uri, options: { overwrite: boolean }): void {
    this.#at(from);
    if (this.#entries.has(to.path) && !options.overwrite) throw vscode.FileSystemError.FileExists(to);
    for (const [path, entry] of [...this.#entries]) {
      if (path !== from.path && !path.startsWith(`${from.path}/`)) continue;
      this.#entries.delete(path);
      this.#entries.set(to.path + path.slice(from.path.length), entry);
    }
    this.#fire(vscode.FileChangeType.Deleted, from);
    this.#fire(vscode.FileChangeType.Created, to);
  }

  #at(uri: vscode.Uri): Entry {
    const entry = this.#entries.get(uri.path);
    if (entry === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return entry;
  }

  #put(path: string, bytes: Uint8Array): void {
    this.#folder(parentOf(path));
    const now = this.#time || Date.now();
    this.#entries.set(path, { type: "file", bytes, ctime: this.#entries.get(path)?.ctime ?? now, mtime: now });
  }

  #folder(path: string): void {
    if (this.#entries.has(path)) return;
    this.#folder(parentOf(path));
    const now = this.#time || Date.now();
    this.#entries.set(path, { type: "folder", ctime: now, mtime: now });
  }

  #fire(type: vscode.FileChangeType, uri: vscode.Uri): void {
    this.#changed.fire([{ type, uri }]);
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}
