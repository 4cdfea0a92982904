// Texts that destroy: as a command anywhere in the text, or as an order in words.
import { byteLength, isAlphanumeric, isWhiteSpace, trimEnd, trimStart } from "./characters.js";
import { containsPhrase, endsWithPhrase, words } from "./clause.js";
import { hasDestructiveCommand } from "./commands.js";
import type { Reading } from "./reading.js";
import { ENGLISH, LANGUAGES, type Language, entries, has } from "./tables.js";

type Destroy = NonNullable<Language["destroy"]>[number];

export function isDestructive({ folded, text }: Reading): boolean {
  const plain = folded.replace(/[–—](?=[a-zA-Z])/g, "--").replace(/["'`\\]/g, "");
  const latin = lookAlikesMadeLatin(plain);
  return (
    hasDestructiveCommand(latin, text) ||
    ordersDestruction(latin) ||
    LANGUAGES.some(
      ({ destructive, destroy }) =>
        entries(destructive).some((phrase) => containsPhrase(plain, phrase)) || destroy?.some((order) => orders(plain, order)),
    )
  );
}

/** Cyrillic and Greek letters that look Latin, in words that also hold a Latin letter. */
function lookAlikesMadeLatin(text: string): string {
  const latin = (c: string): string => LOOK_ALIKES.find(([letter]) => letter === c)?.[1] ?? c;
  return text.split(" ").map((word) => (/[a-zA-Z]/.test(word) ? [...word].map(latin).join("") : word)).join(" ");
}

const LOOK_ALIKES = [
  "аa", "αa", "сc", "ϲc", "ԁd", "еe", "ёe", "εe", "һh", "нh", "іi", "ιi", "ıi", "јj", "кk", "κk", "мm", "оo", "οo", "рp", "ρp", "ѕs", "тt", "τt", "υu", "цu", "ѵv",
  "νv", "хx", "χx", "уy", "гr",
];

/**
 * Whether English words order a destruction: a verb, an object, and nothing after the object that makes it part of
 * another noun.
 */
function ordersDestruction(plain: string): boolean {
  const all = plain
    .replace(/[,;|&]/g, " , ")
    .split(" ")
    .map((word) => (word === "," ? word : word.replace(/^\(+/, "").replace(/[.!):?]+$/, "")))
    .filter((word) => word !== "");
  return all.some((verb, at) => {
    const rest = all.slice(at + 1);
    if (has(ENGLISH.eraseDiskVerbs, verb) && reachesObject(rest, ENGLISH.disks)) return true;
    const precious = has(ENGLISH.mildVerbs, verb) ? ENGLISH.mostPrecious : ENGLISH.precious;
    const empties = verb === "empty" && has(ENGLISH.determiners, rest[0]);
    return (
      ((empties || has(ENGLISH.destroyVerbs, verb)) && (reachesObject(rest, precious) || reachesAll(rest) || destroysDirectory(rest))) ||
      (has(ENGLISH.discardVerbs, verb) && reachesChanges(rest))
    );
  });
}

/** How many of the first words may be between a verb and its object. */
function determiners(rest: readonly string[]): number {
  const other = rest.slice(0, 6).findIndex((word) => !has(ENGLISH.determiners, word));
  return other < 0 ? Math.min(6, rest.length) : other;
}

/** Determiners and qualifiers, then one of the objects as the last word of its phrase. */
function reachesObject(rest: readonly string[], objects: string): boolean {
  return rest.slice(0, determiners(rest) + 1).some((word, at) => has(objects, word) && phraseEnds(rest[at + 1]));
}

/** Whether the words are "all (of) (the) files" or "everything". */
function reachesAll(rest: readonly string[]): boolean {
  const before = rest.slice(0, determiners(rest));
  if (before.some((word, at) => has(ENGLISH.everything, word) && phraseEnds(rest[at + 1]))) return true;
  const quantified = before.some((word) => has(ENGLISH.quantifiers, word));
  return quantified && has(ENGLISH.whenAll, rest[before.length]) && phraseEnds(rest[before.length + 1]);
}

/** Whether the words are like "the home directory" or "the .git folder". */
function destroysDirectory(rest: readonly string[]): boolean {
  const named = [".git", "~", "/", "/*", "~/", "$home", "/etc", "/home", "/usr"];
  const whose = ["home", "root", "entire", "whole", "system", "source", "src", "working", "project"];
  const what = ["directory", "folder", "dir", "tree", "partition"];
  return rest.slice(0, 5).some((word) => named.includes(word)) || rest.slice(0, 4).some((word, at) => whose.includes(word) && what.includes(rest[at + 1] ?? ""));
}

function reachesChanges(rest: readonly string[]): boolean {
  const at = determiners(rest);
  const word = rest[at];
  if (word === undefined || !["changes", "work", "edits", "everything", "modifications"].includes(word)) return false;
  return (0 < at || word === "everything") && phraseEnds(rest[at + 1]);
}

function phraseEnds(next: string | undefined): boolean {
  return next === undefined || has(ENGLISH.afterAnObject, next) || !isAlphanumeric(next);
}

/** An order in a language other than English: one of the verbs and one of the objects, side by side. */
function orders(plain: string, destroy: Destroy): boolean {
  return ordersOne(plain, destroy, destroy.objects, false) || ordersOne(plain, destroy, destroy.alone, true);
}

/** Whether one of these objects is to be destroyed; with `isAlone`, if nothing follows the object. */
function ordersOne(plain: string, { verbs, between }: Destroy, objects: string, isAlone: boolean): boolean {
  const [allVerbs, small] = [entries(verbs), entries(between)];
  return entries(objects).some((object) => {
    for (let at = plain.indexOf(object); 0 <= at; at = plain.indexOf(object, at + object.length)) {
      const tail = plain.slice(at + object.length);
      const before = skipBack(plain.slice(0, at), small);
      const after = skip(tail, small);
      if (isAlone && isAlphanumeric(after) && !object.includes(" ")) continue;
      // This keeps "delete the database connection code" apart in scripts without spaces.
      const ends = tail.length !== after.length || !isAlphanumeric(tail);
      if (allVerbs.some((verb) => after.startsWith(verb)) || (ends && allVerbs.some((verb) => beforeEndsWith(before, verb)))) return true;
    }
    return false;
  });
}

function skip(text: string, between: string[]): string {
  const left = trimStart(text, isWhiteSpace);
  const word = between.find((word) => left.startsWith(word));
  return word === undefined ? left : skip(left.slice(word.length), between);
}

function skipBack(text: string, between: string[]): string {
  const left = trimEnd(text, isWhiteSpace);
  const word = between.find((word) => left.endsWith(word));
  return word === undefined ? left : skipBack(left.slice(0, -word.length), between);
}

/** A verb stem in the last word before the object. */
function beforeEndsWith(before: string, verb: string): boolean {
  return endsWithPhrase(before, verb) || (3 < byteLength(verb) && (words(before).at(-1) ?? "").startsWith(verb));
}
