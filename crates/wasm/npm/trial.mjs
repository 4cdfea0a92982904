// Tries the packed package where nothing of its source is near: `node trial.mjs ARCHIVE FOLDER [--dev | --all] [TEST …]` copies
// the projects of `trial/` and the tests of `test/` to the folder, installs the archive there, and runs them.
// `cargo xtask wasm-test` starts it. With --dev the entries have one module in common, and what is about their own ones is left
// out; with --all the projects of `trial/more` are tried, too, whose tools take long to install.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [archive, folder] = process.argv.slice(2, 4).map((path) => resolve(path));
const [dev, all] = ["--dev", "--all"].map((option) => process.argv.includes(option));
const named = process.argv.slice(4).filter((argument) => !argument.startsWith("--"));
/** What is installed in a folder. The tools of `more` are named by version, without a lock: theirs would have to list every platform. */
const WANTED = { "": "package-lock.json", more: "more/package.json" };
/** Tests of what a package for developers does not have: a module for each entry, and one in two parts. */
const OF_OWN_MODULES = ["test/entries.test.mjs", "parts.test.mjs"];

const kept = Object.keys(WANTED).filter((part) => existsSync(join(folder, part, "node_modules")) && same(WANTED[part]));
clear(folder, ["node_modules", "more"]);
clear(join(folder, "more"), ["node_modules"]);
cpSync(join(here, "trial"), folder, { recursive: true, filter: (path) => !path.includes("node_modules") });
cpSync(join(here, "test"), join(folder, "test"), { recursive: true });
cpSync(join(here, "manifest.mjs"), join(folder, "manifest.mjs"));
cpSync(join(here, "../fixtures"), join(folder, "fixtures"), { recursive: true });
cpSync(join(here, "../../followup-state/tests/shared"), join(folder, "fixtures"), { recursive: true });
cpSync(join(here, "../../providers/tests/streams"), join(folder, "streams"), { recursive: true });
cpSync(join(here, "../../agent/tests/stories"), join(folder, "stories"), { recursive: true });
cpSync(join(here, "../../code-index/tests/hits"), join(folder, "hits"), { recursive: true });
cpSync(join(here, "../../tool-gate/tests/data/sample.jsonl"), join(folder, "sample.jsonl"));
install("");
if (all) install("more");

const tests = named.length > 0 ? named : [...testsIn("test"), ...testsIn(""), ...(all ? testsIn("more") : [])];
const left = tests.filter((test) => named.includes(test) || !(dev && OF_OWN_MODULES.includes(test)));
run(folder, process.execPath, ["--test", "--test-reporter=spec", ...left]);

/** Empties a folder but for these names. */
function clear(folder, keep) {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (!keep.includes(name)) rmSync(join(folder, name), { recursive: true });
  }
}

/** Installs the tools of a folder, and the package. */
function install(part) {
  const there = join(folder, part);
  if (!kept.includes(part)) run(there, "npm", part === "" ? ["ci", "--silent"] : ["install", "--silent", "--no-package-lock"]);
  // npm takes a package of the same name and version for the same one.
  rmSync(join(there, "node_modules/headstart"), { recursive: true, force: true });
  rmSync(join(there, "node_modules/.package-lock.json"), { force: true });
  run(there, "npm", ["install", "--silent", "--no-save", "--no-package-lock", archive]);
}

function testsIn(part) {
  const names = readdirSync(join(folder, part)).filter((name) => name.endsWith(".test.mjs"));
  return names.map((name) => join(part, name));
}

function same(name) {
  return readFileSync(join(folder, name), "utf8") === readFileSync(join(here, "trial", name), "utf8");
}

function run(cwd, program, args) {
  const env = { ...process.env, HEADSTART_TRIAL: dev ? "dev" : "", HEADSTART_CHECKOUT: join(here, "../../..") };
  const { status, error } = spawnSync(program, args, { cwd, env, stdio: ["ignore", "inherit", "inherit"] });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
