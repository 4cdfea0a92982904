// Where the module comes from in Node: from the file beside this code (a CommonJS module), at the first use.
import type { Later } from "./later.js";

// These are asked for only when they are needed: in a bundle that is an ES module, `require` itself is an error, and
// has to be told as one.
const fs = () => require("node:fs") as typeof import("node:fs");
const path = () => require("node:path") as typeof import("node:path");

/** What to do if the file is not there. */
export const ADVICE =
  'in a bundle, let the bundler use the condition "module", for code that brings the module along, or leave this package out of the bundle';

/** The file beside this code. */
export async function packaged(): Promise<BufferSource> {
  return atFirstUse();
}

/** The content at an address or a path. */
export function open(address: string | URL): Promise<Response | BufferSource> {
  if (address instanceof URL) return address.protocol === "file:" ? fs().promises.readFile(address) : fetch(address);
  if (URL.canParse(address)) return open(new URL(address));
  return fs().promises.readFile(address);
}

/** A file can be read without waiting, so nobody has to call `init`. */
export function atFirstUse(): BufferSource {
  return fs().readFileSync(path().join(__dirname, MODULE_FILE));
}

/** The module is in one piece here. */
export const later: Later | undefined = undefined;
