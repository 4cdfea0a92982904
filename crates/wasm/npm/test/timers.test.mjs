// Tests of what keeps a process alive and what does not. Each case is a program of its own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { serve } from "./support.mjs";

const headstart = import.meta.resolve("headstart");

const BEGINNING = `
import { Engine, MemoryTree, fetchModel, recordedModel } from ${JSON.stringify(headstart)};
const never = new Promise(() => {});
const silent = { stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) }) };
const one = { async *stream() { yield { type: "text", text: "one" }; await never; } };
const engine = (model, options) => new Engine({ model, tree: new MemoryTree(), mode: "auto-edit", modelName: "m", limits: { timeMs: 60_000 }, ...options });
const conversation = { messages: [] };
const request = { model: "m", tools: [], messages: [{ role: "user", parts: [{ type: "text", text: "x" }] }], thinking: false };
`;

/** How long a program may take to end. Timers in the programs that must not hold them are longer. */
const PATIENCE_MS = 15_000;

/** The output of a program until it ends by itself. */
function printed(code) {
  const child = spawn(process.execPath, ["--input-type=module"], { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(BEGINNING + code);
  let [out, errors] = ["", ""];
  child.stdout.on("data", (text) => (out += text));
  child.stderr.on("data", (text) => (errors += text));
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  return new Promise((resolve) => {
    child.on("close", (status, signal) => {
      clearTimeout(timer);
      assert.equal(signal, null, `it did not end: ${code}`);
      assert.equal(errors, "", code);
      resolve({ status, out: out.trim() });
    });
  });
}

const ends = async (code, out) => assert.deepEqual(await printed(code), { status: 0, out }, code);

test("a limit on work that nobody waits for does not hold a process", async () => {
  const programs = [
    `globalThis.held = engine(silent).speculate(conversation, "go");`,
    `globalThis.held = engine(silent).turn(conversation, { prompt: "go" });`,
    `const held = engine(one).speculate(conversation, "go");
     for await (const { text } of held) { console.log(text); break; }
     globalThis.held = held;`,
    `const held = engine(one).speculate(conversation, "go");
     const events = held[Symbol.asyncIterator]();
     console.log((await events.next()).value.text);
     globalThis.held = held;`,
    `const model = recordedModel({ turns: [{ toolCalls: [{ name: "shell", args: { command: "ls" } }] }] }, { speed: Infinity });
     const runCommand = () => (console.log("one"), never);
     globalThis.held = engine(model, { runCommand }).speculate(conversation, "go");`,
  ];
  await Promise.all(programs.map((code) => ends(code, code.includes("console.log") ? "one" : "")));
});

test("nothing of work that has ended holds a process", async () => {
  const recorded = `engine(recordedModel({ turns: [{ text: "x" }] })).speculate(conversation, "go")`;
  const slow = `engine(recordedModel({ turns: [{ text: "x", delayMs: 60_000 }] })).speculate(conversation, "go")`;
  const programs = [
    [`console.log((await ${recorded}.finished).ending.status);`, "completed"],
    [`console.log((await ${recorded}.accept()).type);`, "accepted"],
    [`const work = ${slow}; work.abort(); console.log((await work.finished).ending.status);`, "aborted"],
    [`const work = ${slow}; setTimeout(() => work.dispose(), 50);`, ""],
    [`const work = ${slow}; const { finished } = work; setTimeout(() => work.abort(), 50); console.log((await finished).ending.status);`, "aborted"],
  ];
  await Promise.all(programs.map(([code, out]) => ends(code, out)));
});

test("a limit holds the process of whoever waits for its end", async () => {
  const work = `engine(silent, { limits: { timeMs: 300 } }).speculate(conversation, "go")`;
  const programs = [
    [`console.log((await ${work}.finished).ending.limit);`, "time"],
    [`for await (const _ of ${work}); console.log("ended");`, "ended"],
    [`console.log((await ${work}.accept()).type);`, "nothing"],
    [`const held = ${work}; held.finished.then(({ ending }) => console.log(ending.limit));`, "time"],
    [`const held = ${work}; await new Promise((resolve) => setTimeout(resolve, 50)); console.log((await held.finished).ending.limit);`, "time"],
  ];
  await Promise.all(programs.map(([code, out]) => ends(code, out)));
});

test("a wait before a request is made again holds the process of whoever waits for its answer", async (context) => {
  const at = async (seconds) => {
    let count = 0;
    const { base } = await serve(context, (_, response) => {
      // A limit of the provider's would end work ahead at once.
      if (count++ === 0) return response.writeHead(500, { "retry-after": seconds }).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
    });
    return `fetchModel({ provider: "openai", baseUrl: "${base}" })`;
  };
  const work = (model) => `engine(${model}).speculate(conversation, "go")`;
  const programs = [
    [`globalThis.held = ${work(await at(25))};`, ""],
    [`console.log((await ${work(await at(1))}.finished).ending.status);`, "completed"],
    [`for await (const event of ${await at(1)}.stream(request)) console.log(event.text ?? "");`, "hi"],
    [`await engine(${await at(1)}).suggest(conversation); console.log("asked");`, "asked"],
    [`engine(${await at(1)}, { mode: () => "yolo" }).turn(conversation, { prompt: "go" }).finished.then(() => console.log("done"));`, "done"],
  ];
  await Promise.all(programs.map(([code, out]) => ends(code, out)));
});

test("a turn goes on though nobody holds it, and so does a recording", () => {
  const code = `
    const tool = { name: "say", description: "Says", parameters: { type: "object" }, run: ({ text }) => console.log(text) };
    const call = { name: "say", args: { text: "said" } };
    const model = recordedModel({ turns: [{ text: "x", toolCalls: [call], delayMs: 300 }, { text: "Done." }] });
    engine(model, { tools: [tool], consent: () => "run" }).turn(conversation, { prompt: "go" });`;
  return ends(code, "said");
});
