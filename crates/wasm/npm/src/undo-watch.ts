import { call, calling } from "./call.js";
import { DisposedError, InputError } from "./errors.js";
import { raw } from "./raw.js";
import { keepOwn, workspaceOf } from "./tree.js";
import type { AtomicTree, UndoNews, WritableTree } from "./types.js";

/**
 * A tree that recognizes what was committed through it, so that the model can be told what its user has undone.
 *
 * A conversation contains what the model wrote. If the user takes that back outside the conversation, in an editor or
 * with git, the next answer would assume files that are not there. Give one of these to the engine in place of the
 * tree, one for each conversation, and ask before each prompt:
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
 * If there are news, drop what runs ahead, because it began without that knowledge. What is undone and redone between
 * two prompts is no news. Only contents are compared, without their line endings: if a file has neither the content
 * from before a commit nor the content from after it, it is the user's own text.
 */
export class UndoWatch implements Disposable {
  #handle: raw.WatchHandle | undefined;

  constructor(tree: WritableTree | AtomicTree) {
    this.#handle = call(() => new raw.WatchHandle(workspaceOf(tree)));
    keepOwn(this, () => call(() => this.#get().tree()));
  }

  /**
   * What was undone or redone since the model was told last; undefined if nothing was. A file that cannot be read is no
   * news.
   */
  async news(): Promise<UndoNews | undefined> {
    const news = await calling(() => this.#get().news());
    return news === undefined ? undefined : (JSON.parse(news as string) as UndoNews);
  }

  /**
   * Notes that these news are in the conversation, followed by an answer. They must be those of one of the last eight
   * looks.
   */
  told(news: UndoNews): void {
    if (!Number.isSafeInteger(news?.look)) throw new InputError("news: must be what `news()` gave", "news");
    call(() => this.#get().told(news.look));
  }

  /** Forgets what was committed, when the conversation that contained it is forgotten. */
  forgetAll(): void {
    call(() => this.#get().forgetAll());
  }

  /** Frees its memory. Engines that use it go on. */
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
