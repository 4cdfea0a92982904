// Tests of what a prompt mentions, of the project's rules, and of the completion of mentions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, InputError, MemoryTree } from "headstart";
import { failsWith } from "./support.mjs";

const textOf = (message) => message.parts.map((part) => part.text ?? "").join("\n");

/**
 * A model that answers with text, and suggests from a list. `requests` holds the requests of turns and of work ahead.
 */
function talking(suggestions = []) {
  const requests = [];
  return {
    requests,
    async *stream(request) {
      if (request.responseSchema) yield { type: "text", text: JSON.stringify({ suggestion: suggestions.shift() ?? "" }) };
      else {
        requests.push(request);
        yield { type: "text", text: "I see." };
      }
      yield { type: "finished", reason: "stop" };
    },
  };
}

const FILES = {
  "src/lib.rs": "one\ntwo\nthree\n",
  "src/deep/a.txt": "a\n",
  "my notes.txt": "notes\n",
  ".env": "KEY=hidden\n",
  "closed/key.txt": "hidden\n",
  ".headstart/rules/style.md": "---\nglobs: '*.css'\n---\nNo inline styles.\n",
  "AGENTS.md": "Use tabs.\n",
};

function begin(options = {}) {
  const { suggestions, ...rest } = options;
  const model = talking(suggestions);
  const tree = new MemoryTree(FILES);
  const agent = new Agent({ model, tree, mode: "auto-edit", background: "off", deny: ["closed/"], ...rest });
  const say = async (prompt) => {
    const asked = model.requests.length;
    agent.submit(prompt);
    await agent.idle();
    return model.requests.slice(asked).map(({ messages }) => textOf(messages.findLast(({ role }) => role === "user"))).at(-1);
  };
  return { agent, model, tree, say };
}

test("files, lines, folders and rules that a prompt mentions go with it, behind its words", async () => {
  const { agent, say } = begin();
  const whole = await say('compare @src/lib.rs:2-3, @src/ and @"my notes.txt" by @rule:style (\\@not)');
  assert.ok(whole.startsWith("compare @src/lib.rs:2-3"), whole);
  assert.match(whole, /<mentioned file="src\/lib\.rs" lines="2-3">\ntwo\nthree\n<\/mentioned>/);
  assert.match(whole, /<mentioned folder="src">\ndeep\/\nlib\.rs\n<\/mentioned>/);
  assert.match(whole, /<mentioned file="my notes\.txt">\nnotes\n/);
  assert.match(whole, /<mentioned rule="\.headstart\/rules\/style\.md">\nNo inline styles\./);
  assert.doesNotMatch(whole, /Use tabs|hidden/);
  await agent.close();
});

test("a prompt whose mention cannot be told is not sent: it is the draft again, and the error says why", async () => {
  const { agent, model, say } = begin({ mentions: { open: () => { throw new Error("no editor is open"); }, problems: () => 7 } });
  const cases = {
    "read @src/gone.rs": /@src\/gone\.rs: there is no such file; a backslash/,
    "read @.env": /@\.env: is closed/,
    "read @closed/key.txt": /is closed/,
    "read @../x": /is no path in the project/,
    "see @src/lib.rs:9": /has 3 lines/,
    "see @open": /@open: no editor is open;/,
    "see @problems": /mentions\.problems gives: must be a string/,
    "see @terminal": /@terminal: is not known here/,
    "see @codebase": /@codebase: is not known here/,
    "by @rule:none": /the rules are: AGENTS, style|the rules are: style, AGENTS/,
  };
  for (const [prompt, why] of Object.entries(cases)) {
    await say(prompt);
    assert.equal(agent.view.draft.text, prompt);
    assert.match(agent.view.items.at(-1).ending.error, why, prompt);
  }
  assert.equal(model.requests.length, 0);
  await agent.close();
});

test("what only the program around it knows is told by its callbacks, or by a tool of that name", async () => {
  const asked = [];
  const codebase = { name: "codebase", description: "finds", parameters: { type: "object" }, reads: [], run: ({ query }) => `found for ${query}` };
  const mentions = { selection: async (...args) => (asked.push(args), "three lines") };
  const { agent, say } = begin({ mentions, tools: [codebase] });
  const told = await say("what is @selection about? @codebase");
  assert.match(told, /<mentioned from="selection">\nthree lines\n/);
  assert.match(told, /<mentioned from="codebase">\nfound for what is @selection about\?\n/);
  assert.deepEqual(asked, [["what is @selection about? @codebase", false]]);
  await agent.close();
});

test("what an editor shows of a closed file is not told", async () => {
  let open = [{ path: ".env", text: "KEY=hidden" }];
  const problems = [{ path: "src/lib.rs", text: "src/lib.rs:1 odd" }, { path: "closed/key.txt", text: "hidden" }, { path: "/etc/passwd", text: "root" }];
  const { agent, model, say } = begin({ mentions: { open: () => open, problems: () => problems } });
  for (const path of [".env", "/workspace/.env", "closed/key.txt", "../x", "/etc/passwd"]) {
    open = [{ path, text: "hidden" }];
    await say("read @open");
    assert.match(agent.view.items.at(-1).ending.error, /^@open: is closed/, path);
  }
  assert.equal(model.requests.length, 0);
  assert.match(await say("mend @problems"), /<mentioned from="problems">\nsrc\/lib\.rs:1 odd\n<\/mentioned>$/);
  open = [{ path: 7 }];
  await say("read @open");
  assert.match(agent.view.items.at(-1).ending.error, /mentions\.open\[0\]\.path/);
  await agent.close();
});

test("work ahead reads what its prompt mentions, and is a conflict once that changes", async () => {
  const { agent, model, tree, say } = begin({ suggestions: ["mend @src/lib.rs"], background: "always" });
  await say("talk");
  await say("talk more");
  for (let look = 0; look < 400 && !(agent.view.suggestion && agent.view.ahead?.state === "ready"); look += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(agent.view.suggestion.text, "mend @src/lib.rs");
  assert.match(textOf(model.requests.at(-1).messages.at(-1)), /<mentioned file="src\/lib\.rs">\none\ntwo/);
  await new Promise((resolve) => setTimeout(resolve, 450));
  await tree.write("src/lib.rs", "another\n");
  agent.filesChanged();
  agent.take("mend @src/lib.rs");
  for (let look = 0; look < 400 && agent.view.question === undefined; look += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(agent.view.question.conflicts.map(({ path, kind }) => [path, kind]), [["src/lib.rs", "staleRead"]]);
  await agent.close();
});

test("mentions take at most half of what is left of the window, and say what was cut", async () => {
  const { agent, say, tree } = begin({ window: 8_000 });
  await tree.write("long.txt", "word \n".repeat(20_000));
  const told = await say("sum up @long.txt");
  assert.match(told, /\[cut: these are the first \d+ of 11999\d bytes/);
  assert.ok(told.length < 8_000 * 3.5 / 2, `${told.length}`);
  await agent.close();
});

test("the project's rules go to the model where they are shown, once, and again when they change", async () => {
  const shown = [];
  const { agent, say, tree } = begin({ projectRules: (told) => shown.push(told) });
  assert.match(await say("talk"), /^talk\n+<project-rules file="AGENTS\.md">\nUse tabs\.\n<\/project-rules>$/);
  assert.deepEqual(shown, [{ rules: [{ path: "AGENTS.md", text: "Use tabs.\n" }], gone: [], problems: [] }]);
  assert.equal(await say("talk more"), "talk more");
  await tree.write("AGENTS.md", "Use blanks.\n");
  await tree.write("a.css", "");
  const told = await say("mend @a.css");
  assert.match(told, /AGENTS\.md" changed=.*\nUse blanks\./);
  assert.match(told, /No inline styles/);
  assert.deepEqual(shown[1].rules.map(({ path }) => path), [".headstart/rules/style.md", "AGENTS.md"]);
  await agent.close();
});

test("without that they are not read, and who shows them may fail", async () => {
  const without = begin();
  assert.equal(await without.say("talk"), "talk");
  await without.agent.close();
  const { error } = console;
  console.error = () => {};
  const failing = begin({ projectRules: () => { throw new Error("no screen"); } });
  assert.match(await failing.say("talk"), /Use tabs/);
  console.error = error;
  await failing.agent.close();
});

test("what may be mentioned is listed, without what is closed or ignored", async () => {
  const codebase = { name: "codebase", description: "finds", parameters: { type: "object" }, reads: [], run: () => "" };
  const { agent, tree } = begin({ mentions: { open: () => "" }, tools: [codebase] });
  await tree.write(".gitignore", "out/\n");
  await tree.write("out/x", "");
  const { at, choices: all } = await agent.complete("see @");
  assert.equal(at, 4);
  assert.deepEqual(all.map(({ mention }) => mention), [
    "@codebase", "@open", "@rule:style", "@rule:AGENTS",
    "@.headstart/", "@src/", "@.gitignore", "@AGENTS.md", '@"my notes.txt"',
    "@.headstart/rules/", "@src/deep/", "@src/lib.rs", "@.headstart/rules/style.md", "@src/deep/a.txt",
  ]);
  assert.equal(all[1].words, "the file that is open in the editor");
  assert.ok(!("words" in all.at(-1)));
  await agent.close();
});

test("a mention that is being written is known by its place, and what fits it best comes first", async () => {
  const { agent, tree } = begin();
  await tree.write("tests/lib.rs", "");
  await tree.write("src/parse/calibrate.rs", "");
  const best = async (before) => (await agent.complete(before))?.choices.map(({ mention }) => mention);
  assert.deepEqual((await agent.complete("日🙂 mend (@src/li")).at, 10);
  assert.deepEqual((await agent.complete('@"my no')).choices, [{ mention: '@"my notes.txt"' }]);
  assert.deepEqual(await best("@lib"), ["@src/lib.rs", "@tests/lib.rs", "@src/parse/calibrate.rs"]);
  assert.equal((await best("@slr"))[0], "@src/lib.rs");
  assert.deepEqual(await best("@MY no"), undefined, "a blank ends what has no quotes");
  for (const none of ["ada@example", "@a.rs and", "@zzz", "", "@src/deep/a.txt"]) assert.equal(await agent.complete(none), undefined, none);
  assert.deepEqual(await best("@src/deep/"), ["@src/deep/", "@src/deep/a.txt"]);
  await agent.complete("");
  await tree.write("zoo.txt", "");
  assert.deepEqual(await best("see @zo"), ["@zoo.txt"]);
  await tree.write("zoom.txt", "");
  assert.deepEqual(await best("see @zoom"), undefined, "it is not looked again while one is typed");
  await assert.rejects(agent.complete(7), failsWith(InputError, "invalid_input", /must be a string/, "before"));
  await agent.close();
});

test("what is no mention, and no function, is an error that says so", () => {
  const make = (options) => () => new Agent({ model: talking(), tree: new MemoryTree({}), ...options });
  assert.throws(make({ mentions: { opened: () => "" } }), failsWith(InputError, "invalid_input", /there is no such mention; there are diff, codebase/, "mentions.opened"));
  assert.throws(make({ mentions: { open: "x" } }), failsWith(InputError, "invalid_input", /must be a function/, "mentions.open"));
  assert.throws(make({ projectRules: true }), failsWith(InputError, "invalid_input", /must be a function/, "projectRules"));
});
