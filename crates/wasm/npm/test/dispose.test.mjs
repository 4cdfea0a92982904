// Tests of memory: what is disposed of, what is forgotten, and that nothing grows.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import v8 from "node:v8";
import vm from "node:vm";
import { quick } from "./extent.mjs";

// The module's memory can be seen only when the module is instantiated, so this comes before the package is loaded.
let memory;
WebAssembly.Instance = class extends WebAssembly.Instance {
  constructor(...args) {
    super(...args);
    memory ??= this.exports.memory;
  }
};
const { DisposedError, Engine, MemoryTree, judge, recordedModel } = await import("headstart");
judge({ name: "ls", args: {} });

v8.setFlagsFromString("--expose-gc");
const gc = vm.runInNewContext("gc");
const collect = async () => {
  for (let round = 0; round < 4; round++) {
    gc();
    await delay(1);
  }
};

const user = (words) => ({ role: "user", parts: [{ type: "text", text: words }] });
const said = (words) => ({ role: "model", parts: [{ type: "text", text: words }] });
const conversation = { system: "Be brief.", messages: [user("hello"), said("hi"), user("and?"), said("so")] };
const stop = { type: "finished", reason: "stop" };
const write = { type: "toolCall", name: "write_file", args: { file_path: "a.txt", content: "a".repeat(2000) } };
const never = () => new Promise(() => {});

/** A model that writes a file, says so, and has a suggestion. */
async function* answer(request) {
  if (request.responseSchema) yield { type: "text", text: '{"suggestion":"run the tests"}' };
  else if (request.messages.at(-1).role === "user") yield write;
  else yield { type: "text", text: "Done." };
  yield stop;
}

const setup = (options) => new Engine({ model: { stream: answer }, tree: new MemoryTree(), mode: "auto-edit", ...options });

test("disposing is final, may be repeated, and is asked for by name", async () => {
  const engine = setup();
  const speculation = engine.speculate(conversation, "go");
  const turn = engine.turn(conversation, { prompt: "go" });
  await Promise.all([speculation.finished, turn.finished]);
  for (const thing of [speculation, turn, engine]) {
    thing.dispose();
    thing.dispose();
    if (Symbol.dispose) thing[Symbol.dispose]();
  }
  const uses = [
    () => speculation.status,
    () => speculation.cost,
    () => speculation.transcript,
    () => speculation.changes(),
    () => speculation.abort(),
    () => speculation[Symbol.asyncIterator](),
    () => speculation.next(),
    () => speculation.candidates(),
    () => speculation.accept(),
    () => turn.abort(),
    () => turn[Symbol.asyncIterator](),
    () => engine.tools,
    () => engine.suggest(conversation),
    () => engine.speculate(conversation, "go"),
    () => engine.turn(conversation, { prompt: "go" }),
  ];
  for (const use of uses) {
    await assert.rejects(async () => use(), (error) => error instanceof DisposedError && error.code === "disposed", `${use}`);
  }
  assert.equal(speculation.id, "s1", "what is known of it stays");
  assert.equal((await speculation.finished).ending.status, "completed");
});

test("who waits while something is disposed of gets an answer", async () => {
  const engine = setup({ model: { stream: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }) } });
  const speculation = engine.speculate(conversation, "go");
  const events = speculation[Symbol.asyncIterator]();
  const waiting = [events.next(), events.next(), speculation.finished, speculation.next(), speculation.accept()];
  await delay(1);
  speculation.dispose();
  engine.dispose();
  const [event, another, finished, next, acceptance] = await Promise.allSettled(waiting);
  assert.deepEqual(event.value, { done: true, value: undefined });
  assert.ok(another.status === "rejected" ? another.reason instanceof DisposedError : another.value.done);
  assert.equal(finished.value.ending.status, "aborted");
  assert.deepEqual([next.value, acceptance.value], [undefined, { type: "nothing" }]);

  const other = setup({ model: { stream: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }) } });
  const turn = other.turn(conversation, { prompt: "go" });
  const { finished: end } = turn;
  await delay(1);
  turn.dispose();
  assert.equal((await end).ending.status, "aborted");
});

test("an engine may go while its work goes on", async () => {
  const engine = setup();
  const speculation = engine.speculate(conversation, "go");
  engine.dispose();
  assert.equal((await speculation.accept()).type, "accepted");
  assert.equal(await speculation.next(), "run the tests");
});

test("a speculation that nobody holds any more is given up", async () => {
  const signals = [];
  const engine = setup({
    model: {
      async *stream(_, signal) {
        signals.push(signal);
        yield { type: "text", text: "x" };
        await never();
      },
    },
  });
  (() => engine.speculate(conversation, "go"))();
  const held = engine.speculate(conversation, "go");
  const control = new AbortController();
  let end;
  (() => ({ finished: end } = engine.speculate(conversation, "go", { signal: control.signal })))();
  await delay(5);
  assert.deepEqual(signals.map(({ aborted }) => aborted), [false, false, false]);
  await collect();
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false, false], "one is held, and the end of another is awaited");
  held.abort();
  control.abort();
  assert.equal((await end).ending.status, "aborted");
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, true, true]);
});

// The first rounds are not measured, because what is compiled and kept once exists only after them.
const [WARM, SPECULATIONS] = quick ? [1000, 1000] : [2000, 10_000];

test(`nothing grows over ${SPECULATIONS} speculations`, { timeout: 300_000 }, async () => {
  const lasting = new AbortController();
  const engine = setup();
  const slow = setup({ model: { stream: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }) } });
  const recorded = setup({ model: recordedModel({ turns: [{ text: "x", delayMs: 1e6 }], suggestions: Array(3).fill("run the tests") }) });
  const uses = [
    () => using_(engine.speculate(conversation, "go", { signal: lasting.signal }), async (work) => {
      for await (const _ of work);
      assert.equal((await work.accept()).type, "accepted");
    }),
    () => using_(engine.speculate(conversation, "go"), async (work) => {
      await work.finished;
      work.abort();
    }),
    () => using_(engine.speculate(conversation, "go"), async (work) => {
      await work.accept();
      await work.next();
    }),
    () => using_(slow.speculate(conversation, "go", { signal: lasting.signal }), async (work) => {
      const finished = work.finished;
      await null;
      work.abort();
      await finished;
    }),
    () => using_(slow.speculate(conversation, "go"), async () => {}),
    () => using_(recorded.speculate(conversation, "go"), async () => {}),
    () => using_(engine.turn(conversation, { prompt: "go" }), async (work) => {
      for await (const _ of work);
      await work.finished;
    }),
    async () => assert.ok((await engine.suggest(conversation, { signal: lasting.signal })).suggestion),
    // A speculation that is thrown away without being disposed of must not leak either.
    async () => void engine.speculate(conversation, "go"),
  ];
  async function using_(thing, work) {
    try {
      await work(thing);
    } finally {
      thing.dispose();
    }
  }
  const round = async (count) => {
    for (let number = 0; number < count; number++) {
      await uses[number % uses.length]();
      if (number % 500 === 499) await collect();
    }
    await collect();
    return { module: memory.buffer.byteLength, heap: process.memoryUsage().heapUsed };
  };
  const warm = await round(WARM);
  const after = await round(SPECULATIONS);
  assert.equal(after.module, warm.module, "the module's memory");
  assert.ok(after.heap - warm.heap < 1_000_000, `the heap grew by ${after.heap - warm.heap} bytes`);
});
