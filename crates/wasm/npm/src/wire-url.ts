// The address of a request. The rules are those of the client in Rust (`providers/src/http/url.rs`).

/**
 * The base URL without what the wire format adds, or what people copy along with it. Throws what is wrong with it, in
 * words. Its query stays, because some services want the version of their interface there.
 */
export function baseUrl(text: string, endings: readonly string[]): string {
  const shown = withoutSecrets(text).slice(0, 300);
  const wrong = (why: string): Error => new Error(`the base URL ${JSON.stringify(shown)} ${why}; it looks like https://HOST/v1`);
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    throw wrong("is not valid");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw wrong("is neither http nor https");
  if (url.username !== "" || url.password !== "") {
    throw new Error("the base URL holds a user name or password; they belong in the key");
  }
  if (text.includes("#")) throw new Error("the base URL has a fragment (what follows #); leave it out");
  let path = url.pathname.replace(/\/+$/, "");
  for (const ending of endings) {
    while (path.endsWith(ending)) path = path.slice(0, -ending.length);
  }
  url.pathname = path;
  return url.href.replace(/\/$/, "");
}

/** The address of a request. */
export function requestUrl(base: string, path: string, query: string | null): string {
  const url = new URL(base);
  // Setting the path escapes characters that do not belong into one, for example a question mark in the name of a
  // model.
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  const [given, own] = [url.search.slice(1), query ?? ""];
  const isThere = own === "" || given.split("&").includes(own);
  url.search = given === "" ? own : isThere ? given : `${given}&${own}`;
  return url.href;
}

/** What may be shown of an address, which may be invalid: no user, no password, no query. */
export function withoutSecrets(text: string): string {
  const plain = text.split(/[?#]/, 1)[0] ?? "";
  const at = plain.indexOf("://");
  const [scheme, rest] = at < 0 ? ["", plain] : [plain.slice(0, at + 3), plain.slice(at + 3)];
  const slash = rest.indexOf("/");
  const [authority, path] = slash < 0 ? [rest, ""] : [rest.slice(0, slash), rest.slice(slash)];
  return scheme + authority.slice(authority.lastIndexOf("@") + 1) + path;
}
