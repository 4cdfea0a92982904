// Where the module comes from in a bundle for servers. It is in this code, so that it does not matter where the bundle
// is, nor whether its tool knows what a module is.
import { readFile } from "node:fs/promises";
import { brotliDecompressSync } from "node:zlib";
// The module, packed by brotli, in base64. The build puts it in.
import packed from "#packed";
import type { Later } from "./later.js";

/** What to do if the module cannot be unpacked, which means that the runtime has no `node:zlib`. */
export const ADVICE = "this code is for Node, and for what has its modules";

/** The module that is in this code. */
export async function packaged(): Promise<BufferSource> {
  return atFirstUse();
}

/** The content at an address or a path. */
export function open(address: string | URL): Promise<Response | BufferSource> {
  if (address instanceof URL) return address.protocol === "file:" ? readFile(address) : fetch(address);
  if (URL.canParse(address)) return open(new URL(address));
  return readFile(address);
}

/** Unpacking takes some milliseconds, so that nobody has to call `init`. */
export function atFirstUse(): BufferSource {
  return brotliDecompressSync(Buffer.from(packed, "base64"));
}

/** The module is in one piece here. */
export const later: Later | undefined = undefined;
