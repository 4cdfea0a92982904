import { call, calling } from "./call.js";
import { DisposedError, InputError } from "./errors.js";
import { raw } from "./raw.js";
import { keepOwn, workspaceOf } from "./tree.js";
import type { AtomicTree, UndoNews, WritableTree } from "./types.js";

/**
 * A tree that knows again what was committed through it, so that the model can be told what its user has undone.
 *
 * A conversation holds what the model wrote. When the user takes that back behind it, in an editor or with git, the next answer would rest
 * on files that are not there. Give one of these to the engine in place of the tree, one for each conversation, and ask before each prompt:
 *
 * ```js
 * const watch = new UndoWatch(tree);
 * const engine = new Engine({ model, tree: watch });
 * // … work is accepted, and the user undoes it:
 * const news = await watch.news();
 * const turn = engine.turn(conversation, { prompt: news ? `${news.note}\n\n${prompt}` : prompt });
 * const { transcript } = await turn.finished;
 * conversation.messages.push(...transcript.messages);
 * if (news) watch.told(news);
 * ```
 *
 * Where there are news, drop what runs ahead: it was begun without that knowledge. What is undone and redone between two prompts is no
 * news. It goes by content alone, line endings apart: a file that holds neither what it held before a commit nor what it held after
 * it is its user's own text.
 */
export class UndoWatch implements Disposable {
  #handle: raw.WatchHandle | undefined;

  constructor(tree: WritableTree | AtomicTree) {
    this.#handle = call(() => new raw.WatchHandle(workspaceOf(tree)));
    keepOwn(this, () => call(() => this.#get().tree()));
  }

  /** What was undone or redone since the model was told last; undefined: nothing. What cannot be read is no news. */
  async news(): Promise<UndoNews | undefined> {
    const news = await calling(() => this.#get().news());
    return news === undefined ? undefined : (JSON.parse(news as string) as UndoNews);
  }

  /** These news stand in the conversation from now on, with an answer behind them. They are those of one of the last eight looks. */
  told(news: UndoNews): void {
    if (!Number.isSafeInteger(news?.look)) throw new InputError("news: must be what `news()` gave", "news");
    call(() => this.#get().told(news.look));
  }

  /** Forgets what was committed: with the conversation that held it. */
  forgetAll(): void {
    call(() => this.#get().forgetAll());
  }

  /** Frees its memory. Engines that have it go on. */
  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #get(): raw.WatchHandle {
    if (this.#handle === undefined) throw new DisposedError("disposed", "the watch was disposed of");
    return this.#handle;
  }
}
