// Calls into the module: values go in as JSON, and what it throws comes out as an error of this package.
import { InputError, messageOf, toError } from "./errors.js";

/** The JSON of an argument. */
export function toJson(name: string, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new InputError(`${name}: cannot be written as JSON: ${messageOf(cause)}`, name, { cause });
  }
  if (text === undefined) throw new InputError(`${name}: is missing`, name);
  // Half of a character, as a line holds it while somebody types: outside JavaScript no text can.
  return /\\ud[89a-f]/.test(text) ? text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd") : text;
}

/** An argument that is a text. */
export function textOf(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new InputError(`${name}: must be a string, and is ${value === null ? "null" : typeof value}`, name);
}

/** Runs a call into the module. */
export function call<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    throw toError(thrown);
  }
}

/** Runs a call into the module that is answered later. */
export async function calling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw toError(thrown);
  }
}
