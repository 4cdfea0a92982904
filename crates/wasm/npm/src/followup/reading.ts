// A text made ready for comparison with word lists.
import { isWhiteSpace } from "./characters.js";
import { edgeTrimmed } from "./clause.js";

export interface Reading {
  /** The text as the user would see it. */
  text: string;
  /** The text in lower case, with full-width forms, curly quotes and exotic spaces made plain. */
  folded: string;
  /** `folded` without punctuation at its ends. */
  bare: string;
}

export function read(text: string): Reading {
  const folded = fold(text);
  return { text, folded, bare: edgeTrimmed(folded) };
}

function fold(text: string): string {
  let folded = "";
  for (const c of text) {
    const simple = plain(c);
    if (simple !== " " || !folded.endsWith(" ")) folded += simple.toLowerCase();
  }
  return folded;
}

function plain(c: string): string {
  if ("\u2018\u2019\u201a\u201b\u2032\u02bc".includes(c)) return "'";
  if ("\u201c\u201d\u201e\u201f\u2033".includes(c)) return '"';
  if ("\u2010\u2011\u2012\u2212".includes(c)) return "-";
  // ！ … ～ are the ASCII signs, moved by 0xFEE0.
  if ("\uff01" <= c && c <= "\uff5e") return String.fromCharCode(c.charCodeAt(0) - 0xfee0);
  return isWhiteSpace(c) ? " " : c;
}
