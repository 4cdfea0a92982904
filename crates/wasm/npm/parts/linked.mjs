// Reads from the linker's map (`-Map`) where data is in a module.

/** An entry of the map: its address, its offset in the file, its size, and its owner. */
const ENTRY = /^ *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +(.*)$/;
/**
 * The data of the grammar. The next pattern is the part of it that code names: the tables that the parser reads are
 * named only by `tree_sitter_bash.language`, and not by code.
 */
const GRAMMAR = /libtree_sitter_bash-[^/]*-parser\.o\):\(\.rodata\.(tree_sitter_bash\.language|ts_)/;
const NAMED = /\.rodata\.(tree_sitter_bash\.language|ts_lex\.)/;
/** How many bytes of padding there may be between two tables. */
const ALIGNMENT = 16;

/**
 * The data that only the rest of the module reads, as pairs of the first address and the one after the last. `ranges`
 * is all of it; `named` is the part that a function names if it begins to read that data.
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
