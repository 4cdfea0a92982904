/** Conversions between text and bytes, in the way of an editor. */

const encoder = new TextEncoder();

/**
 * The text of a file as a document shows it, which is without a byte order mark; `undefined` if the bytes are no UTF-8
 * text.
 */
export function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}

/**
 * Compares two texts regardless of their line endings, because a document has only one kind of them, whatever its file
 * has.
 */
export function sameText(one: string, other: string): boolean {
  return one === other || withPlainEnds(one) === withPlainEnds(other);
}

function withPlainEnds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/**
 * The smallest single range in which two texts differ, in UTF-16 offsets of `before`. It never cuts a line ending or a
 * surrogate pair.
 */
export function changedStretch(before: string, after: string): { from: number; to: number; text: string } | undefined {
  if (before === after) return undefined;
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  while (0 < from && (isInside(before, from) || isInside(after, from))) from--;
  let tail = 0;
  while (tail < most - from && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  while (0 < tail && (isInside(before, before.length - tail) || isInside(after, after.length - tail))) tail--;
  return { from, to: before.length - tail, text: after.slice(from, after.length - tail) };
}

function isInside(text: string, at: number): boolean {
  const [left, right] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  const inPair = 0xd800 <= left && left <= 0xdbff && 0xdc00 <= right && right <= 0xdfff;
  return inPair || (text[at - 1] === "\r" && text[at] === "\n");
}
