import type { AtomicTree, UndoNews, UndoWatch } from "headstart";
import type { FileLine, Item } from "../view/protocol.js";

/** What the user has undone behind a conversation, and what the model knows of it. */
export class Undone {
  readonly tree: UndoWatch;
  /** As of the last look. */
  #news: UndoNews | undefined;
  /** Of that, what the prompt that runs says. */
  #telling: UndoNews | undefined;
  /** Lines that were marked since the model was told last, and whether they were before. */
  readonly #marked = new Map<FileLine, { list: Item; was: boolean }>();

  constructor(make: typeof UndoWatch, tree: AtomicTree) {
    this.tree = new make(tree);
  }

  /** What the model is not told yet, in words; empty for nothing. */
  get note(): string {
    return this.#news?.note ?? "";
  }

  async look(): Promise<UndoNews | undefined> {
    // It fails where the session is over by now.
    this.#news = await this.tree.news().catch(() => undefined);
    return this.#news;
  }

  /** The prompt that comes now tells what is found. */
  async tell(): Promise<UndoNews | undefined> {
    this.#telling = await this.look();
    return this.#telling;
  }

  /** The user's prompt as it is sent. Nothing that was sent before is changed: what the model has to know goes before their words. */
  prompt(prompt: string): string {
    return withNews(this.#telling, prompt);
  }

  /** The same for one that runs ahead, by the last look. */
  promptAhead(prompt: string): string {
    return withNews(this.#news, prompt);
  }

  /** Prompt and answer are part of the conversation. */
  told(): void {
    if (this.#telling) {
      this.tree.told(this.#telling);
      this.#marked.clear();
    }
    this.#telling = undefined;
    this.#news = undefined;
  }

  /** Marks what is undone in the lists of applied files; `changed` hears of each list that may say something else now. */
  mark(items: Item[], changed: (list: Item) => void): void {
    const lists = new Set<Item>();
    const set = (list: Item, file: FileLine, undone: boolean): void => {
      file.undone = undone;
      lists.add(list);
    };
    for (const [file, { list, was }] of this.#marked) set(list, file, was);
    this.#marked.clear();
    const { undone = [], redone = [] } = this.#news ?? {};
    const now = [...undone.map(({ path }) => ({ path, undone: true })), ...redone.map(({ path }) => ({ path, undone: false }))];
    for (const { path, undone } of now) {
      const found = lastLine(items, path);
      if (found === undefined) continue;
      this.#marked.set(found.file, { list: found.list, was: found.file.undone === true });
      set(found.list, found.file, undone);
    }
    for (const list of lists) changed(list);
  }

  dispose(): void {
    this.tree.dispose();
  }
}

function withNews(news: UndoNews | undefined, prompt: string): string {
  return news === undefined ? prompt : `${news.note}\n\n${prompt}`;
}

/** Where a file was listed as applied last. */
function lastLine(items: Item[], path: string): { list: Item; file: FileLine } | undefined {
  for (const list of [...items].reverse()) {
    const file = list.kind === "changes" ? list.files.find((file) => file.path === path) : undefined;
    if (file) return { list, file };
  }
  return undefined;
}
