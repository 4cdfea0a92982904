// Measures how long the module takes to load, and how fast the gate is, compared with a parse of the same commands by
// the grammar alone. `cargo xtask wasm-test bench.mjs` runs this over the packed package.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { classifyShell, init } from "headstart";
import { Language, Parser } from "web-tree-sitter";

const require = createRequire(import.meta.url);
const ROUNDS = 300;

/** The best of several measurements, because it is the one that the rest of the machine disturbed least. */
const best = (numbers) => Math.min(...numbers);

function time(work) {
  const started = performance.now();
  work();
  return performance.now() - started;
}

const bytes = readFileSync(require.resolve("headstart/headstart.wasm"));
const loads = [];
for (let round = 0; round < 5; round++) {
  const started = performance.now();
  await WebAssembly.compile(bytes);
  loads.push(performance.now() - started);
}
const began = performance.now();
await init(bytes);
const loaded = performance.now() - began;

await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load(require.resolve("tree-sitter-bash/tree-sitter-bash.wasm")));

const lines = (file) => readFileSync(new URL(file, import.meta.url), "utf8");
const cases = JSON.parse(lines("fixtures/gate.json")).map(({ input }) => input.call);
const sets = {
  "sample of commands": lines("sample.jsonl").trim().split("\n").map((row) => JSON.parse(row).cmd),
  "one of each construct": cases.filter(({ name }) => name === "shell").map(({ args }) => args.command),
};
console.log(`load: ${loaded.toFixed(1)} ms (compile alone, best of ${loads.length}: ${best(loads).toFixed(1)} ms)`);
for (const [name, commands] of Object.entries(sets)) {
  const times = commands.map(() => ({ verdict: [], parse: [] }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, command] of commands.entries()) {
      // The two are measured by turns, so that other work of the machine disturbs both alike.
      times[index].verdict.push(time(() => classifyShell(command)));
      times[index].parse.push(time(() => parser.parse(command).delete()));
    }
  }
  const mean = (which) => times.reduce((sum, of) => sum + best(of[which]), 0) / commands.length;
  const [verdict, parse] = [mean("verdict"), mean("parse")];
  const each = [verdict, parse].map((ms) => `${(ms * 1000).toFixed(1)} µs`);
  console.log(`${name} (${commands.length}, each the best of ${ROUNDS}): verdict ${each[0]}, parse alone by web-tree-sitter ${each[1]}`);
  console.log(`  ratio ${(verdict / parse).toFixed(2)}`);
}
