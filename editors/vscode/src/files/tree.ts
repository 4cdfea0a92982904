import type { DirEntry, Metadata, WritableTree } from "headstart";
import type { Files, Found, Step } from "./port.js";
import { sameBytes } from "./text.js";

/** What a commit staged at a path. */
type Staged = { kind: "file"; content: Uint8Array } | { kind: "directory" } | { kind: "nothing" };

/** A path as a commit saw it first. */
interface Seen {
  found: Found | undefined;
  content?: Uint8Array;
}

/** Makes the error with which a tree answers. */
export type Fail = (code: "not_found" | "io" | "unsupported" | "is_a_directory" | "not_a_directory", message: string, path: string) => Error;

/** The project, as the engine reads and writes it.
 *
 * A commit of the engine's goes path by path; an editor's undo is for one edit. So between `collect` and `apply` writes are
 * only gathered, the reads in between see them, and then they are one edit. Each path is, for a whole commit, as it was at first
 * sight; the edit is made only if what it replaces still is so. Outside a commit each write is an edit of its own. */
export class CollectingTree implements WritableTree {
  readonly #files: Files;
  readonly #fail: Fail;
  #collected: Collected | undefined;

  constructor(files: Files, fail: Fail) {
    this.#files = files;
    this.#fail = fail;
  }

  /** From now on writes are gathered. One commit runs at a time. */
  collect(): Collected {
    if (this.#collected !== undefined) throw new Error("a commit is under way");
    this.#collected = new Collected(this.#files, () => (this.#collected = undefined));
    return this.#collected;
  }

  async metadata(path: string): Promise<Metadata | undefined> {
    const found = await (this.#collected ? this.#collected.metadata(path) : this.#files.stat(path));
    return found && { ...found };
  }

  async read(path: string): Promise<Uint8Array> {
    return this.#collected ? this.#collected.read(path, this.#fail) : this.#files.read(path);
  }

  async list(path: string): Promise<DirEntry[]> {
    const entries = await (this.#collected ? this.#collected.list(path) : this.#files.list(path));
    return entries.sort((one, other) => (one.name < other.name ? -1 : one.name === other.name ? 0 : 1));
  }

  write(path: string, content: Uint8Array): Promise<void> {
    return this.#change(path, { kind: "file", content });
  }

  createDir(path: string): Promise<void> {
    return this.#change(path, { kind: "directory" });
  }

  remove(path: string): Promise<void> {
    return this.#change(path, { kind: "nothing" });
  }

  async #change(path: string, staged: Staged): Promise<void> {
    if (this.#collected !== undefined) return this.#collected.stage(path, staged);
    const alone = new Collected(this.#files, () => {});
    await alone.stage(path, staged);
    const refusal = await alone.apply("headstart");
    if (refusal !== undefined) throw this.#fail("io", refusal, path);
  }
}

/** The writes of one commit. */
export class Collected {
  readonly #files: Files;
  readonly #over: () => void;
  readonly #seen = new Map<string, Seen>();
  readonly #staged = new Map<string, Staged>();

  constructor(files: Files, over: () => void) {
    this.#files = files;
    this.#over = over;
  }

  /** Forgets all of it. */
  drop(): void {
    this.#over();
  }

  /** Makes it one edit. The answer says why nothing was changed. */
  async apply(label: string): Promise<string | undefined> {
    try {
      const steps = [...this.#staged].flatMap(([path, staged]) => this.#steps(path, staged));
      return steps.length === 0 ? undefined : await this.#files.apply(steps, label);
    } finally {
      this.#over();
    }
  }

  async stage(path: string, staged: Staged): Promise<void> {
    await this.#look(path);
    // The order of the last changes counts: a folder is empty when it goes.
    this.#staged.delete(path);
    this.#staged.set(path, staged);
  }

  async metadata(path: string): Promise<Found | undefined> {
    const staged = this.#staged.get(path);
    // Without a time the contents are compared.
    if (staged?.kind === "file") return { kind: "file", size: staged.content.length };
    if (staged?.kind === "directory") return { kind: "directory", size: 0 };
    return staged ? undefined : (await this.#look(path)).found;
  }

  async read(path: string, fail: Fail): Promise<Uint8Array> {
    const staged = this.#staged.get(path);
    if (staged?.kind === "file") return staged.content;
    const content = staged ? undefined : (await this.#look(path)).content;
    if (content === undefined) throw fail("not_found", `${path} is no file`, path);
    return content;
  }

  async list(path: string): Promise<DirEntry[]> {
    const names = new Map<string, DirEntry>();
    if (!this.#staged.has(path)) {
      for (const entry of await this.#files.list(path)) names.set(entry.name, entry);
    }
    for (const [changed, staged] of this.#staged) {
      if (parentOf(changed) !== path) continue;
      const name = changed.slice(changed.lastIndexOf("/") + 1);
      if (staged.kind === "nothing") names.delete(name);
      else names.set(name, { name, kind: staged.kind });
    }
    return [...names.values()];
  }

  async #look(path: string): Promise<Seen> {
    const known = this.#seen.get(path);
    if (known !== undefined) return known;
    const seen = await look(this.#files, path);
    // Somebody else may have looked meanwhile; the first look counts.
    const first = this.#seen.get(path);
    if (first === undefined) this.#seen.set(path, seen);
    return first ?? seen;
  }

  #steps(path: string, staged: Staged): Step[] {
    const { found, content } = this.#seen.get(path) ?? { found: undefined };
    const remove: Step[] = found ? [{ type: "remove", path, before: content ?? "directory" }] : [];
    switch (staged.kind) {
      case "nothing":
        return remove;
      case "directory":
        return found?.kind === "directory" ? [] : [...remove, { type: "createDir", path }];
      case "file":
        if (content === undefined) return [...remove, { type: "create", path, after: staged.content }];
        return sameBytes(content, staged.content) ? [] : [{ type: "replace", path, before: content, after: staged.content }];
    }
  }
}

/** A file's content and then its metadata: those are never older than the content, so an edit in between shows. */
async function look(files: Files, path: string): Promise<Seen> {
  const found = await files.stat(path);
  if (found?.kind !== "file") return { found };
  const content = await files.read(path);
  const now = await files.stat(path);
  return now?.kind === "file" ? { found: now, content } : { found: now };
}

function parentOf(path: string): string {
  const at = path.lastIndexOf("/");
  return at < 0 ? "" : path.slice(0, at);
}
