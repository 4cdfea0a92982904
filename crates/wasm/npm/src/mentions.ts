// Mentions as they are being written: what a list behind an `@` shows.
import { call, toJson } from "./call.js";
import { required } from "./options.js";
import { raw } from "./raw.js";
import type { Mentionable } from "./types.js";

/** A mention that is being written. */
export interface MentionStart {
  /** Where its `@` stands in the text. */
  at: number;
  /** What there is of it, without `@` and quotes. */
  word: string;
}

/** The mention at whose end a text stops, if it stops at one: what is written on could be more of it. Give it what stands before the cursor. */
export function mentionStart(text: string): MentionStart | undefined {
  const found = call(() => raw.mentionStart(JSON.parse(toJson("text", required("text", text, "string"))) as string));
  return found === undefined ? undefined : (JSON.parse(found) as MentionStart);
}

/** Of what may be mentioned that which fits a word best, the best first: its letters are there in their order. Put it in place of all from the `@` on. */
export function bestMentions(word: string, all: readonly Mentionable[], most = 100): Mentionable[] {
  const wanted = required("word", word, "string").toLowerCase();
  if (wanted === "") return all.slice(0, most);
  const scored = all.flatMap((one): [number, Mentionable][] => {
    const score = fit(wanted, one.mention.slice(1).toLowerCase());
    return score === undefined ? [] : [[score, one]];
  });
  return scored.sort(([one], [other]) => other - one).slice(0, most).map(([, one]) => one);
}

/** How well a word fits a name; nothing where its letters are not there in their order. */
function fit(word: string, name: string): number | undefined {
  const place = name.lastIndexOf(word);
  if (0 <= place) {
    // Whole, and best at the beginning of a name; of equals the shorter one.
    const begins = place === 0 || BORDER.test(name[place - 1] as string);
    return (begins ? 3_000 : 2_000) - name.length;
  }
  let score = 0;
  let at = -1;
  for (const letter of word) {
    const next = name.indexOf(letter, at + 1);
    if (next < 0) return undefined;
    if (next === at + 1) score += 2;
    else if (BORDER.test(name[next - 1] as string)) score += 1;
    at = next;
  }
  return 100 * score / word.length - name.length / 100;
}

const BORDER = /[/_.\-\s":]/;
