// What a text does: it asks, praises, or speaks as the assistant.
import { isNotAlphanumeric, lastOf, trimStart } from "./characters.js";
import { clauses, endsWithPhrase, startsWithPhrase, withoutLeadIns, words } from "./clause.js";
import type { Reading } from "./reading.js";
import { ENGLISH, LANGUAGES, type Language, entries, has } from "./tables.js";

export function isQuestion({ folded, bare }: Reading): boolean {
  return hasQuestionMark(folded) || hasFormOfQuestion(bare);
}

/** A question mark that ends a word; `?a=b` and `foo?.bar` have none. */
function hasQuestionMark(folded: string): boolean {
  return /[¿؟\u037e՞፧⁇⁈⁉‽︖﹖]|\?(?![!-~])|\?[?!)"]/.test(folded);
}

function hasFormOfQuestion(bare: string): boolean {
  const inner = withoutLeadIns(bare);
  return LANGUAGES.some((language) => asks(inner, language)) || isKoreanFormalQuestion(inner);
}

function asks(bare: string, language: Language): boolean {
  const ends = (list: string | undefined): boolean => entries(list).some((end) => endsWithPhrase(bare, end));
  if (ends(language.askEndAlways) && !ends(language.askEndExcept)) return true;
  const enquires = entries(language.enquireStart).some((verb) => bare.startsWith(verb)) || entries(language.orderEnd).some((end) => bare.endsWith(end));
  return !enquires && (ends(language.askEnd) || beginsWithQuestion(bare, language));
}

/** A question word, at the beginning or after words such as "you" and "now". */
function beginsWithQuestion(bare: string, language: Language): boolean {
  for (let text = bare; ; ) {
    const starts = (list: string | undefined): boolean => entries(list).some((start) => startsWithPhrase(text, start));
    if (starts(language.askStart)) return !starts(language.askStartExcept);
    const topic = entries(language.topics).find((topic) => text.startsWith(topic));
    if (topic === undefined) return false;
    text = trimStart(text.slice(topic.length), isNotAlphanumeric);
  }
}

/** Whether it ends in -ㅂ니까, or in -까 that is not the "because" of -니까. */
function isKoreanFormalQuestion(bare: string): boolean {
  const [, stem, formal] = /^(.*?)(니?)까요?$/su.exec(bare) ?? [];
  return stem !== undefined && finalConsonant(lastOf(stem)) === (formal === "" ? 8 : 17);
}

/** The number of the final consonant of a Hangul syllable, 0 for none. */
function finalConsonant(c: string | undefined): number | undefined {
  return c !== undefined && "\uac00" <= c && c <= "\ud7a3" ? (c.charCodeAt(0) - 0xac00) % 28 : undefined;
}

/** Whether a clause praises or thanks. A praise word in the middle of an order ("fix the perfect hash") does not. */
export function isPraise({ folded, bare }: Reading): boolean {
  const isPraising = (clause: string): boolean => praises(clause) || praisesInEnglish(clause);
  const all = clauses(folded);
  const last = all.at(-1);
  return endsInThanks(bare) || (all.some(isPraising) && (last === undefined || isPraising(last) || !isOrder(last)));
}

/** Whether a clause is an order: "commit it" behind "looks good". */
function isOrder(clause: string): boolean {
  const inner = withoutLeadIns(clause);
  return LANGUAGES.some(
    ({ orders, orderEnd }) =>
      entries(orders).some((order) => startsWithPhrase(inner, order)) || entries(orderEnd).some((end) => endsWithPhrase(inner, end)),
  );
}

function praises(clause: string): boolean {
  const inner = withoutLeadIns(clause);
  return LANGUAGES.some(
    ({ praise, praiseStart, praiseEnd, orderMarks }) =>
      entries(praise).some((whole) => inner === whole || clause === whole) ||
      entries(praiseStart).some((start) => startsWithPhrase(inner, start) || startsWithPhrase(clause, start)) ||
      (!entries(orderMarks).some((mark) => inner.includes(mark)) && entries(praiseEnd).some((end) => endsWithPhrase(clause, end))),
  );
}

function praisesInEnglish(clause: string): boolean {
  const all = words(clause);
  const skipped = all.findIndex((word) => !has(ENGLISH.praiseLeadIns, word));
  const [first, next] = skipped < 0 ? [] : all.slice(skipped);
  if (first === undefined) return false;
  if (has(ENGLISH.praiseWords, first)) return next === undefined || !has(ENGLISH.praiseCompounds, `${first} ${next}`);
  if (has(ENGLISH.weakPraiseWords, first)) return next === undefined || has(ENGLISH.praisedNouns, next);
  return has(ENGLISH.subjects, first) && saysItIsGood(all.slice(skipped));
}

/** "the fix (really) looks (very) good", "that's a great start", "it works (well)". */
function saysItIsGood(all: string[]): boolean {
  const contracted = /'(s|re)$/.test(all[0] ?? "");
  const verb = contracted ? 0 : all.slice(0, 7).findIndex((word) => has(ENGLISH.copulas, word));
  const said = verb < 0 ? undefined : all.slice(verb + 1).find((word) => !has(ENGLISH.adverbs, word));
  if ([ENGLISH.praiseWords, ENGLISH.weakPraiseWords, ENGLISH.predicates].some((list) => has(list, said))) return true;
  const runs = all.slice(0, 5).findIndex((word) => ["works", "worked", "work"].includes(word));
  const how = all[runs + 1];
  return 0 <= runs && (how === undefined || has(ENGLISH.worksHow, how));
}

/** "run the tests thanks", but not "add a thank you". */
function endsInThanks(bare: string): boolean {
  const end = ["thanks", "thank you", "thx"].find((thanks) => endsWithPhrase(bare, thanks));
  return end !== undefined && !has(ENGLISH.beforeANoun, words(bare.slice(0, -end.length)).at(-1));
}

/**
 * Whether the assistant speaks: "let me…", "I'll…", "here's…", and the statements that end a Japanese or Korean sentence where an order would
 * end otherwise.
 */
export function isAssistant({ folded, bare }: Reading): boolean {
  const inner = withoutLeadIns(bare);
  const speaks = LANGUAGES.some(({ voice, voiceExcept, voiceEnd, voiceEndExcept }) => {
    const starts = (list: string | undefined, text: string): boolean => entries(list).some((phrase) => startsWithPhrase(text, phrase));
    const begins = (text: string): boolean => starts(voice, text) && !starts(voiceExcept, text);
    const ends = (list: string | undefined): boolean => entries(list).some((end) => bare.endsWith(end));
    return begins(bare) || begins(inner) || (ends(voiceEnd) && !ends(voiceEndExcept));
  });
  return speaks || startsWithPhrase(folded, "sure,") || startsWithPhrase(folded, "sure!") || isKoreanPromise(bare);
}

/** "-ㄹ게(요)": I will. */
function isKoreanPromise(bare: string): boolean {
  const stem = /^(.*)게요?$/su.exec(bare)?.[1];
  return stem !== undefined && finalConsonant(lastOf(stem)) === 8;
}
