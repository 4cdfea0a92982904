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

/** Milliseconds between two reports of the progress. */
const TELL_EVERY = 100;
const NOTHING_STAGED = { changes: [], reads: [] };

/**
 * An index of a project's files in memory. It finds places that fit words, a question or a name, best first, including
 * staged edits if you pass them.
 *
 * ```js
 * await init();
 * const index = new CodeIndex(tree);
 * await index.build();
 * for (const { path, lines, symbol } of await index.search("where are payments retried?")) console.log(path, lines, symbol);
 * const engine = new Engine({ model, tree, tools: index.tools });
 * ```
 *
 * It leaves out what `.gitignore` files leave out, what says nothing about a project (dependencies, pictures, what a
 * compiler wrote), and what `deny` covers. The tree is read in pieces with pauses in between, so that a page can
 * respond meanwhile; searches answer from what is in the index so far.
 */
export class CodeIndex implements Disposable {
  #handle: raw.CodeIndexHandle | undefined;
  /** Goes on until there is nothing to do. */
  #working: Promise<void> | undefined;
  #listeners = new Set<(progress: IndexProgress) => void>();

  /** Makes an index into which nothing is read yet; {@link build} does that. */
  constructor(tree: Tree, options: CodeIndexOptions = {}) {
    required("tree", tree, "any");
    for (const method of ["metadata", "read", "list"] as const) {
      if (typeof (tree as Partial<Tree> | null)?.[method] !== "function") throw new InputError(`tree.${method}: a method is missing`, `tree.${method}`);
    }
    const { workspace, deny, denyDefaults, ...most } = plainOptions("", options, OPTIONS);
    this.#handle = call(() => new raw.CodeIndexHandle(new TreePort(tree), toJson("options", { workspace, deny, denyDefaults }), toJson("options", most)));
  }

  /**
   * Looks at all files, and reads those that are new or have changed. Rejects if the tree's root cannot be listed; a
   * file that cannot be read is left out. Call it again when you do not know what changed.
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

  /** The progress of the index. */
  get progress(): IndexProgress {
    return JSON.parse(this.#use((handle) => handle.progress())) as IndexProgress;
  }

  /**
   * Reports that what is at the path (a file or folder) has changed, appeared or gone; the next search takes this into
   * account. Resolves when the index is current.
   *
   * With `content`, searches use this as the content of the file until the path is updated again, for example the text
   * of an editor. A file that is left out of the index stays out.
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

  /** Takes a path out of the index, and everything below it. */
  async remove(path: string): Promise<void> {
    const at = pathText(path);
    await calling(() => this.#get().remove(at));
    this.#tell();
  }

  /**
   * The places that fit best, best first; each file appears with its best place before any appears with a second one.
   * None for a query without a word.
   */
  async search(query: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    const { staged, path, limit } = checked("options", options, SEARCH);
    const text = required("query", query, "string");
    const changes = staged === undefined || staged === null ? undefined : toJson("options.staged", staged);
    const hits = await calling(() => this.#get().search(wellFormed(text), toJson("options", { path, limit }), changes));
    return JSON.parse(hits as string) as SearchHit[];
  }

  /**
   * `codebase` and `repo_map`, for the `tools` of an engine over the same tree. They run ahead, and find what is staged
   * in the work that calls them. The work depends only on what they show of a file.
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

  /** Frees its memory. From then on its tools answer with an error. */
  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #stopped = false;

  /** Works until there is nothing to do; further callers wait for the same end. */
  #work(): Promise<void> {
    this.#stopped = false;
    this.#working ??= this.#steps().finally(() => (this.#working = undefined));
    return this.#working;
  }

  async #steps(): Promise<void> {
    let told = performance.now();
    // An error ends the work: the callers that wait get it, and the next report of a change begins the work anew.
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

/** Replaces a lone half of a surrogate pair, because it is not part of a word. */
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
