// Tests with models that a developer wrote, correctly or not.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import { Engine, InputError, MemoryTree, ModelError, init } from "headstart";

await init();

const user = (words) => ({ role: "user", parts: [{ type: "text", text: words }] });
const conversation = { system: "Be brief.", messages: [user("hello"), { role: "model", parts: [{ type: "text", text: "hi" }] }] };
const stop = { type: "finished", reason: "stop" };
const engine = (stream, options) => new Engine({ model: { stream }, tree: new MemoryTree({ "a.txt": "a\n" }), mode: "auto-edit", ...options });
const finished = (stream, options) => engine(stream, options).speculate(conversation, "go on").finished;

process.on("unhandledRejection", (error) => {
  throw error;
});

test("a model gets the whole request and answers with everything it can", async () => {
  const requests = [];
  const opaque = { type: "opaque", format: "mine", model: "tiny", data: { signature: "signed" } };
  const answers = [
    [
      { type: "thought", text: "hm" },
      opaque,
      { type: "text", text: "I look." },
      { type: "toolCall", name: "read_file", args: { file_path: "a.txt" } },
      { type: "toolCall", id: "mine", name: "ls", args: {} },
      { type: "usage", usage: { inputTokens: 10, cachedInputTokens: 4, outputTokens: 2 } },
      stop,
    ],
    [{ type: "text", text: "Done." }, { type: "usage", usage: { inputTokens: 5 } }, stop],
  ];
  const { ending, transcript, cost } = await finished(async function* (request, signal) {
    assert.ok(signal instanceof AbortSignal && !signal.aborted);
    requests.push(request);
    yield* answers[requests.length - 1] ?? [{ type: "text", text: "nothing" }, stop];
  }, { modelName: "tiny" });
  assert.deepEqual(ending, { status: "completed" });
  const [first, second] = requests;
  assert.deepEqual(Object.keys(first), ["model", "system", "tools", "messages", "thinking"]);
  assert.deepEqual([first.model, first.system, first.thinking], ["tiny", "Be brief.", false]);
  assert.deepEqual(first.tools.map(({ name }) => name).slice(0, 2), ["read_file", "grep"]);
  assert.deepEqual(first.messages, [...conversation.messages, user("go on")]);
  assert.equal(second.messages.length, 5);
  const [back, said, read, list] = second.messages[3].parts;
  assert.deepEqual([said.text, read.id, list.id], ["I look.", "call", "mine"]);
  assert.deepEqual(back, opaque);
  assert.deepEqual(second.messages[4].parts.map(({ id }) => id), ["call", "mine"]);
  assert.equal(transcript.messages.at(-1).parts[0].text, "Done.");
  assert.deepEqual([cost.inputTokens, cost.cachedInputTokens, cost.outputTokens, cost.toolCalls], [15, 4, 2, 2]);
  assert.ok("responseSchema" in requests[2] && requests[2].maxOutputTokens > 0, "the query for what comes after");
});

test("an error ends the run, with its words", async () => {
  const text = { type: "text", text: "x" };
  const cases = [
    [() => { throw new Error("no key"); }, /no key/],
    [async () => { throw new Error("no key"); }, /no key/],
    [async function* () { throw new ModelError("rate_limited", "too fast", 1500); }, /^too fast$/],
    [async function* () { yield text; throw new TypeError("fetch failed"); }, /fetch failed/],
    [async function* () { yield text; throw undefined; }, /undefined/],
    [async function* () { yield text; throw { get message() { throw 1; }, toJSON() { throw 1; } }; }, /cannot be shown/],
    [() => undefined, /nothing that can be iterated/],
    [() => [text, stop], /nothing that can be iterated/],
    [async function* () { yield text; }, /cut the answer short/],
    [async function* () { yield stop; }, /empty/],
    [async function* () { yield "text"; }, /event that is none/],
    [async function* () { yield { type: "sound" }; }, /there is no event "sound"/],
    [async function* () { yield { type: "text" }; }, /text: is missing/],
    [async function* () { yield undefined; }, /event: is missing/],
    [async function* () { yield { type: "toolCall", name: "ls", args: 1n }; }, /BigInt/],
    [async function* () { yield text; yield { type: "finished", reason: "contentFilter" }; }, /withheld/],
    [() => ({ [Symbol.asyncIterator]: () => ({ next: () => { throw new Error("bad next"); } }) }), /bad next/],
    [() => ({ [Symbol.asyncIterator]: () => ({ next: async () => null }) }), /./],
  ];
  for (const [stream, expected] of cases) {
    const { ending } = await finished(stream);
    assert.equal(ending.status, "failed", `${stream}`);
    assert.match(ending.error, expected, `${stream}`);
  }
  assert.deepEqual((await finished(async function* () { yield text; yield { type: "finished", reason: "length" }; })).ending, {
    status: "exhausted",
    limit: "output",
  });
});

test("how a model failed is told by a code, too, with the time to wait", async () => {
  const text = { type: "text", text: "x" };
  const long = { messages: [...conversation.messages, ...conversation.messages] };
  const cases = [
    [() => { throw new Error("offline"); }, { error: "offline", code: "other" }],
    [async function* () { throw new ModelError("unauthorized", "no"); }, { error: "no", code: "unauthorized" }],
    [async function* () { throw new ModelError("rate_limited", "too fast", 1500); }, { error: "too fast", code: "rate_limited", retryAfterMs: 1500 }],
    [async function* () { yield text; }, { error: "the model cut the answer short; try again", code: "cut" }],
    [async function* () { throw new InputError("modelName: is missing", "modelName"); }, { error: "modelName: is missing", code: "invalid_input" }],
  ];
  for (const [stream, failure] of cases) {
    const { usage, ...suggested } = await engine(stream).suggest(long);
    assert.deepEqual(suggested, { suppressed: "error", ...failure });
    for (const run of [engine(stream).speculate(conversation, "go"), engine(stream).turn(conversation, { prompt: "go" })]) {
      assert.deepEqual((await run.finished).ending, { status: "failed", ...failure });
    }
  }
  const ends = [
    [async function* () { yield stop; }, "empty"],
    [async function* () { yield text; yield { type: "finished", reason: "contentFilter" }; }, "withheld"],
  ];
  for (const [stream, code] of ends) assert.equal((await finished(stream)).ending.code, code);
});

test("an async method that gives a generator is a model, too", async () => {
  const { ending } = await finished(async () => (async function* () { yield { type: "text", text: "x" }; yield stop; })());
  assert.deepEqual(ending, { status: "completed" });
});

test("the signal fires at once when the answer is not wanted any more, and the generator is closed", async () => {
  const cases = {
    async *waiting(signal, log) {
      yield { type: "text", text: "x" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      log.push("woken");
    },
    async *deaf(signal, log) {
      try {
        yield { type: "text", text: "x" };
        await delay(5);
        yield { type: "text", text: "y" };
      } finally {
        log.push("closed");
      }
    },
  };
  for (const [name, stream] of Object.entries(cases)) {
    const log = [];
    let signal;
    const run = engine((_, given) => stream((signal = given), log));
    const speculation = run.speculate(conversation, "go on");
    for await (const _ of speculation) break;
    assert.equal(signal.aborted, false, name);
    speculation.abort();
    assert.equal(signal.aborted, true, name);
    await delay(20);
    assert.equal(log.length, 1, name);

    const turn = run.turn(conversation, { prompt: "go on" });
    for await (const _ of turn) break;
    turn.abort();
    assert.equal(signal.aborted, true, name);
    assert.equal((await turn.finished).ending.status, "aborted");
  }
});

test("the signal does not fire when the answer was heard to its end", async () => {
  const signals = [];
  await finished(async function* (_, signal) {
    signals.push(signal);
    yield { type: "text", text: "x" };
    yield stop;
  });
  await delay(5);
  assert.ok(signals.length > 0 && signals.every(({ aborted }) => !aborted));
});

test("a model that never answers is stopped by the clock", async () => {
  let signal;
  const { ending } = await finished((_, given) => {
    signal = given;
    return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
  }, { limits: { timeMs: 20 } });
  assert.deepEqual(ending, { status: "exhausted", limit: "time" });
  assert.equal(signal.aborted, true);
});

test("a mode that is asked for within its own function lets nothing happen, and asks no further", () => {
  const within = [];
  const engine = new Engine({
    tree: new MemoryTree(),
    model: { async *stream() {} },
    mode: () => {
      within.push(engine.tools.length);
      return "chat";
    },
  });
  assert.deepEqual(engine.tools, []);
  assert.equal(within.length, 1);
  assert.ok(0 < within[0]);
  assert.deepEqual(engine.tools, []);
  assert.equal(within.length, 2, "it is asked again the next time");
});

test("callbacks may call back into the engine", async () => {
  const tree = new MemoryTree();
  let speculation;
  const touch = () => {
    speculation?.status;
    speculation?.cost;
    speculation?.transcript;
    speculation?.changes().summary();
    inner.tools;
  };
  const inner = new Engine({
    tree,
    mode: () => (touch(), "auto-edit"),
    consent: () => (touch(), "run"),
    model: {
      async *stream(_, signal) {
        touch();
        signal.addEventListener("abort", () => (touch(), speculation.abort()));
        inner.speculate(conversation, "another").dispose();
        yield { type: "text", text: "x" };
        touch();
        yield stop;
      },
    },
  });
  speculation = inner.speculate(conversation, "go on");
  assert.equal((await speculation.accept()).type, "accepted");

  // The model itself may abort, dispose of or accept the work that asks it.
  const cases = [
    [(run) => run.abort(), "aborted"],
    [(run) => run.dispose(), "aborted"],
    [(run) => void run.accept().catch(() => {}), "completed"],
    [() => inner.dispose(), "completed"],
  ];
  for (const [act, status] of cases) {
    let own;
    const run = engine(async function* () {
      act(own);
      yield { type: "text", text: "x" };
      act(own);
      yield stop;
    });
    own = run.speculate(conversation, "go on");
    const end = own.finished;
    try {
      assert.equal((await end).ending.status, status, `${act}`);
    } catch (error) {
      assert.equal(error.code, "disposed");
    }
  }
});

test("a mode that aborts the very run that asks for it", async () => {
  let speculation;
  const run = engine(async function* () {
    yield { type: "toolCall", name: "write_file", args: { file_path: "b.txt", content: "b" } };
    yield stop;
  }, { mode: () => (speculation?.abort(), "auto-edit") });
  speculation = run.speculate(conversation, "go on");
  assert.equal((await speculation.finished).ending.status, "aborted");
  assert.equal(speculation.changes().isEmpty, true);
});
