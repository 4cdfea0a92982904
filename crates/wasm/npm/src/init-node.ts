// Where the module comes from in Node: from the file beside this code (a CommonJS module), at the first use.
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The file beside this code. */
export function packaged(): Promise<BufferSource> {
  return readFile(join(__dirname, MODULE_FILE));
}

/** What an address or a path leads to. */
export function open(address: string | URL): Promise<Response | BufferSource> {
  if (address instanceof URL) return address.protocol === "file:" ? readFile(address) : fetch(address);
  if (URL.canParse(address)) return open(new URL(address));
  return readFile(address);
}

/** A file can be read without waiting, so that nobody has to call `init`. */
export function atFirstUse(): BufferSource | undefined {
  return readFileSync(join(__dirname, MODULE_FILE));
}
