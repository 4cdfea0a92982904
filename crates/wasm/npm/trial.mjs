// Tries the packed package where nothing of its source is near: `node trial.mjs ARCHIVE FOLDER [TEST …]` copies the projects of
// `trial/` and the tests of `test/` to the folder, installs the archive there, and runs them. `cargo xtask wasm-test` starts it.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [archive, folder] = process.argv.slice(2, 4).map((path) => resolve(path));
const LOCK = "package-lock.json";

const installed = existsSync(join(folder, "node_modules")) && existsSync(join(folder, LOCK)) && same(LOCK);
for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  if (name !== "node_modules") rmSync(join(folder, name), { recursive: true });
}
cpSync(join(here, "trial"), folder, { recursive: true, filter: (path) => !path.includes("node_modules") });
cpSync(join(here, "test"), join(folder, "test"), { recursive: true });
cpSync(join(here, "../fixtures"), join(folder, "fixtures"), { recursive: true });
cpSync(join(here, "../../forked-query/tests/streams"), join(folder, "streams"), { recursive: true });
cpSync(join(here, "../../tool-gate/tests/data/sample.jsonl"), join(folder, "sample.jsonl"));
if (!installed) run("npm", ["ci", "--silent"]);
// npm takes a package of the same name and version for the same one.
rmSync(join(folder, "node_modules/headstart"), { recursive: true, force: true });
rmSync(join(folder, "node_modules/.package-lock.json"), { force: true });
run("npm", ["install", "--silent", "--no-save", archive]);

const wanted = process.argv.slice(4);
const all = () => [...readdirSync(join(folder, "test")).map((name) => `test/${name}`), ...readdirSync(folder)];
const tests = wanted.length > 0 ? wanted : all().filter((name) => name.endsWith(".test.mjs"));
run(process.execPath, ["--test", "--test-reporter=spec", ...tests]);

function same(name) {
  return readFileSync(join(folder, name), "utf8") === readFileSync(join(here, "trial", name), "utf8");
}

function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
