// What the linker says of where data lies in a module (`-Map`).

/** An entry: its address, its place in the file, its size, and whose it is. */
const ENTRY = /^ *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +(.*)$/;
/** What the grammar is made of, and of that what code names; the tables that the parser reads are named by the first of these only. */
const GRAMMAR = /libtree_sitter_bash-[^/]*-parser\.o\):\(\.rodata\.(tree_sitter_bash\.language|ts_)/;
const NAMED = /\.rodata\.(tree_sitter_bash\.language|ts_lex\.)/;
/** Between two tables there may be some bytes of nothing. */
const ALIGNMENT = 16;

/**
 * The data that only the rest of the module reads, as pairs of a first address and the one behind the last: `ranges` are all of it, `named` is what a
 * function names that begins to read it.
 */
export function laterData(map) {
  const [ranges, named] = [[], []];
  for (const line of map.split("\n")) {
    const [, address, size, owner] = ENTRY.exec(line) ?? [];
    if (owner === undefined || !GRAMMAR.test(owner)) continue;
    const from = Number.parseInt(address, 16);
    const range = [from, from + Number.parseInt(size, 16)];
    if (NAMED.test(owner)) named.push(range);
    const last = ranges.at(-1);
    if (last !== undefined && from - last[1] < ALIGNMENT) last[1] = range[1];
    else ranges.push([...range]);
  }
  if (!named.some(([from]) => from === ranges[0][0])) throw new Error("the linker does not say where the grammar is");
  return { ranges, named };
}
