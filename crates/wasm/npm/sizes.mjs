// How large the package's modules and its entry `headstart/controller` are, in bytes of `gzip -9`, against what they may be: a table, and exit code 1
// if something is too large: `node sizes.mjs MODULES`. `cargo xtask wasm` starts it after the build.
import { execFileSync } from "node:child_process";
import { join } from "node:path";

/**
 * KiB. The goal is what we want to reach; more than the limit, which lies just above today's figure, is an error. Why the goal of both parts is not
 * met, docs/benchmarks.md says.
 */
const BUDGETS = {
  "to begin a conversation": { goal: 480, limit: 457 },
  "both parts": { goal: 860, limit: 1251 },
  "whole module": { limit: 1214 },
  "grammar and its parser": {},
  "everything else": { limit: 1003 },
  core: { limit: 808 },
  gate: { limit: 491 },
  controller: { goal: 30, limit: 30 },
  "code index": { limit: 260 },
  "the index, over core": { goal: 60, limit: 39 },
};

const MODULES = ["headstart", "core", "gate", "code-index", "core-and-index", "grammar"];
const [whole, core, gate, index, indexed, grammar] = MODULES.map((module) => gzipped(join(process.argv[2], module, "small.wasm")));
const [start, rest] = ["start", "rest"].map((part) => gzipped(join(process.argv[2], "headstart", `headstart-${part}.wasm`)));
// It has no module; the package lies beside the modules.
const controller = gzipped(join(process.argv[2], "../headstart/controller.js"));
const sizes = {
  "to begin a conversation": start,
  "both parts": start + rest,
  "whole module": whole,
  "grammar and its parser": grammar,
  "everything else": whole - grammar,
  core,
  gate,
  controller,
  "code index": index,
  "the index, over core": indexed - core,
};
const rows = Object.entries(sizes).map(([part, size]) => ({ part, size, ...BUDGETS[part] }));
for (const line of table(rows)) console.log(line);
for (const { part, size, limit } of rows.filter(({ size, limit }) => limit < size)) {
  console.error(`too large: ${part}, ${size.toFixed(1)} KiB of ${limit} KiB (the limits are in crates/wasm/npm/sizes.mjs)`);
  process.exitCode = 1;
}

function table(rows) {
  const cell = (value) => (value === undefined ? "" : String(value)).padStart(9);
  const lines = rows.map(({ part, size, goal, limit }) => {
    const met = goal === undefined ? "" : size <= goal ? "met" : "not met";
    return `  ${part.padEnd(24)}${cell(size.toFixed(1))}${cell(goal)}${cell(met)}${cell(limit)}`;
  });
  return [`  ${"KiB, gzipped".padEnd(24)}${["size", "goal", "", "limit"].map(cell).join("")}`, ...lines];
}

/** By the program itself: what Node's own comes to differs by a percent, and between its versions. */
function gzipped(file) {
  return execFileSync("gzip", ["-9", "--stdout", file], { maxBuffer: 64 * 1024 * 1024 }).length / 1024;
}
