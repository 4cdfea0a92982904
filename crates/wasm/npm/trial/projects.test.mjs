// Tests that each project, built with its own tools and run, has the same outcome.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { build } from "vite";
import { openBrowser } from "./browser.mjs";
import { node, served, viteOptions } from "./runs.mjs";

const projects = join(import.meta.dirname, "projects");
const expected = node(join(projects, "node-esm/main.mjs"));

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
  assert.deepEqual(node(join(projects, "node-cjs/main.cjs")), expected);
});

test("Vite: built, in a browser", async () => {
  const root = join(projects, "vite");
  const [browser] = await Promise.all([openBrowser(), build(viteOptions(root))]);
  try {
    assert.deepEqual(await served(browser, join(root, "dist")), expected);
  } finally {
    await browser.close();
  }
});

for (const [what, config] of [
  ["with moduleResolution node16", "types/tsconfig.json"],
  ["with moduleResolution bundler", "types/tsconfig.bundler.json"],
  ["beside the AI SDK in its versions 5, 6 and 7", "types-ai/tsconfig.json"],
]) {
  test(`TypeScript, strictly, ${what}`, () => {
    try {
      execFileSync(join(import.meta.dirname, "node_modules/.bin/tsc"), ["-p", join(projects, config)], { encoding: "utf8" });
    } catch (error) {
      assert.fail(error.stdout);
    }
  });
}
