// Which texts may be suggested: the rules of the Rust crate `followup-state`, whose tests hold both to the same cases.
import { byteLength, isInvisible, isMark, isPictograph, joinsLetters, trim } from "./characters.js";
import { isDestructive } from "./destructive.js";
import { hasTooFewWords, hasTooManyWords, isTooLong } from "./length.js";
import { type Reading, read } from "./reading.js";
import { hasSeveralSentences } from "./sentence.js";
import { beginsWithSign, hasFormatting, hasLabel, isDone, isErrorMessage, isMetaText, isQuoted, isWrapped } from "./shape.js";
import { isAssistant, isPraise, isQuestion } from "./speech.js";
import { REASONS, maxBytes } from "./tables.js";

type Rules = readonly (readonly [reason: string, hits: (reading: Reading) => boolean])[];

/** The rules, in order. The first one that refuses a text decides. */
const RULES: Rules = [
  ["destructive", isDestructive],
  ["done", isDone],
  ["meta_text", isMetaText],
  ["meta_wrapped", isWrapped],
  ["error_message", isErrorMessage],
  ["prefixed_label", hasLabel],
  ["quoted", isQuoted],
  ["not_a_command", beginsWithSign],
  ["too_few_words", hasTooFewWords],
  ["too_many_words", hasTooManyWords],
  ["too_long", isTooLong],
  ["multiple_sentences", hasSeveralSentences],
  ["question", isQuestion],
  ["has_formatting", hasFormatting],
  ["evaluative", isPraise],
  ["ai_voice", isAssistant],
];

/** The text without the white space around it, or the code of the rule that refuses it. */
export function filter(given: string): { suggestion: string } | { reason: string } {
  const text = trim(given);
  if (text === "") return { reason: "empty" };
  if (maxBytes < text.length || maxBytes < byteLength(text)) return { reason: "too_long" };
  if (/[\p{Cc}\u2028\u2029]/u.test(text)) return { reason: "control_chars" };
  if (hasInvisible([...text])) return { reason: "invisible_chars" };
  const reading = read(text);
  const hit = RULES.find(([, hits]) => hits(reading));
  return hit === undefined ? { suggestion: text } : { reason: hit[0] };
}

/** The words for a code of {@link filter}. */
export function inWords(reason: string): string {
  return REASONS[reason] ?? reason;
}

function hasInvisible(characters: string[]): boolean {
  return characters.some((c, at) => {
    const [before, after] = [characters[at - 1], characters[at + 1]];
    const between = joinsLetters(before) && joinsLetters(after);
    // ZWNJ shapes Persian and Indic words; ZWJ also ties emoji together.
    if (c === "\u200c") return !between;
    if (c === "\u200d") return !between && !((isPictograph(before) || (isMark(before) && before !== c)) && isPictograph(after));
    // Text and emoji presentation, once, after what it presents (also the digits of keycaps).
    if (c === "\ufe0e" || c === "\ufe0f") return !isPictograph(before) && !/^[0-9#]$/.test(before ?? "");
    if (/[\u180b-\u180d\u180f]/.test(c)) return !/^[\u1820-\u18aa]$/.test(before ?? "");
    return isInvisible(c);
  });
}
