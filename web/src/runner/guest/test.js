// The module that tests of the project import as `node:test`, with suites, tests and hooks. They are collected while
// the file loads, and run afterwards.

const root = suite_("", undefined, {});
let open = root;

function suite_(name, parent, options) {
  return { name, parent, options, children: [], hooks: { before: [], after: [], beforeEach: [], afterEach: [] } };
}

function readArguments(first, second, third) {
  const all = [first, second, third];
  const run = all.find((value) => typeof value === "function");
  const name = typeof first === "string" ? first : (run?.name ?? "");
  const options = all.find((value) => typeof value === "object" && value !== null) ?? {};
  return { name: name || "<anonymous>", options, run };
}

function addTest(...given) {
  const { name, options, run } = readArguments(...given);
  open.children.push({ name, options, run, parent: open });
}

function addSuite(...given) {
  const { name, options, run } = readArguments(...given);
  const suite = suite_(name, open, options);
  open.children.push(suite);
  const before = open;
  open = suite;
  try {
    const later = run?.();
    if (typeof later?.then === "function") throw new TypeError("this runner wants a describe() that is not async");
  } finally {
    open = before;
  }
}

function variants(add) {
  const made = (...given) => add(...given);
  for (const mark of ["skip", "todo"]) {
    made[mark] = (...given) => {
      const { name, options, run } = readArguments(...given);
      add(name, { ...options, [mark]: true }, run ?? (() => {}));
    };
  }
  return made;
}

export const test = variants(addTest);
export const it = test;
export const describe = variants(addSuite);
export const suite = describe;
const hook = (name) => (run) => void open.hooks[name].push(run);
export const before = hook("before");
export const after = hook("after");
export const beforeEach = hook("beforeEach");
export const afterEach = hook("afterEach");
Object.assign(test, { test, it, describe, suite, before, after, beforeEach, afterEach });
export default test;

function lineage(node) {
  return node ? [...lineage(node.parent), node] : [];
}

/** Runs a test, and the subtests that it starts through its context. */
async function runTest(node, depth, report) {
  const { name, options, run } = node;
  const skipped = options.skip || !run;
  if (skipped || options.todo) return report({ name, depth, skipped: true });
  const started = performance.now();
  let failed = 0;
  let subtests = Promise.resolve();
  const context = {
    name,
    diagnostic: (text) => report({ line: String(text) }),
    test(...given) {
      const inner = { ...readArguments(...given), parent: node.parent };
      subtests = subtests.then(async () => {
        if (!(await runTest(inner, depth + 1, report))) failed += 1;
      });
      return subtests;
    },
  };
  let error;
  try {
    for (const above of lineage(node.parent)) for (const each of above.hooks.beforeEach) await each(context);
    await run(context);
    await subtests;
    if (failed) error = new Error(`${failed} subtest${failed === 1 ? "" : "s"} failed`);
  } catch (thrown) {
    error = thrown ?? new Error(String(thrown));
  }
  try {
    for (const above of lineage(node.parent).reverse()) for (const each of above.hooks.afterEach) await each(context);
  } catch (thrown) {
    error ??= thrown ?? new Error(String(thrown));
  }
  report({ name, depth, ms: performance.now() - started, error: error && told(error) });
  return !error;
}

async function runSuite(suite, depth, report) {
  if (suite.options.skip || suite.options.todo) return report({ name: suite.name, depth, skipped: true });
  if (suite.parent) report({ name: suite.name, depth, suite: true });
  const inner = suite.parent ? depth + 1 : depth;
  try {
    for (const run of suite.hooks.before) await run();
    for (const child of suite.children) await (child.children ? runSuite : runTest)(child, inner, report);
    for (const run of suite.hooks.after) await run();
  } catch (thrown) {
    report({ name: `a hook of ${suite.name || "the file"}`, depth: inner, ms: 0, error: told(thrown) });
  }
}

function told(error) {
  if (!(error instanceof Error)) return { name: "Error", message: `thrown: ${String(error)}`, stack: "" };
  return { name: error.name, message: error.message, stack: error.stack ?? "" };
}

/** Runs everything that was collected. */
export const runAll = (report) => runSuite(root, 0, report);
