// Names of others in a line.

/** Control characters, those that are not seen or turn the direction of writing, halves of a character, and whatever ends a line. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The same with what is not seen spelled out (`\u{202e}`), so that no name passes for another one. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
