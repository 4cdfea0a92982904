// Tests of what users set for single tools, of what they allow until the conversation ends, and of the tools that every
// engine has.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, Engine, InputError, MemoryTree, recordedModel } from "headstart";
import { failsWith } from "./support.mjs";

const call = (name, args = {}) => ({ type: "toolCall", name, args });
const end = { type: "finished", reason: "stop" };

/** A model that makes these calls, one for each request, and then says what it read of their results. */
function calling(...calls) {
  const requests = [];
  return {
    requests,
    async *stream(request) {
      requests.push(request);
      const next = request.responseSchema ? undefined : calls.shift();
      if (request.responseSchema) yield { type: "text", text: JSON.stringify({ suggestion: "" }) };
      else yield next ?? { type: "text", text: "Done." };
      yield end;
    },
  };
}

function begin(model, options = {}) {
  const tree = new MemoryTree({ "a.txt": "one\ntwo\nthree\n", "src/b.txt": "two\n" });
  const ran = [];
  const runCommand = async ({ command }) => (ran.push(command), { output: "ok\n" });
  const agent = new Agent({ model, tree, mode: "default", background: "off", runCommand, ...options });
  return { agent, tree, ran };
}

async function question(agent) {
  for (let look = 0; look < 400; look += 1) {
    if (agent.view.question) return agent.view.question;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail(`nothing is asked: ${JSON.stringify(agent.view.items)}`);
}

const calls = (agent) => agent.view.items.filter(({ type }) => type === "call");
const offered = (request) => request.tools.map(({ name }) => name);

test("a wrong entry of a policy is named", () => {
  const model = calling();
  for (const [options, path, message] of [
    [{ toolPolicies: { reed_file: "ask" } }, "toolPolicies.reed_file", /nearest is read_file/],
    [{ toolPolicies: { shell: "allow" } }, "toolPolicies.shell", /must be one of/],
    [{ toolPolicies: { rule: [{ tool: "shell", when: { command: "a | b" }, policy: "ask" }] } }, "toolPolicies.rule[0].when", /simple command/],
    [{ projectToolPolicies: { shell: "automatic" } }, "projectToolPolicies.shell", /only have more asked/],
    [{ toolPolicies: ["shell"] }, "toolPolicies", /must be an object/],
  ]) {
    assert.throws(() => begin(model, options), failsWith(InputError, "invalid_input", message, path));
  }
  const { agent } = begin(model, { tools: [{ name: "deploy", description: "Deploys.", parameters: {}, run: () => "" }], toolPolicies: { deploy: "exclude" } });
  assert.throws(() => agent.setRules({ toolPolicies: { deplyo: "ask" } }), failsWith(InputError, "invalid_input", /nearest is deploy/, "toolPolicies.deplyo"));
  agent.setRules({ toolPolicies: { deploy: "ask" } });
  return agent.close();
});

test("what a policy lets run asks nobody, what it asks about is asked in every mode, and what it excludes is not offered", async () => {
  const rule = [{ tool: "shell", when: { command: "npm test *" }, policy: "automatic" }];
  const model = calling(call("shell", { command: "npm test && npm test --all" }), call("shell", { command: "npm test; rm a.txt" }), call("read_file", { file_path: "a.txt" }));
  const { agent, ran } = begin(model, { toolPolicies: { rule, read_file: "ask", write_file: "exclude" }, projectToolPolicies: { grep: "exclude" } });
  agent.submit("go");
  const asked = await question(agent);
  assert.deepEqual([asked.call.args.command, ran], ["npm test; rm a.txt", ["npm test && npm test --all"]]);
  agent.answer(asked.id, "no");
  for (let next = asked; next.id === asked.id; ) next = await question(agent);
  const { call: read, verdict, always } = agent.view.question;
  assert.deepEqual([read.name, verdict.reason, always], ["read_file", "policy", undefined]);
  agent.answer(agent.view.question.id, "yes");
  await agent.idle();
  assert.match(calls(agent).at(-1).output, /one/);
  const names = offered(model.requests[0]);
  assert.ok(!names.includes("write_file") && !names.includes("grep") && names.includes("edit"));
  await agent.close();
});

test("an answer counts for calls like it until it is taken back, and for nothing else", async () => {
  const test = () => call("shell", { command: "cargo test --lib" });
  const { agent, ran } = begin(calling(test(), test(), test(), call("shell", { command: "rm a.txt" })), {});
  agent.submit("go");
  const first = await question(agent);
  assert.equal(first.always, "`cargo test --lib`");
  assert.equal(agent.answer(first.id, "always"), undefined);
  const second = await (async () => {
    for (;;) {
      const next = await question(agent);
      if (next.id !== first.id) return next;
    }
  })();
  assert.deepEqual([second.call.args.command, second.always, ran.length], ["rm a.txt", undefined, 3]);
  // "Always" must be no valid answer for a call that cannot be allowed for good.
  assert.equal(agent.answer(second.id, "always"), "stale");
  agent.answer(second.id, "no");
  await agent.idle();
  assert.deepEqual(agent.allowed, ["`cargo test --lib`"]);
  // Other rules must not remove the permission, because the user gave it.
  agent.setRules({ deny: ["secret"] });
  assert.deepEqual(agent.allowed, ["`cargo test --lib`"]);
  assert.equal(agent.askAgain("`cargo test --lib`"), true);
  assert.deepEqual([agent.askAgain("`cargo test --lib`"), agent.allowed], [false, []]);
  await agent.close();
});

test("edits of a folder may be allowed, and work ahead gains nothing by it", async () => {
  const model = calling(call("write_file", { file_path: "src/c.txt", content: "c" }), call("create_file", { file_path: "src/d.txt", content: "d" }));
  const { agent, tree } = begin(model);
  agent.submit("go");
  const asked = await question(agent);
  assert.equal(asked.always, "edits in src/");
  agent.answer(asked.id, "always");
  await agent.idle();
  assert.deepEqual(Object.keys(tree.snapshot()).filter((path) => path.startsWith("src/")), ["src/b.txt", "src/c.txt", "src/d.txt"]);
  await agent.close();

  const engine = new Engine({ model: recordedModel({ turns: [{ toolCalls: [{ name: "write_file", args: { file_path: "src/e.txt", content: "e" } }] }] }), tree, mode: "default", toolPolicies: { write_file: "automatic" } });
  const ahead = engine.speculate({ messages: [] }, "go");
  await ahead.finished;
  assert.equal(ahead.status, "boundary");
});

test("a file is changed in several places, made, read by lines, and a folder is listed whole", async () => {
  const edits = [{ old_string: "one", new_string: "1" }, { old_string: "three", new_string: "3" }];
  const model = calling(
    call("multi_edit", { file_path: "a.txt", edits }),
    call("create_file", { file_path: "a.txt", content: "" }),
    call("read_file", { file_path: "a.txt", start_line: 2, end_line: 2 }),
    call("ls", { recursive: true }),
    call("grep", { pattern: "two", path: "a.txt", context: 1 }),
  );
  const { agent, tree } = begin(model, { mode: "auto-edit" });
  agent.submit("go");
  await agent.idle();
  assert.equal(new TextDecoder().decode(tree.snapshot()["a.txt"]), "1\ntwo\n3\n");
  const [edited, made, read, listed, found] = calls(agent);
  assert.equal(edited.state, "done");
  assert.match(made.error, /a\.txt/);
  assert.match(read.output, /^two\n\[lines 2 to 2 of 3/);
  assert.match(listed.output, /b\.txt/);
  assert.ok(found.output.includes("3"), found.output);
  await agent.close();
});

test("a part is done in a conversation of its own", async () => {
  const model = calling(call("task", { title: "look at a", prompt: "What is in a.txt?" }), call("read_file", { file_path: "a.txt" }));
  const { agent } = begin(model);
  agent.submit("go");
  await agent.idle();
  const [task, ...others] = calls(agent);
  assert.deepEqual([task.call.name, task.state, others.length], ["task", "done", 0]);
  assert.match(task.output, /Done\./);
  await agent.close();
});

test("a model reads rules by their names where the project's rules are read, and writes one where its user names the tool", async () => {
  const model = () => calling(call("request_rule", { name: "style" }));
  const tree = () => new MemoryTree({ ".headstart/rules/style.md": "---\ndescription: how names are spelt\n---\nSmall letters.\n" });
  const withRules = { projectRules: () => {} };
  const names = async (options) => {
    const seen = model();
    const agent = new Agent({ model: seen, tree: tree(), background: "off", ...options });
    agent.submit("go");
    await agent.idle();
    await agent.close();
    return { names: offered(seen.requests[0]), agent };
  };
  const plain = await names({});
  assert.ok(!plain.names.includes("request_rule") && !plain.names.includes("create_rule"));
  const { agent, names: all } = await names(withRules);
  assert.ok(all.includes("request_rule") && !all.includes("create_rule"));
  assert.match(calls(agent)[0].output, /Small letters/);
  assert.ok((await names({ ...withRules, toolPolicies: { create_rule: "ask" } })).names.includes("create_rule"));
});

test("a tool of a developer's cannot take the name of one that is there", () => {
  for (const name of ["multi_edit", "task", "create_rule"]) {
    const tools = [{ name, description: "", parameters: {}, run: () => "" }];
    assert.throws(() => begin(calling(), { tools }), failsWith(InputError, "invalid_input", /built-in tool/, "tools[0].name"));
  }
});
