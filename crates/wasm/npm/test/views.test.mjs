// Tests of commands of work ahead in views that the developer's program makes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine, InputError, MemoryTree, init, recordedModel } from "headstart";

await init();

const conversation = { messages: [] };
const shell = (command, args) => ({ name: "shell", args: { command, ...args } });
const edit = { name: "edit", args: { file_path: "a.txt", old_string: "one", new_string: "two" } };
const calls = (...given) => ({ turns: [...given.map((call) => ({ toolCalls: [call] })), { text: "Done." }] });

/** An engine whose views do what `act` does. `real` are the commands that ran on the real tree. */
function setup(recording, act, options = {}) {
  const tree = new MemoryTree({ "a.txt": "one\n", "src/b.txt": "b\n" });
  const [requests, ended, real] = [[], [], []];
  const views = {
    tier: "kernel",
    run: async (request, changes, signal) => (requests.push(request), await act(changes, request, signal)),
    end: (view) => void ended.push(view),
  };
  const runCommand = async ({ command }) => (real.push(command), { output: "" });
  const engine = new Engine({ model: recordedModel(recording, { speed: Infinity }), mode: "auto-edit", tree, runCommand, views, ...options });
  return { engine, tree, views, requests, ended, real };
}

const results = ({ transcript }) =>
  transcript.messages.filter(({ role }) => role === "tool").flatMap(({ parts }) => parts).map(({ output, error }) => error ?? output);

test("a command that writes runs in a view, what it changed is staged, and an accept writes it", async () => {
  const { engine, tree, requests, ended, real } = setup(calls(edit, shell("cargo fmt", { directory: "src" }), shell("make")), async (changes, { command }) => {
    await changes.write("a.txt", "two\n");
    await changes.write("made.txt", "made\n");
    if (command === "make") await changes.remove("src/b.txt");
    return { output: `${command} ran\n`, exitCode: 0, notes: ["a socket is not kept"], timeMs: 5 };
  });
  const before = tree.snapshot();
  const speculation = engine.speculate(conversation, "go", { id: "one" });
  const finished = await speculation.finished;
  assert.deepEqual(finished.ending, { status: "completed" });
  assert.deepEqual(results(finished).slice(1), [
    "cargo fmt ran\n[changed: made.txt]\n[a socket is not kept]",
    "make ran\n[changed: src/b.txt]\n[a socket is not kept]",
  ]);
  const [{ below, staged, ...request }, second] = requests;
  assert.deepEqual(request, { view: "one", command: "cargo fmt", directory: "src", deny: [], secrets: "closed", timeLimitMs: 120_000, outputLimit: 32 * 1024 });
  assert.deepEqual([below.isEmpty, staged.summary().map(({ path }) => path)], [true, ["a.txt"]]);
  assert.deepEqual(second.staged.summary().map(({ path, type }) => [path, type]), [["a.txt", "modify"], ["made.txt", "create"]]);
  assert.deepEqual([tree.snapshot(), real], [before, []]);
  const accepted = await speculation.accept();
  assert.equal(accepted.type, "accepted");
  assert.deepEqual(Object.keys(tree.snapshot()).filter((path) => path.endsWith(".txt")), ["a.txt", "made.txt"]);
  speculation.dispose();
  assert.ok(ended.includes("one"));
});

test("an accept names the files that changed since the last command in a view, as far as the host knows", async () => {
  const asked = [];
  const knows = async (ms) => (asked.push(ms), ["a.txt", "src/b.txt"]);
  for (const [changedSince, named] of [[knows, ["a.txt", "src/b.txt"]], [undefined, []], [async () => { throw new Error("no"); }, []], [async () => "a.txt", []]]) {
    const { engine, views } = setup(calls(shell("make")), async (changes) => (await changes.write("made.txt", "x"), { output: "", beganMs: 1_700_000_000_123 }));
    Object.assign(views, { changedSince });
    const accepted = await engine.speculate(conversation, "go").accept();
    assert.deepEqual([accepted.type, accepted.changedSinceView], ["accepted", named]);
  }
  assert.deepEqual(asked, [1_700_000_000_123]);
});

test("what is staged and not in the view any more is not staged any more", async () => {
  const { engine } = setup(calls(edit, shell("git checkout a.txt")), async () => ({ output: "" }));
  const finished = await engine.speculate(conversation, "go").finished;
  assert.deepEqual([finished.ending.status, finished.changes.isEmpty], ["completed", true]);
});

test("a command that reads what is staged sees it in a view, and one that only reads needs none", async () => {
  const seen = setup(calls(edit, shell("cat a.txt")), async (changes) => (await changes.write("a.txt", "two\n"), { output: "two\n" }));
  assert.deepEqual(results(await seen.engine.speculate(conversation, "go").finished).at(-1), "two");
  const unstaged = setup(calls(shell("cat a.txt")), async () => assert.fail("no view is needed"));
  await unstaged.engine.speculate(conversation, "go").finished;
  assert.deepEqual(unstaged.real, ["cat a.txt"]);
});

test("without a view at this moment, and where the command needs more than one, the work stops before it and nothing is staged", async () => {
  const ending = async (command, act, change = () => {}, options = {}) => {
    const { engine, views, tree, real } = setup(calls(shell(command)), act, options);
    change(views);
    const before = tree.snapshot();
    const { ending, changes } = await engine.speculate(conversation, "go").finished;
    assert.deepEqual([changes.isEmpty, tree.snapshot(), real], [true, before, []]);
    return [ending.status, ending.verdict?.reason, ending.verdict?.detail];
  };
  const write = (rest) => async (changes) => (await changes.write("made.txt", "x"), { output: "", ...rest });
  const never = async () => assert.fail("it runs");
  const none = (tier) => (views) => Object.defineProperty(views, "tier", { get: tier });
  const rows = [
    [ending("make", never, none(() => undefined)), "executes", /./],
    [ending("make", never, none(() => "magic")), "executes", /./],
    [ending("make", never, none(() => { throw new Error("no"); })), "executes", /./],
    [ending("make", async () => { throw new Error("the process has ended"); }), "executes", /there is no view to run it in: the process has ended/],
    [ending("make", async (changes) => { await changes.write("made.txt", "x"); throw new Error("half"); }), "executes", /half/],
    [ending("make", async () => ({ output: 1 })), "executes", /output/],
    [ending("make", async () => undefined), "executes", /./],
    [ending("make", write({ outside: ["~/x"] })), "writes_outside", /~\/x/],
    [ending("make", write({ refused: { network: 1 }, exitCode: 1 })), "needs_host", /network/],
    [ending("make", write({ gitRefused: "1 commit on main" })), "protected_path", /1 commit on main/],
    [ending("make", write({ changedMeanwhile: ["a.txt"] })), "changed_meanwhile", /a\.txt/],
    [ending("make", async (changes) => (await changes.write(".env", "KEY=1"), { output: "" })), "secret_path", /\.env/],
    [ending("make", async (changes) => (await changes.write("lib/x", "1"), { output: "" }), undefined, { deny: ["lib"] }), "denied_path", /lib/],
    [ending("sudo make", never), "needs_host", /./],
    [ending("curl example.com", never), "network", /./],
    [ending("make", never, undefined, { mode: "plan" }), undefined, /./],
  ];
  for (const [ended, reason, words] of rows) {
    const [status, told, detail] = await ended;
    assert.equal(status, "boundary", detail);
    if (reason !== undefined) assert.equal(told, reason, detail);
    assert.match(detail, words);
  }
});

test("a command whose time was up, and one that reached a limit, leave nothing, and the model is told", async () => {
  for (const [rest, words] of [[{ timedOut: true, exitCode: null }, /ended after 120 s/], [{ refused: { quota: "512 MiB" }, exitCode: 1 }, /dropped, for it reached a limit: 512 MiB/]]) {
    const { engine } = setup(calls(shell("make")), async (changes) => (await changes.write("made.txt", "x"), { output: "", ...rest }));
    const finished = await engine.speculate(conversation, "go").finished;
    assert.deepEqual([finished.ending.status, finished.changes.isEmpty], ["completed", true]);
    assert.match(results(finished)[0], words);
  }
});

test("an abort is told to the command, and its view ends", async () => {
  let begun;
  const begins = new Promise((resolve) => (begun = resolve));
  const { engine, ended } = setup(calls(shell("make")), async (_changes, _request, signal) => {
    begun(signal);
    return await new Promise(() => {});
  });
  const speculation = engine.speculate(conversation, "go", { id: "one" });
  const signal = await begins;
  speculation.abort();
  await speculation.finished;
  assert.deepEqual([signal.aborted, ended.includes("one")], [true, true]);
});

test("in a turn a command runs in no view", async () => {
  const { engine, real } = setup(calls(shell("make")), async () => assert.fail("in a view"), { consent: async () => "run" });
  await engine.turn(conversation, { prompt: "go" }).finished;
  assert.deepEqual(real, ["make"]);
});

test("views without a method are named", () => {
  for (const [views, path] of [[{ tier: "kernel", end() {} }, "views.run"], [{ tier: "kernel", run() {} }, "views.end"], ["kernel", "views.run"]]) {
    assert.throws(() => setup(calls(), undefined, { views }), (error) => error instanceof InputError && error.path === path, path);
  }
});
