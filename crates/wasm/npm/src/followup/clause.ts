// Clauses and phrases: where one begins and ends, in scripts with and without spaces.
import { isAlphanumeric, isMark, isUnspaced, lastOf, trim, trimStart, isNotAlphanumeric } from "./characters.js";
import { LANGUAGES, entries } from "./tables.js";

/** The parts between commas, stops and dashes, trimmed, empty ones dropped. */
export function clauses(folded: string): string[] {
  const found = [""];
  const characters = [...folded];
  for (const [at, c] of characters.entries()) {
    if (endsClause(c, characters[at + 1])) found.push("");
    else found[found.length - 1] += c;
  }
  return found.map(edgeTrimmed).filter((clause) => clause !== "");
}

/** An ASCII mark ends a clause before a space, at the end and before an unspaced script; `main.rs` has none. */
function endsClause(c: string, next: string | undefined): boolean {
  if (".,;:!?)(".includes(c)) return next === undefined || next === " " || isUnspaced(next);
  return "—–…。、，；｡،؛۔।॥~～".includes(c);
}

/** Without punctuation, symbols and spaces at both ends. */
export function edgeTrimmed(text: string): string {
  return trim(text, (c) => !isAlphanumeric(c) && !isMark(c));
}

/** The words of a folded text, punctuation at their edges dropped. */
export function words(folded: string): string[] {
  return folded.split(" ").map(edgeTrimmed).filter((word) => word !== "");
}

/** What follows `phrase` at the start of `text`, when the phrase is whole words there. */
export function afterPhrase(text: string, phrase: string): string | undefined {
  const last = lastOf(phrase);
  if (!text.startsWith(phrase) || last === undefined) return undefined;
  const rest = text.slice(phrase.length);
  return !isAlphanumeric(last) || isUnspaced(last) || !continuesWord(rest) ? rest : undefined;
}

export function startsWithPhrase(text: string, phrase: string): boolean {
  return afterPhrase(text, phrase) !== undefined;
}

export function endsWithPhrase(text: string, phrase: string): boolean {
  return text.endsWith(phrase) && phrase !== "" && (isUnspaced(phrase) || !continuesWord(lastOf(text.slice(0, -phrase.length))));
}

export function containsPhrase(text: string, phrase: string): boolean {
  for (let at = text.indexOf(phrase); 0 <= at; at = text.indexOf(phrase, at + phrase.length)) {
    const opens = isUnspaced(phrase) || !continuesWord(lastOf(text.slice(0, at)));
    if (opens && startsWithPhrase(text.slice(at), phrase)) return true;
  }
  return false;
}

function continuesWord(text: string | undefined): boolean {
  return text !== undefined && ((isAlphanumeric(text) && !isUnspaced(text)) || text.startsWith("_") || text.startsWith("-") || isMark(text));
}

/** The text without "ok, now, …" at its beginning. */
export function withoutLeadIns(text: string): string {
  const leadIns = LANGUAGES.flatMap((language) => entries(language.leadIns));
  for (let left = text; ; ) {
    const after = leadIns.map((word) => afterPhrase(left, word)).find((rest) => rest !== undefined);
    const rest = after && trimStart(after, isNotAlphanumeric);
    if (!rest) return left;
    left = rest;
  }
}
