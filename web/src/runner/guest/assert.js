// The module that tests of the project import as `node:assert`. Comparisons are strict under both of its names.

export class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message);
    this.name = "AssertionError";
    this.code = "ERR_ASSERTION";
    Object.assign(this, { actual, expected, operator });
  }
}

export function show(value, depth = 0) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `[function ${value.name || "without a name"}]`;
  if (value === null || typeof value !== "object") return String(value);
  if (value instanceof Error) return `[${value.name}: ${value.message}]`;
  if (value instanceof Date || value instanceof RegExp) return String(value);
  if (2 < depth) return "…";
  const inner = (items) => items.slice(0, 20).map((item) => show(item, depth + 1)).join(", ");
  if (Array.isArray(value)) return `[${inner(value)}]`;
  if (value instanceof Set) return `Set {${inner([...value])}}`;
  if (value instanceof Map) {
    return `Map {${[...value].map(([key, item]) => `${show(key, depth + 1)} => ${show(item, depth + 1)}`).join(", ")}}`;
  }
  const fields = Object.entries(value).slice(0, 20).map(([key, item]) => `${key}: ${show(item, depth + 1)}`);
  return `{${fields.join(", ")}}`;
}

function same(left, right, seen = []) {
  if (Object.is(left, right)) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return false;
  if (seen.some(([a, b]) => a === left && b === right)) return true;
  const deeper = [...seen, [left, right]];
  if (left instanceof Date) return Object.is(left.getTime(), right.getTime());
  if (left instanceof RegExp) return String(left) === String(right);
  if (left instanceof Error && (left.name !== right.name || left.message !== right.message)) return false;
  if (left instanceof Map) {
    return left.size === right.size && [...left].every(([key, item]) => right.has(key) && same(item, right.get(key), deeper));
  }
  if (left instanceof Set) {
    return left.size === right.size && [...left].every((item) => [...right].some((other) => same(item, other, deeper)));
  }
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    (!Array.isArray(left) || left.length === right.length) &&
    keys.every((key) => Object.hasOwn(right, key) && same(left[key], right[key], deeper))
  );
}

function fail(message, fallback, details) {
  if (message instanceof Error) throw message;
  throw new AssertionError({ message: message ?? fallback, ...details });
}

function compare(holds, operator, sign) {
  return (actual, expected, message) => {
    if (!holds(actual, expected)) fail(message, `${show(actual)} ${sign} ${show(expected)}`, { actual, expected, operator });
  };
}

function expects(error, expected, message) {
  if (expected === undefined || typeof expected === "string") return;
  const text = String(error?.message ?? error);
  const details = { actual: error, expected, operator: "throws" };
  if (expected instanceof RegExp) {
    if (!expected.test(String(error))) fail(message, `${show(text)} does not match ${expected}`, details);
  } else if (typeof expected === "function") {
    const fits = Error.isPrototypeOf(expected) || expected === Error ? error instanceof expected : expected(error) === true;
    if (!fits) fail(message, `the error is not the expected one: ${show(error)}`, details);
  } else {
    for (const [key, value] of Object.entries(expected)) {
      const found = error?.[key];
      const fits = value instanceof RegExp && typeof found === "string" ? value.test(found) : same(found, value);
      if (!fits) fail(message, `the error's ${key} is ${show(found)} and not ${show(value)}`, details);
    }
  }
}

export function ok(value, message) {
  if (!value) fail(message, `${show(value)} is not truthy`, { actual: value, expected: true, operator: "ok" });
}

const assert = (value, message) => ok(value, message);

Object.assign(assert, {
  AssertionError,
  ok,
  equal: compare(Object.is, "strictEqual", "!=="),
  notEqual: compare((a, b) => !Object.is(a, b), "notStrictEqual", "==="),
  deepEqual: compare(same, "deepStrictEqual", "is not equal to"),
  notDeepEqual: compare((a, b) => !same(a, b), "notDeepStrictEqual", "is equal to"),
  match: compare((text, pattern) => typeof text === "string" && pattern.test(text), "match", "does not match"),
  doesNotMatch: compare((text, pattern) => typeof text === "string" && !pattern.test(text), "doesNotMatch", "matches"),
  fail(message) {
    fail(message, "failed", { operator: "fail" });
  },
  throws(run, expected, message) {
    try {
      run();
    } catch (error) {
      return expects(error, expected, message);
    }
    fail(typeof expected === "string" ? expected : message, "nothing was thrown", { operator: "throws" });
  },
  doesNotThrow(run, message) {
    try {
      run();
    } catch (error) {
      fail(typeof message === "string" ? message : undefined, `${show(error)} was thrown`, { actual: error, operator: "doesNotThrow" });
    }
  },
  async rejects(work, expected, message) {
    try {
      await (typeof work === "function" ? work() : work);
    } catch (error) {
      return expects(error, expected, message);
    }
    fail(typeof expected === "string" ? expected : message, "it was not rejected", { operator: "rejects" });
  },
});
assert.strictEqual = assert.equal;
assert.notStrictEqual = assert.notEqual;
assert.deepStrictEqual = assert.deepEqual;
assert.notDeepStrictEqual = assert.notDeepEqual;
assert.strict = assert;

export const { equal, notEqual, strictEqual, notStrictEqual, deepEqual, deepStrictEqual, notDeepEqual } = assert;
export const { notDeepStrictEqual, match, doesNotMatch, throws, doesNotThrow, rejects, strict } = assert;
const failed = assert.fail;
export { failed as fail };
export default assert;
