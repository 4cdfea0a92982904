// Tests of the rows in which a front end lists a call's result.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, MemoryTree, itemRows, recordedModel, toolItems } from "headstart";

const call = (name, args) => ({ id: "a", name, args });
const file = (value, lines) => ({ name: value.split("/").at(-1), description: value, content: "…", uri: { type: "file", value, ...(lines && { lines }) } });

test("a place can be opened, an address is only shown, and notes are not listed", () => {
  const items = [file("src/a.rs", [3, 9]), { name: "page", content: "…", uri: { type: "url", value: "https://example.org" } }, { name: "notes", content: "more", hidden: true }];
  assert.deepEqual(itemRows({ call: call("codebase", { query: "a" }), items }), [
    { name: "a.rs", description: "src/a.rs", place: { path: "src/a.rs", lines: [3, 9] } },
    { name: "page", description: "https://example.org" },
  ]);
  assert.deepEqual(itemRows({ call: call("ls", {}) }), []);
});

test("what the call names itself says so, by its whole path too, unless it is one of several", () => {
  const rows = (args, ...items) => itemRows({ call: call("read_file", args), items }).map(({ isNamed }) => isNamed);
  for (const file_path of ["src/a.rs", "./src/a.rs", "/workspace/src/a.rs"]) assert.deepEqual(rows({ file_path }, file("src/a.rs")), [true], file_path);
  assert.deepEqual(rows({ file_path: "other/ba.rs" }, file("a.rs")), [undefined]);
  assert.deepEqual(rows({ path: "src/a.rs" }, file("src/a.rs"), file("src/b.rs")), [undefined, undefined]);
  assert.deepEqual(rows({ command: "ls" }, { name: "command", description: "ls", content: "…", status: "exit code 1" }), [true]);
});

test("a name that hides or turns what it says is spelled out, and opens what it is", () => {
  const path = "src/\u202egpj.exe\n\u0007\u200b";
  const [row] = itemRows({ call: call("codebase", {}), items: [file(path), file("b")] });
  assert.equal(row.name, "\\u{202e}gpj.exe\\u{a}\\u{7}\\u{200b}");
  assert.equal(row.place.path, path);
  const [plain] = itemRows({ call: call("codebase", {}), items: [file("<b>Straße 日本 עברית 👍🏽"), file("b")] });
  assert.equal(plain.name, "<b>Straße 日本 עברית 👍🏽", "it is text, and what can be seen stays");
});

test("an agent's calls have them", async () => {
  const read = { name: "read_file", args: { file_path: "a.txt", offset: 2, limit: 1 } };
  const model = recordedModel({ turns: [{ toolCalls: [read] }, { text: "Two." }] });
  const agent = new Agent({ model, tree: new MemoryTree({ "a.txt": "one\ntwo\nthree\n" }), mode: "auto-edit", background: "off" });
  agent.submit("read");
  await agent.idle();
  const called = agent.view.items.find(({ type }) => type === "call");
  assert.deepEqual(itemRows(called), [{ name: "a.txt (2)", place: { path: "a.txt", lines: [2, 2] }, isNamed: true }]);
  await agent.close();
});

test("a tool of a developer's answers with items, of which the model reads what they say", async () => {
  const items = [
    { name: "one", content: "First.", uri: { type: "file", value: "docs/one.md", lines: [1, 2] } },
    { name: "away", content: "Second.", uri: { type: "file", value: "../../etc/passwd" } },
  ];
  const schema = { description: "Finds pages.", parameters: { type: "object" }, reads: [] };
  const tools = [
    { ...schema, name: "find_pages", run: () => toolItems(items) },
    { ...schema, name: "wrong", run: () => toolItems([{ name: "one" }]) },
    { ...schema, name: "plain", run: () => ({ items: [] }) },
  ];
  const requests = [];
  const recorded = recordedModel({ turns: [{ toolCalls: tools.map(({ name }) => ({ name, args: {} })) }, { text: "Two." }] });
  const model = { stream: (request, signal) => (requests.push(request), recorded.stream(request, signal)) };
  const agent = new Agent({ model, tree: new MemoryTree(), mode: "auto-edit", background: "off", tools });
  agent.submit("find");
  await agent.idle();
  const [found, wrong, plain] = agent.view.items.filter(({ type }) => type === "call");
  assert.equal(found.output, "First.\n\nSecond.");
  assert.deepEqual(itemRows(found).map(({ place, description }) => place ?? description), [{ path: "docs/one.md", lines: [1, 2] }, "../../etc/passwd"]);
  assert.match(wrong.error, /output\.items\[0\]\.content: is missing/);
  assert.deepEqual([plain.output, itemRows(plain)], ['{"items":[]}', []], "without toolItems it is what JSON says");
  assert.ok(JSON.stringify(requests[1].messages.at(-1)).includes("First.\\n\\nSecond."));
  await agent.close();
});
