// Each project is built with its own tools, run, and has to come to the same outcome.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as esbuild from "esbuild";
import { build, createServer } from "vite";
import { openBrowser, serve } from "./browser.mjs";

const projects = join(import.meta.dirname, "projects");
const node = (...path) => JSON.parse(execFileSync(process.execPath, [join(projects, ...path)], { encoding: "utf8" }));

let browser;
let expected;
before(async () => {
  browser = await openBrowser();
  expected = node("node-esm", "main.mjs");
});
after(() => browser?.close());

/** What the page of a server comes to. */
async function outcomeOf(address) {
  const page = await browser.newPage();
  const failures = [];
  page.on("pageerror", (error) => failures.push(String(error)));
  page.on("requestfailed", (request) => failures.push(`${request.url()} failed`));
  try {
    await page.goto(address);
    const waited = page.waitForFunction(() => globalThis.outcome, undefined, { timeout: 30_000 });
    const outcome = await waited.then((handle) => handle.jsonValue()).catch((error) => assert.fail([...failures, error].join("\n")));
    assert.deepEqual(failures, []);
    return outcome;
  } finally {
    await page.close();
  }
}

async function built(name, types) {
  const server = await serve(join(projects, name, "dist"), types);
  try {
    return await outcomeOf(server.address);
  } finally {
    server.close();
  }
}

const viteOptions = (name) => ({
  root: join(projects, name),
  base: "./",
  configFile: false,
  logLevel: "error",
  worker: { format: "es" },
  build: { target: "es2022", emptyOutDir: true },
});

test("Node, as an ES module: the work is done and accepted", () => {
  assert.equal(expected.accepted, "accepted");
  assert.deepEqual(expected.files, [["src/lib.rs", "// to fixed\n"]]);
  assert.deepEqual(expected.ending, { status: "completed" });
  assert.deepEqual(expected.verdicts, [
    { decision: "allow", reason: "read_only" },
    { decision: "boundary", reason: "network" },
  ]);
});

test("Node, as CommonJS", () => {
  assert.deepEqual(node("node-cjs", "main.cjs"), expected);
});

test("Vite: built, with every entry", async () => {
  await build(viteOptions("vite"));
  const { small, ...outcome } = await built("vite");
  assert.deepEqual(outcome, expected);
  assert.deepEqual(small, ["not_understood", "read_only", true]);
});

test("Vite: its server for development", async () => {
  const server = await createServer({ ...viteOptions("vite"), server: { host: "127.0.0.1", port: 0 } });
  try {
    await server.listen();
    const { small, ...outcome } = await outcomeOf(server.resolvedUrls.local[0]);
    assert.deepEqual(outcome, expected);
  } finally {
    await server.close();
  }
});

test("a web worker, from a server that does not know what a module is", async () => {
  await build(viteOptions("worker"));
  assert.deepEqual(await built("worker", { ".wasm": "application/octet-stream" }), expected);
});

test("esbuild: one classic script with the bytes in it", async () => {
  const folder = join(projects, "esbuild");
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
  assert.deepEqual(await built("esbuild"), expected);
});

for (const [resolution, config] of [["node16", "tsconfig.json"], ["bundler", "tsconfig.bundler.json"]]) {
  test(`TypeScript, strictly, with moduleResolution ${resolution}`, () => {
    try {
      execFileSync(join(import.meta.dirname, "node_modules/.bin/tsc"), ["-p", join(projects, "types", config)], { encoding: "utf8" });
    } catch (error) {
      assert.fail(error.stdout);
    }
  });
}
