import { call, calling, toJson } from "./call.js";
import { ChangeSet } from "./change-set.js";
import { DisposedError, TreeError } from "./errors.js";
import { type Fields, options as checked, plainOptions } from "./options.js";
import { raw } from "./raw.js";
import { contentBytes, keepOwn, pathText, treeOf, workspaceOf, WRITE } from "./tree.js";
import type { UndoWatch } from "./undo-watch.js";
import type { AtomicTree, CommitOptions, CommitOutcome, DirEntry, Metadata, Quota, Tree, WritableTree, WriteOptions } from "./types.js";

export const COMMIT: Fields<CommitOptions> = { staleReads: "word", merge: "word" };
export const QUOTA: Fields<Quota> = { files: "whole", bytes: "whole", fileBytes: "whole", depth: "whole" };

/** Staged files over a tree that is never changed. It is a tree itself, so overlays stack. */
export class Overlay implements Tree, Disposable {
  #handle: raw.OverlayHandle | undefined;

  constructor(base: Tree, quota: Quota = {}) {
    // The view of a tool is already a handle.
    this.#handle =
      base instanceof raw.OverlayHandle ? base : call(() => new raw.OverlayHandle(treeOf(base), toJson("quota", plainOptions("quota", quota, QUOTA))));
    if (new.target === Overlay) keepOwn(this, (writes) => (writes ? undefined : this.#use((handle) => handle.tree())));
  }

  async metadata(path: string): Promise<Metadata | undefined> {
    const found = await this.#ask((handle) => handle.metadata(pathText(path)));
    return found === undefined ? undefined : (JSON.parse(found as string) as Metadata);
  }

  async read(path: string): Promise<Uint8Array> {
    return (await this.#ask((handle) => handle.read(pathText(path)))) as Uint8Array;
  }

  /** The content of a file of UTF-8, a byte order mark included. */
  async readText(path: string): Promise<string> {
    const content = await this.read(path);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    } catch {
      throw new TreeError("unsupported", `${path} is not UTF-8; read gives its bytes`, path);
    }
  }

  async list(path: string): Promise<DirEntry[]> {
    return JSON.parse((await this.#ask((handle) => handle.list(pathText(path)))) as string) as DirEntry[];
  }

  async readLink(path: string): Promise<string> {
    return (await this.#ask((handle) => handle.readLink(pathText(path)))) as string;
  }

  /** Stages the whole content of a file; missing folders are made. Without `executable` the bit stays as it is. */
  async write(path: string, content: Uint8Array | string, options: WriteOptions = {}): Promise<void> {
    const { executable } = checked("options", options, WRITE);
    await this.#ask((handle) => handle.write(pathText(path), contentBytes(content), executable ?? undefined));
  }

  /** Stages a new folder, and those above it. */
  async createDir(path: string): Promise<void> {
    await this.#ask((handle) => handle.createDir(pathText(path)));
  }

  /** Stages a new link, and the folders above it. One that leads out of the tree is refused. */
  async symlink(path: string, target: string): Promise<void> {
    await this.#ask((handle) => handle.symlink(pathText(path), pathText(target, "target")));
  }

  /** Stages the removal of a file, a link or a whole folder. */
  async remove(path: string): Promise<void> {
    await this.#ask((handle) => handle.remove(pathText(path)));
  }

  /** Stages a move of a file, a link or a whole folder to a path where nothing is. */
  async rename(from: string, to: string): Promise<void> {
    await this.#ask((handle) => handle.rename(pathText(from, "from"), pathText(to, "to")));
  }

  /** What an accept would do now. */
  changeSet(): ChangeSet {
    return ChangeSet.ofText(this.#use((handle) => handle.changeSet()));
  }

  /** What is staged here and in all overlays below, without what was read. */
  stagedChanges(): ChangeSet {
    return ChangeSet.ofText(this.#use((handle) => handle.stagedChanges()));
  }

  /** How much is staged: the number of paths, and the bytes of content including what it replaces. */
  usage(): { files: number; bytes: number } {
    return JSON.parse(this.#use((handle) => handle.usage())) as { files: number; bytes: number };
  }

  /** Forgets everything that is staged, and everything that was read. */
  discard(): void {
    this.#use((handle) => handle.discard());
  }

  /** Frees the memory. Calls that still wait for the tree below are answered all the same. */
  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #ask(work: (handle: raw.OverlayHandle) => Promise<unknown>): Promise<unknown> {
    return calling(() => work(this.#get()));
  }

  #use<T>(work: (handle: raw.OverlayHandle) => T): T {
    return call(() => work(this.#get()));
  }

  #get(): raw.OverlayHandle {
    if (this.#handle === undefined) throw new DisposedError("disposed", "the overlay was disposed of");
    return this.#handle;
  }
}

/**
 * Applies every change, or none: a file that has changed in the tree meanwhile is merged or is a conflict. Each path is
 * compared once more right before it is changed. If it is not as expected, or on an error, what was done is taken back.
 * Commits to the same tree run one after the other; one whose tree never answers blocks those behind it. Over a tree of
 * callbacks two things cannot be promised: that no reader sees half of a commit, and that nothing is left half done if
 * the page is closed in the middle. To a {@link MemoryTree} a commit is one step, and to an {@link AtomicTree} it is
 * what that tree promises.
 */
export async function commit(tree: WritableTree | AtomicTree | UndoWatch, changes: ChangeSet, options: CommitOptions = {}): Promise<CommitOutcome> {
  const outcome = await calling(() => raw.commit(workspaceOf(tree), ChangeSet.textOf(changes), toJson("options", plainOptions("options", options, COMMIT))));
  return JSON.parse(outcome as string) as CommitOutcome;
}
