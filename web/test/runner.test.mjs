// Compares the page's own test runner with Node's on the same files, and the page's few programs with those of the
// machine.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { listen, start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

/** Replaces the whole content of a file of the project, as the visitor would do it. */
async function replace(visitor, path, text) {
  await visitor.openFile(path);
  await visitor.press("Control+a");
  await visitor.page.keyboard.insertText(text);
}

/** Has the page run `npm test`, and gives its output. */
async function npmTest(visitor) {
  const { page } = visitor;
  await page.locator("#prompt").focus();
  // The work ahead is dismissed, because work that had read a file before the edit would be a conflict.
  await visitor.press("Escape");
  await page.locator("#prompt").fill("run the tests");
  await visitor.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id === "question", undefined, { timeout: 15_000 });
  await visitor.answer("y");
  await page.waitForSelector(".composer button.primary", { timeout: 30_000 });
  const { messages } = await visitor.saved();
  return messages.flatMap(({ parts }) => parts).filter(({ type, name }) => type === "toolResult" && name === "shell").at(-1).output;
}

/**
 * Puts the files of the page into a folder of this machine. `run` gets a function that runs a program there and gives
 * its output and exit code.
 */
async function onDisk(files, run) {
  const folder = await mkdtemp(join(tmpdir(), "web-runner-"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const env = { ...inherited, LC_ALL: "C.UTF-8" };
  const execute = (program, words) =>
    new Promise((resolve) =>
      execFile(program, words, { cwd: folder, env }, (error, stdout, stderr) => resolve({ output: stdout + stderr, exitCode: error?.code ?? 0 })),
    );
  try {
    return await run(execute);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The output of Node's test runner for the same files. */
const inNode = (files) =>
  onDisk(files, async (execute) => (await execute(process.execPath, ["--test", "--test-reporter=spec"])).output);

const names = (output, mark) =>
  [...output.split("failing tests:")[0].matchAll(new RegExp(`^ *${mark} (.+?)(?: \\([\\d.]+ms\\))?(?: # .*)?$`, "gm"))].map((match) => match[1]).sort();

const MANY = `import { after, before, beforeEach, describe, it, test } from "node:test";
import assert from "node:assert/strict";
import { fold } from "../src/fold.js";
let order = [];
before(() => order.push("before"));
test("deep equality", () => assert.deepEqual({ a: [1, new Map([["k", { z: 1 }]])] }, { a: [1, new Map([["k", { z: 1 }]])] }));
test("deep inequality", () => assert.deepEqual({ a: 1 }, { a: 1, b: undefined }));
test("not a number", () => assert.equal(NaN, NaN));
test("minus zero", () => assert.equal(0, -0));
test("throws", () => assert.throws(() => { throw new TypeError("no way"); }, { name: "TypeError", message: /way/ }));
test("throws nothing", () => assert.throws(() => {}));
test("throws another", () => assert.throws(() => { throw new Error("x"); }, /y/));
test("rejects", async () => assert.rejects(async () => { throw new RangeError("r"); }, RangeError));
test("waits", async () => { await new Promise((resolve) => setTimeout(resolve, 5)); assert.ok(true); });
test("fails late", async () => { await null; assert.fail("late"); });
test("throws a text", () => { throw "a text"; });
test("matches", () => { assert.match(fold("É"), /e/); assert.doesNotMatch("a", /b/); assert.notEqual(1, 2); assert.notDeepEqual([1], [2]); });
test.skip("is skipped", () => assert.fail());
describe("outer", () => {
  let count = 0;
  beforeEach(() => { count += 1; });
  it("counts one", () => assert.equal(count, 1));
  describe("inner", () => { it("counts two", () => assert.equal(count, 2)); });
  after(() => {});
});
test("subtests", async (t) => {
  await t.test("a good one", () => {});
  await t.test("a bad one", () => assert.ok(false));
});
test("before came first", () => assert.deepEqual(order, ["before"]));
`;

test("the page's runner and Node's agree, test by test", async () => {
  const visitor = await site.open({});
  await replace(visitor, "test/unique.test.js", MANY);
  const here = await npmTest(visitor);
  const there = await inNode(await visitor.files());
  const suites = ["inner", "outer"];
  const passed = names(here, "✔").filter((name) => !suites.includes(name));
  assert.deepEqual(passed, names(there, "✔").filter((name) => !suites.includes(name)));
  assert.ok(12 < passed.length, passed.join(", "));
  assert.deepEqual(names(here, "✖"), names(there, "✖").filter((name) => !name.endsWith(".test.js")), here + there);
  assert.match(here, /\[exit code 1\]/);
  await visitor.done();
});

test("files that cannot be loaded, and other scripts, are told as what they are", async () => {
  const visitor = await site.open({ allow: [/Failed to load|SyntaxError|Uncaught/] });
  await replace(visitor, "test/unique.test.js", 'import { unique } from "../src/nowhere.js";\n');
  assert.match(await npmTest(visitor), /✖ test\/unique\.test\.js\n\s+Cannot find module 'src\/nowhere\.js' imported from test\/unique\.test\.js/);
  await replace(visitor, "test/unique.test.js", 'import fs from "node:fs";\n');
  assert.match(await npmTest(visitor), /imports 'node:fs': this page has node:test and node:assert/);
  await replace(visitor, "test/unique.test.js", "const a = ;\n");
  assert.match(await npmTest(visitor), /✖ test\/unique\.test\.js\n\s+SyntaxError/);
  await replace(visitor, "src/fold.js", 'import "./unique.js";\nexport const fold = (text) => text;\n');
  await replace(visitor, "src/unique.js", 'import "./fold.js";\nexport const unique = (slug) => slug;\n');
  assert.match(await npmTest(visitor), /import each other in a circle/);
  await replace(visitor, "package.json", '{"name":"a","scripts":{"test":"vitest run"}}');
  assert.match(await npmTest(visitor), /npm test would run "vitest run": this page has no such program/);
  await replace(visitor, "package.json", '{"name":"a"}');
  assert.match(await npmTest(visitor), /Missing script: "test"/);
  await replace(visitor, "package.json", "{");
  assert.match(await npmTest(visitor), /package\.json is not JSON/);
  await visitor.done();
});

test("a test that does not end is ended", async () => {
  const visitor = await site.open({});
  await replace(visitor, "test/unique.test.js", 'import { test } from "node:test";\ntest("for ever", () => { for (;;); });\n');
  const output = await npmTest(visitor);
  assert.match(output, /✖ test\/unique\.test\.js\n\s+did not end in time/);
  assert.match(output, /\[ended after .* the limit of time\]/);
  await visitor.done();
});

const COMMANDS = [
  "cat package.json",
  "cat -n src/index.js README.md",
  "cat nowhere.txt src/index.js",
  "ls",
  "ls src test",
  "ls nowhere",
  "grep -n export src/index.js",
  "grep -rn 'export function' src",
  "grep -c test test/slugify.test.js test/unique.test.js",
  "grep -il SLUGIFY README.md package.json",
  "grep -w nowhere README.md",
  "head -n 3 CHANGELOG.md",
  "tail -2 src/unique.js",
  "wc -l src/index.js",
  "pwd",
  "echo one 'two  three'",
];

/** A model that calls the shell once for each of the commands, and then says "done". */
async function commandModel(t) {
  const { server, origin } = await listen(async (request, response) => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
    let text = "";
    for await (const piece of request) text += piece;
    const { messages } = JSON.parse(text);
    const tool_calls = COMMANDS.map((command, index) => {
      return { index, id: `call_${index}`, type: "function", function: { name: "shell", arguments: JSON.stringify({ command }) } };
    });
    const isFirst = messages.at(-1).role === "user" && messages.every(({ role }) => role !== "assistant");
    const delta = isFirst ? { role: "assistant", tool_calls } : { role: "assistant", content: "done" };
    const piece = (delta, finish_reason) => `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    response.writeHead(200, { ...cors, "content-type": "text/event-stream" });
    response.end(`${piece(delta, null)}${piece({}, isFirst ? "tool_calls" : "stop")}data: [DONE]\n\n`);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return origin;
}

test("the page's programs print what those of a system print", async (t) => {
  const origin = await commandModel(t);
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.useOwn({ baseUrl: `${origin}/v1`, model: "commands", key: "" });
  await page.locator("#prompt").fill("look around");
  await page.locator("#prompt").focus();
  await visitor.press("Enter");
  await visitor.said("done");
  await page.waitForSelector(".composer button.primary");
  const { messages, files } = await visitor.saved();
  const results = messages.flatMap(({ parts }) => parts).filter(({ type }) => type === "toolResult").map(({ output, error }) => output ?? error);
  const expected = await onDisk(files, async (execute) => {
    const told = [];
    for (const command of COMMANDS) {
      const { output, exitCode } = await execute("bash", ["-c", command === "pwd" ? "echo /workspace" : command]);
      told.push([output.replace(/\n$/, ""), ...(exitCode ? [`[exit code ${exitCode}]`] : [])].filter(Boolean).join("\n"));
    }
    return told;
  });
  // The lines are sorted, because systems differ in whether an error about a missing file comes before or after other
  // output.
  const sorted = (text) => text.split("\n").sort().join("\n");
  COMMANDS.forEach((command, index) => {
    const wanted = expected[index] === "[exit code 1]" ? "[no output]\n[exit code 1]" : expected[index];
    assert.equal(sorted(results[index] ?? "nothing"), sorted(wanted), command);
  });
  await visitor.done();
});
