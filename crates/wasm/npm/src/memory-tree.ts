import { call } from "./call.js";
import { DisposedError } from "./errors.js";
import { options as checked, required } from "./options.js";
import { raw } from "./raw.js";
import { contentBytes, keepOwn, pathText, WRITE } from "./tree.js";
import type { DirEntry, Metadata, WritableTree, WriteOptions } from "./types.js";

/** A workspace in memory. */
export class MemoryTree implements WritableTree, Disposable {
  #handle: raw.MemoryHandle | undefined;

  /** Folders are made as needed. */
  constructor(files: Record<string, string | Uint8Array> = {}) {
    required("files", files, "object");
    this.#handle = call(() => new raw.MemoryHandle());
    try {
      for (const [path, content] of Object.entries(files)) this.#write(path, content);
    } catch (error) {
      this.dispose();
      throw error;
    }
    if (new.target === MemoryTree) keepOwn(this, () => this.#use((handle) => handle.tree()));
  }

  async metadata(path: string): Promise<Metadata | undefined> {
    const found = this.#use((handle) => handle.metadata(pathText(path)));
    return found === undefined ? undefined : (JSON.parse(found) as Metadata);
  }

  async read(path: string): Promise<Uint8Array> {
    return this.#use((handle) => handle.read(pathText(path)));
  }

  async list(path: string): Promise<DirEntry[]> {
    return this.#list(path);
  }

  async readLink(path: string): Promise<string> {
    return this.#use((handle) => handle.readLink(pathText(path)));
  }

  /** Missing folders are made. Without `executable` the bit stays as it is. */
  async write(path: string, content: Uint8Array | string, options: WriteOptions = {}): Promise<void> {
    this.#write(path, content, checked("options", options, WRITE).executable ?? undefined);
  }

  async createDir(path: string): Promise<void> {
    this.#use((handle) => handle.createDir(pathText(path)));
  }

  async remove(path: string): Promise<void> {
    this.#use((handle) => handle.remove(pathText(path)));
  }

  async symlink(path: string, target: string): Promise<void> {
    this.#use((handle) => handle.symlink(pathText(path), pathText(target, "target")));
  }

  /** Every file, at once. Links and empty folders are not in it. */
  snapshot(): Record<string, Uint8Array> {
    const files: [string, Uint8Array][] = [];
    const folders = [""];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const { name, kind } of this.#list(folder)) {
        const path = folder === "" ? name : `${folder}/${name}`;
        if (kind === "directory") folders.push(path);
        if (kind === "file") files.push([path, this.#use((handle) => handle.read(path))]);
      }
    }
    files.sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(files);
  }

  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #list(path: string): DirEntry[] {
    return JSON.parse(this.#use((handle) => handle.list(pathText(path)))) as DirEntry[];
  }

  #write(path: string, content: Uint8Array | string, executable?: boolean): void {
    this.#use((handle) => handle.write(pathText(path), contentBytes(content), executable));
  }

  #use<T>(work: (handle: raw.MemoryHandle) => T): T {
    return call(() => {
      if (this.#handle === undefined) throw new DisposedError("disposed", "the tree was disposed of");
      return work(this.#handle);
    });
  }
}
