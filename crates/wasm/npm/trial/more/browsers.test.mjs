// Tests of bundlers for pages: each project is built with its own tools and opened in a browser, and must have the same
// outcome as in Node.
import assert from "node:assert/strict";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { importMetaAssets } from "@web/rollup-plugin-import-meta-assets";
import * as esbuild from "esbuild";
import { rollup } from "rollup";
import { build, createServer } from "vite";
import { openBrowser } from "../browser.mjs";
import { node, outcomeOf, served, viteOptions, webpacked } from "../runs.mjs";

const projects = join(import.meta.dirname, "projects");
const expected = node(join(import.meta.dirname, "../projects/node-esm/main.mjs"));
let browser;
before(async () => (browser = await openBrowser()));
after(() => browser?.close());

test("Vite: built, with every entry", async () => {
  const root = join(projects, "vite");
  await build(viteOptions(root));
  const { small, ...outcome } = await served(browser, join(root, "dist"));
  assert.deepEqual(outcome, expected);
  assert.deepEqual(small, ["not_understood", "read_only", true]);
});

test("Vite: its server for development", async () => {
  const server = await createServer({ ...viteOptions(join(projects, "vite")), server: { host: "127.0.0.1", port: 0 } });
  try {
    await server.listen();
    const { small, ...outcome } = await outcomeOf(browser, server.resolvedUrls.local[0]);
    assert.deepEqual(outcome, expected);
  } finally {
    await server.close();
  }
});

test("a web worker, from a server that does not know what a module is", async () => {
  const root = join(projects, "worker");
  await build(viteOptions(root));
  assert.deepEqual(await served(browser, join(root, "dist"), { ".wasm": "application/octet-stream" }), expected);
});

test("esbuild: one classic script with the bytes in it", async () => {
  const folder = join(projects, "esbuild-browser");
  await esbuild.build({
    entryPoints: [join(folder, "main.js")],
    bundle: true,
    format: "iife",
    loader: { ".wasm": "binary" },
    outfile: join(folder, "dist/main.js"),
    logLevel: "error",
  });
  copyFileSync(join(folder, "index.html"), join(folder, "dist/index.html"));
  assert.ok(!existsSync(join(folder, "dist/headstart.wasm")));
  assert.deepEqual(await served(browser, join(folder, "dist")), expected);
});

/** The outcome of the page of `projects/page` that a bundler built into a folder. */
function page(folder) {
  copyFileSync(join(projects, "page/index.html"), join(folder, "index.html"));
  return served(browser, folder);
}

test("webpack", async () => {
  const path = join(projects, "page/webpack");
  await webpacked({ context: join(projects, "page"), entry: "./main.js", output: { path } });
  assert.deepEqual(await page(path), expected);
});

test("Rollup with node-resolve and import-meta-assets", async () => {
  const plugins = [nodeResolve({ browser: true }), importMetaAssets()];
  const bundle = await rollup({ input: join(projects, "page/main.js"), plugins, onwarn: assert.fail });
  const dir = join(projects, "page/rollup");
  await bundle.write({ dir });
  assert.deepEqual(await page(dir), expected);
});
