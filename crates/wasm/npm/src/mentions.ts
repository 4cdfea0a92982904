// Mentions as they are being written: what a list behind an `@` shows.
import { call } from "./call.js";
import { raw } from "./raw.js";
import type { Mentionable } from "./types.js";

/** The most choices that are worth a list. */
const MOST = 50;
const BORDER = /[/_.\-\s":]/;

/** The mention at whose end a text stops: where its `@` is, and its text so far without `@` and quotes. */
export function mentionStart(text: string): { at: number; word: string } | undefined {
  const found = call(() => raw.mentionStart(text));
  return found === undefined ? undefined : (JSON.parse(found) as { at: number; word: string });
}

/** Those of the mentions that have the letters of a word in their order, best first. */
export function bestMentions(word: string, all: readonly Mentionable[]): Mentionable[] {
  if (word === "") return all.slice(0, MOST);
  const wanted = word.toLowerCase();
  const scored = all.flatMap((one): [number, Mentionable][] => {
    const score = fit(wanted, one.mention.slice(1).toLowerCase());
    return score === undefined ? [] : [[score, one]];
  });
  return scored.sort(([one], [other]) => other - one).slice(0, MOST).map(([, one]) => one);
}

/**
 * How well a word fits a name; nothing if the name does not have its letters in their order. Of equal fits, the shorter
 * name is better.
 */
function fit(word: string, name: string): number | undefined {
  const place = name.lastIndexOf(word);
  if (0 <= place) return (isBorder(name, place) ? 3_000 : 2_000) - name.length;
  let score = 0;
  let at = -1;
  for (const letter of word) {
    const next = name.indexOf(letter, at + 1);
    if (next < 0) return undefined;
    score += next === at + 1 ? 2 : isBorder(name, next) ? 1 : 0;
    at = next;
  }
  return (100 * score) / word.length - name.length / 100;
}

function isBorder(name: string, place: number): boolean {
  return place === 0 || BORDER.test(name[place - 1] as string);
}
