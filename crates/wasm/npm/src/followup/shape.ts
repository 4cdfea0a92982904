// Rules about the outer form of a text: what it is wrapped in, begins with, is marked up with.
import {
  anyOfThese, isAlphabetic, isAscii, isAsciiDigit, isAsciiLetter, isLatin, isNotAlphanumeric, isNumeric, trim, trimEnd, trimStart,
} from "./characters.js";
import { containsPhrase, edgeTrimmed, startsWithPhrase, words } from "./clause.js";
import type { Reading } from "./reading.js";
import { ENGLISH, LANGUAGES, anyOf, entries, has } from "./tables.js";

export function isDone({ bare }: Reading): boolean {
  return anyOf(({ done }) => done, (done) => bare === done);
}

export function isMetaText({ bare, folded }: Reading): boolean {
  return LANGUAGES.some(
    ({ nothing, nothingStart, nothingWithin }) =>
      entries(nothing).includes(bare) ||
      entries(nothingStart).some((start) => folded.startsWith(start)) ||
      entries(nothingWithin).some((part) => containsPhrase(bare, part)),
  );
}

const BRACKETS = ["()", "[]", "{}", "<>", "【】", "〔〕", "〈〉", "〖〗"];
const QUOTES = ['""', "''", "``", "«»", "»«", '„"', "‹›", "「」", "『』", "《》", "｢｣", "〝〞"];

/** The whole text in one pair of brackets; `(a) and (b)` is not. */
export function isWrapped({ folded }: Reading): boolean {
  const text = withoutFinalMark(folded);
  return BRACKETS.some(([open = "", close = ""]) => {
    if (text.length < 2 || !text.startsWith(open) || !text.endsWith(close)) return false;
    let depth = 0;
    return [...text.slice(1, -1)].every((c) => {
      depth += Number(c === open) - Number(c === close);
      return 0 <= depth;
    });
  });
}

/** The whole text in one pair of quotes, or with only one half of a pair. */
export function isQuoted({ folded }: Reading): boolean {
  const text = withoutFinalMark(folded);
  return QUOTES.some(([open = "", close = ""]) => {
    const [opens, closes] = [text.startsWith(open), text.endsWith(close)];
    if (opens && closes) {
      const inner = trimEnd(trimStart(text, anyOfThese(open)), anyOfThese(close));
      return !inner.includes(open) && !inner.includes(close);
    }
    // A lone apostrophe can be part of a word.
    const marks = [...text].filter((c) => c === open || c === close).length;
    return (opens || closes) && marks === 1 && open !== "'";
  });
}

function withoutFinalMark(text: string): string {
  return trimEnd(text, anyOfThese(".!?,;。…"));
}

export function isErrorMessage({ folded }: Reading): boolean {
  return entries(ENGLISH.errorMessages).some((message) => folded.startsWith(message));
}

/** `Suggestion: commit this`; not `fix(parser): typo` and not `npm: run build`. */
export function hasLabel({ folded }: Reading): boolean {
  const text = trimStart(folded, isNotAlphanumeric);
  const dashes = [" - ", " – ", " — ", "—", " -> ", " → ", " => "].map((dash) => text.indexOf(dash)).filter((at) => 0 <= at);
  if (dashes.length > 0 && isKnownLabel(text.slice(0, Math.min(...dashes)))) return true;
  const colon = text.search(/[:\ua789︰]/);
  if (colon < 0) return false;
  const [head, rest] = [trim(text.slice(0, colon), anyOfThese(" *_`")), text.slice(colon + 1)];
  if (/[.,!?。，]/.test(head)) return false;
  if (isKnownLabel(head)) return !rest.startsWith("//");
  const oneWord = head !== "" && [...head].every((c) => isLatin(c) || isAsciiDigit(c) || c === "_");
  return oneWord && rest.startsWith(" ") && !has(ENGLISH.commitTypes, head) && !has(ENGLISH.tools, head);
}

/** A label of some language, or English words that are all label words ("next step", "my suggestion"). */
function isKnownLabel(head: string): boolean {
  if (anyOf(({ labels }) => labels, (label) => head === label)) return true;
  const all = words(head);
  return all.some((word) => has(ENGLISH.labelNouns, word)) && all.every((word) => has(ENGLISH.labelNouns, word) || has(ENGLISH.labelAdjectives, word));
}

/**
 * Whether a prompt of this text would be something else than a prompt: a command of the agent, a command of the shell, a
 * mention or a request for help. A model must not choose those.
 */
export function beginsWithSign({ folded }: Reading): boolean {
  return /^[/!@?]/.test(folded);
}

export function hasFormatting(reading: Reading): boolean {
  const { folded, text } = reading;
  return /[*`＊∗]/.test(folded) || hasLineMark(folded) || hasListNumber(folded) || hasHtml(text) || hasInlineMark(folded) || mentionsAddress(reading);
}

/** Whether an address of the web is mentioned: if the suggestion was taken, the address would be fetched. */
function mentionsAddress({ folded }: Reading): boolean {
  return folded.includes("@https:") || folded.includes("@http:");
}

/** Heading, bullet, block quote, table, rule. */
function hasLineMark(text: string): boolean {
  const heading = text.replace(/^#+/, "");
  if (heading.length < text.length && (heading.startsWith(" ") || text.startsWith("##"))) return true;
  const bullets = ["- ", "+ ", "– ", "— ", "> ", "| ", "--- ", "=> ", "-> ", "→ ", "✓ ", "✔ ", "☐ ", "|"];
  return bullets.some((mark) => text.startsWith(mark)) || anyOfThese("•‣◦▪▫■□●○·・⁃∙➤▶►◆◇❯※")(text);
}

/** `1. `, `2) `, `(3) `, `a) `, `１、`, `①`. */
function hasListNumber(text: string): boolean {
  if (/^[\u2460-\u24ff\u2776-\u2793]/.test(text)) return true;
  const rest = text.replace(/^\(+/, "");
  const digits = trimStart(rest, isNumeric);
  const numbered = digits.length < rest.length;
  if (!numbered && !isAsciiLetter(rest)) return /^[一二三四五六七八九十]+[、.．]/.test(rest);
  const [mark, next] = numbered ? digits : rest.slice(1);
  if (mark === "、") return numbered;
  if (mark === ".") return numbered && next !== undefined && (next === " " || (!isAscii(next) && isAlphabetic(next)));
  return mark === ")" && (text.startsWith("(") || next === undefined || next === " " || !isAscii(next));
}

/** Whether there is a tag, a comment or an entity; the angle brackets of `Vec<String>` are not. */
function hasHtml(text: string): boolean {
  if (text.includes("</") || text.includes("<!--") || text.includes("/>") || /&[a-zA-Z0-9#]{2,8};/.test(text)) return true;
  for (let at = text.indexOf("<"); 0 <= at; at = text.indexOf("<", at + 1)) {
    const rest = text.slice(at + 1);
    const end = rest.indexOf(">");
    if (end < 0 || !isAsciiLetter(rest)) continue;
    const before = text.slice(0, at);
    const glued = /[\p{Alphabetic}\p{N}:_]$/u.test(before);
    const name = /^[a-zA-Z0-9]*/.exec(rest.slice(0, end))?.[0];
    if (!glued || has(ENGLISH.htmlTags, name)) return true;
  }
  return false;
}

/** Link, image, strike-through, bold or italic by underscores, checkbox. */
function hasInlineMark(text: string): boolean {
  const italic = text.length > 2 && text.startsWith("_") && text.endsWith("_") && !text.startsWith("__");
  const parts = text.split("__");
  const bold = 3 <= parts.length && parts.some((inner, at) => at % 2 === 1 && trim(inner) === inner && inner.includes(" "));
  const strike = 3 <= text.split("~~").length;
  const checkbox = ["[ ] ", "[x] "].some((mark) => startsWithPhrase(text, mark));
  return text.includes("](") || text.includes("![") || italic || bold || strike || checkbox || edgeTrimmed(text) === "";
}
