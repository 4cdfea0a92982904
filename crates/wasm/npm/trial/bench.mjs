// How long the module takes to load, and how fast the gate is beside a parse of the same commands with the grammar alone.
// `cargo xtask wasm-test bench.mjs` runs it over the packed package.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { classifyShell, init } from "headstart";
import { Language, Parser } from "web-tree-sitter";

const require = createRequire(import.meta.url);
const ROUNDS = 60;

/** Of several measurements the one that the rest of the machine disturbed least. */
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

const cases = JSON.parse(readFileSync(new URL("fixtures/gate.json", import.meta.url), "utf8"));
const commands = cases.map(({ input }) => input.call).filter(({ name }) => name === "shell").map(({ args }) => args.command);
const gate = () => commands.forEach((command) => classifyShell(command));
const parse = () => commands.forEach((command) => parser.parse(command).delete());
// By turns, so that what else the machine does hits both.
const rounds = Array.from({ length: ROUNDS }, () => [time(gate), time(parse)]).slice(ROUNDS / 3);
const [gateMs, parseMs] = [0, 1].map((which) => best(rounds.map((round) => round[which])));

const each = (ms) => `${((ms * 1000) / commands.length).toFixed(0)} µs`;
console.log(`load: ${loaded.toFixed(1)} ms (compile alone, best of ${loads.length}: ${best(loads).toFixed(1)} ms)`);
console.log(`${commands.length} commands, best of ${rounds.length} rounds: verdict ${each(gateMs)} a command, parse alone by web-tree-sitter ${each(parseMs)}`);
console.log(`ratio ${(gateMs / parseMs).toFixed(2)}`);
