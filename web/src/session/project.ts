import { MemoryTree } from "headstart";

/** Who has changed the content of a file. */
export type ChangedBy = "user" | "work";
type Listener = (paths: readonly string[], by: ChangedBy) => void;

/** The project in memory: the tree that the engine works on, with its files as texts. */
export class Project {
  readonly tree: MemoryTree;
  #texts: ReadonlyMap<string, string>;
  #writes: Promise<unknown> = Promise.resolve();
  readonly #listeners = new Set<Listener>();

  constructor(files: Record<string, string>) {
    this.tree = new MemoryTree(files);
    this.#texts = texts(this.tree);
  }

  get files(): ReadonlyMap<string, string> {
    return this.#texts;
  }

  /**
   * Writes an edit of the user. `settled` waits until the edit is in the tree, so that it is there before anything is
   * accepted. An editor may hold half a character; a file cannot, so U+FFFD replaces it.
   */
  write(path: string, edited: string): void {
    const text = edited.toWellFormed();
    this.#writes = this.#writes.then(() => this.tree.write(path, text));
    this.#texts = new Map(this.#texts).set(path, text);
    for (const listener of this.#listeners) listener([path], "user");
  }

  /** Waits until every edit is in the tree. */
  async settled(): Promise<void> {
    await this.#writes;
  }

  /** Finds what an accept or a turn has changed, tells the listeners, and gives the paths. */
  async refresh(): Promise<string[]> {
    await this.#writes;
    const before = this.#texts;
    const after = texts(this.tree);
    const paths = [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path));
    this.#texts = after;
    if (paths.length) for (const listener of this.#listeners) listener(paths, "work");
    return paths;
  }

  onChange(listener: Listener): void {
    this.#listeners.add(listener);
  }

  dispose(): void {
    this.#listeners.clear();
    this.tree.dispose();
  }
}

function texts(tree: MemoryTree): Map<string, string> {
  const decoder = new TextDecoder();
  const entries = Object.entries(tree.snapshot()).map(([path, bytes]): [string, string] => [path, decoder.decode(bytes)]);
  return new Map(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
