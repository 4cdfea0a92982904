// What a tool gives besides a text.
import type { ContextItem, ToolItems } from "./types-engine.js";

/** The mark of items from any bundle; it is registered globally because `headstart/code-index` has its own code. */
const MADE = Symbol.for("headstart.toolItems");

/**
 * What a tool of yours found, looked at or did, as parts with names and places. The model reads their `content`, one
 * after the other, and a front end lists them ({@link itemRows}).
 *
 * ```js
 * const run = async ({ name }) => toolItems([{ name, content: await pageOf(name), uri: { type: "file", value: `docs/${name}.md` } }]);
 * ```
 */
export function toolItems(items: readonly ContextItem[]): ToolItems {
  return { items, [MADE]: true } as ToolItems;
}

/** @internal The items, if a tool returned some. */
export function itemsOf(output: unknown): readonly ContextItem[] | undefined {
  return typeof output === "object" && output !== null && MADE in output ? (output as unknown as ToolItems).items : undefined;
}
