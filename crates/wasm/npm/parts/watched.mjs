// Finds out which functions of a module run. `watched` gives the module another page of memory, in which each function
// leaves a mark.
import { Reader, SECTION, bodiesOf, importedTypes, list, moduleOf, namedIn, number, sectionsOf, sized } from "./module.mjs";

const PAGE = 65_536;

/**
 * The module that leaves marks, and the address of the marks in its memory. There is one byte for each function that
 * the module does not import.
 */
export function watched(bytes) {
  const sections = new Map(sectionsOf(bytes));
  const memory = new Reader(sections.get(SECTION.memories));
  const [, flags, pages] = [memory.number(), memory.byte(), memory.number()];
  const bodies = bodiesOf(sections.get(SECTION.code));
  if (flags !== 0 || PAGE < bodies.length) throw new Error("the marks need a page that nobody else uses");
  // The page is used by nothing else, because the allocator takes only pages that it asked for itself.
  const marks = pages * PAGE;
  sections.set(SECTION.memories, Buffer.concat([number(1), Buffer.from([flags]), number(pages + 1)]));
  const marked = bodies.map(({ locals, instructions }, index) => {
    const leaveMark = [Buffer.from([0x41, 0, 0x41, 1, 0x3a, 0]), number(marks + index)];
    return sized(locals, ...leaveMark, instructions);
  });
  sections.set(SECTION.code, list(marked));
  return { module: moduleOf(bytes, [...sections]), marks, count: bodies.length };
}

/** The largest size in bytes at which a called function counts as needed without having run. */
const SMALL = 600;

/**
 * For each function, whether it is needed: it ran, or it is small and called by one that ran. Such a small function may
 * run in another page, or when something fails.
 */
export function needed(bytes, ran) {
  const sections = new Map(sectionsOf(bytes));
  const imported = importedTypes(sections.get(SECTION.imports)).length;
  const bodies = bodiesOf(sections.get(SECTION.code));
  const isNeeded = bodies.map((_, index) => ran.has(index));
  for (const index of ran) {
    for (const called of namedIn(bodies[index].instructions).functions) {
      if (imported <= called && bodies[called - imported].instructions.length <= SMALL) isNeeded[called - imported] = true;
    }
  }
  return isNeeded;
}
