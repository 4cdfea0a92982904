// Runs the tests of a module in Node. `xtask-bindgen` fills in the names in capitals.
const wasm = require("./glue.js");

// What a test prints belongs to its outcome; the harness tells the rest through these two.
global.__wbgtest_og_console_log = console.log;
global.__wbgtest_og_console_error = console.error;
global.__wbg_test_invoke = (test) => test();
for (const method of ["debug", "log", "info", "warn", "error"]) {
  console[method] = (...values) => wasm[`__wbgtest_console_${method}`](values);
}

const context = new wasm.WasmBindgenTestContext(false);
context.include_ignored(false);
context.filtered_count(FILTERED);
context.run(TESTS.map((name) => wasm.__wasm[name])).then(
  (passed) => process.exit(passed ? 0 : 1),
  (error) => {
    global.__wbgtest_og_console_error(error);
    process.exit(1);
  },
);
