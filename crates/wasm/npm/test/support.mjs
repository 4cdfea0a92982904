import assert from "node:assert/strict";
import { createServer } from "node:http";
import { init } from "headstart";

await init();

export const text = (bytes) => new TextDecoder().decode(bytes);

/** A tree of callbacks over a map of texts, as a host would write one. `undefined` is a folder. */
export function hostTree(files = {}, { modified = true } = {}) {
  const nodes = new Map([["", undefined]]);
  let edits = 0;
  const put = (path, content) => {
    const parts = path.split("/");
    for (let end = 1; end < parts.length; end++) {
      const folder = parts.slice(0, end).join("/");
      if (!nodes.has(folder)) nodes.set(folder, undefined);
    }
    nodes.set(path, { content: Buffer.from(content), executable: nodes.get(path)?.executable ?? false, edit: ++edits });
  };
  for (const [path, content] of Object.entries(files)) put(path, content);
  const missing = (path) => Object.assign(new Error(`no such file: ${path}`), { code: "ENOENT" });
  const calls = [];
  const log = (...call) => calls.push(call.join(" "));
  return {
    calls,
    put,
    delete: (path) => nodes.delete(path),
    snapshot: () =>
      Object.fromEntries(
        [...nodes].filter(([path]) => path !== "").sort().map(([path, node]) => [node ? path : `${path}/`, node ? text(node.content) : ""]),
      ),
    async metadata(path) {
      if (!nodes.has(path)) return undefined;
      const node = nodes.get(path);
      if (!node) return { kind: "directory", size: 0 };
      const { content, executable, edit } = node;
      return { kind: "file", size: content.length, executable, ...(modified && { modified: edit }) };
    },
    async read(path) {
      log("read", path);
      const node = nodes.get(path);
      if (!node) throw missing(path);
      return new Uint8Array(node.content);
    },
    async list(path) {
      if (!nodes.has(path)) throw missing(path);
      const prefix = path === "" ? "" : `${path}/`;
      const below = [...nodes.keys()].filter((at) => at !== "" && at.startsWith(prefix) && !at.slice(prefix.length).includes("/") && at !== path);
      return below.map((at) => ({ name: at.slice(prefix.length), kind: nodes.get(at) ? "file" : "directory" }));
    },
    async write(path, content, { executable }) {
      log("write", path);
      put(path, content);
      nodes.get(path).executable = executable;
    },
    async createDir(path) {
      log("createDir", path);
      nodes.set(path, undefined);
    },
    async remove(path) {
      log("remove", path);
      nodes.delete(path);
    },
  };
}

/** A check that an error has this class and code, and if given this message and path. */
export function failsWith(Class, code, message, path) {
  return (error) => {
    assert.equal(error?.constructor, Class, `${error?.stack ?? error}`);
    assert.equal(error.code, code);
    if (message !== undefined) assert.match(error.message, message);
    if (path !== undefined) assert.equal(error.path, path);
    return true;
  };
}

/**
 * A server on the loopback interface that answers as `answer(request, response, body)` does. It is closed when the test
 * ends.
 */
export async function serve(context, answer) {
  const requests = [];
  const server = createServer((request, response) => {
    const body = [];
    request.on("data", (piece) => body.push(piece));
    request.on("end", () => {
      const { method, url, headers } = request;
      const text = Buffer.concat(body).toString();
      requests.push({ method, url, headers, body: text });
      answer(request, response, text);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { base: `http://127.0.0.1:${server.address().port}`, requests };
}

/** All events of an answer, and the error with which it failed. */
export async function collect(events) {
  const all = [];
  try {
    for await (const event of events) all.push(event);
  } catch (error) {
    return { events: all, error };
  }
  return { events: all };
}

/** The usage that is reported for a request if the server does not say its cost. */
export const UNTOLD = { type: "usage", usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, untoldRequests: 1 } };
