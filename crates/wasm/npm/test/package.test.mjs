// Tests of the package as a package: what its manifest names, and that it does not reveal the machine that built it.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, dirname, extname, join, sep } from "node:path";
import { test } from "node:test";
import { brotliDecompressSync } from "node:zlib";
import { published } from "../manifest.mjs";

const require = createRequire(import.meta.url);
const root = dirname(require.resolve("headstart/package.json"));
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
const ofKind = (suffix) => files.filter((file) => file.endsWith(suffix));

test("every file that the manifest names is there", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const named = [];
  const collect = (value) => (typeof value === "string" ? named.push(value) : Object.values(value).forEach(collect));
  collect(exports);
  assert.ok(30 < named.length);
  for (const name of named) assert.ok(files.includes(join(root, name)), name);
});

test("whoever finds the package finds the project", () => {
  const entries = [{ name: "headstart", source: "index.ts" }];
  for (const home of ["https://example.org/headstart", "https://example.org/headstart.git", "https://example.org/headstart/"]) {
    const { repository, homepage, bugs } = published({ name: "headstart" }, entries, [], home);
    assert.deepEqual(repository, { type: "git", url: "git+https://example.org/headstart.git", directory: "crates/wasm/npm" });
    assert.equal(homepage, "https://example.org/headstart#readme");
    assert.deepEqual(bugs, { url: "https://example.org/headstart/issues" });
  }
  assert.ok(!("repository" in published({ name: "headstart" }, entries, [], undefined)));
});

test("the licences of what the modules are made of go along", () => {
  const text = readFileSync(join(root, "THIRD-PARTY.md"), "utf8");
  for (const part of ["serde_json ", "tree-sitter-bash ", "wasm-bindgen ", "Permission is hereby granted", "Apache License"]) assert.ok(text.includes(part), part);
  for (const absent of ["insta ", "reqwest ", "headstart-agent "]) assert.ok(!text.includes(`\n${absent}`) && !text.includes(`, ${absent}`), absent);
});

test("declarations of CommonJS name each other as such", () => {
  assert.ok(10 < ofKind(".d.cts").length);
  for (const file of ofKind(".d.cts")) {
    for (const [, specifier] of readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)) {
      assert.equal(extname(specifier), ".cjs", file);
      assert.ok(files.includes(join(dirname(file), specifier.replace(".cjs", ".d.cts"))), `${file}: ${specifier}`);
    }
  }
});

test("code has a source map with the sources in it", () => {
  const code = [...ofKind(".js"), ...ofKind(".cjs")].filter((file) => readFileSync(file, "utf8").includes("sourceMappingURL"));
  assert.equal(code.length, 24, "three for each entry with a module, two for each without");
  for (const file of code) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(`${file}.map`, "utf8"));
    const least = /(^|-)(attach|folder|messages|react|sessions)\.c?js$/.test(basename(file)) ? 1 : 6;
    assert.ok(least <= sources.length && sources.every((source) => /^headstart\/(src\/)?[\w/-]+\.(ts|js|json)$/.test(source)), `${file}: ${sources}`);
    assert.ok(sourcesContent.every((text) => 0 < text.length));
  }
});

/** Folders of this machine, and paths as cargo has them on any machine. */
function machinePaths() {
  const { CARGO_HOME, RUSTUP_HOME, HEADSTART_CHECKOUT } = process.env;
  assert.ok(HEADSTART_CHECKOUT, "`trial.mjs` says where the source is");
  const home = homedir();
  const folders = [home, join(home, ".cargo"), CARGO_HOME, RUSTUP_HOME, HEADSTART_CHECKOUT, process.cwd()];
  const named = folders.filter((folder) => folder !== undefined && dirname(folder) !== folder);
  return [...named.map((folder) => folder + sep), ".cargo/registry/", ".cargo/git/", "registry/src/", ".rustup/"];
}

function placesIn(bytes, wanted) {
  const text = bytes.toString("latin1");
  return wanted.filter((path) => text.includes(path)).map((path) => text.substr(Math.max(0, text.indexOf(path) - 20), 120));
}

test("no file holds a path of the machine that built it", () => {
  const wanted = machinePaths();
  for (const file of files) assert.deepEqual(placesIn(readFileSync(file), wanted), [], file);
  for (const file of files.filter((file) => /bundled[\w-]*\.js$/.test(file))) {
    const packed = /"([A-Za-z0-9+/=]{1000,})"/.exec(readFileSync(file, "utf8"));
    assert.ok(packed, `${file} has the module in it`);
    assert.deepEqual(placesIn(brotliDecompressSync(Buffer.from(packed[1], "base64")), wanted), [], file);
  }
  // This shows that the search works: it must find a line of the module that may panic.
  assert.ok(placesIn(readFileSync(join(root, "headstart.wasm")), ["crates/"]).length === 1);
  assert.equal(ofKind(".wasm").length, process.env.HEADSTART_TRIAL === "dev" ? 4 : 6, "one for each entry, and that of headstart in two parts, too");
});
