// Tests of commands, of a developer's own tools, and of the rules over them.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import { Agent, DisposedError, Engine, InputError, MemoryTree, init, recordedModel } from "headstart";
import { hostTree, text } from "./support.mjs";

await init();

const conversation = { messages: [] };
const calls = (...toolCalls) => ({ turns: [{ toolCalls }, { text: "Done." }] });
const shell = (command, args) => ({ name: "shell", args: { command, ...args } });
const setup = (recording, options) => {
  const tree = options?.tree ?? new MemoryTree({ "a.txt": "a\n", "src/b.txt": "b\n" });
  return new Engine({ model: recordedModel(recording, { speed: Infinity }), mode: "auto-edit", ...options, tree });
};
const results = ({ transcript }) =>
  transcript.messages.filter(({ role }) => role === "tool").flatMap(({ parts }) => parts).map(({ output, error }) => error ?? output);

process.on("unhandledRejection", (error) => {
  throw error;
});

test("a command that only reads runs ahead, with nothing in its environment that names a program", async () => {
  const requests = [];
  const engine = setup(calls(shell("grep -c a a.txt", { directory: "src" })), {
    runCommand: async (request, signal) => {
      assert.ok(signal instanceof AbortSignal);
      requests.push(request);
      return { output: "1\n" };
    },
  });
  assert.ok(engine.tools.some(({ name }) => name === "shell"));
  const finished = await engine.speculate(conversation, "count").finished;
  assert.deepEqual(finished.ending, { status: "completed" });
  assert.deepEqual(results(finished), ["1"]);
  const [{ environment, ...request }] = requests;
  assert.deepEqual(request, {
    command: "grep -c a a.txt",
    directory: "src",
    consented: false,
    secrets: "closed",
    deny: [],
    timeLimitMs: 120_000,
    outputLimit: 32 * 1024,
  });
  assert.ok(environment.PATH.startsWith("/usr/local/sbin") && environment.HOME === "/nonexistent");
});

test("a command that starts git runs once the machine was looked at", async () => {
  const run = async (look) => {
    const requests = [];
    const runCommand = async (given) => (requests.push(given), { output: "ok" });
    const engine = setup(calls(shell("git log --oneline")), { runCommand, look });
    const told = results(await engine.speculate(conversation, "x").finished);
    return [requests.length, ...told];
  };
  const seen = [];
  const machine = (files, version = [2, 47]) => async (probe) => {
    seen.push(probe);
    if (probe.kind === "gitVersion") return { version };
    if (probe.kind === "folder") return { folder: probe.path };
    return Object.hasOwn(files, probe.path) ? { file: files[probe.path] } : "absent";
  };
  assert.deepEqual(await run(machine({})), [1, "ok"]);
  assert.deepEqual(seen.slice(0, 3), [{ kind: "gitVersion" }, { kind: "folder", path: "." }, { kind: "file", path: ".git" }]);
  const bytes = new TextEncoder().encode("* text=auto\n");
  assert.deepEqual(await run(machine({ ".git/info/attributes": bytes })), [1, "ok"]);
  const refused = [
    [machine({ ".git/info/attributes": "* filter=x" }), /attributes may name programs/],
    [machine({ ".git/config": "[core]\nworktree = /" }), /core\.worktree/],
    [machine({}, [2, 33]), /only from 2\.34 on/],
    [machine({ ".git/config": '[remote "x"]\npromisor = true' }, [2, 44]), /git 2\.45 can/],
    [() => "unknown", /no git here/],
    [() => undefined, /no git here/],
    [undefined, /no git here/],
    [() => { throw new Error("no machine"); }, /no machine/],
    [() => ({ version: "2" }), /look/],
  ];
  for (const [look, why] of refused) {
    const [count, told] = await run(look);
    assert.equal(count, 0, `${why}: ${told}`);
    assert.match(told, why);
  }
});

test("any other command is a boundary, and runs in a turn with consent", async () => {
  const requests = [];
  const asked = [];
  const engine = setup(calls(shell("npm test")), {
    runCommand: async (request) => (requests.push(request), { output: "ok", exitCode: 3 }),
    consent: (call, verdict) => (asked.push([call.args.command, verdict.reason]), "run"),
  });
  const acceptance = await engine.speculate(conversation, "test").accept();
  assert.equal(acceptance.type, "accepted");
  assert.equal(acceptance.pendingCall.args.command, "npm test");
  assert.deepEqual(requests, []);
  const finished = await engine.turn(conversation, { transcript: acceptance.transcript }).finished;
  assert.deepEqual(asked, [["npm test", "executes"]]);
  assert.deepEqual(results(finished), ["ok\n[exit code 3]"]);
  assert.deepEqual([requests[0].consented, requests[0].environment], [true, {}]);
});

test("what a command came to is told as it is", async () => {
  const cases = [
    [{ output: "x" }, "x"],
    [{ output: "", exitCode: 0 }, "[no output]"],
    [{ output: "x", exitCode: null }, "x\n[ended by a signal]"],
    [{ output: "x", timedOut: true }, /ended after 120 s/],
    [{ output: "x", truncated: true }, /output was cut/],
    [{ output: "x".repeat(1e6) }, /output was cut/],
    [undefined, "output: is missing"],
    [{}, /output\.output: is missing/],
    [{ output: 7 }, /output\.output: must be a string, and is 7/],
    [{ output: "", exitCode: 1.5 }, /output.exitCode/],
  ];
  for (const [output, expected] of cases) {
    const [told] = results(await setup(calls(shell("ls")), { runCommand: async () => output }).speculate(conversation, "x").finished);
    typeof expected === "string" ? assert.equal(told, expected) : assert.match(told, expected);
  }
  for (const runCommand of [() => { throw new Error("no shell"); }, async () => { throw new Error("no shell"); }]) {
    assert.deepEqual(results(await setup(calls(shell("ls")), { runCommand }).speculate(conversation, "x").finished), ["no shell"]);
  }
});

test("what a command prints is seen while it runs, its end alone, and nothing of it afterwards", async () => {
  const tree = new MemoryTree({ "a.txt": "a\n" });
  let say;
  let come;
  const agent = new Agent({
    model: recordedModel(calls(shell("ls")), { speed: Infinity }),
    tree,
    mode: "auto-edit",
    background: "off",
    runCommand: (_, __, printed) => ((say = printed), new Promise((resolve) => (come = resolve))),
  });
  const called = () => agent.view.items.find(({ type }) => type === "call");
  const until = async (holds) => {
    for (const since = Date.now(); !holds(); await delay(5)) assert.ok(Date.now() - since < 5_000, JSON.stringify(called()));
  };
  agent.submit("go");
  await until(() => say !== undefined);
  say("one\n");
  await until(() => called()?.printed === "one\n");
  assert.equal(called().state, "calling");
  // If output is reported more often than it is shown, the last report counts. A character at the cut must be left out
  // as a whole.
  for (let count = 0; count < 1_000; count++) say(`${"ü".repeat(8_000)}x${count}`);
  await until(() => called()?.printed.endsWith("x999"));
  const { printed } = called();
  assert.ok(Buffer.byteLength(printed) <= 4_096 && 4_090 < Buffer.byteLength(printed) && !printed.includes("\ufffd"), printed.slice(0, 10));
  assert.throws(() => say(7), { name: "InputError" });
  come({ output: "all\n" });
  await agent.idle();
  say("late");
  await delay(150);
  assert.deepEqual([called().state, called().output, called().printed], ["done", "all", undefined]);
  await agent.close();
});

test("a command is given up with the work that runs it", async () => {
  let signal;
  const engine = setup(calls(shell("ls")), { runCommand: (_, given) => ((signal = given), new Promise(() => {})) });
  const speculation = engine.speculate(conversation, "x");
  for await (const event of speculation) if (event.type === "toolCall") break;
  await delay(0);
  assert.equal(signal.aborted, false);
  speculation.abort();
  assert.equal(signal.aborted, true);
  assert.equal((await speculation.finished).ending.status, "aborted");
});

test("a tool of the developer's own never runs ahead, and sees the view in a turn", async () => {
  const tree = new MemoryTree({ "a.txt": "a\n" });
  const seen = [];
  let kept;
  const format = {
    name: "format",
    description: "Formats a file.",
    parameters: { type: "object", properties: { path: { type: "string" } } },
    async run(args, view, signal) {
      assert.ok(this === undefined || this === format);
      assert.ok(signal instanceof AbortSignal);
      kept = view;
      seen.push(args, await view.readText("a.txt"));
      await view.write("a.txt", "formatted\n");
      assert.equal(text(await tree.read("a.txt")), "a\n", "the tree is written when the tool has ended");
      return { files: 1 };
    },
  };
  const engine = setup(calls({ name: "format", args: { path: "a.txt" } }), { tree, tools: [format], consent: () => "run" });
  assert.deepEqual(engine.tools.at(-1), { name: "format", description: "Formats a file.", parameters: format.parameters });
  const speculation = engine.speculate(conversation, "format it");
  const { ending } = await speculation.finished;
  assert.deepEqual([ending.status, ending.verdict.reason], ["boundary", "unknown_tool"]);
  assert.deepEqual(seen, []);
  const { transcript } = await speculation.accept();
  const finished = await engine.turn(conversation, { transcript }).finished;
  assert.deepEqual(finished.ending, { status: "completed" });
  assert.deepEqual(seen, [{ path: "a.txt" }, "a\n"]);
  assert.deepEqual(results(finished), ['{"files":1}']);
  assert.equal(text(await tree.read("a.txt")), "formatted\n");
  await assert.rejects(kept.write("a.txt", "late"), DisposedError);
});

test("what a tool gives is told as it is", async () => {
  const cases = [
    [() => "words", "words"],
    [() => undefined, ""],
    [async () => [1, "two"], '[1,"two"]'],
    [() => null, "null"],
    [() => { throw new Error("no such thing"); }, "no such thing"],
    [async () => { throw "plain"; }, "plain"],
    [() => 1n, /BigInt/],
    [async (_, view) => view.read("missing.txt"), "missing.txt does not exist"],
  ];
  for (const [run, expected] of cases) {
    const tools = [{ name: "own", description: "", parameters: {}, run }];
    const [told] = results(await setup(calls({ name: "own" }), { tools, consent: () => "run" }).turn(conversation, { prompt: "x" }).finished);
    typeof expected === "string" ? assert.equal(told, expected) : assert.match(told, expected);
  }
});

test("a tool cannot take the name of a built-in one", () => {
  const tool = (name) => ({ name, description: "", parameters: {}, run: () => "" });
  for (const name of ["read_file", "Read", "shell", "Bash", "", 7]) {
    assert.throws(() => setup(calls(), { tools: [tool("own"), tool(name)] }), (error) => error instanceof InputError && error.path === "tools[1].name", name);
  }
  assert.throws(() => setup(calls(), { tools: [tool("own"), tool("own")] }), { path: "tools[1].name" });
  assert.throws(() => setup(calls(), { tools: [{ ...tool("own"), run: 1 }] }), { path: "tools[0].run" });
  assert.throws(() => setup(calls(), { tools: [{ name: "own", run() {} }] }), { path: "tools[0].description" });
  assert.throws(() => setup(calls(), { tools: {} }), { path: "tools" });
  assert.throws(() => setup(calls(), { runCommand: "ls" }), { path: "runCommand" });
  assert.throws(() => setup(calls(), { look: "ls" }), { path: "look" });
});

test("deny rules and policies are those of the engine", async () => {
  const read = { name: "read_file", args: { file_path: "src/b.txt" } };
  const denied = await setup(calls(read), { deny: ["src"] }).speculate(conversation, "x").finished;
  assert.deepEqual([denied.ending.status, denied.ending.verdict.reason], ["boundary", "denied_path"]);
  const refused = await setup(calls(read), { deny: ["src"], consent: () => "run" }).turn(conversation, { prompt: "x" }).finished;
  assert.match(results(refused)[0], /deny rule "src"/);

  const policies = [{ program: "terraform", words: ["show"], decision: "allow" }];
  const ran = await setup(calls(shell("terraform show")), { policies, runCommand: async () => ({ output: "plan" }) }).speculate(conversation, "x").finished;
  assert.deepEqual(results(ran), ["plan"]);

  const inside = { name: "read_file", args: { file_path: "/home/ada/project/a.txt" } };
  const found = await setup(calls(inside), { workspace: "/home/ada/project" }).speculate(conversation, "x").finished;
  assert.equal(found.ending.status, "completed");
  assert.equal((await setup(calls(inside)).speculate(conversation, "x").finished).ending.status, "boundary");
});

test("a tree of callbacks works like the one in memory, and its errors are told", async () => {
  const tree = hostTree({ "a.txt": "one\ntwo\n" });
  const edit = { name: "edit", args: { file_path: "a.txt", old_string: "one", new_string: "ONE" } };
  const engine = setup(calls(edit), { tree });
  const speculation = engine.speculate(conversation, "x");
  assert.equal((await speculation.finished).ending.status, "completed");
  assert.deepEqual(tree.snapshot(), { "a.txt": "one\ntwo\n" });
  assert.equal((await speculation.accept()).type, "accepted");
  assert.deepEqual(tree.snapshot(), { "a.txt": "ONE\ntwo\n" });

  const broken = { ...hostTree({ "a.txt": "one\n" }), read: async () => { throw new Error("disk on fire"); } };
  assert.match(results(await setup(calls(edit), { tree: broken }).speculate(conversation, "x").finished)[0], /disk on fire/);

  const full = { ...hostTree({ "a.txt": "one\n" }), write: async () => { throw new Error("disk full"); } };
  await assert.rejects(setup(calls(edit), { tree: full }).speculate(conversation, "x").accept(), { name: "TreeError", code: "io", path: "a.txt" });
});

test("a write that always throws is told as damage only where something stayed changed", async () => {
  const edits = ["a.txt", "b.txt"].map((file_path) => ({ name: "edit", args: { file_path, old_string: "one", new_string: "ONE" } }));
  const files = { "a.txt": "one\n", "b.txt": "one\n" };
  const write = (refused, host) => async (path, ...rest) => {
    if (refused(path, host)) throw Object.assign(new Error("read-only disk"), { path });
    return host.write(path, ...rest);
  };
  const cases = [
    // The cases: the first write is refused; the second is; both are; the second is, and then the first cannot be taken
    // back.
    [(path) => path === "a.txt", "a.txt", false],
    [(path) => path === "b.txt", "b.txt", false],
    [() => true, "a.txt", false],
    [(path, host) => path === "b.txt" || host.calls.includes("write a.txt"), "a.txt", true],
  ];
  for (const [refused, path, isDamaged] of cases) {
    const host = hostTree(files);
    const tree = { ...host, write: write(refused, host) };
    const error = await setup(calls(...edits), { tree }).speculate(conversation, "x").accept().catch((error) => error);
    assert.deepEqual([error.name, error.code, error.path], ["TreeError", "io", path], error.message);
    assert.equal(error.message.includes("could not be taken back"), isDamaged, error.message);
    assert.deepEqual(host.snapshot(), isDamaged ? { ...files, "a.txt": "ONE\n" } : files);
  }
});
