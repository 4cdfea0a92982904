// Shows names from elsewhere in one line.

/**
 * Control characters, characters that cannot be seen or change the direction of writing, halves of a character, and
 * everything that ends a line.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text with everything that cannot be seen spelled out (`\u{202e}`), so that no name looks like another one. */
export function visible(text: string): string {
  return text.replace(UNSEEN, spelled);
}

/** The same of a text of several lines, of which the ends of lines and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN, (character) => (character === "\n" || character === "\t" ? character : spelled(character)));
}

function spelled(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
