import type { ChangeSet, Tool } from "headstart";
import type { CodeIndex, IndexProgress, SearchHit } from "headstart/code-index";
import type { Project } from "./project.js";

/** The results of a search. */
export interface Found {
  query: string;
  hits: readonly SearchHit[];
  /** How far the index had been built at the time of the search. */
  progress: IndexProgress;
}

const MOST_HITS = 12;

/** The schemas of the tools that are offered to a model; empty until the module has given them. */
let offered: readonly Omit<Tool, "run">[] = [];

/** The index of the project. Its module is fetched at the first search, or when a model is to search. */
export class ProjectSearch {
  readonly #project: Project;
  #index: Promise<CodeIndex> | undefined;
  /** Settles when the pending changes are in the index. */
  #updates: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(project: Project) {
    this.#project = project;
    project.onChange((paths) => this.#follow(paths));
  }

  /** The places that fit best, in the project with the staged changes. Rejects if the module cannot be fetched. */
  async find(query: string, staged: ChangeSet | undefined): Promise<Found> {
    const index = await this.#open();
    await this.#project.settled();
    await this.#updates;
    const hits = await index.search(query, { limit: MOST_HITS, ...(staged && { staged }) });
    return { query, hits, progress: index.progress };
  }

  /** Fetches the module, so that the tools are there. */
  async load(): Promise<void> {
    await this.#open();
  }

  /** The tools `codebase` and `repo_map` for a model; empty until the module was fetched for the first time. */
  get tools(): Tool[] {
    return offered.map((schema) => ({
      ...schema,
      run: async (args, view, signal) => {
        const { tools } = await this.#open();
        await this.#updates;
        return tools.find(({ name }) => name === schema.name)?.run(args, view, signal);
      },
    }));
  }

  dispose(): void {
    this.#isOver = true;
    void this.#index?.then((index) => index.dispose()).catch(() => {});
  }

  #open(): Promise<CodeIndex> {
    // After a failure the next call tries again, because the network may be back.
    this.#index ??= this.#load().catch((error: unknown) => {
      this.#index = undefined;
      throw error;
    });
    return this.#index;
  }

  async #load(): Promise<CodeIndex> {
    const { CodeIndex, init } = await import("headstart/code-index");
    await init();
    await this.#project.settled();
    if (this.#isOver) throw new Error("the project is closed");
    const index = new CodeIndex(this.#project.tree);
    offered = index.tools.map(({ run: _, ...schema }) => schema);
    // Searches during the build answer from what is already indexed. It can be awaited here because the project is
    // small.
    await index.build();
    return index;
  }

  #follow(paths: readonly string[]): void {
    const index = this.#index;
    if (index === undefined) return;
    this.#updates = Promise.all([index, this.#project.settled()])
      .then(([index]) => (this.#isOver ? undefined : Promise.all(paths.map((path) => index.update(path)))))
      .catch(() => {});
  }
}
