// How long a text is, and how many words it has.
import { isAlphabetic, isAlphanumeric, isAsciiDigit, isCjk, isLatin, isLongUnspaced, isMark, isUnspaced, isWhiteSpace } from "./characters.js";
import type { Reading } from "./reading.js";
import { anyOf, maxCharacters, maxUnspaced, maxUnspacedLong, maxWords } from "./tables.js";

/** The words of scripts with spaces, and the characters of scripts without spaces. */
function count(text: string): { words: number; cjk: number; longUnspaced: number } {
  const count = { words: 0, cjk: 0, longUnspaced: 0 };
  let inWord = false;
  for (const c of text) {
    if (isWhiteSpace(c)) {
      inWord = false;
    } else if (isMark(c)) {
      // A mark belongs to the character before it, so it does not count.
    } else if (isCjk(c)) {
      count.cjk += 1;
      inWord = false;
    } else if (isLongUnspaced(c)) {
      count.longUnspaced += Number(isAlphanumeric(c));
      inWord = false;
    } else if (isAlphanumeric(c) && !inWord) {
      count.words += 1;
      inWord = true;
    }
  }
  return count;
}

export function hasTooFewWords({ text, bare }: Reading): boolean {
  const { words, cjk, longUnspaced } = count(text);
  return words === 1 && cjk + longUnspaced === 0 ? !isOrder(bare) : words + cjk + longUnspaced < 2;
}

/** Whether one word alone says what to do. */
function isOrder(word: string): boolean {
  if (anyOf(({ oneWord }) => oneWord, (order) => word === order)) return true;
  const characters = [...word];
  return characters.every((c) => !isLatin(c) && !isUnspaced(c) && !isAsciiDigit(c)) && 2 <= characters.filter(isAlphabetic).length;
}

export function hasTooManyWords({ text }: Reading): boolean {
  const { words, cjk, longUnspaced } = count(text);
  return maxWords < words || maxUnspaced < cjk || maxUnspacedLong < longUnspaced;
}

export function isTooLong({ text }: Reading): boolean {
  return maxCharacters <= [...text].filter((c) => !isMark(c)).length;
}
