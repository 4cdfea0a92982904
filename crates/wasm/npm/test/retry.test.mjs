// Tests of retries: a request that failed temporarily is made again, and requests of the user come first.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Engine, fetchModel, MemoryTree, ModelError } from "headstart";
import { collect, failsWith, serve, UNTOLD } from "./support.mjs";

const user = (words) => ({ role: "user", parts: [{ type: "text", text: words }] });
const request = { model: "m", tools: [], messages: [user("x")], thinking: false };
const conversation = { messages: [] };
const signal = () => new AbortController().signal;
const sse = { "content-type": "text/event-stream" };
const data = (json) => `data: ${JSON.stringify(json)}\n\n`;
const piece = (content) => data({ choices: [{ delta: { content } }] });
const WHOLE = `${data({ choices: [{ delta: { content: "hi" }, finish_reason: "stop" }] })}data: [DONE]\n\n`;
const HI = [{ type: "text", text: "hi" }, UNTOLD, { type: "finished", reason: "stop" }];

/**
 * A server that gives one answer after the other: a status with headers and a body, or a function. `times` says when it
 * was asked.
 */
async function scripted(context, ...answers) {
  const times = [];
  const { base } = await serve(context, (_, response) => {
    times.push(performance.now());
    const answer = answers[times.length - 1] ?? [200, sse, WHOLE];
    if (typeof answer === "function") return answer(response);
    const [status, headers, body] = answer;
    response.writeHead(status, headers);
    response.end(body);
  });
  return { times, base, gap: (number) => times[number] - times[number - 1] };
}

const modelAt = ({ base }, options) => fetchModel({ provider: "openai", baseUrl: base, ...options });
const ask = (server, options) => collect(modelAt(server, options).stream(request, signal()));

test("a rate limit is waited for as long as the provider says", async (context) => {
  const date = "Wed, 21 Oct 2015 07:28:00 GMT";
  const cases = [
    [429, { "retry-after": "1" }, 1000],
    [429, { "retry-after": "Wed, 21 Oct 2015 07:28:01 GMT", date }, 1000],
    [429, { "retry-after-ms": "300", "retry-after": "17" }, 300],
    [503, { "retry-after": "0.3" }, 300],
    [429, { "retry-after": "Wed, 21 Oct 2015 07:20:00 GMT", date }, 0],
  ];
  await Promise.all(cases.map(async ([status, headers, ms]) => {
    const server = await scripted(context, [status, headers, ""]);
    assert.deepEqual(await ask(server), { events: HI });
    assert.equal(server.times.length, 2);
    const gap = server.gap(1);
    assert.ok(ms - 20 <= gap && gap < ms + 5000, `${JSON.stringify(headers)}: ${gap}`);
  }));
});

test("whoever waits for the provider hears of it, and why, and when that is over", async (context) => {
  const server = await scripted(context, [429, { "retry-after-ms": "300" }, ""], [500, {}, "oops"]);
  const heard = [];
  const onWait = (wait) => {
    heard.push(wait && { code: wait.code, known: 300 <= wait.ms && wait.ms < 3_000 });
    if (heard.length === 1) throw new Error("told to the console, and nothing else");
  };
  const told = console.error;
  const errors = [];
  console.error = (error) => errors.push(error.message);
  try {
    assert.deepEqual(await ask(server, { onWait }), { events: HI });
  } finally {
    console.error = told;
  }
  assert.deepEqual(heard, [{ code: "rate_limited", known: true }, undefined, { code: "server", known: true }, undefined]);
  assert.deepEqual(errors, ["told to the console, and nothing else"]);

  // If the caller aborts during a wait, the end of the wait must be reported as well.
  const slow = await scripted(context, [429, { "retry-after": "20" }, ""]);
  const [waits, stop] = [[], new AbortController()];
  const waiting = collect(modelAt(slow, { onWait: (wait) => (waits.push(wait?.code), wait && stop.abort()) }).stream(request, stop.signal));
  await waiting;
  assert.deepEqual(waits, ["rate_limited", undefined]);
});

test("who fails without a word is asked again after steps that double, and each error that passes counts", async (context) => {
  const failing = [500, 502, 529].map((status) => [status, {}, "oops"]);
  const server = await scripted(context, ...failing);
  assert.deepEqual(await ask(server), { events: HI });
  assert.equal(server.times.length, 4);
  for (const [number, longest] of [[1, 500], [2, 1000], [3, 2000]]) {
    const gap = server.gap(number);
    assert.ok(longest / 2 - 20 <= gap && gap < longest + 5000, `${number}: ${gap}`);
  }
});

test("where nobody answers it is tried twice more, and told within two seconds", async () => {
  let tries = 0;
  const refused = async (...call) => (tries++, fetch(...call));
  const began = performance.now();
  const { error } = await ask({ base: "http://127.0.0.1:1" }, { fetch: refused });
  failsWith(ModelError, "unreachable", /cannot reach/)(error);
  assert.equal(tries, 3);
  const took = performance.now() - began;
  assert.ok(730 <= took && took < 6000, `${took}`);
});

test("after so many tries the last error is told", async (context) => {
  const failing = (status) => Array.from({ length: 30 }, () => [status, { "retry-after": "0" }, ""]);
  const [usual, fewer, none] = [await scripted(context, ...failing(503)), await scripted(context, ...failing(504)), await scripted(context, ...failing(429))];
  failsWith(ModelError, "server", /503/)((await ask(usual)).error);
  assert.equal(usual.times.length, 21);
  const { error } = await ask(fewer, { retries: 2 });
  failsWith(ModelError, "server", /504/)(error);
  assert.equal(error.status, 504);
  assert.equal(fewer.times.length, 3);
  failsWith(ModelError, "rate_limited")((await ask(none, { retries: 0 })).error);
  assert.equal(none.times.length, 1);
});

test("a provider that asks for more than a minute is not waited for", async (context) => {
  const server = await scripted(context, [429, { "retry-after": "61" }, ""]);
  const { error } = await ask(server);
  failsWith(ModelError, "rate_limited")(error);
  assert.equal(error.retryAfterMs, 61_000);
  assert.equal(server.times.length, 1);
});

test("what would fail again is not made again", async (context) => {
  const json = (body) => JSON.stringify({ error: body });
  const answers = [
    [400, {}, json({ message: "bad schema" }), "rejected"],
    [401, {}, json({ message: "no" }), "unauthorized"],
    [403, {}, json({ message: "key" }), "unauthorized"],
    [404, {}, json({ message: "no model m" }), "rejected"],
    [429, {}, json({ message: "pay", code: "insufficient_quota" }), "rejected"],
    [501, {}, json({ message: "not implemented" }), "server"],
    [302, { location: "/elsewhere" }, "", "wrong_server"],
    [200, { "content-type": "text/html" }, "<html>", "wrong_server"],
    [200, sse, "data: {]\n\n", "malformed"],
    [200, sse, "", "cut"],
  ];
  for (const [status, headers, body, code] of answers) {
    const server = await scripted(context, [status, headers, body]);
    failsWith(ModelError, code)((await ask(server)).error);
    assert.equal(server.times.length, 1, `${status}`);
  }
});

test("once a piece of the answer was given, nothing is made again", async (context) => {
  const server = await scripted(context, (response) => {
    response.writeHead(200, sse);
    response.end(piece("one") + data({ error: { message: "busy", code: 429 } }));
  });
  const { events, error } = await ask(server);
  assert.deepEqual(events, [{ type: "text", text: "one" }, UNTOLD]);
  failsWith(ModelError, "rate_limited", /busy/)(error);
  assert.equal(server.times.length, 1);
});

test("an error in place of the first piece is made again, and its cost is told where it is the last", async (context) => {
  const cost = data({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 0 } });
  const fails = [200, sse, cost + data({ error: { message: "busy", code: 503 } })];
  const server = await scripted(context, fails, fails);
  assert.deepEqual(await ask(server), { events: HI });
  assert.equal(server.times.length, 3);
  const { events, error } = await ask(await scripted(context, fails), { retries: 0 });
  assert.deepEqual(events.map(({ type, usage }) => [type, usage.inputTokens]), [["usage", 3]]);
  failsWith(ModelError, "server", /busy/)(error);
});

test("a connection that cannot be made is tried again, one that was taken and closed is not", async (context) => {
  // Nobody listens at this port until the server is back.
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  const answering = collect(fetchModel({ provider: "openai", baseUrl: `http://127.0.0.1:${port}` }).stream(request, signal()));
  await delay(100);
  let closed = 0;
  const late = createServer((socket) => {
    socket.once("data", () => {
      if (closed++ > 0) return socket.destroy();
      socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n${WHOLE}`);
    });
  });
  await new Promise((resolve) => late.listen(port, "127.0.0.1", resolve));
  context.after(() => late.close());
  assert.deepEqual(await answering, { events: HI });
  const { error } = await collect(fetchModel({ provider: "openai", baseUrl: `http://127.0.0.1:${port}` }).stream(request, signal()));
  failsWith(ModelError, "cut")(error);
  assert.equal(closed, 2);
});

test("an abort in a wait ends it at once, with the signal's reason and without another request", async (context) => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const server = await scripted(context, [429, { "retry-after": "30" }, ""], [429, { "retry-after": "30" }, ""]);
  const before = timers();
  const controller = new AbortController();
  const reason = new Error("the user types");
  const waiting = collect(modelAt(server).stream(request, controller.signal));
  while (server.times.length < 1) await delay(5);
  await delay(50);
  const aborted = performance.now();
  controller.abort(reason);
  assert.equal((await waiting).error, reason);
  assert.ok(performance.now() - aborted < 500);
  // If nobody reads on, no further request may be made.
  const events = modelAt(server).stream(request, signal())[Symbol.asyncIterator]();
  const next = events.next();
  while (server.times.length < 2) await delay(5);
  await delay(50);
  assert.deepEqual(await events.return(), { done: true, value: undefined });
  await next.catch(() => {});
  assert.equal(timers(), before);
  assert.equal(server.times.length, 2);
});

/** A provider that refuses every request of a kind with these headers, and answers the others slowly. */
async function limited(context, isLimited) {
  const asked = [];
  const { base } = await serve(context, (_, response, body) => {
    const { messages } = JSON.parse(body);
    const words = JSON.stringify(messages.at(-1).content);
    const kind = words.includes("ahead") ? "background" : "user";
    const count = asked.filter((other) => other.kind === kind).length;
    const entry = { kind, at: performance.now(), closed: false };
    asked.push(entry);
    response.on("close", () => (entry.closed = !response.writableFinished));
    const answer = isLimited(kind, count);
    if (answer === "silence") return;
    if (answer !== undefined) return response.writeHead(429, { "retry-after": `${answer}` }).end();
    response.writeHead(200, sse);
    response.end(WHOLE);
  });
  const engine = new Engine({ model: fetchModel({ provider: "openai", baseUrl: base }), modelName: "m", tree: new MemoryTree() });
  return { engine, asked, kinds: () => asked.map(({ kind }) => kind) };
}

test("work in the background makes a storm no worse", async (context) => {
  const { engine, kinds } = await limited(context, () => 0.01);
  const { ending } = await engine.speculate(conversation, "ahead").finished;
  assert.equal(ending.status, "failed");
  assert.match(ending.error, /limits the rate of requests/);
  assert.deepEqual(kinds(), ["background"]);
});

test("work in the background waits until a limited turn of the user is through", async (context) => {
  const { engine, asked, kinds } = await limited(context, (kind, count) => (kind === "user" && count === 0 ? 0.6 : undefined));
  const turn = engine.turn(conversation, { prompt: "now" });
  while (asked.length < 1) await delay(5);
  await delay(50);
  const speculation = engine.speculate(conversation, "run ahead");
  assert.equal((await speculation.finished).ending.status, "completed");
  assert.equal((await turn.finished).ending.status, "completed");
  assert.deepEqual(kinds().slice(0, 3), ["user", "user", "background"]);
});

test("a request in the background that is under way gives way to a turn that is limited, and is made again", async (context) => {
  const { engine, asked, kinds } = await limited(context, (kind, count) => {
    if (kind === "background") return count === 0 ? "silence" : undefined;
    return count === 0 ? 0.3 : undefined;
  });
  const speculation = engine.speculate(conversation, "run ahead");
  while (asked.length < 1) await delay(5);
  const turn = engine.turn(conversation, { prompt: "now" });
  assert.equal((await turn.finished).ending.status, "completed");
  assert.equal((await speculation.finished).ending.status, "completed");
  assert.deepEqual(kinds().slice(0, 4), ["background", "user", "user", "background"]);
  assert.equal(asked[0].closed, true, "its connection was closed");
});
