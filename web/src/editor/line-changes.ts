import { diff } from "@codemirror/merge";

/**
 * The replacements that turn `before` into `after`. Whole lines are compared, because a comparison of characters would
 * find pieces of old lines in new ones.
 */
export function lineChanges(before: string, after: string): { from: number; to: number; insert: string }[] {
  const known = new Map<string, string>();
  // Each distinct line is represented by one character of the texts that are compared.
  const coded = (lines: readonly string[]) =>
    lines.map((line) => {
      const code = known.get(line) ?? String.fromCharCode(known.size);
      known.set(line, code);
      return code;
    }).join("");
  const [old, wanted] = [linesOf(before), linesOf(after)];
  const [starts, ends] = [offsets(old), offsets(wanted)];
  return diff(coded(old), coded(wanted)).map(({ fromA, toA, fromB, toB }) => ({
    from: starts[fromA] ?? 0,
    to: starts[toA] ?? 0,
    insert: after.slice(ends[fromB], ends[toB]),
  }));
}

/** The lines of a text, each with its line end. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function offsets(lines: readonly string[]): number[] {
  let at = 0;
  return [0, ...lines.map((line) => (at += line.length))];
}
