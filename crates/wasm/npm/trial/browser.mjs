// Opens a headless Chromium of this machine, and serves a folder.
import { accessSync, constants, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, extname, join } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

export function openBrowser() {
  const executablePath = process.env.CHROMIUM ?? found();
  if (executablePath === undefined) throw new Error("no Chromium: apt-get install chromium, or name one in CHROMIUM");
  // A container has neither the namespaces that Chromium's sandbox needs nor a large /dev/shm.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

function found() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

/** Serves a folder; `types` replaces the content types of some extensions. */
export async function serve(folder, types = {}) {
  const known = { ...TYPES, ...types };
  const server = createServer(({ url }, response) => {
    const path = new URL(url, "http://localhost").pathname;
    const file = join(folder, path === "/" ? "index.html" : path);
    try {
      const body = readFileSync(file);
      response.writeHead(200, { "content-type": known[extname(file)] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}
