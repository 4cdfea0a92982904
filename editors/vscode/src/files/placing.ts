/** A range of a text, and the text that replaces it. */
export interface Placed {
  from: number;
  to: number;
  text: string;
}

/**
 * Where the code of an answer belongs in a file: from the only line that equals the first line of the code to the only
 * line that equals its last one. In between, the code says what the file is to hold. `undefined` if the place is not
 * certain, because a guess would remove text that nobody meant.
 */
export function placed(file: string, code: string): Placed | undefined {
  const wanted = code.split(/\r?\n/);
  while (wanted[0]?.trim() === "") wanted.shift();
  while (wanted.at(-1)?.trim() === "") wanted.pop();
  const lines = linesOf(file);
  // Lines are compared without indentation, because an excerpt may be indented less than in its file.
  const only = (wanted: string | undefined) => {
    const found = lines.filter(({ text }) => text.trim() === wanted?.trim());
    return found.length === 1 ? found[0] : undefined;
  };
  const [first, last] = [only(wanted[0]), only(wanted.at(-1))];
  if (first === undefined || last === undefined || last.from < first.from) return undefined;
  const ending = /\r\n/.test(file) ? "\r\n" : "\n";
  const depth = indentOf(first.text).slice(0, Math.max(0, indentOf(first.text).length - indentOf(wanted[0] ?? "").length));
  const text = wanted.map((line) => (line.trim() === "" ? line : depth + line)).join(ending);
  return { from: first.from, to: last.from + last.text.length, text };
}

function linesOf(text: string): { from: number; text: string }[] {
  let from = 0;
  return text.split("\n").map((line) => {
    const found = { from, text: line.replace(/\r$/, "") };
    from += line.length + 1;
    return found;
  });
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/**
 * The path that the info string of a code fence names: `ts src/a.ts`, `src/a.ts`, `ts:src/a.ts`, `ts title="src/a.ts"`.
 */
export function namedIn(fence: string): string | undefined {
  const words = fence.split(/[\s:="'{}]+/).map((word) => word.replace(/^\.\//, ""));
  return words.find((word) => /^(?:[\w@.+-]+\/)*[\w@+-][\w@.+-]*\.\w{1,10}$/.test(word) && !word.split("/").includes(".."));
}
