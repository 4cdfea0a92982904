// Characters as the filter asks of them, and texts as rows of characters (Unicode scalar values).
import { CHARACTERS } from "./tables.js";

/** A test of a text's first character; false for an empty text. */
type Test = (text: string | undefined) => boolean;

// What is made of these is left out of a page that does not use it.
/* @__NO_SIDE_EFFECTS__ */
const begins = (pattern: RegExp): Test => (text) => text !== undefined && pattern.test(text);

export const isAlphanumeric: Test = begins(/^[\p{Alphabetic}\p{N}]/u);
export const isAlphabetic: Test = begins(/^\p{Alphabetic}/u);
export const isNumeric: Test = begins(/^\p{N}/u);
export const isLowercase: Test = begins(/^\p{Lowercase}/u);
export const isUppercase: Test = begins(/^\p{Uppercase}/u);
export const isWhiteSpace: Test = begins(/^\p{White_Space}/u);
export const isAscii: Test = begins(/^[\0-\x7f]/);
export const isAsciiLetter: Test = begins(/^[a-zA-Z]/);
export const isAsciiDigit: Test = begins(/^[0-9]/);

const read = new Map<string, readonly (readonly [first: number, last: number])[]>();

/** Whether the first character is in one of the ranges of a table. */
/* @__NO_SIDE_EFFECTS__ */
const within = (name: keyof typeof CHARACTERS): Test => (text) => {
  const code = text?.codePointAt(0);
  let ranges = read.get(name);
  if (ranges === undefined) {
    ranges = CHARACTERS[name].split(" ").map((range) => {
      const [first = 0, last = first] = range.split("-").map((digits) => Number.parseInt(digits, 16));
      return [first, last];
    });
    read.set(name, ranges);
  }
  return code !== undefined && ranges.some(([first, last]) => first <= code && code <= last);
};

/** Whether it is Chinese, Japanese or Korean, whose words are counted by characters. */
export const isCjk: Test = within("cjk");
/** Whether it is Thai, Lao, Tibetan, Burmese or Khmer, which have no spaces and longer words. */
export const isLongUnspaced: Test = within("longUnspaced");
export const isLatin: Test = within("latin");
/** Whether it is drawn onto the character before it. */
export const isMark: Test = within("mark");
/** Whether it is a letter of a script that joins letters with ZWJ and ZWNJ. */
export const joinsLetters: Test = within("joinsLetters");
export const isPictograph: Test = within("pictograph");
/** Whether a reader cannot see it, or it reorders what a reader sees, unless the characters around it justify it. */
export const isInvisible: Test = within("invisible");

/** Whether it is a letter of a script that puts no spaces between words. */
export const isUnspaced: Test = (text) => isCjk(text) || isLongUnspaced(text);

export function lastOf(text: string): string | undefined {
  const unit = text.at(-1);
  return unit !== undefined && /[\udc00-\udfff]/.test(unit) ? text.slice(-2) : unit;
}

/** Without the characters at its beginning, at its end, or at both, that pass a test. */
export function trimStart(text: string, test: Test): string {
  let rest = text;
  while (rest !== "" && test(rest)) rest = rest.slice(String.fromCodePoint(rest.codePointAt(0) ?? 0).length);
  return rest;
}

export function trimEnd(text: string, test: Test): string {
  let rest = text;
  for (let last = lastOf(rest); last !== undefined && test(last); last = lastOf(rest)) rest = rest.slice(0, -last.length);
  return rest;
}

export function trim(text: string, test: Test = isWhiteSpace): string {
  return trimEnd(trimStart(text, test), test);
}

/** Whether the first character is one of these. */
/* @__NO_SIDE_EFFECTS__ */
export const anyOfThese = (characters: string): Test => (text) => {
  const code = text?.codePointAt(0);
  return code !== undefined && characters.includes(String.fromCodePoint(code));
};

export const isNotAlphanumeric: Test = (text) => !isAlphanumeric(text);

/** The words between white space. */
export function splitWhiteSpace(text: string): string[] {
  return text.split(/\p{White_Space}+/u).filter((word) => word !== "");
}

/** The bytes of a text in UTF-8. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
