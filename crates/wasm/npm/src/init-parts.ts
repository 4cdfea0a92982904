// Where the module of `headstart` comes from in browsers: there it is in two parts, what a conversation begins with and
// the rest.
import type { Later } from "./later.js";

export { atFirstUse, open } from "./init-browser.js";

/** What to do if a file is not there. */
export const ADVICE = `your bundler has to copy the files of new URL("${START_FILE}", import.meta.url) and new URL("${REST_FILE}", import.meta.url)`;

// Bundlers look for exactly the expressions `new URL(…, import.meta.url)`, with the literal text in them.

/** The first part. */
export function packaged(): Promise<Response> {
  return fetch(new URL(START_FILE, import.meta.url));
}

/** The rest. */
export const later: Later | undefined = {
  fetched: () => fetch(new URL(REST_FILE, import.meta.url)),
  atOnce() {
    // Workers that serve a page's requests have no `XMLHttpRequest`.
    if (typeof XMLHttpRequest !== "function") return undefined;
    const request = new XMLHttpRequest();
    request.open("GET", new URL(REST_FILE, import.meta.url), false);
    // A page gets no bytes from a request that blocks it, but it gets characters whose low halves are the bytes.
    request.overrideMimeType("text/plain; charset=x-user-defined");
    request.send();
    if (request.status !== 200) throw new Error(`${request.responseURL} answered ${request.status}`);
    return Uint8Array.from(request.responseText, (character) => character.charCodeAt(0) & 255);
  },
};
