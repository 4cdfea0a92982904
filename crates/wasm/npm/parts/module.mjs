// Reads and writes a WebAssembly module as its sections, and finds what its functions call.

export const SECTION = { custom: 0, types: 1, imports: 2, functions: 3, tables: 4, memories: 5, globals: 6, exports: 7, start: 8, elements: 9, code: 10, data: 11, dataCount: 12 };

const HEADER = 8;

/** Reads numbers, texts and bytes one after the other. */
export class Reader {
  constructor(bytes, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get ended() {
    return this.at === this.bytes.length;
  }

  byte() {
    return this.bytes[this.at++];
  }

  number() {
    for (let [value, shift] = [0, 0]; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }

  /** Skips a number that may be negative or have 64 bits, because its value does not matter. */
  skipNumber() {
    while (128 <= this.byte());
  }

  take(length) {
    return this.bytes.subarray(this.at, (this.at += length));
  }

  /** Reads a list: its length, then each element. */
  list(read) {
    return Array.from({ length: this.number() }, () => read(this));
  }

  /** The bytes that `read` reads. */
  over(read) {
    const from = this.at;
    read(this);
    return this.bytes.subarray(from, this.at);
  }
}

export function number(value) {
  const bytes = [];
  for (; 128 <= value; value >>>= 7) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
}

/** Encodes a constant in code. This differs from {@link number}, because the highest bit is the sign. */
export function constant(value) {
  const bytes = [0x41];
  for (; 64 <= value; value >>>= 7) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
}

export function list(items) {
  return Buffer.concat([number(items.length), ...items]);
}

export function sized(...pieces) {
  const content = Buffer.concat(pieces);
  return Buffer.concat([number(content.length), content]);
}

export function text(value) {
  return sized(Buffer.from(value));
}

/** The sections of a module in order, as pairs of a number and the content. */
export function sectionsOf(bytes) {
  const reader = new Reader(bytes, HEADER);
  const sections = [];
  while (!reader.ended) sections.push([reader.byte(), reader.take(reader.number())]);
  return sections;
}

/** The module with these sections; a section whose content is `undefined` is left out. */
export function moduleOf(bytes, sections) {
  const kept = sections.filter(([, content]) => content !== undefined);
  return Buffer.concat([bytes.subarray(0, HEADER), ...kept.flatMap(([id, content]) => [Buffer.from([id]), sized(content)])]);
}

/** The types of the functions that a module imports. It may import other things as well, which are skipped. */
export function importedTypes(imports) {
  const functions = [];
  new Reader(imports).list((reader) => {
    for (const _ of ["module", "name"]) reader.take(reader.number());
    const kind = reader.byte();
    if (kind === 0) functions.push(reader.number());
    // A table has a type and limits, a memory has limits, and a global has a type and a flag that says whether it
    // changes.
    else if (kind === 3) reader.take(2);
    else {
      if (kind === 1) reader.byte();
      const numbers = reader.byte() === 1 ? 2 : 1;
      for (let left = numbers; 0 < left; left -= 1) reader.number();
    }
  });
  return functions;
}

/** The functions of a code section, each as the declaration of its variables and its instructions. */
export function bodiesOf(code) {
  return new Reader(code).list((reader) => {
    const body = new Reader(reader.take(reader.number()));
    const locals = body.over(() => body.list(() => [body.number(), body.byte()]));
    return { locals, instructions: body.bytes.subarray(body.at) };
  });
}

/** The functions that these instructions name, and the numbers in them that may be addresses, each once. */
export function namedIn(instructions) {
  const reader = new Reader(instructions);
  const [functions, addresses] = [new Set(), new Set()];
  while (!reader.ended) {
    const code = reader.byte();
    if (code === 0x10 || code === 0xd2) functions.add(reader.number());
    else if (code === 0x41) addresses.add(reader.number());
    else if (FIRST_ACCESS <= code && code <= LAST_ACCESS) {
      // The first operand is the alignment, which does not matter.
      reader.number();
      addresses.add(reader.number());
    } else skipOperands(code, reader);
  }
  return { functions: [...functions], addresses: [...addresses] };
}

const [FIRST_ACCESS, LAST_ACCESS] = [0x28, 0x3e];

/** How many numbers follow each of the instructions 0xfc …; those that are not listed have none. */
const MEMORY_AND_TABLES = { 8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1 };

function skipOperands(code, reader) {
  const numbers = (count) => {
    for (; 0 < count; count -= 1) reader.skipNumber();
  };
  if (code === 0x0e) return numbers(reader.number() + 1);
  if (code === 0x1c) return numbers(reader.number());
  if (code === 0x43) return reader.take(4);
  if (code === 0x44) return reader.take(8);
  if (code === 0xfc) return numbers(MEMORY_AND_TABLES[reader.number()] ?? 0);
  if (code === 0x11) return numbers(2);
  const hasOne = [0x02, 0x03, 0x04, 0x0c, 0x0d, 0x3f, 0x40, 0x42, 0xd0].includes(code) || (0x20 <= code && code <= 0x26);
  if (hasOne) return numbers(1);
  const hasNone = [0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1].includes(code) || (0x45 <= code && code <= 0xc4);
  if (!hasNone) throw new Error(`an instruction that is not known here: 0x${code.toString(16)}`);
}
