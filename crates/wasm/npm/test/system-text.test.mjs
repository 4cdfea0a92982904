// Tests of what a model is told before the first prompt, and of what a user can do with a whole conversation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, InputError, MemoryTree, systemText } from "headstart";
import { failsWith } from "./support.mjs";

const end = { type: "finished", reason: "stop" };

function talking() {
  const requests = [];
  return {
    requests,
    async *stream(request) {
      requests.push(request);
      yield { type: "text", text: request.responseSchema ? JSON.stringify({ suggestion: "" }) : `Answer ${requests.length}.` };
      yield end;
    },
  };
}

const files = { "AGENTS.md": "Small commits.\n", "src/a.js": "", ".gitignore": "out/\n", "out/x": "", "secret/k": "", ".env": "" };
const gitStatus = "## main...origin/main\n M src/a.js\n?? secret/k\n";

test("a system text says what the agent is, where it works, and nothing that a rule closes", async () => {
  const options = { model: talking(), tree: new MemoryTree(files), deny: ["/secret"] };
  const surroundings = { folder: "shop", system: "linux", date: "2026-01-31", gitStatus };
  const text = await systemText(options, surroundings);
  assert.match(text, /^You are a coding agent\./);
  assert.match(text, /Folder: shop\nSystem: linux\nDate: 2026-01-31\nGit: branch main, follows origin\/main; changed: M src\/a\.js \(2 in all\)\nFiles .*\nsrc\/\n  a\.js\n\.gitignore\nAGENTS\.md\n$/);
  assert.ok(!text.includes("Small commits") && !text.includes("secret"));
  assert.equal(await systemText(options, surroundings), text, "the same bytes");
  // The text must describe habits only for tools that are offered.
  assert.ok(text.includes("multi_edit") && !text.includes("In shell"));
  assert.ok((await systemText({ ...options, runCommand: async () => ({ output: "" }) })).includes("In shell"));
  assert.ok(!(await systemText({ ...options, toolPolicies: { multi_edit: "exclude" } })).includes("multi_edit"));
});

test("the project's rules are in it where they are read, are told, and are not told again", async () => {
  const told = [];
  const model = talking();
  const options = { model, tree: new MemoryTree(files), background: "off", projectRules: (rules) => told.push(rules) };
  const system = await systemText(options);
  assert.match(system, /Small commits\./);
  assert.deepEqual(told.map(({ rules }) => rules.map(({ path }) => path)), [["AGENTS.md"]]);
  const agent = new Agent({ ...options, system });
  agent.submit("one");
  await agent.idle();
  agent.submit("two");
  await agent.idle();
  assert.equal(told.length, 1);
  assert.deepEqual(model.requests.map((request) => request.system), [system, system]);
  assert.ok(!JSON.stringify(model.requests[1].messages).includes("Small commits"));
  await agent.close();
});

test("wrong surroundings are named", async () => {
  const options = { model: talking(), tree: new MemoryTree({}) };
  await assert.rejects(systemText(options, { git: "main" }), failsWith(InputError, "invalid_input", /gitStatus/, "surroundings.git"));
  await assert.rejects(systemText(options, { date: 5 }), failsWith(InputError, "invalid_input", /a string/, "surroundings.date"));
  await assert.rejects(systemText({ ...options, systm: "" }), failsWith(InputError, "invalid_input", /system/, "systm"));
});

test("a conversation is summed up, named and forgotten", async () => {
  let lines = "";
  const model = talking();
  const agent = new Agent({ model, tree: new MemoryTree({}), background: "off", sessions: { append: (more) => void (lines += more) } });
  assert.equal(agent.compact(), "empty");
  for (let turn = 0; turn < 8; turn += 1) {
    agent.submit(`prompt ${turn} ${"word ".repeat(200)}`);
    await agent.idle();
  }
  agent.setTitle("about words");
  assert.equal(agent.compact(), undefined);
  assert.equal(agent.compact(), "busy");
  await agent.idle();
  const { code, text } = agent.view.items.findLast(({ type }) => type === "note");
  assert.equal(code, "compacted");
  assert.ok(text.length > 0);
  agent.submit("and now?");
  await agent.idle();
  assert.ok(!JSON.stringify(model.requests.at(-1).messages).includes("prompt 0 "), "the beginning is a summary");
  assert.match(lines, /about words/);
  assert.equal(agent.clear(), undefined);
  assert.deepEqual(agent.view.items, []);
  agent.submit("anew");
  await agent.idle();
  assert.deepEqual(model.requests.at(-1).messages.length, 1);
  await agent.close();
  const again = new Agent({ model, tree: new MemoryTree({}), background: "off", restore: lines });
  assert.deepEqual(again.view.items.filter(({ type }) => type === "prompt").map(({ text }) => text), ["anew"]);
  await again.close();
});
