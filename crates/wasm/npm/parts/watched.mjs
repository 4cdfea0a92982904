// Which functions of a module run: `watched` gives the module another page of memory, in which each function leaves a mark.
import { Reader, SECTION, bodiesOf, importedTypes, list, moduleOf, namedIn, number, sectionsOf, sized } from "./module.mjs";

const PAGE = 65_536;

/** The module that tells, and where in its memory the marks are, a byte for each function that it does not import. */
export function watched(bytes) {
  const sections = new Map(sectionsOf(bytes));
  const memory = new Reader(sections.get(SECTION.memories));
  const [, flags, pages] = [memory.number(), memory.byte(), memory.number()];
  const bodies = bodiesOf(sections.get(SECTION.code));
  if (flags !== 0 || PAGE < bodies.length) throw new Error("the marks need a page that nobody else uses");
  // The allocator takes pages that it asked for itself, so this one is nobody's.
  const marks = pages * PAGE;
  sections.set(SECTION.memories, Buffer.concat([number(1), Buffer.from([flags]), number(pages + 1)]));
  const marked = bodies.map(({ locals, instructions }, index) => {
    const leaveMark = [Buffer.from([0x41, 0, 0x41, 1, 0x3a, 0]), number(marks + index)];
    return sized(locals, ...leaveMark, instructions);
  });
  sections.set(SECTION.code, list(marked));
  return { module: moduleOf(bytes, [...sections]), marks, count: bodies.length };
}

/** A function that is larger than so many bytes has to run to be taken as needed. */
const SMALL = 600;

/** Of each function whether it ran, or is a small one that a function calls which ran: what it does in another page, or where something fails. */
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
