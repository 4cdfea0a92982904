// Tests of the search over a project's files: the same hits as the Rust crate, staged edits, the tools of an engine,
// and wrong arguments.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Engine, InputError as MainInputError, MemoryTree, Overlay } from "headstart";
import { CodeIndex, DisposedError, InputError, TreeError } from "headstart/code-index";
import { failsWith, hostTree } from "./support.mjs";

const hits = (name) => new URL(`../hits/${name}`, import.meta.url);
const places = (found) => found.map(({ path, lines, symbol }) => ({ path, lines, symbol }));
const paths = (found) => found.map(({ path }) => path);

function filesOf(name) {
  const root = fileURLToPath(hits(name));
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map(({ parentPath, path, name }) => join(parentPath ?? path, name));
  return Object.fromEntries(files.map((file) => [relative(root, file).replaceAll("\\", "/"), readFileSync(file)]));
}

/** A word that is a single term for the search, and differs for each number. */
const word = (number) => `q${String(number).replace(/./g, (digit) => "bcdfghjklm"[digit])}x`;

async function built(files, options) {
  const tree = new MemoryTree(files);
  const index = new CodeIndex(tree, options);
  await index.build();
  return { tree, index, overlay: new Overlay(tree) };
}

test("every query has the hits of the Rust crate, over the files and over what is staged", async () => {
  const expected = JSON.parse(readFileSync(hits("expected.json"), "utf8"));
  assert.ok(50 <= expected.length);
  const { index, overlay } = await built(filesOf("project"));
  for (const [path, content] of Object.entries(filesOf("staged"))) await overlay.write(path, content);
  await overlay.remove("mobile/theme.css");
  const staged = overlay.changeSet();
  for (const { query, ...wanted } of expected) {
    for (const [kind, options] of [["hits", {}], ["staged", { staged }]]) {
      const found = await index.search(query, options);
      assert.deepEqual(places(found), places(wanted[kind]), `${kind}: ${query}`);
      found.forEach(({ score }, at) => assert.ok(Math.abs(score - wanted[kind][at].score) < 1e-4, `${kind}: ${query}`));
    }
  }
});

test("a hit says where it is and why", async () => {
  const { index } = await built({ "src/auth.kt": "/** Checks a password. */\nfun checkLogin() {}\n", "src/cart.kt": "fun total() {}\n" });
  const [hit, ...more] = await index.search("where are passwords checked?");
  assert.deepEqual(more, []);
  assert.deepEqual({ ...hit, score: 0, why: hit.why.map(({ term, field }) => [term, field]) }, {
    path: "src/auth.kt",
    lines: [1, 2],
    score: 0,
    symbol: "checkLogin",
    why: [["check", "header"], ["password", "body"], ["check", "definitions"]],
  });
  const sum = hit.why.reduce((all, { part }) => all + part, 0);
  // The sum is a little less than the score, because words all over the file and the size of the file count, too.
  assert.ok(0.7 * hit.score < sum && sum < hit.score, `${sum} of ${hit.score}`);
});

test("the index follows the tree, and says how far it is", async () => {
  const files = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`src/file${at}.kt`, `fun ${word(at)}() {}\n`]));
  const tree = hostTree(files);
  const index = new CodeIndex(tree);
  assert.deepEqual(index.progress, { indexed: 0, files: 0, percent: 0, notes: [] });
  assert.deepEqual(await index.search(word(7)), []);
  const told = [];
  const progress = await index.build({ onProgress: (progress) => told.push(progress) });
  assert.deepEqual(progress, { indexed: 100, files: 100, percent: 100, notes: [] });
  assert.deepEqual(told.at(-1), progress);
  assert.deepEqual(paths(await index.search(word(7))), ["src/file7.kt"]);

  // A second build must not read files that did not change.
  tree.calls.length = 0;
  await index.build();
  assert.deepEqual(tree.calls, []);

  // The very next search must know of a change, even before the update was awaited.
  tree.put("src/file7.kt", "fun renamed() {}\n");
  const waiting = index.update("src/file7.kt");
  assert.deepEqual(paths(await index.search("renamed")), ["src/file7.kt"]);
  assert.deepEqual(await index.search(word(7)), []);
  await waiting;
  assert.deepEqual(paths(await index.search("renamed")), ["src/file7.kt"]);

  tree.delete("src/file7.kt");
  await index.update("src/file7.kt");
  assert.deepEqual(await index.search("renamed"), []);
  assert.equal(index.progress.files, 99);

  // A folder is reported as a whole, without its files, and they must be found all the same.
  tree.put("lib/new/one.kt", "fun brandNew() {}\n");
  await index.update("lib");
  assert.deepEqual(paths(await index.search("brandNew")), ["lib/new/one.kt"]);

  // A new rule must remove the files that it covers from the index.
  tree.put(".gitignore", "lib/\n");
  await index.update(".gitignore");
  assert.deepEqual(await index.search("brandNew"), []);
  tree.delete(".gitignore");
  await index.update(".gitignore");
  assert.equal((await index.search("brandNew")).length, 1);

  await index.remove("src");
  assert.deepEqual(await index.search(word(8)), []);
});

test("a content is searched without a look at the tree, with the definitions of whoever gave it", async () => {
  const { index } = await built({ "a.zig": "old\n", ".gitignore": "out/\n" });
  const definitions = [{ name: "greet", kind: "function", lines: [2, 3] }];
  await index.update("a.zig", "one\npub greet = {\n}\n", { definitions });
  const [hit] = await index.search("greet");
  assert.equal(hit.symbol, "greet");
  assert.match(await index.tools[1].run({}, new Overlay(new MemoryTree({ "a.zig": "" }))), /^a\.zig\n 2: function greet/);
  // An excluded file must stay out even if its content is given.
  await index.update("out/b.zig", "secretWord\n");
  await index.update("id_rsa", "secretWord\n");
  assert.deepEqual(await index.search("secretWord"), []);
  await index.update("a.zig");
  assert.deepEqual(await index.search("greet"), []);
});

test("what the rules close is never opened and never named", async () => {
  const tree = hostTree({ "src/a.kt": "fun word() {}", ".env": "word envelope", "private/b.kt": "fun word() {}", "key.pem": "word", "node_modules/x/i.js": "word" });
  const index = new CodeIndex(tree, { deny: ["private/"] });
  await index.build();
  assert.deepEqual(paths(await index.search("word")), ["src/a.kt"]);
  const overlay = new Overlay(tree);
  await overlay.write("private/c.kt", "fun word() {}");
  assert.deepEqual(paths(await index.search("word", { staged: overlay.changeSet() })), ["src/a.kt"]);
  assert.deepEqual(tree.calls, ["read src/a.kt"]);
  const open = new CodeIndex(tree, { denyDefaults: false });
  await open.build();
  assert.deepEqual(paths(await open.search("envelope")), [".env"]);
});

test("limits leave files out and say so", async () => {
  const files = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`f${at}.kt`, `fun name${at}() {}\n`]));
  const { index, tree } = await built(files, { maxFiles: 4 });
  assert.equal(index.progress.indexed, 4);
  assert.match(index.progress.notes.join(), /4 of 9 files are indexed/);
  await tree.write("a.kt", "fun late() {}\n");
  await index.update("a.kt");
  assert.deepEqual(await index.search("late"), []);
  assert.match(index.progress.notes.join(), /came later are not indexed/);
  const few = await built(files, { maxBytes: 40 });
  assert.equal(few.index.progress.indexed, 2);
  assert.match(few.index.progress.notes.join(), /too many bytes/);
});

test("a query may be anything", async () => {
  const { index } = await built(filesOf("project"));
  for (const query of ["", "   \n", "\u0000", "!!! ??? …", "\ud800", '"', "AND OR NOT (", "in in in", "*.", "in ../x"]) {
    assert.ok(Array.isArray(await index.search(query)), JSON.stringify(query));
  }
  assert.deepEqual(await index.search(""), []);
  assert.deepEqual(await index.search("!!!"), []);
  const long = `${"payment refund declined ".repeat(4500)}verifySignature`;
  assert.ok(100_000 < long.length);
  const before = performance.now();
  assert.equal((await index.search(long))[0].path, "app/payment/PaymentGateway.kt");
  assert.ok(performance.now() - before < 2000);
  assert.equal((await index.search("用户登录验证流程"))[0].path, "app/用户/登录.kt");
  assert.equal((await index.search("cart", { limit: 2 })).length, 2);
  assert.deepEqual(paths(await index.search("cart", { path: "mobile" })), ["mobile/CartView.swift"]);
  assert.deepEqual(await index.search("cart", { path: "nowhere" }), []);
});

test("a file may hold and be called anything", async () => {
  const names = ['a "b" c.kt', "-rf *.kt", "new\nline.kt", "emoji🙂.kt", "${HOME}`id`.kt", "<img src=x>.kt"];
  const files = Object.fromEntries(names.map((name, at) => [name, `fun strange${at}() {}\n`]));
  const binary = new Uint8Array(5000).map((_, at) => at % 7);
  const line = `fun endless() { ${"x ".repeat(5 << 20)} }`;
  const { index } = await built({ ...files, "binary.kt": binary, "line.kt": line, "latin1.kt": new Uint8Array([0x66, 0x75, 0x6e, 0x20, 0xe9, 0x0a]), "empty.kt": "" });
  for (const [at, name] of names.entries()) assert.deepEqual(paths(await index.search(`strange${at}`)), [name]);
  assert.deepEqual(await index.search("endless"), []);
  const [byPath] = await index.search("binary");
  assert.deepEqual([byPath.path, byPath.lines, byPath.symbol], ["binary.kt", [0, 0], null]);
});

test("a mistake is told by the field", async () => {
  const { index, tree } = await built({ "a.kt": "fun a() {}" });
  const input = (message, path) => failsWith(InputError, "invalid_input", message, path);
  await assert.rejects(index.search(), input(/is missing/, "query"));
  await assert.rejects(index.search("a", { limit: 0 }), input(/1 or more/, "options.limit"));
  await assert.rejects(index.search("a", { pth: "x" }), input(/did you mean path/, "options.pth"));
  await assert.rejects(index.search("a", { path: "../x" }), failsWith(TreeError, "escapes", /outside/));
  await assert.rejects(index.search("a", { staged: {} }), input(/is missing/, "options.staged.changes"));
  await assert.rejects(index.update("a.kt", "x", { definitions: [{ name: "x", kind: "verb", lines: [1, 1] }] }), input(/must be one of/, "definitions[0].kind"));
  await assert.rejects(index.update("a.kt", undefined, { definitions: [] }), input(/is missing/, "content"));
  await assert.rejects(index.update(7), input(/must be a string/, "path"));
  assert.throws(() => new CodeIndex(), input(/is missing/, "tree"));
  assert.throws(() => new CodeIndex({}), input(/a method is missing/, "tree.metadata"));
  assert.throws(() => new CodeIndex(tree, { deny: ["["] }), input(/never closed/, "deny[0]"));
  assert.throws(() => new CodeIndex(tree, { maxFile: 3 }), input(/did you mean maxFiles/, "maxFile"));
});

test("a tree that fails is told, and what can be read is found", async () => {
  const tree = hostTree({ "a.kt": "fun fine() {}\n", "b.kt": "fun broken() {}\n" });
  const { read, list } = tree;
  tree.read = (path) => (path === "b.kt" ? Promise.reject(new Error("no right")) : read(path));
  const index = new CodeIndex(tree);
  await index.build();
  assert.deepEqual(paths(await index.search("fine broken")), ["a.kt"]);
  tree.list = () => Promise.reject(new Error("offline"));
  await assert.rejects(index.build(), failsWith(TreeError, "io", /offline/));
  // After a failure the index still answers, and the next build tries again.
  assert.deepEqual(paths(await index.search("fine")), ["a.kt"]);
  tree.list = list;
  assert.equal((await index.build()).percent, 100);
});

test("a build can be stopped, and goes on later", async () => {
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}.kt`, `fun name${at}() {}\n`]));
  const index = new CodeIndex(new MemoryTree(files));
  const stop = new AbortController();
  const building = index.build({ signal: stop.signal, onProgress: () => stop.abort(new Error("enough")) });
  setTimeout(() => stop.abort(new Error("enough")), 5);
  await assert.rejects(building, /enough/);
  assert.equal((await index.build()).indexed, 300);
  await assert.rejects(index.build({ signal: AbortSignal.abort(new Error("early")) }), /early/);
});

test("what was disposed of says so", async () => {
  const { index } = await built({ "a.kt": "fun a() {}" });
  const [codebase] = index.tools;
  index.dispose();
  index.dispose();
  await assert.rejects(index.search("a"), failsWith(DisposedError, "disposed"));
  await assert.rejects(codebase.run({ query: "a" }, new Overlay(new MemoryTree())), failsWith(DisposedError, "disposed"));
});

/** Runs work ahead with a model that makes these calls, one after the other. */
async function ahead(index, tree, ...calls) {
  const model = { requests: [], async *stream(request) {
    this.requests.push(request);
    const call = calls[this.requests.length - 1];
    if (call) yield { type: "toolCall", id: `c${this.requests.length}`, name: call[0], args: call[1] };
    else yield { type: "text", text: "Done." };
    yield { type: "finished", reason: "stop" };
  } };
  const engine = new Engine({ model, tree, mode: "auto-edit", tools: index.tools });
  const speculation = engine.speculate({ messages: [] }, "Do it.");
  const { ending, changes } = await speculation.finished;
  const results = model.requests.at(-1).messages.flatMap(({ parts }) => parts).filter(({ type }) => type === "toolResult");
  return { ending, changes, results, tools: engine.tools };
}

test("an engine offers both tools, runs them ahead, and each finds what the work has staged", async () => {
  const { index, tree } = await built({ "src/auth.kt": "/** Checks a password. */\nfun checkLogin() {}\n", "src/cart.kt": "fun total() {}\n" });
  const run = await ahead(
    index,
    tree,
    ["codebase", { query: "password" }],
    ["write_file", { path: "src/retry.kt", content: "fun retryPayment() {}\n" }],
    ["codebase", { query: "retry of payments" }],
    ["repo_map", { path: "src" }],
    ["codebase", { query: "total", path: "/workspace/src/cart.kt" }],
    ["codebase", { query: "x", path: ".env" }],
  );
  assert.deepEqual(run.tools.map(({ name }) => name).slice(-2), ["codebase", "repo_map"]);
  const texts = run.results.map(({ output, error }) => JSON.stringify(output ?? error));
  assert.match(texts[0], /src\/auth\.kt:1-2 checkLogin/);
  assert.match(texts[2], /src\/retry\.kt:1-1 retryPayment/);
  assert.match(texts[3], /retryPayment/);
  assert.match(texts[4], /src\/cart\.kt:1-1 total/);
  // A path that a rule closes must be a boundary, as for any other tool.
  assert.equal(run.ending.status, "boundary");
  // The work must depend on the files of which something was shown, and on no others.
  const reads = run.changes.toJSON().reads.filter(({ content }) => content).map(({ path }) => path);
  assert.deepEqual(reads.toSorted(), ["src/auth.kt", "src/cart.kt"]);
});

test("a tool of one's own that says what it reads runs ahead too, and its paths are held against the rules", async () => {
  const tree = new MemoryTree({ "a.txt": "one" });
  const tool = (reads) => ({ name: "peek", description: "", parameters: { type: "object" }, reads, run: ({ file }, view) => view.readText(file) });
  const outcome = async (reads, file) => {
    const model = {
      asked: 0,
      async *stream() {
        if (this.asked++ === 0) yield { type: "toolCall", id: "c", name: "peek", args: { file } };
        else yield { type: "text", text: "Done." };
        yield { type: "finished", reason: "stop" };
      },
    };
    const engine = new Engine({ model, tree, mode: "auto-edit", tools: [tool(reads)] });
    return (await engine.speculate({ messages: [] }, "Do it.").finished).ending.status;
  };
  assert.equal(await outcome(["file"], "a.txt"), "completed");
  assert.equal(await outcome(["file"], ".env"), "boundary");
  assert.equal(await outcome(["file"], "../a.txt"), "boundary");
  assert.equal(await outcome(undefined, "a.txt"), "boundary");
  const options = { model: { stream() {} }, tree, tools: [tool("file")] };
  assert.throws(() => new Engine(options), failsWith(MainInputError, "invalid_input", /must be an array/, "tools[0].reads"));
});
