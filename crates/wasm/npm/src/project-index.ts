import { call, calling, toJson } from "./call.js";
import { DisposedError, InputError } from "./errors.js";
import { type Fields, options as checked, plainOptions, required } from "./options.js";
import { raw } from "./raw-code-index.js";
import { toolItems } from "./tool-items.js";
import { TreePort } from "./tree-port.js";
import { contentBytes, pathText } from "./tree.js";
import type { BuildOptions, CodeIndexOptions, IndexProgress, SearchHit, SearchOptions, UpdateOptions } from "./types-code-index.js";
import type { ContextItem, Tool } from "./types-engine.js";
import type { Tree } from "./types-files.js";

const OPTIONS: Fields<CodeIndexOptions> = { workspace: "string", deny: "list", denyDefaults: "boolean", maxFiles: "whole", maxBytes: "whole" };
const BUILD: Fields<BuildOptions> = { signal: "signal", onProgress: "function" };
const UPDATE: Fields<UpdateOptions> = { definitions: "list" };
const SEARCH: Fields<SearchOptions> = { path: "string", limit: "count", staged: "any" };

/** Milliseconds between two words on how far it is. */
const TELL_EVERY = 100;
const NOTHING_STAGED = { changes: [], reads: [] };

/**
 * An index of a project's files in memory: places that fit words, a question or a name, best first, with staged edits if you pass them.
 *
 * ```js
 * await init();
 * const index = new CodeIndex(tree);
 * await index.build();
 * for (const { path, lines, symbol } of await index.search("where are payments retried?")) console.log(path, lines, symbol);
 * const engine = new Engine({ model, tree, tools: index.tools });
 * ```
 *
 * What `.gitignore` files leave out is not in it, nor what tells nothing of a project (dependencies, pictures, what a compiler wrote), nor what
 * `deny` covers. The tree is read in pieces with pauses in between, so a page stays alive meanwhile; searches answer from what is there.
 */
export class CodeIndex implements Disposable {
  #handle: raw.CodeIndexHandle | undefined;
  /** Goes on until there is nothing to do. */
  #working: Promise<void> | undefined;
  #listeners = new Set<(progress: IndexProgress) => void>();

  /** Nothing is read yet: that is {@link build}. */
  constructor(tree: Tree, options: CodeIndexOptions = {}) {
    required("tree", tree, "any");
    for (const method of ["metadata", "read", "list"] as const) {
      if (typeof (tree as Partial<Tree> | null)?.[method] !== "function") throw new InputError(`tree.${method}: a method is missing`, `tree.${method}`);
    }
    const { workspace, deny, denyDefaults, ...most } = plainOptions("", options, OPTIONS);
    this.#handle = call(() => new raw.CodeIndexHandle(new TreePort(tree), toJson("options", { workspace, deny, denyDefaults }), toJson("options", most)));
  }

  /**
   * Looks at all files, and reads those that are new or have changed. Rejects where the tree's root cannot be listed; a file that cannot be read
   * is left out. Call it again when you do not know what changed.
   */
  async build(options: BuildOptions = {}): Promise<IndexProgress> {
    const { signal, onProgress } = checked("options", options, BUILD);
    signal?.throwIfAborted();
    this.#use((handle) => handle.look());
    if (onProgress) this.#listeners.add(onProgress);
    try {
      await withSignal(this.#work(), signal, () => (this.#stopped = true));
    } finally {
      if (onProgress) this.#listeners.delete(onProgress);
    }
    return this.progress;
  }

  /** How far it is. */
  get progress(): IndexProgress {
    return JSON.parse(this.#use((handle) => handle.progress())) as IndexProgress;
  }

  /**
   * What is at the path, a file or folder, has changed, has come or has gone; the next search knows it already. Resolves when it is in the index.
   *
   * With `content` that is what the file holds for searches, until the path is updated again: the text of an editor. A file that is left out of
   * the index stays out.
   */
  async update(path: string, content?: string | Uint8Array, options: UpdateOptions = {}): Promise<void> {
    const { definitions } = checked("options", options, UPDATE);
    const at = pathText(path);
    if (content !== undefined) {
      const found = definitions && toJson("definitions", definitions);
      await calling(() => this.#get().put(at, contentBytes(content), found));
      this.#tell();
      return;
    }
    if (definitions !== undefined) throw new InputError("content: is missing; definitions are those of a content", "content");
    this.#use((handle) => handle.changed(at));
    await this.#work();
  }

  /** Takes a path out of the index, and all that is below. */
  async remove(path: string): Promise<void> {
    const at = pathText(path);
    await calling(() => this.#get().remove(at));
    this.#tell();
  }

  /** The places that fit best, best first; each file with its best place before any comes with a second. None for a query without a word. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    const { staged, path, limit } = checked("options", options, SEARCH);
    const text = required("query", query, "string");
    const changes = staged === undefined || staged === null ? undefined : toJson("options.staged", staged);
    const hits = await calling(() => this.#get().search(wellFormed(text), toJson("options", { path, limit }), changes));
    return JSON.parse(hits as string) as SearchHit[];
  }

  /**
   * `codebase` and `repo_map`, for the `tools` of an engine over the same tree: they run ahead, find what is staged in the very work that asks, and only
   * what they show of a file is what the work rests on.
   */
  get tools(): Tool[] {
    const schemas = JSON.parse(this.#use((handle) => handle.tools())) as Omit<Tool, "run" | "reads">[];
    return schemas.map((schema) => ({
      ...schema,
      reads: ["path"],
      run: async (args, view) => {
        const staged = toJson("staged", view.stagedChanges?.() ?? NOTHING_STAGED);
        const answer = await calling(() => this.#get().call(schema.name, toJson("args", args), new TreePort(view), staged));
        const { text, items } = JSON.parse(answer as string) as { text: string; items: ContextItem[] };
        return items.length === 0 ? text : toolItems(items);
      },
    }));
  }

  /** Frees its memory. Its tools answer with an error from then on. */
  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #stopped = false;

  /** Works until there is nothing to do; whoever asks meanwhile waits for the same end. */
  #work(): Promise<void> {
    this.#stopped = false;
    this.#working ??= this.#steps().finally(() => (this.#working = undefined));
    return this.#working;
  }

  async #steps(): Promise<void> {
    let told = performance.now();
    // An error ends it: whoever waits hears of it, and the next word of a change begins anew.
    while (!this.#stopped && this.#handle !== undefined && (await calling(() => this.#get().step()))) {
      await new Promise((resolve) => setTimeout(resolve));
      if (TELL_EVERY <= performance.now() - told) {
        told = performance.now();
        this.#tell();
      }
    }
    this.#tell();
  }

  #tell(): void {
    if (this.#handle === undefined || this.#listeners.size === 0) return;
    const { progress } = this;
    for (const listener of this.#listeners) listener(progress);
  }

  #use<T>(work: (handle: raw.CodeIndexHandle) => T): T {
    return call(() => work(this.#get()));
  }

  #get(): raw.CodeIndexHandle {
    if (this.#handle === undefined) throw new DisposedError("disposed", "the index was disposed of");
    return this.#handle;
  }
}

/** A lone half of a surrogate pair is no part of a word. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Waits for the work, or rejects with the signal's reason. */
async function withSignal(work: Promise<void>, signal: AbortSignal | undefined, stop: () => void): Promise<void> {
  if (signal === undefined) return work;
  let aborted = () => {};
  const abort = new Promise<never>((_, reject) => {
    aborted = () => {
      stop();
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", aborted);
  });
  try {
    await Promise.race([work, abort]);
  } finally {
    signal.removeEventListener("abort", aborted);
  }
}
