// `headstart/folder`: a folder of this machine as a tree, for Node. No module is loaded.
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rename, rm, rmdir, stat, symlink, unlink } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { InputError, TreeError, mistyped } from "./errors.js";
import type { DirEntry, EntryKind, Metadata, WritableTree } from "./types-files.js";

export { HeadstartError, InputError, TreeError } from "./errors.js";
export type { DirEntry, EntryKind, MaybePromise, Metadata, Tree, WritableTree } from "./types-files.js";

/**
 * A file that was changed less than this ago may be changed again within one tick of the file system's clock, and then
 * show the same time.
 */
const RACY_MS = 2_000;
const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants;

/**
 * A folder of this machine, for an `Engine` in Node: what is accepted is written there.
 *
 * ```js
 * const engine = new Engine({ model, tree: await nodeFolder("."), mode: "auto-edit" });
 * ```
 *
 * No path leads out of it. Before each access the folder that holds the path is looked up with its links followed; if
 * it lies elsewhere, the error is a `TreeError` (`escapes`). The last name of a path is never followed. (A program that
 * swaps a folder for a link at that very moment can still mislead an access: this is for a folder of the user's own,
 * and does not protect against other programs.) A file is written beside its place and moved there whole, with the
 * permissions of the one that it replaces. Several files of a commit are written one after the other.
 */
export async function nodeFolder(path: string): Promise<WritableTree> {
  if (typeof path !== "string") throw mistyped("path", "a string", path);
  const root = await realpath(path).catch((cause: NodeJS.ErrnoException) => {
    throw new TreeError(cause.code === "ENOENT" ? "not_found" : "io", `${path}: ${cause.message}`, path, { cause });
  });
  if (!(await stat(root)).isDirectory()) throw new TreeError("not_a_directory", `${path}: is no folder`, path);
  return new Folder(root);
}

class Folder implements WritableTree {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async metadata(path: string): Promise<Metadata | undefined> {
    const at = await this.#place(path).catch(absent);
    if (at === undefined) return undefined;
    const found = await lstat(at, { bigint: true }).catch(absent);
    if (found === undefined) return undefined;
    const kind = kindOf(found);
    const size = Number(found.size);
    if (kind !== "file") return { kind, size: kind === "directory" ? 0 : size };
    // The time of the last change of anything about the file. It is used because no program can set it, unlike the time
    // of the content.
    const changed = Number(found.ctimeNs / 1000n) / 1000;
    const executable = (found.mode & 0o100n) !== 0n;
    return { kind, size, executable, ...(Math.abs(Date.now() - changed) > RACY_MS && { modified: changed }) };
  }

  async read(path: string): Promise<Uint8Array> {
    // A pipe must not be waited for, and only a file has content.
    return using(await open(await this.#place(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK), async (file) => {
      const found = await file.stat();
      if (found.isDirectory()) throw new TreeError("is_a_directory", `${path}: is a folder`, path);
      if (!found.isFile()) throw new TreeError("unsupported", `${path}: is neither a file nor a folder nor a link`, path);
      const content = await file.readFile();
      return new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
    });
  }

  async list(path: string): Promise<DirEntry[]> {
    const entries = await readdir(await this.#folder(path), { withFileTypes: true, encoding: "buffer" });
    // A name that is not UTF-8 has no path in a tree.
    return entries.filter(({ name }) => isUtf8(name)).map((entry) => ({ name: entry.name.toString(), kind: kindOf(entry) }));
  }

  async readLink(path: string): Promise<string> {
    return readlink(await this.#place(path));
  }

  async write(path: string, content: Uint8Array, { executable }: { executable: boolean }): Promise<void> {
    const at = await this.#place(path);
    const there = await lstat(at).catch(absent);
    if (there !== undefined && !there.isFile()) throw new TreeError("already_exists", `${path}: something that is no file is there`, path);
    const mode = modeOf(there?.mode, executable);
    const beside = join(dirname(at), `.headstart-${randomUUID()}.tmp`);
    try {
      await using(await open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? (executable ? 0o777 : 0o666)), async (file) => {
        await file.writeFile(content);
        // The permissions of a new file are left to the process's mask; a file that is replaced keeps its own.
        if (mode !== undefined) await file.chmod(mode);
        await file.sync();
      });
      await rename(beside, at);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  }

  async createDir(path: string): Promise<void> {
    await mkdir(await this.#place(path));
  }

  async remove(path: string): Promise<void> {
    const at = await this.#place(path);
    if ((await lstat(at)).isDirectory()) await rmdir(at);
    else await unlink(at);
  }

  async symlink(path: string, target: string): Promise<void> {
    await symlink(target, await this.#place(path));
  }

  /** The path on this machine; the folder that holds it lies in the tree. */
  async #place(path: string): Promise<string> {
    const text = checked(path);
    if (text === "") return this.#root;
    const name = basename(text);
    return join(await this.#folder(text.slice(0, -name.length).replace(/\/$/, "")), name);
  }

  /** A folder of the tree, with its links followed. */
  async #folder(path: string): Promise<string> {
    const at = await realpath(join(this.#root, checked(path)));
    if (at !== this.#root && !at.startsWith(this.#root.endsWith(sep) ? this.#root : this.#root + sep)) {
      throw new TreeError("escapes", `${path}: leads out of the folder`, path);
    }
    return at;
  }
}

/** A path of a tree: relative, without `..`. */
function checked(path: string): string {
  if (typeof path !== "string") throw mistyped("path", "a string", path);
  const isOutside = path.startsWith("/") || path.includes("\0") || path.split("/").includes("..");
  const isOtherwiseHere = sep !== "/" && (path.includes(sep) || path.includes(":"));
  if (isOutside || isOtherwiseHere) throw new InputError(`path: ${JSON.stringify(path)} is no path of a tree; one is relative, with "/" between names`, "path");
  return path;
}

/** The permission bits of a file that is replaced, with the wanted executable bits; `undefined` for a new file. */
function modeOf(there: number | undefined, executable: boolean): number | undefined {
  if (there === undefined) return undefined;
  const bits = there & 0o777;
  if (executable === ((bits & 0o100) !== 0)) return bits;
  // Whoever may read may execute.
  return executable ? bits | ((bits & 0o444) >> 2) : bits & ~0o111;
}

function kindOf(found: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): EntryKind {
  if (found.isFile()) return "file";
  if (found.isDirectory()) return "directory";
  return found.isSymbolicLink() ? "symlink" : "other";
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}

async function using<T>(file: FileHandle, work: (file: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}
