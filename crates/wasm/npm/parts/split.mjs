// Splits a module into two parts that share memory and tables: the first is what runs until a conversation has begun,
// and the rest is fetched meanwhile.
//
// Both parts keep the numbers of all functions; the optimiser then removes those that a part does not need. In each
// part a function of the other part has a body that calls it through the table of functions, which has a place for each
// function that the other part calls. The places of the rest are empty until it is loaded, so the first part has to
// make sure before it goes there: `ensure` calls the function that the host put at the last place of the table. The
// host has the rest loaded, or throws.
import { Reader, SECTION, bodiesOf, constant, importedTypes, list, moduleOf, namedIn, number, sectionsOf, sized, text } from "./module.mjs";

/** The name of the module from which the rest imports; its exports are those of the first part. */
export const START = "start";
const FUNCTION = 0x70;
const [NOTHING, END, CALL, UNREACHABLE] = [Buffer.from([0]), Buffer.from([0x0b]), 0x10, 0x00];

/**
 * The two parts. `isFirst` says for each function that the module does not import whether the first part has it.
 * `later` is the data of the rest, as `linked.mjs` finds it.
 */
export function split(bytes, isFirst, later) {
  const module = partsOf(bytes);
  const { imported, bodies, types, typeOf, elements, exported, tables } = module;
  const named = bodies.map(({ instructions }) => namedIn(instructions));
  mustNotRead(named.filter((_, index) => isFirst[index]), later.named);
  const calledFrom = (first) => {
    const called = new Set();
    named.forEach(({ functions }, index) => {
      if (isFirst[index] !== first) return;
      for (const other of functions) if (imported <= other && isFirst[other - imported] !== first) called.add(other);
    });
    return called;
  };
  const wanted = calledFrom(true);
  for (const index of [...elements, ...exported]) if (imported <= index && !isFirst[index - imported]) wanted.add(index);
  const [gone, kept] = [[...wanted], [...calledFrom(false)]];
  const places = new Map([...gone, ...kept].map((index, place) => [index, tables[0].size + place]));
  const size = tables[0].size + places.size + 1;

  const nothing = types.length;
  const allTypes = Buffer.concat([number(types.length + 1), module.typesAsTheyAre, Buffer.from([0x60, 0, 0])]);
  const ensure = imported + bodies.length;
  const goThere = (index, before) => {
    const { parameters, type } = typeOf(index);
    const given = Array.from({ length: parameters }, (_, local) => Buffer.concat([Buffer.from([0x20]), number(local)]));
    return sized(NOTHING, ...before, ...given, constant(places.get(index)), callAt(type), END);
  };
  const bodiesFor = (first) =>
    bodies.map(({ locals, instructions }, at) => {
      const index = imported + at;
      if (isFirst[at] === first) return sized(locals, instructions);
      if (!(first ? wanted : places).has(index)) return sized(NOTHING, Buffer.from([UNREACHABLE]), END);
      return goThere(index, first ? [Buffer.from([CALL]), number(ensure)] : []);
    });

  const isLoaded = [constant(places.get(gone[0])), Buffer.from([0x25, 0, 0xd1])];
  const askHost = [Buffer.from([0x04, 0x40]), constant(size - 1), callAt(nothing), END];
  const ensureBody = sized(NOTHING, ...isLoaded, ...askHost, END);
  const data = dataIn(module.sections.get(SECTION.data), later.ranges);

  const start = new Map(module.sections);
  start.set(SECTION.types, allTypes);
  start.set(SECTION.functions, list([...module.functions, nothing].map(number)));
  start.set(SECTION.tables, list(tables.map((table, at) => tableOf(table, at === 0 ? size : table.size))));
  start.set(SECTION.exports, exportsWith(module));
  start.set(SECTION.elements, list([segment(1, elements), segment(tables[0].size + gone.length, kept)]));
  start.set(SECTION.code, list([...bodiesFor(true), ensureBody]));
  start.set(SECTION.data, data.now);

  const rest = new Map(module.sections);
  rest.set(SECTION.types, allTypes);
  rest.set(SECTION.imports, importsWith(module, size));
  for (const none of [SECTION.tables, SECTION.memories, SECTION.globals, SECTION.exports]) rest.set(none, undefined);
  rest.set(SECTION.elements, list([segment(tables[0].size, gone)]));
  rest.set(SECTION.code, list(bodiesFor(false)));
  rest.set(SECTION.data, data.later);
  for (const part of [start, rest]) part.set(SECTION.dataCount, undefined);
  return { start: moduleOf(bytes, [...start]), rest: moduleOf(bytes, [...rest]) };
}

/**
 * Checks that the first part does not read data of the rest. Until the rest is loaded that data is all zeros, and a
 * grammar of zeros would misread any command.
 */
function mustNotRead(functions, ranges) {
  const isThere = (address) => ranges.some(([from, to]) => from <= address && address < to);
  if (functions.some(({ addresses }) => addresses.some(isThere))) throw new Error("the first part reads data of the rest");
}

/** The parts of a module that the split needs. Throws if the module cannot be split. */
function partsOf(bytes) {
  const all = sectionsOf(bytes);
  const sections = new Map(all.filter(([id]) => id !== SECTION.custom));
  // This section, the last of the module, tells the optimiser which instructions the module uses.
  const custom = all.find(([id]) => id === SECTION.custom);
  if (custom !== undefined) sections.set(SECTION.custom, custom[1]);
  if (sections.has(SECTION.start)) throw new Error("a module that starts by itself cannot be cut");
  const read = (id) => new Reader(sections.get(id));
  const fromOutside = importedTypes(sections.get(SECTION.imports));
  const functions = read(SECTION.functions).list((reader) => reader.number());
  const types = read(SECTION.types).list((reader) => {
    if (reader.byte() !== 0x60) throw new Error("a type that is none of a function");
    return [reader.list(() => reader.byte()).length, reader.list(() => reader.byte()).length];
  });
  const ofFunctions = [...fromOutside, ...functions];
  const tables = read(SECTION.tables).list((reader) => {
    const [type, flags, least] = [reader.byte(), reader.byte(), reader.number()];
    if (flags === 1) reader.number();
    return { type, hasMost: flags === 1, size: least };
  });
  if (tables[0].type !== FUNCTION) throw new Error("the first table is not that of functions");
  const segments = read(SECTION.elements).list((reader) => {
    const [flags, code, from, end] = [reader.number(), reader.byte(), reader.number(), reader.byte()];
    if (flags !== 0 || code !== 0x41 || from !== 1 || end !== END[0]) throw new Error("functions in the table that are not known here");
    return reader.list(() => reader.number());
  });
  if (segments.length !== 1) throw new Error("functions in the table that are not known here");
  const exported = [];
  read(SECTION.exports).list((reader) => {
    reader.take(reader.number());
    const [kind, index] = [reader.byte(), reader.number()];
    if (kind === 0) exported.push(index);
  });
  return {
    sections,
    types,
    typesAsTheyAre: sections.get(SECTION.types).subarray(number(types.length).length),
    functions,
    tables,
    exported,
    imported: fromOutside.length,
    elements: segments[0],
    bodies: bodiesOf(sections.get(SECTION.code)),
    globals: globalsOf(read(SECTION.globals)),
    memory: sections.get(SECTION.memories).subarray(1),
    typeOf: (index) => ({ type: ofFunctions[index], parameters: types[ofFunctions[index]][0] }),
  };
}

/** The type of each global: what it holds, and whether that may change. */
function globalsOf(reader) {
  return reader.list(() => {
    const type = reader.take(2);
    // The initial value follows, which has to be a single constant.
    reader.byte();
    reader.skipNumber();
    if (reader.byte() !== END[0]) throw new Error("a global that is no constant at first");
    return type;
  });
}

function callAt(type) {
  return Buffer.concat([Buffer.from([0x11]), number(type), Buffer.from([0])]);
}

/** An element segment that puts functions at consecutive places of the table. */
function segment(from, functions) {
  return Buffer.concat([Buffer.from([0]), constant(from), END, list(functions.map(number))]);
}

function tableOf({ type, hasMost }, size) {
  return Buffer.concat([Buffer.from([type, hasMost ? 1 : 0]), number(size), ...(hasMost ? [number(size)] : [])]);
}

/** The exports of the module and of what both parts share, except for the memory, which is exported already. */
function exportsWith({ sections, tables, globals }) {
  const shared = [...tables.map((_, at) => ["table", 1, at]), ...globals.map((_, at) => ["global", 3, at])];
  const reader = new Reader(sections.get(SECTION.exports));
  const count = reader.number();
  const added = shared.map(([name, kind, at]) => Buffer.concat([text(`${name}${at}`), Buffer.from([kind]), number(at)]));
  return Buffer.concat([number(count + added.length), reader.bytes.subarray(reader.at), ...added]);
}

/** The imports of the module and of what both parts share. */
function importsWith({ sections, tables, globals, memory }, size) {
  const reader = new Reader(sections.get(SECTION.imports));
  const count = reader.number();
  const from = (name, ...what) => Buffer.concat([text(START), text(name), ...what]);
  const added = [
    from("memory", Buffer.from([2]), memory),
    ...tables.map((table, at) => from(`table${at}`, Buffer.from([1]), tableOf(table, at === 0 ? size : table.size))),
    ...globals.map((type, at) => from(`global${at}`, Buffer.from([3]), type)),
  ];
  return Buffer.concat([number(count + added.length), reader.bytes.subarray(reader.at), ...added]);
}

/** The data of both parts. */
function dataIn(section, ranges) {
  const [now, later] = [[], []];
  const segments = new Reader(section).list((reader) => {
    const [flags, code] = [reader.number(), reader.byte()];
    if (flags !== 0 || code !== 0x41) throw new Error("data that is not at a place of its own");
    const at = reader.number();
    if (reader.byte() !== END[0]) throw new Error("data that is not at a place of its own");
    return { at, bytes: reader.take(reader.number()) };
  });
  const piece = (at, bytes) => Buffer.concat([Buffer.from([0]), constant(at), END, sized(bytes)]);
  for (const { at, bytes } of segments) {
    let from = at;
    for (const [start, end] of ranges.filter(([start, end]) => at <= start && end <= at + bytes.length)) {
      now.push(piece(from, bytes.subarray(from - at, start - at)));
      later.push(piece(start, bytes.subarray(start - at, end - at)));
      from = end;
    }
    now.push(piece(from, bytes.subarray(from - at)));
  }
  if (later.length !== ranges.length) throw new Error("data of the rest is not where the linker says");
  return { now: list(now), later: list(later) };
}
