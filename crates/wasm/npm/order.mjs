// Which functions of a module stand beside each other: gzip looks back 32 KiB, so the module is smaller where what is alike
// is close. `namedInOrder` gives every function a name that says its place, for `wasm-opt --reorder-functions-by-name`.
import { Reader, SECTION, importedTypes, list, number, sectionsOf, sized, text } from "./parts/module.mjs";

/** What counts as alike: sequences of so many bytes that two functions share. */
const LENGTH = 6;
/** A sequence that is in more functions than these is near everywhere. */
const COMMON = 200;
/** How far back gzip sees, less something for what is being read. */
const WINDOW = 32_000;
/** Bytes on top of a function's own, or the tiny ones, of which a single sequence is half, would all come first. */
const HANDICAP = 300;

/** The bytes of the module with a name section, its names in the order in which the functions should stand. */
export function namedInOrder(module) {
  const { imported, bodies } = functions(module);
  const names = new Array(bodies.length);
  inOrder(bodies).forEach((index, place) => (names[index] = String(place).padStart(6, "0")));
  const map = list(names.map((name, index) => Buffer.concat([number(imported + index), text(name)])));
  const section = sized(text("name"), Buffer.from([1]), sized(map));
  return Buffer.concat([module, Buffer.from([SECTION.custom]), section]);
}

/** One after the other the function that shares most, for its size, with what stands within the window before it. */
function inOrder(bodies) {
  const { sequences, holders } = sharedSequences(bodies);
  const scores = new Float64Array(bodies.length);
  const seen = new Map();
  // A sequence counts once, however often it is in the window, and for more the rarer it is.
  const count = (index, step) => {
    for (const sequence of sequences[index]) {
      const before = seen.get(sequence) ?? 0;
      seen.set(sequence, before + step);
      if (Math.max(before, before + step) !== 1) continue;
      const those = holders.get(sequence);
      const weight = step / Math.sqrt(those.length);
      for (const other of those) scores[other] += weight;
    }
  };
  const left = new Set(bodies.keys());
  const order = [];
  let [oldest, bytes] = [0, 0];
  while (0 < left.size) {
    let [best, most] = [-1, -Infinity];
    for (const index of left) {
      const score = scores[index] / (bodies[index].length + HANDICAP);
      if (most < score) [best, most] = [index, score];
    }
    left.delete(best);
    order.push(best);
    count(best, 1);
    bytes += bodies[best].length;
    for (; WINDOW < bytes && oldest < order.length - 1; oldest += 1) {
      count(order[oldest], -1);
      bytes -= bodies[order[oldest]].length;
    }
  }
  return order;
}

/** Of each function the sequences that others have as well, and of each sequence who has it. */
function sharedSequences(bodies) {
  const holders = new Map();
  bodies.forEach((body, index) => {
    for (const sequence of sequencesOf(body)) {
      const those = holders.get(sequence);
      if (those === undefined) holders.set(sequence, [index]);
      else those.push(index);
    }
  });
  const sequences = bodies.map(() => []);
  for (const [sequence, those] of holders) {
    if (those.length < 2 || COMMON < those.length) holders.delete(sequence);
    else for (const index of those) sequences[index].push(sequence);
  }
  return { sequences, holders };
}

/** As numbers: `LENGTH` bytes fit into what JavaScript counts exactly. */
function sequencesOf(body) {
  const found = new Set();
  for (let at = 0; at + LENGTH <= body.length; at += 1) found.add(body.readUIntLE(at, LENGTH));
  return found;
}

function functions(module) {
  const sections = new Map(sectionsOf(module));
  const bodies = new Reader(sections.get(SECTION.code)).list((reader) => reader.take(reader.number()));
  return { imported: importedTypes(sections.get(SECTION.imports)).length, bodies };
}
