// Tests of the entries that are smaller than the whole package: what each one has, and that it does not need the module
// of another.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import * as headstart from "headstart";
import * as gate from "headstart/gate";
import { failsWith } from "./support.mjs";

const require = createRequire(import.meta.url);
const all = Object.keys(headstart);
const loading = ["HeadstartError", "InputError", "init", "initSync", "version"];

const entries = {
  "headstart/core": all.filter((name) => name !== "classifyShell"),
  "headstart/gate": [...loading, "classifyShell", "judge"],
  "headstart/code-index": [...loading, "CodeIndex", "DisposedError", "TreeError"],
};

for (const [entry, names] of Object.entries(entries)) {
  test(`${entry} has what it should, as an ES module and as CommonJS`, async () => {
    const imported = await import(entry);
    assert.deepEqual(Object.keys(imported), names.toSorted());
    const required = require(entry);
    for (const name of names) assert.equal(imported[name], required[name], name);
    assert.equal(imported.version, headstart.version);
  });

  test(`${entry} has a module of its own, smaller than the whole`, async () => {
    const { init, initSync } = await import(entry);
    const file = require.resolve(`${entry}.wasm`);
    assert.ok(statSync(file).size < statSync(require.resolve("headstart/headstart.wasm")).size);
    initSync(readFileSync(file));
    await init();
  });
}

test("the entries for one purpose are a fraction of the whole", () => {
  const size = (file) => gzipSync(readFileSync(require.resolve(file)), { level: 9 }).length;
  const whole = size("headstart/headstart.wasm");
  assert.ok(size("headstart/gate.wasm") < 0.6 * whole);
});

test("the gate alone says of every command of the sample what the whole package says", () => {
  const commands = readFileSync(new URL("../sample.jsonl", import.meta.url), "utf8").trim().split("\n");
  assert.ok(500 < commands.length);
  const context = { mode: "auto-edit", deny: ["*.pem"], policies: [{ program: "make", decision: "allow" }] };
  for (const { cmd } of commands.map((row) => JSON.parse(row))) {
    assert.deepEqual(gate.classifyShell(cmd, context), headstart.classifyShell(cmd, context), cmd);
  }
});

test("a mistake is told by the error of the entry", async () => {
  assert.throws(() => gate.judge({ args: {} }), failsWith(gate.InputError, "invalid_input", /is missing/, "call.name"));
  assert.throws(() => gate.judge({ name: "ls" }, { mod: "plan" }), failsWith(gate.InputError, "invalid_input", /did you mean mode/));
});
