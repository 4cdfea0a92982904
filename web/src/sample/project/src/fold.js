const LETTERS = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ł: "l" };

/** Letters without their accents: "é" becomes "e". */
export function fold(text) {
  return text
    .toLowerCase()
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .replace(/[ßæœøđł]/g, (letter) => LETTERS[letter]);
}
