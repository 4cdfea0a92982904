// Runs the probe with an empty import object; its exit code names the step that failed.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const bytes = readFileSync(process.argv[2]);
const started = performance.now();
const instance = await WebAssembly.instantiate(await WebAssembly.compile(bytes), {});
const ready = performance.now();
let code;
try {
  code = instance.exports.main(0, 0);
} catch (error) {
  console.error(`wasm-probe: the module trapped (a panic in Rust ends so): ${error.stack}`);
  process.exit(1);
}
const kib = (length) => (length / 1024).toFixed(1);
console.error(
  `wasm-probe: ${code === 0 ? "every step passed" : `step ${code} failed (see xtask/wasm-probe/src/main.rs)`}; ` +
    `${kib(bytes.length)} KiB, ${kib(gzipSync(bytes).length)} KiB gzipped; ` +
    `instantiated in ${(ready - started).toFixed(1)} ms, ran in ${(performance.now() - ready).toFixed(1)} ms`,
);
process.exit(code === 0 ? 0 : 1);
