import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import { AcceptError, DisposedError, Engine, InputError, MemoryTree, StartError, init, recordedModel, speculate } from "headstart";
import { hostTree, text } from "./support.mjs";

await init();

const write = (file_path, content) => ({ name: "write_file", args: { file_path, content } });
/** A call that asks first in every mode, because git would run the file. */
const hook = write(".git/hooks/pre-commit", "x");
const call = (name, args = {}) => ({ name, args });
const user = (words) => ({ role: "user", parts: [{ type: "text", text: words }] });
const said = (words) => ({ role: "model", parts: [{ type: "text", text: words }] });
const conversation = { system: "Be brief.", messages: [user("hello"), said("hi"), user("and now?"), said("we go on")] };
const greeting = [{ toolCalls: [write("hello.txt", "hello\n")] }, { text: "There is a greeting now." }];

/** An engine over a tree in memory, with a model that plays a recording without delays. */
function setup(recording, { files = {}, ...options } = {}) {
  const tree = new MemoryTree(files);
  const model = recordedModel(recording, { speed: Infinity });
  const engine = new Engine({ model, tree, mode: "auto-edit", ...options });
  return { tree, engine, files: () => Object.fromEntries(Object.entries(tree.snapshot()).map(([path, bytes]) => [path, text(bytes)])) };
}

async function all(events) {
  const seen = [];
  for await (const event of events) seen.push(event);
  return seen;
}

test("speculate, watch, accept: nothing changes before, everything after", async () => {
  const { engine, files } = setup({ turns: greeting, suggestions: ["commit this"] }, { files: { "README.md": "# sample\n" } });
  const speculation = engine.speculate(conversation, "greet me");
  assert.equal(speculation.status, "running");
  assert.equal(speculation.id, "s1");
  assert.equal(speculation.prompt, "greet me");

  const events = await all(speculation);
  assert.deepEqual(events.map((event) => event.type), ["toolCall", "toolResult", "text", "text"]);
  assert.equal(events[0].call.name, "write_file");
  assert.equal(events[1].result.id, events[0].call.id);

  const finished = await speculation.finished;
  assert.equal(finished.ending.status, "completed");
  assert.equal(finished.changes.diff().includes("+hello"), true);
  assert.deepEqual(finished.changes.summary().map(({ path, type }) => [path, type]), [["hello.txt", "create"]]);
  assert.deepEqual(files(), { "README.md": "# sample\n" });
  assert.equal(speculation.status, "completed");
  assert.equal(speculation.cost.turns, 2);
  assert.equal(speculation.cost.stagedFiles, 1);

  assert.equal(await speculation.next(), "commit this");
  const acceptance = await speculation.accept();
  assert.equal(acceptance.type, "accepted");
  assert.equal(acceptance.next, "commit this");
  assert.deepEqual(acceptance.changes.map(({ path }) => path), ["hello.txt"]);
  assert.equal(acceptance.transcript.messages.length, 4);
  assert.deepEqual(files(), { "README.md": "# sample\n", "hello.txt": "hello\n" });
  await assert.rejects(speculation.accept(), (error) => error instanceof AcceptError && error.code === "taken");
});

test("work that still runs is waited for by its accept", async () => {
  const { engine, files } = setup({ turns: greeting });
  const acceptance = await engine.speculate(conversation, "greet me").accept();
  assert.equal(acceptance.type, "accepted");
  assert.deepEqual(files(), { "hello.txt": "hello\n" });
});

test("the events of a run are for one loop after the other, and leaving a loop does not end the run", async () => {
  const { engine } = setup({ turns: [{ text: "one two three four five six seven" }] });
  const speculation = engine.speculate(conversation, "count");
  const seen = [];
  for await (const event of speculation) {
    seen.push(event.text);
    break;
  }
  for await (const event of speculation) seen.push(event.text);
  assert.equal(seen.join(""), "one two three four five six seven");
  assert.equal((await speculation.finished).ending.status, "completed");

  const eager = engine.speculate(conversation, "again")[Symbol.asyncIterator]();
  const ends = await Promise.all([eager.next(), eager.next()]);
  assert.deepEqual(ends.map(({ done }) => done), [true, true], "a recording that is played out gives no events");
});

test("an abort before, in and after the work", async () => {
  const recording = { turns: greeting.map((turn) => ({ ...turn, delayMs: 40 })) };
  for (const wait of [0, 20, 60]) {
    const tree = new MemoryTree();
    const engine = new Engine({ model: recordedModel(recording), tree, mode: "auto-edit" });
    const speculation = engine.speculate(conversation, "greet me");
    const events = all(speculation);
    if (wait) await delay(wait);
    speculation.abort();
    assert.equal(speculation.status, "aborted");
    assert.equal((await speculation.finished).ending.status, "aborted");
    assert.equal((await speculation.finished).changes.isEmpty, true);
    await events;
    assert.deepEqual(await speculation.accept(), { type: "nothing" });
    assert.equal(await speculation.next(), undefined);
    assert.deepEqual(tree.snapshot(), {});
    speculation.abort();
  }
  const { engine, files } = setup({ turns: greeting });
  const done = engine.speculate(conversation, "greet me");
  await done.finished;
  done.abort();
  assert.deepEqual(await done.accept(), { type: "nothing" });
  assert.deepEqual(files(), {});
});

test("an abort while it is accepted gives nothing, after it takes nothing back", async () => {
  const tree = new MemoryTree();
  const engine = new Engine({ model: recordedModel({ turns: [{ ...greeting[0], delayMs: 20 }, greeting[1]] }), tree, mode: "auto-edit" });
  const speculation = engine.speculate(conversation, "greet me");
  const accepting = speculation.accept();
  await assert.rejects(speculation.accept(), { code: "taken" });
  speculation.abort();
  assert.deepEqual(await accepting, { type: "nothing" });
  assert.deepEqual(tree.snapshot(), {});

  const other = setup({ turns: greeting });
  const accepted = other.engine.speculate(conversation, "greet me");
  assert.equal((await accepted.accept()).type, "accepted");
  accepted.abort();
  assert.deepEqual(other.files(), { "hello.txt": "hello\n" });
  assert.equal(accepted.status, "completed", "what was accepted stays accepted");
  assert.equal((await accepted.finished).ending.status, "completed");
  assert.equal(accepted.changes().isEmpty, false);
});

test("an abort in the middle of a commit does not undo it; after a conflict it counts", async () => {
  for (const conflicts of [false, true]) {
    const host = hostTree({ "a.txt": "a\n" });
    let speculation;
    const tree = {
      ...host,
      async write(path, ...rest) {
        await host.write(path, ...rest);
        if (path === "b.txt") {
          speculation.abort();
          assert.equal(speculation.status, "completed");
          if (conflicts) host.put("c.txt", "the user's\n");
        }
      },
    };
    const turns = [{ toolCalls: [write("b.txt", "b"), write("c.txt", "c")] }, { text: "Done." }];
    speculation = new Engine({ model: recordedModel({ turns }, { speed: Infinity }), tree, mode: "auto-edit" }).speculate(conversation, "go");
    const { type } = await speculation.accept();
    assert.equal(type, conflicts ? "conflict" : "accepted");
    assert.equal(speculation.status, conflicts ? "aborted" : "completed");
    assert.equal(speculation.changes().isEmpty, conflicts);
    assert.deepEqual(Object.keys(host.snapshot()), conflicts ? ["a.txt", "c.txt"] : ["a.txt", "b.txt", "c.txt"]);
    if (conflicts) assert.deepEqual(await speculation.accept(), { type: "nothing" });
    else await assert.rejects(speculation.accept(), { code: "taken" });
  }
});

test("a signal aborts, whenever it fires, and is let go of at the end", async () => {
  const { engine } = setup({ turns: [...greeting, ...greeting] });
  const speculation = engine.speculate(conversation, "greet me", { signal: AbortSignal.abort(), id: "mine" });
  assert.equal(speculation.id, "mine");
  assert.equal(speculation.status, "aborted");
  assert.equal((await speculation.finished).ending.status, "aborted");

  const controller = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = controller.signal;
  controller.signal.addEventListener = (...args) => (listeners++, addEventListener.apply(controller.signal, args));
  controller.signal.removeEventListener = (...args) => (listeners--, removeEventListener.apply(controller.signal, args));
  const running = engine.speculate(conversation, "greet me", { signal: controller.signal });
  assert.equal(listeners, 1);
  await running.finished;
  await delay(0);
  assert.equal(listeners, 0);
  controller.abort();
  assert.equal(running.status, "completed");
});

test("an edit of the user that the work rests on is a conflict and is kept; another one is merged", async () => {
  const edit = call("edit", { file_path: "a.txt", old_string: "one", new_string: "ONE" });
  const turns = [{ toolCalls: [edit] }, { text: "Done." }];
  const lines = "one\ntwo\nthree\nfour\nfive\n";
  const other = setup({ turns }, { files: { "a.txt": lines } });
  const merged = other.engine.speculate(conversation, "shout");
  await merged.finished;
  await other.tree.write("a.txt", lines.replace("five", "FIVE"));
  const acceptance = await merged.accept();
  assert.deepEqual([acceptance.type, acceptance.merged], ["accepted", ["a.txt"]]);
  assert.deepEqual(other.files(), { "a.txt": "ONE\ntwo\nthree\nfour\nFIVE\n" });

  const { engine, tree, files } = setup({ turns }, { files: { "a.txt": lines } });
  const speculation = engine.speculate(conversation, "shout");
  await speculation.finished;
  await tree.write("a.txt", lines.replace("one", "uno"));
  const conflict = await speculation.accept();
  assert.equal(conflict.type, "conflict");
  assert.deepEqual(conflict.conflicts.map(({ path, kind }) => [path, kind]), [["a.txt", "modified"]]);
  assert.deepEqual(files(), { "a.txt": lines.replace("one", "uno") });
  await tree.write("a.txt", lines);
  assert.equal((await speculation.accept()).type, "accepted", "after a conflict it may be tried again");

  const never = setup({ turns }, { files: { "a.txt": lines }, commit: { merge: "never" } });
  const refused = never.engine.speculate(conversation, "shout");
  await refused.finished;
  await never.tree.write("a.txt", lines.replace("five", "FIVE"));
  assert.equal((await refused.accept()).type, "conflict");
});

test("a boundary: what was done is taken, and a turn goes on with the user's consent", async () => {
  const turns = [{ text: "I write.", toolCalls: [write("a.txt", "a"), hook, write("b.txt", "b")] }, { text: "Done." }];
  const asked = [];
  const { engine, files } = setup({ turns }, {
    consent: (call, verdict) => {
      asked.push([call.name, verdict.decision]);
      return "decline";
    },
  });
  const speculation = engine.speculate(conversation, "do all");
  const finished = await speculation.finished;
  assert.equal(finished.ending.status, "boundary");
  assert.equal(finished.ending.verdict.reason, "protected_path");
  assert.equal(finished.pendingCall.name, "write_file");
  assert.equal(await speculation.next(), undefined);

  const acceptance = await speculation.accept();
  assert.equal(acceptance.type, "accepted");
  assert.equal(acceptance.pendingCall.name, "write_file");
  assert.deepEqual(files(), { "a.txt": "a" });
  assert.deepEqual(asked, [], "a speculation asks nobody");

  const turn = engine.turn(conversation, { transcript: acceptance.transcript });
  const events = await all(turn);
  const { ending, transcript, cost } = await turn.finished;
  assert.deepEqual(ending, { status: "completed" });
  assert.deepEqual(asked, [["write_file", "boundary"]]);
  assert.deepEqual(files(), { "a.txt": "a", "b.txt": "b" });
  assert.equal(events[1].result.error, "the user declined this call");
  assert.equal(transcript.messages.at(-1).parts[0].text, "Done.");
  assert.equal(cost.turns, 1, "the model was not asked again for the calls that waited");
});

test("at a boundary a host may want nothing", async () => {
  const { engine, files } = setup({ turns: [{ toolCalls: [write("a.txt", "a"), hook] }] }, { atBoundary: "discard" });
  assert.deepEqual(await engine.speculate(conversation, "go").accept(), { type: "discarded" });
  assert.deepEqual(files(), {});
});

test("where writes ahead ask, nothing is written before the user agreed to just these", async () => {
  const turns = [{ toolCalls: [write("a.txt", "a"), hook] }];
  const setupIn = (mode, aheadWrites) => setup({ turns }, { mode, ...(aheadWrites && { aheadWrites }) });
  const boundary = setupIn("default").engine.speculate(conversation, "go");
  assert.deepEqual((await boundary.finished).changes.summary(), [], "the default is a boundary");
  assert.deepEqual((await setupIn("plan", "ask").engine.speculate(conversation, "go").finished).changes.summary(), []);

  let mode = "default";
  const { engine, files } = setupIn(() => mode, "ask");
  const speculation = engine.speculate(conversation, "go");
  const asked = await speculation.accept();
  assert.equal(asked.type, "asksFirst");
  assert.deepEqual(asked.changes.map(({ path, type }) => [path, type]), [["a.txt", "create"]]);
  assert.equal(asked.pendingCall.name, "write_file");
  assert.equal((await speculation.accept()).type, "asksFirst", "whoever does not answer is asked again");
  assert.deepEqual(files(), {});
  mode = "plan";
  assert.equal((await asked.agree()).type, "withdrawn");
  assert.equal((await asked.agree()).type, "withdrawn");
  mode = "default";
  assert.equal((await asked.agree()).type, "asksFirst", "a yes counts once");
  assert.deepEqual(files(), {});
  const accepted = await (await speculation.accept()).agree();
  assert.equal(accepted.type, "accepted");
  assert.deepEqual(files(), { "a.txt": "a" });
});

test("consent: run, decline, stop, late, thrown, and none at all", async () => {
  const turns = [{ toolCalls: [write("a.txt", "a")] }, { text: "Done." }];
  const cases = [
    [() => "run", "completed", { "a.txt": "a" }],
    [async () => (await delay(5), "run"), "completed", { "a.txt": "a" }],
    [() => "decline", "completed", {}],
    [undefined, "completed", {}],
    [() => "stop", "boundary", {}],
    [() => { throw new Error("no window"); }, "failed", {}],
    [async () => { throw new Error("no window"); }, "failed", {}],
    [() => "perhaps", "failed", {}],
  ];
  for (const [consent, status, expected] of cases) {
    const { engine, files } = setup({ turns }, { mode: "default", consent });
    const { ending } = await engine.turn(conversation, { prompt: "write it" }).finished;
    assert.equal(ending.status, status, `${consent}`);
    if (`${consent}`.includes("window")) assert.match(ending.error, /no window/);
    assert.deepEqual(files(), expected, `${consent}`);
  }
});

test("a turn is interrupted where it stands, also while the user is asked", async () => {
  const turns = [{ toolCalls: [write("a.txt", "a"), hook] }, { text: "Done." }];
  const { engine, files } = setup({ turns }, { consent: () => new Promise(() => {}) });
  const controller = new AbortController();
  const turn = engine.turn(conversation, { prompt: "go" }, { signal: controller.signal });
  for await (const event of turn) if (event.type === "toolCall" && event.call.args.file_path === hook.args.file_path) break;
  controller.abort();
  const { ending, transcript } = await turn.finished;
  assert.deepEqual(ending, { status: "aborted" });
  assert.deepEqual(files(), { "a.txt": "a" }, "what was done stays done");
  assert.equal(transcript.messages.length, 3);
  assert.equal(transcript.rest[0].args.file_path, hook.args.file_path);
  turn.abort();
});

test("a mode that is withdrawn counts at the accept; one that is none lets nothing happen", async () => {
  let mode = "auto-edit";
  const { engine, files } = setup({ turns: greeting }, { mode: () => mode });
  const speculation = engine.speculate(conversation, "greet me");
  await speculation.finished;
  for (const other of ["plan", "default", "nonsense"]) {
    mode = other;
    const withdrawn = await speculation.accept();
    assert.equal(withdrawn.type, "withdrawn");
    assert.equal(withdrawn.call.name, "write_file");
    assert.equal(withdrawn.verdict.decision, "boundary");
  }
  assert.deepEqual(files(), {});
  mode = "yolo";
  assert.equal((await speculation.accept()).type, "accepted");

  const broken = setup({ turns: greeting }, { mode: () => { throw new Error("gone"); } });
  assert.equal((await broken.engine.speculate(conversation, "greet me").finished).ending.status, "boundary");
});

test("suggestions, one or several, and why there is none", async () => {
  const recording = {
    suggestions: ["run the tests", "commit this\nrun the linter\npush it", "", "rm -rf /", { text: "late", delayMs: 1e9 }],
  };
  const { engine } = setup(recording);
  const usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
  assert.deepEqual(await engine.suggest(conversation), { suggestion: "run the tests", others: [], usage });
  const several = await engine.suggest(conversation, { candidates: 3 });
  assert.deepEqual([several.suggestion, several.others], ["commit this", ["run the linter", "push it"]]);
  assert.equal((await engine.suggest(conversation)).suppressed, "empty");
  assert.equal((await engine.suggest(conversation)).suppressed, "destructive");
  assert.equal((await engine.suggest({ messages: [] })).suppressed, "early_conversation");
  assert.equal((await setup(recording, { mode: "plan" }).engine.suggest(conversation)).suppressed, "plan_mode");

  await assert.rejects(engine.suggest(conversation, { signal: AbortSignal.abort(new Error("typed")) }), /typed/);
  const slow = new Engine({ model: recordedModel({ suggestions: [recording.suggestions[4]] }), tree: new MemoryTree() });
  const controller = new AbortController();
  const asked = slow.suggest(conversation, { signal: controller.signal });
  setTimeout(() => controller.abort(), 5);
  await assert.rejects(asked, { name: "AbortError" });
});

test("limits end the work, each with its own name", async () => {
  const many = Array.from({ length: 9 }, (_, n) => ({ toolCalls: [write(`${n}.txt`, "x".repeat(50))], usage: { inputTokens: 100 } }));
  const cases = [
    [{ turns: 2 }, "turns"],
    [{ messages: 4 }, "messages"],
    [{ tokens: 250 }, "tokens"],
    [{ staged: { files: 3 } }, "staged"],
    [{ staged: { bytes: 120 } }, "staged"],
    [{ staged: { fileBytes: 10 } }, "staged"],
  ];
  for (const [limits, limit] of cases) {
    const { ending } = await setup({ turns: many }, { limits }).engine.speculate(conversation, "go").finished;
    assert.deepEqual(ending, { status: "exhausted", limit }, JSON.stringify(limits));
  }
  const slow = new Engine({ model: recordedModel({ turns: [{ text: "x", delayMs: 1e9 }] }), tree: new MemoryTree(), limits: { timeMs: 20 } });
  const { ending, cost } = await slow.speculate(conversation, "go").finished;
  assert.deepEqual(ending, { status: "exhausted", limit: "time" });
  assert.ok(cost.workMs >= 15 && cost.workMs < 5000, `${cost.workMs}`);
  const free = setup({ turns: [...many.slice(0, 3), { text: "Done." }] }, { limits: { turns: Infinity, tokens: Infinity, timeMs: Infinity } });
  assert.equal((await free.engine.speculate(conversation, "go").finished).ending.status, "completed");
});

test("a recording keeps its time, and speed shortens it", async () => {
  const recording = { turns: [{ text: "a b c d e f", delayMs: 200, streamMs: 200 }, { text: "x", delayMs: 200 }] };
  const engine = new Engine({ model: recordedModel(recording, { speed: 10 }), tree: new MemoryTree() });
  const started = performance.now();
  await engine.speculate(conversation, "go").finished;
  const took = performance.now() - started;
  assert.ok(took >= 35 && took < 200, `${took}`);
});

test("a recording is a model like any other", async () => {
  const model = recordedModel({ turns: [{ text: "hi", toolCalls: [call("ls")], usage: { inputTokens: 3 } }], suggestions: ["x y"] }, { speed: Infinity });
  const request = { model: "m", tools: [], messages: [user("go")], thinking: false };
  const events = await all(model.stream(request, new AbortController().signal));
  assert.deepEqual(events.map(({ type }) => type), ["text", "toolCall", "usage", "finished"]);
  assert.deepEqual(events[2].usage, { inputTokens: 3, cachedInputTokens: 0, outputTokens: 0 });
  const [answer] = await all(model.stream({ ...request, responseSchema: { type: "object" } }));
  assert.deepEqual(JSON.parse(answer.text), { guesses: [{ text: "x y" }] });
  await assert.rejects(all(model.stream(request)), { name: "ModelError", code: "recording_exhausted" });
  await assert.rejects(all(model.stream({ messages: 1 })), { name: "InputError", path: "request.messages" });
});

test("what is wrong with an argument is told by its field", async () => {
  const model = recordedModel({ suggestions: ["x y"] });
  const tree = new MemoryTree();
  const engine = new Engine({ model, tree });
  const cases = [
    [() => new Engine(), "options"],
    [() => new Engine({ tree }), "model"],
    [() => new Engine({ model, tree, mode: "fast" }), "mode"],
    [() => new Engine({ model, tree, consent: "run" }), "consent"],
    [() => new Engine({ model, tree, deny: ["a", "!b"] }), "deny[1]"],
    [() => new Engine({ model, tree, workspace: "here" }), "workspace"],
    [() => new Engine({ model, tree, policies: [{ program: "x" }] }), "policies[0].decision"],
    [() => new Engine({ model, tree, limits: { turns: -1 } }), "limits.turns"],
    [() => new Engine({ model, tree, limits: { timeMs: -1 } }), "limits.timeMs"],
    [() => new Engine({ model, tree, limits: { staged: { file: 1 } } }), "limits.staged.file"],
    [() => new Engine({ model, tree, atBoundary: "stop" }), "atBoundary"],
    [() => new Engine({ model, tree, commit: { merge: "always" } }), "commit.merge"],
    [() => new Engine({ model, tree: {} }), "tree.metadata"],
    [() => new Engine({ model }), "tree"],
    [() => recordedModel({ turns: [{ toolCalls: [{}] }] }), "recording.turns[0].toolCalls[0].name"],
    [() => recordedModel({}), "recording"],
    [() => recordedModel({ suggestions: ["x y"] }, { speed: 0 }), "options.speed"],
    [() => engine.speculate(undefined, "x"), "conversation"],
    [() => engine.speculate({ messages: "x" }, "x"), "conversation.messages"],
    [() => engine.speculate({ messages: [{ role: "user", parts: [{ type: "text" }] }] }, "x"), "conversation.messages[0].parts[0].text"],
    [() => engine.speculate({ messages: [user("x"), { role: "bot", parts: [] }] }, "x"), "conversation.messages[1]"],
    [() => engine.speculate({ messages: [user("x")], history: [] }, "x"), "conversation.history"],
    [() => engine.speculate(conversation, 7), "prompt"],
    [() => engine.turn(conversation, { prompt: " " }), "next.prompt"],
    [() => engine.turn(conversation, {}), "next"],
    [() => engine.turn(conversation, { transcript: { messages: [] } }), "next.transcript.rest"],
  ];
  for (const [work, path] of cases) {
    assert.throws(work, (error) => error instanceof InputError && error.path === path, `${work}`);
  }
  await assert.rejects(engine.suggest({}), { name: "InputError", path: "conversation.messages" });
  assert.throws(() => engine.speculate(conversation, "  "), (error) => error instanceof StartError && error.code === "empty");
  assert.throws(() => engine.speculate(conversation, "/clear"), (error) => error instanceof StartError && error.code === "command");
});

test("an engine tells its tools", () => {
  const names = setup({ turns: greeting }).engine.tools.map(({ name }) => name);
  assert.deepEqual(names, ["read_file", "grep", "glob", "ls", "edit", "write_file", "multi_edit", "create_file", "task"]);
});

test("speculate in one call", async () => {
  const tree = new MemoryTree();
  const speculation = speculate({ model: recordedModel({ turns: greeting }, { speed: Infinity }), tree, mode: "auto-edit", prompt: "greet me" });
  assert.equal((await speculation.accept()).type, "accepted");
  assert.deepEqual(Object.keys(tree.snapshot()), ["hello.txt"]);
  speculation.dispose();
  assert.throws(() => speculation.status, DisposedError);
});
