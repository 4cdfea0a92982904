// Whether a sentence ends and another begins.
import { anyOfThese, isAlphabetic, isAlphanumeric, isAscii, isLowercase, isNotAlphanumeric, isUnspaced, isUppercase, isWhiteSpace, lastOf, trimStart } from "./characters.js";
import type { Reading } from "./reading.js";
import { ENGLISH, has } from "./tables.js";

const isFullStop = /* @__PURE__ */ anyOfThese("。｡．！？।॥۔؟։።។။");
const isStop = /* @__PURE__ */ anyOfThese(".!?…");
const isClosing = /* @__PURE__ */ anyOfThese(")]}\"'”’»」』）】.!?…");

export function hasSeveralSentences({ text }: Reading): boolean {
  let before = "";
  for (const c of text) {
    const after = text.slice(before.length + c.length);
    if (isFullStop(c) ? [...after].some(isAlphanumeric) : isStop(c) && endsSentence(c, before, after)) return true;
    before += c;
  }
  return false;
}

function endsSentence(mark: string, before: string, after: string): boolean {
  const next = trimStart(after, isClosing);
  if (next === "") return false;
  const last = lastOf(before);
  if (!isWhiteSpace(next)) {
    // There is no space. A sentence then ends only between letters of a script without spaces, or before a capital that
    // is not Latin.
    return (isUnspaced(next) && isUnspaced(last)) || (isUppercase(next) && !isAscii(next) && isLowercase(last));
  }
  const rest = trimStart(next, isNotAlphanumeric);
  const caseless = isAlphabetic(rest) && !isLowercase(rest) && !isUppercase(rest);
  const opens = isUppercase(rest) || (caseless && [...before].some((c) => isAlphabetic(c) && !isAscii(c)));
  return opens && !(mark === "." && isAbbreviation(before, rest));
}

/** Whether the dot after `before` belongs to its word, with `rest` the text that follows. */
function isAbbreviation(before: string, rest: string): boolean {
  const token = trimStart(before.split(/\p{White_Space}/u).at(-1) ?? "", isNotAlphanumeric);
  if (token === "") return false;
  if (has(ENGLISH.titles, token) || has(ENGLISH.abbreviations, token.toLowerCase())) return true;
  // "1. Run the tests": the list mark is left to the formatting rule.
  if (token.length === before.length && /^[0-9]+$/.test(token)) return true;
  const word = /^[\p{Alphabetic}']*/u.exec(rest)?.[0] ?? "";
  return !has(ENGLISH.sentenceStarters, word.toLowerCase()) && (isInitials(token) || isVersion(token));
}

/** `U.S`, `J`, `Ph.D`. */
function isInitials(token: string): boolean {
  return token === "Ph.D" || token.split(".").every((part) => /^\p{Alphabetic}$/u.test(part));
}

/** `2.0`, `v1.2`, `1.0.0-rc1`. */
function isVersion(token: string): boolean {
  const digits = token.replace(/^[vV]+/, "");
  return /^[0-9][a-zA-Z0-9.+-]*$/.test(digits) && (digits.includes(".") || digits.length < token.length);
}
