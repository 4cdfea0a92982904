// What the module asks of a tree of the host. The answers are checked here, because it is not certain that they are
// what the types say.

import { keepThrown } from "./errors.js";
import type { AtomicTree, CommitStep, EntryKind, Tree, WritableTree } from "./types.js";

type Callback = keyof WritableTree;
type Refusal = { code: string; message: string; path?: string };

const KINDS = ["file", "directory", "symlink", "other"];

/** A longer file would not fit into the module's memory together with its copies. */
const MAX_FILE_BYTES = 512 * 1024 * 1024;

/** The names of errors of common trees: of Node, of an editor, of the browser. */
const CODES = new Map([
  ["not_found", ["not_found", "ENOENT", "FileNotFound", "NotFoundError"]],
  ["not_a_directory", ["not_a_directory", "ENOTDIR", "FileNotADirectory"]],
  ["is_a_directory", ["is_a_directory", "EISDIR", "FileIsADirectory"]],
  ["already_exists", ["already_exists", "EEXIST", "FileExists"]],
  ["escapes", ["escapes"]],
  ["unsupported", ["unsupported"]],
].flatMap(([code, names]) => (names as string[]).map((name) => [name, code as string])));

/** The error for answers that are not what the types say. */
class Wrong extends Error {}

/**
 * Whether a text has no lone half of a surrogate pair: such a text has no UTF-8 form, and would silently become another
 * one.
 */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** An object of the host as the module calls it. */
export class TreePort {
  readonly #tree: Tree & Partial<WritableTree & AtomicTree>;

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  get isAtomic(): boolean {
    return typeof this.#tree.commitAll === "function";
  }

  batch(): Batch {
    return new Batch(this.#tree);
  }

  /** The answer: bytes for `read`, otherwise a JSON text. It rejects with the JSON text of a refusal. */
  async ask(callback: Callback, path: string, content: unknown, executable: boolean): Promise<Uint8Array | string> {
    try {
      return await this.#ask(callback, path, content, executable);
    } catch (error) {
      throw JSON.stringify(refusal(callback, error));
    }
  }

  turn(): Turn {
    return new Turn(this.#tree);
  }

  async #ask(callback: Callback, path: string, content: unknown, executable: boolean): Promise<Uint8Array | string> {
    const tree = this.#tree;
    if (typeof tree[callback] !== "function") {
      throw Object.assign(new Error(`the tree has no ${callback}`), { code: "unsupported" });
    }
    switch (callback) {
      case "metadata":
        return metadata(await tree.metadata(path));
      case "read":
        return bytes(await tree.read(path));
      case "list":
        return list(await tree.list(path));
      case "readLink":
        return JSON.stringify(text(await tree.readLink?.(path)));
      case "write":
        await tree.write?.(path, content as Uint8Array, { executable });
        break;
      case "symlink":
        await tree.symlink?.(path, content as string);
        break;
      case "createDir":
      case "remove":
        await tree[callback]?.(path);
    }
    return "null";
  }
}

/** A commit that is being made for a tree that takes it as a whole. */
class Batch {
  readonly #tree: Partial<AtomicTree>;
  readonly #steps: CommitStep[] = [];

  constructor(tree: Partial<AtomicTree>) {
    this.#tree = tree;
  }

  add(path: string, was: EntryKind | "", before: unknown, is: EntryKind | "", after: unknown, executable: boolean, from: string): void {
    const content = { content: after as Uint8Array, executable, ...(from !== "" && { movedFrom: from }) };
    if (was === "file" && is === "file") {
      this.#steps.push({ type: "replace", path, before: before as Uint8Array, ...content });
      return;
    }
    if (was === "file") this.#steps.push({ type: "remove", path, before: before as Uint8Array });
    if (was === "directory") this.#steps.push({ type: "removeDir", path });
    if (was === "symlink") this.#steps.push({ type: "removeSymlink", path, target: before as string });
    if (is === "file") this.#steps.push({ type: "create", path, ...content });
    if (is === "directory") this.#steps.push({ type: "createDir", path });
    if (is === "symlink") this.#steps.push({ type: "symlink", path, target: after as string });
  }

  /** The JSON text of the paths that changed; rejects with the JSON text of a refusal. */
  async commit(beside: string | undefined): Promise<string> {
    const paths = new Set(this.#steps.map(({ path }) => path));
    try {
      return JSON.stringify(conflicts(await this.#tree.commitAll?.(this.#steps, beside)));
    } catch (error) {
      const path = named(error);
      throw JSON.stringify({ ...refusal("commitAll", error), ...(paths.has(path) && { path }) });
    }
  }
}

/** The queue of each tree: a commit waits for all that were asked for before, through any handle. */
const queues = new WeakMap<object, Promise<void>>();

class Turn {
  readonly #ready: Promise<void>;
  #release: () => void = () => {};

  constructor(tree: object) {
    this.#ready = queues.get(tree) ?? Promise.resolve();
    const done = new Promise<void>((resolve) => (this.#release = resolve));
    queues.set(tree, this.#ready.then(() => done));
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  release(): void {
    this.#release();
  }
}

function metadata(found: unknown): string {
  if (found === undefined || found === null) return "null";
  if (typeof found !== "object") throw wrong("an object or undefined", found);
  const { kind, size, executable, modified } = found as Record<string, unknown>;
  const is = (expected: string, value: unknown, holds: boolean): void => {
    if (!holds) throw wrong(expected, value);
  };
  is(`a kind of ${KINDS.join(", ")}`, kind, typeof kind === "string" && KINDS.includes(kind));
  is("a size of 0 or more bytes", size, Number.isSafeInteger(size) && (size as number) >= 0);
  is("executable as a boolean", executable, executable === undefined || typeof executable === "boolean");
  is("modified as a finite number", modified, modified === undefined || Number.isFinite(modified));
  return JSON.stringify({ kind, size, executable: executable ?? false, modified });
}

function bytes(content: unknown): Uint8Array {
  // An array from another realm (a frame, a worker's polyfill) is not an instance of this realm's class.
  if (Object.prototype.toString.call(content) !== "[object Uint8Array]" || !ArrayBuffer.isView(content)) {
    throw wrong("a Uint8Array", content);
  }
  if (content.byteLength > MAX_FILE_BYTES) throw new Wrong(`gave more than ${MAX_FILE_BYTES} bytes`);
  return content instanceof Uint8Array ? content : new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
}

function list(entries: unknown): string {
  if (!Array.isArray(entries)) throw wrong("an array", entries);
  const pairs = Array.from(entries, (entry: unknown) => {
    if (typeof entry !== "object" || entry === null) throw wrong("entries { name, kind }", entry);
    const { name, kind } = entry as Record<string, unknown>;
    if (typeof kind !== "string" || !KINDS.includes(kind)) throw wrong(`a kind of ${KINDS.join(", ")}`, kind);
    return [text(name), kind];
  });
  return JSON.stringify(pairs);
}

function conflicts(answer: unknown): string[] {
  if (answer === undefined || answer === null) return [];
  const expected = "nothing, or { conflicts: string[] }";
  if (typeof answer !== "object") throw wrong(expected, answer);
  const { conflicts } = answer as Record<string, unknown>;
  if (!Array.isArray(conflicts)) throw wrong(expected, conflicts);
  return Array.from(conflicts, text);
}

/** A text that has a UTF-8 form. */
function text(value: unknown): string {
  if (typeof value !== "string") throw wrong("a string", value);
  if (!isWellFormed(value)) throw new Wrong(`gave ${JSON.stringify(value)}, which is not well-formed Unicode`);
  return value;
}

function wrong(expected: string, found: unknown): Wrong {
  const shown = typeof found === "string" ? JSON.stringify(found.slice(0, 40)) : name(found);
  return new Wrong(`gave ${shown}; it has to give ${expected}`);
}

function name(value: unknown): string {
  if (value === null || value === undefined || typeof value === "number") return String(value);
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

function refusal(callback: Callback | "commitAll", error: unknown): Refusal {
  if (error instanceof Wrong) return { code: "io", message: `${callback} of the tree ${error.message}` };
  const { code, name, message } = shown(error);
  const known = CODES.get(code) ?? CODES.get(name);
  const told = known === "unsupported" ? message : `${callback} of the tree failed: ${message}`;
  keepThrown(told, error);
  return { code: known ?? "io", message: told };
}

/** The path that an error names. */
function named(error: unknown): string {
  try {
    return `${Object(error).path}`;
  } catch {
    return "";
  }
}

/** The words of an error, whatever was thrown. */
function shown(error: unknown): { code: string; name: string; message: string } {
  try {
    const { code, name, message } = Object(error) as Record<string, unknown>;
    return { code: `${code}`, name: `${name}`, message: error instanceof Error ? `${message}` : String(error) };
  } catch {
    return { code: "", name: "", message: "it threw what cannot be shown" };
  }
}
