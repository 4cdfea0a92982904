// From what a developer gives as a tree to a handle of the module.

import { InputError } from "./errors.js";
import type { Fields } from "./options.js";
import { raw } from "./raw.js";
import { isWellFormed, TreePort } from "./tree-port.js";
import type { AtomicTree, Tree, WritableTree, WriteOptions } from "./types.js";
import type { UndoWatch } from "./undo-watch.js";

export const WRITE: Fields<WriteOptions> = { executable: "boolean" };

type Share = (writes: boolean) => raw.TreeHandle | undefined;

/** The trees that are kept in the module. */
const own = new WeakMap<object, Share>();

/** Has `treeOf` and `workspaceOf` take this tree's handle instead of its methods. */
export function keepOwn(tree: object, share: Share): void {
  own.set(tree, share);
}

/** A handle for reading only. The module takes it over. */
export function treeOf(tree: Tree): raw.TreeHandle {
  return handle(tree, false, ["metadata", "read", "list"]);
}

/** A handle for commits. The module takes it over. */
export function workspaceOf(tree: WritableTree | AtomicTree | UndoWatch): raw.TreeHandle {
  const writes = typeof (tree as Partial<AtomicTree> | null)?.commitAll === "function" ? [] : (["write", "createDir", "remove"] as const);
  return handle(tree as Tree, true, ["metadata", "read", "list", ...writes]);
}

function handle(tree: Tree, writes: boolean, methods: (keyof WritableTree)[]): raw.TreeHandle {
  if (typeof tree !== "object" || tree === null) throw new InputError("tree: give an object with methods", "tree");
  // If a method was put over ours, it has to be called.
  const shared = Object.keys(tree).length === 0 ? own.get(tree)?.(writes) : undefined;
  if (shared) return shared;
  for (const method of methods) {
    if (typeof (tree as Partial<WritableTree>)[method] !== "function") {
      throw new InputError(`tree.${method}: a method is missing`, `tree.${method}`);
    }
  }
  return raw.TreeHandle.port(new TreePort(tree));
}

/** A path that can cross: a string with a UTF-8 form. */
export function pathText(path: unknown, field = "path"): string {
  if (typeof path !== "string") throw new InputError(`${field}: must be a string, and is ${typeof path}`, field);
  if (!isWellFormed(path)) throw new InputError(`${field}: ${JSON.stringify(path)} is not well-formed Unicode`, field);
  return path;
}

/** Content as bytes. */
export function contentBytes(content: unknown): Uint8Array {
  if (content instanceof Uint8Array) return content;
  if (typeof content !== "string") {
    throw new InputError(`content: must be a string or a Uint8Array, and is ${typeof content}`, "content");
  }
  if (!isWellFormed(content)) throw new InputError("content: the text is not well-formed Unicode", "content");
  return new TextEncoder().encode(content);
}
