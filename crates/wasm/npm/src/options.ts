// Arguments that a developer gives. A wrong one is reported by name. So is an unknown field, because with a misspelt
// `baseURL` a key would go to another server than was meant.
import { InputError, mistyped } from "./errors.js";

const KINDS = {
  any: ["", () => true],
  boolean: ["true or false", (value) => typeof value === "boolean"],
  count: ["a whole number, 1 or more", (value) => Number.isSafeInteger(value) && (value as number) > 0],
  function: ["a function", (value) => typeof value === "function"],
  list: ["an array", Array.isArray],
  number: ["a number, 0 or more", (value) => typeof value === "number" && value >= 0],
  // A list, a map or a signal in place of options would count as options without any field.
  object: ["an object", (value) => Object.prototype.toString.call(value) === "[object Object]"],
  signal: ["an AbortSignal", (value) => typeof (value as AbortSignal | null)?.addEventListener === "function"],
  // Infinity is allowed, because this may be a limit.
  whole: ["a whole number, 0 or more", (value) => value === Infinity || (Number.isSafeInteger(value) && (value as number) >= 0)],
  // This is not an option but a count of something, so it is finite.
  id: ["a whole number, 0 or more", (value) => Number.isSafeInteger(value) && (value as number) >= 0],
  string: ["a string", (value) => typeof value === "string"],
  // The module says which words are allowed; it does not see what JSON leaves out.
  word: ["a string", (value) => typeof value !== "function" && typeof value !== "symbol"],
} satisfies Record<string, [expected: string, holds: (value: unknown) => boolean]>;

type Kind = keyof typeof KINDS;

/** Every field of a type and the kind of its value; the compiler ensures that none is forgotten. */
export type Fields<T> = { readonly [Name in keyof Required<T>]: Kind };

/** An argument that has to be there. */
export function required<T>(path: string, value: T, kind: Kind): T {
  const [expected, holds] = KINDS[kind];
  if (value === undefined) throw new InputError(`${path}: is missing; it must be ${expected}`, path);
  if (!holds(value)) throw mistyped(path, expected, value);
  return value;
}

/** An argument that may be left out, or be null. */
export function optional<T>(path: string, value: T, kind: Kind): NonNullable<T> | undefined {
  return value === undefined || value === null ? undefined : required(path, value, kind);
}

/** An object of options; `name` is empty if its fields are reported without it. */
export function options<T extends object>(name: string, given: T, fields: Fields<T>): T {
  required(name || "options", given, "object");
  const at = name && `${name}.`;
  for (const field of Object.keys(given)) {
    if (!Object.hasOwn(fields, field)) throw new InputError(`${at}${field}: there is no such option; ${meant(field, Object.keys(fields))}`, at + field);
  }
  for (const [field, kind] of Object.entries<Kind>(fields)) optional(at + field, given[field as keyof T], kind);
  return given;
}

/** The same object as JSON can express it: null counts as missing, and `Infinity` becomes the largest number. */
export function plainOptions<T extends object>(name: string, given: T, fields: Fields<T>): Partial<T> {
  options(name, given, fields);
  const all: [name: string, value: unknown][] = Object.keys(fields).map((field) => [field, given[field as keyof T] ?? undefined]);
  return Object.fromEntries(all.map(([field, value]) => [field, value === Infinity ? Number.MAX_SAFE_INTEGER : value])) as Partial<T>;
}

/** The field that was probably meant, or all fields. */
function meant(field: string, known: string[]): string {
  const plain = (name: string): string => name.toLowerCase().replaceAll("_", "");
  const given = plain(field);
  const costs = known.map((name): [number, string] => [plain(name) === given ? -1 : distance(given, plain(name)), name]);
  const [[cost, nearest]] = costs.sort(([one], [other]) => one - other) as [[number, string]];
  return cost <= field.length / 2 ? `did you mean ${nearest}?` : `there are ${known.join(", ")}`;
}

/** How many letters have to change; none if one name is contained in the other. */
function distance(one: string, other: string): number {
  if (one !== "" && (one.includes(other) || other.includes(one))) return 0;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const letter of one) {
    let left = (row[0] as number) + 1;
    const next = [left];
    for (let index = 0; index < other.length; index++) {
      const [above, corner] = [row[index + 1] as number, row[index] as number];
      left = Math.min(left + 1, above + 1, corner + (letter === other[index] ? 0 : 1));
      next.push(left);
    }
    row = next;
  }
  return row[other.length] as number;
}
