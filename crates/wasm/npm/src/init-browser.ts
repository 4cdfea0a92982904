// Where the module comes from in browsers, and in everything else that is not Node.
import type { Later } from "./later.js";

/** What to do if the file is not there. */
export const ADVICE = `your bundler has to copy the file of new URL("${MODULE_FILE}", import.meta.url)`;

/** The file beside this code. Bundlers look for exactly this expression, with the literal text in it. */
export function packaged(): Promise<Response> {
  return fetch(new URL(MODULE_FILE, import.meta.url));
}

/** The content at an address. */
export function open(address: string | URL): Promise<Response> {
  return fetch(address);
}

/** Nothing can be read here without waiting. */
export function atFirstUse(): BufferSource | undefined {
  return undefined;
}

/** The module is in one piece here. */
export const later: Later | undefined = undefined;
