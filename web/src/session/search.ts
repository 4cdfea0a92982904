import type { ChangeSet, Tool } from "headstart";
import type { CodeIndex, IndexProgress, SearchHit } from "headstart/code-index";
import type { Project } from "./project.js";

/** What a search came to. */
export interface Found {
  query: string;
  hits: readonly SearchHit[];
  /** How far the index was. */
  progress: IndexProgress;
}

const MOST_HITS = 12;

/** How the tools are offered to a model, once the module has said so. */
let offered: readonly Omit<Tool, "run">[] = [];

/** The index of the project. Its module is fetched when something is searched for the first time, or when a model is to search. */
export class ProjectSearch {
  readonly #project: Project;
  #index: Promise<CodeIndex> | undefined;
  /** Changes on their way into the index. */
  #updates: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(project: Project) {
    this.#project = project;
    project.onChange((paths) => this.#follow(paths));
  }

  /** The places that fit best, with what is staged over the project. Rejects where the module cannot be fetched. */
  async find(query: string, staged: ChangeSet | undefined): Promise<Found> {
    const index = await this.#open();
    await this.#project.settled();
    await this.#updates;
    const hits = await index.search(query, { limit: MOST_HITS, ...(staged && { staged }) });
    return { query, hits, progress: index.progress };
  }

  /** Fetches the module, for the tools. */
  async load(): Promise<void> {
    await this.#open();
  }

  /** `codebase` and `repo_map`, for a model; none before the module was fetched once. */
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
    // What failed is tried again: the network may be back.
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
    // Searches answer meanwhile from what is there; the project is small.
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
