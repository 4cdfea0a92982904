import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { inspect } from "node:util";
import { DisposedError, Engine, fetchModel, InputError, MemoryTree, ModelError, Wire } from "headstart";
import { quick } from "./extent.mjs";
import { collect, failsWith, serve, UNTOLD } from "./support.mjs";

const KEY = "sk-very-secret-0123456789";
// `trial.mjs` copies the recorded streams there.
const streams = new URL("../streams/", import.meta.url);
const stream = (name) => readFileSync(new URL(`${name}.txt`, streams));

/**
 * For each provider: the format of its answers, the path of a request below the base URL, and the header with the key.
 */
const FORMATS = [
  ["openai", "chat", "/chat/completions", ["authorization", `Bearer ${KEY}`]],
  ["dashscope", "chat", "/chat/completions", ["authorization", `Bearer ${KEY}`]],
  ["responses", "responses", "/responses", ["authorization", `Bearer ${KEY}`]],
  ["anthropic", "anthropic", "/v1/messages", ["x-api-key", KEY]],
  ["gemini", "gemini", "/models/m:streamGenerateContent?alt=sse", ["x-goog-api-key", KEY]],
  ["ollama", "ollama", "/api/chat", ["authorization", `Bearer ${KEY}`]],
];

/**
 * The distance between tried cuts. It is a prime, so that the cuts of the formats differ. The tests in Rust of the wire
 * formats cut at every place.
 */
const STEP = quick ? 13 : 1;

const request = {
  model: "m",
  system: "Be brief.",
  tools: [{ name: "ls", description: "Lists", parameters: { type: "object", properties: { path: { type: "string" } } } }],
  messages: [{ role: "user", parts: [{ type: "text", text: "größer 𝄞" }] }],
  thinking: false,
};

const kind = (provider) => (provider === "ollama" ? "application/x-ndjson" : "text/event-stream");
const signal = () => new AbortController().signal;
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function decode(wire, pieces) {
  const decoder = wire.decoder(request);
  try {
    return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
  } finally {
    decoder.dispose();
  }
}

/** Checks the content that all recorded streams have. */
function assertWhole(events, name) {
  const said = events.filter(({ type }) => type === "text").map(({ text }) => text).join("");
  assert.equal(said, 'I look nach 語 und "x"', name);
  const calls = events.filter(({ type }) => type === "toolCall");
  const count = /openai|dashscope|responses/.test(name) ? 2 : 3;
  const expected = [["ls", { path: "src" }], ["grep", { pattern: "ü" }], ["ls", {}]].slice(0, count);
  assert.deepEqual(calls.map(({ name, args }) => [name, args]), expected, name);
  assert.equal(new Set(calls.map(({ id }) => id)).size, count, name);
  assert.deepEqual(events.at(-1), { type: "finished", reason: "stop" }, name);
  assert.ok(events.some(({ type, usage }) => type === "usage" && usage.inputTokens > 0), name);
}

for (const [provider, file, path, [header, value]] of FORMATS) {
  test(`${provider}: a request and its answer over a real connection`, async (context) => {
    const server = await serve(context, (_, response) => {
      response.writeHead(200, { "content-type": kind(provider) });
      response.end(stream(file));
    });
    const model = fetchModel({ provider, baseUrl: `${server.base}/base/`, key: ` ${KEY}\n` });
    const { events, error } = await collect(model.stream(request, signal()));
    assert.equal(error, undefined);
    assertWhole(events, provider);
    const [{ method, url, headers, body }] = server.requests;
    assert.deepEqual([method, url], ["POST", `/base${path}`]);
    assert.equal(headers[header], value);
    assert.equal(headers["content-type"], "application/json");
    assert.ok(body.includes("größer 𝄞"));
    const encoded = new Wire({ provider, baseUrl: `${server.base}/base` }).encode(request, KEY);
    assert.deepEqual([encoded.url, encoded.body, encoded.method], [server.base + url, body, "POST"]);
    const without = new Wire({ provider, baseUrl: server.base }).encode(request);
    assert.ok(!JSON.stringify(without).includes("secret") && !(header in without.headers));
  });

  test(`${provider}: an answer cut into any pieces is the same answer`, () => {
    const wire = new Wire({ provider });
    const bytes = stream(file);
    const whole = decode(wire, [bytes]);
    assertWhole(whole, provider);
    assert.deepEqual(decode(wire, Array.from(bytes, (byte) => new Uint8Array([byte]))), whole);
    for (let place = 0; place <= bytes.length; place += STEP) {
      assert.deepEqual(decode(wire, [bytes.subarray(0, place), bytes.subarray(place)]), whole, `split at ${place}`);
    }
    wire.dispose();
  });

  test(`${provider}: an answer that ends early is cut, wherever`, () => {
    const wire = new Wire({ provider });
    const bytes = stream(file);
    const worth = (events) => events.filter(({ type }) => type !== "usage");
    const whole = worth(decode(wire, [bytes]));
    let cuts = 0;
    for (let place = 0; place < bytes.length; place += STEP) {
      try {
        // If no error is thrown, only the usage may be missing, because it can come after the end.
        assert.deepEqual(worth(decode(wire, [bytes.subarray(0, place)])), whole, `${place}`);
      } catch (error) {
        failsWith(ModelError, "cut")(error);
        cuts += 1;
      }
    }
    assert.ok(bytes.length / STEP / 2 < cuts, `${cuts}`);
    wire.dispose();
  });
}

test("an abort in the middle closes the connection, and so does nobody reading on", async (context) => {
  const closed = [];
  const server = await serve(context, (_, response) => {
    response.on("close", () => closed.push(response.writableFinished));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices":[{"delta":{"content":"one"}}]}\n\n');
  });
  const model = fetchModel({ provider: "openai", baseUrl: server.base });
  const until = async (count) => {
    for (let tries = 0; closed.length < count && tries < 200; tries++) await later(5);
    assert.deepEqual(closed, Array(count).fill(false));
  };
  const controller = new AbortController();
  const seen = [];
  const reason = new Error("the user types");
  const aborted = (async () => {
    for await (const event of model.stream(request, controller.signal)) {
      seen.push(event);
      controller.abort(reason);
    }
  })();
  await assert.rejects(aborted, (error) => error === reason);
  assert.deepEqual(seen, [{ type: "text", text: "one" }]);
  await until(1);

  for await (const event of model.stream(request, signal())) {
    assert.equal(event.text, "one");
    break;
  }
  await until(2);

  // A return must also work while the model waits for the next bytes.
  const events = model.stream(request, signal())[Symbol.asyncIterator]();
  await events.next();
  const waiting = events.next();
  const returned = await Promise.race([events.return(), later(2000).then(() => "stuck")]);
  assert.deepEqual(returned, { done: true, value: undefined });
  await waiting.catch(() => {});
  await until(3);

  await assert.rejects(model.stream(request, AbortSignal.abort(reason))[Symbol.asyncIterator]().next(), (error) => error === reason);
  assert.equal(server.requests.length, 3);
  const early = new AbortController();
  const before = collect(model.stream(request, early.signal));
  early.abort();
  assert.equal((await before).error.name, "AbortError");
});

test("what a server says no with has its code", async (context) => {
  let answer;
  const server = await serve(context, (_, response) => {
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  });
  const model = fetchModel({ provider: "openai", baseUrl: server.base, key: KEY, retries: 0 });
  const error = (message, more = {}) => JSON.stringify({ error: { message, ...more } });
  const html = { "content-type": "text/html; charset=utf-8" };
  const date = "Wed, 21 Oct 2015 07:28:00 GMT";
  const cases = [
    [401, {}, error(`Incorrect API key provided: ${KEY}`), "unauthorized", /refused the key \(401\); set the option `key` to a valid key; it says: Incorrect API key provided: \*\*\*$/],
    [403, {}, error(`${KEY.slice(0, 14)} is no key`), "unauthorized", /403.*\*\*\*/],
    [429, { "retry-after": "17" }, error("slow down"), "rate_limited", /slow down/, 17_000],
    [429, { "retry-after-ms": "250", "retry-after": "17" }, "", "rate_limited", undefined, 250],
    [429, { "retry-after": "Wed, 21 Oct 2015 07:29:30 GMT", date }, "", "rate_limited", undefined, 90_000],
    [429, { "retry-after": "soon", date }, "", "rate_limited"],
    [429, {}, error("pay", { code: "insufficient_quota" }), "rejected", /pay/],
    [400, {}, error("bad schema"), "rejected", /\(400\): bad schema/],
    [404, {}, error("no model m"), "rejected", /check the name of the model/],
    [404, {}, "no such page", "wrong_server", /does not speak OpenAI's chat completions/],
    [500, {}, "<html><title>Oops</title>", "server", /a web page: Oops/],
    [503, { "retry-after": "2" }, "", "server", /503/, 2000],
    [302, { location: "https://user:pw@elsewhere/x?token=secret" }, "", "wrong_server", /a redirect \(302\) to https:\/\/elsewhere\/x\)/],
    [200, html, "<html><title>Log in</title>", "wrong_server", /a web page: Log in/],
    [200, html, "hello", "wrong_server", /a web page: hello/],
    [200, { "content-type": "text/event-stream" }, "", "cut", /closed the connection before it answered/],
    [200, { "content-type": "text/event-stream" }, "data: {]\n\n", "malformed"],
    [200, { "content-type": "text/event-stream" }, 'data: {"error":{"message":"busy","code":429}}\n\n', "rate_limited", /busy/],
    [200, {}, `hello, your key is ${KEY}`, "wrong_server"],
  ];
  for (const [status, headers, body, code, message, retryAfterMs] of cases) {
    answer = { status, headers, body };
    const { events, error: found } = await collect(model.stream(request, signal()));
    failsWith(ModelError, code, message)(found);
    assert.equal(found.retryAfterMs, retryAfterMs, body);
    const saysNo = ["unauthorized", "rate_limited", "rejected", "server"].includes(code);
    assert.equal(found.status, saysNo ? (status === 200 ? 429 : status) : undefined, body);
    assert.deepEqual(events, []);
    const shown = `${inspect(found, { depth: 9, showHidden: true })} ${found.stack} ${JSON.stringify(found)}`;
    assert.ok(!shown.includes("secret"), shown);
  }
  assert.equal(server.requests.length, cases.length, "without retries nothing is made again");
});

test("a parameter that a server refuses is left out, and is not tried again once the server took the request", async (context) => {
  const REFUSAL = {
    max_tokens: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    stream_options: "stream_options: Extra inputs are not permitted",
  };
  let refused = ["max_tokens", "stream_options"];
  const server = await serve(context, (_, response, body) => {
    const param = refused.find((name) => name in JSON.parse(body));
    if (param !== undefined) {
      response.writeHead(400, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: { message: REFUSAL[param], param, code: "unsupported_parameter" } }));
    }
    response.writeHead(200, { "content-type": kind("openai") });
    return response.end(stream("chat"));
  });
  const bodies = () => server.requests.splice(0).map(({ body }) => JSON.parse(body));
  const model = fetchModel({ provider: "openai", baseUrl: server.base, key: KEY, retries: 0 });
  const limited = { ...request, maxOutputTokens: 99 };
  const ask = async (of = limited) => {
    const { events, error } = await collect(model.stream(of, signal()));
    assert.equal(error, undefined);
    assertWhole(events, "openai");
  };
  await ask();
  const tried = bodies();
  assert.equal(tried.length, 3);
  assert.deepEqual([tried[0].max_tokens, tried[2].max_completion_tokens, tried[2].max_tokens], [99, 99, undefined]);
  await ask();
  assert.deepEqual(bodies(), [tried[2]], "remembered");
  await ask({ ...limited, model: "other" });
  assert.equal(bodies().length, 3, "another model may take it");

  // A server that refuses whatever it is sent must not be asked for ever, and its message must be told.
  refused = ["max_tokens", "stream_options", "messages", "max_completion_tokens"];
  REFUSAL.messages = "messages is not supported";
  const { error } = await collect(model.stream(limited, signal()));
  failsWith(ModelError, "rejected", /messages is not supported/)(error);
  assert.ok(bodies().length <= 4);
});

test("an answer that does not stream, and one that breaks after a piece", async (context) => {
  let answer;
  const server = await serve(context, (_, response) => answer(response));
  const model = fetchModel({ provider: "openai", baseUrl: server.base });
  answer = (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "chat.completion", choices: [{ message: { content: "whole" }, finish_reason: "stop" }] }, null, 2));
  };
  assert.deepEqual((await collect(model.stream(request, signal()))).events, [{ type: "text", text: "whole" }, UNTOLD, { type: "finished", reason: "stop" }]);
  answer = (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices":[{"delta":{"content":"one"}}]}\n\n');
    setTimeout(() => response.destroy(), 20);
  };
  const { events, error } = await collect(model.stream(request, signal()));
  assert.deepEqual(events, [{ type: "text", text: "one" }, UNTOLD]);
  failsWith(ModelError, "cut", /cut the answer short; try again/)(error);
  // If a piece has a mistake, the events before the mistake must be given.
  answer = (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('data: {"choices":[{"delta":{"content":"one"}}]}\n\ndata: oops\n\n');
  };
  const spoilt = await collect(model.stream(request, signal()));
  assert.deepEqual(spoilt.events, [{ type: "text", text: "one" }, UNTOLD]);
  failsWith(ModelError, "malformed")(spoilt.error);
  assert.equal(server.requests.length, 3);
});

test("nobody there, one that hangs up, one that is silent", async (context) => {
  const nobody = fetchModel({ provider: "ollama", baseUrl: "http://127.0.0.1:1", key: KEY, retries: 0 });
  const unreachable = await collect(nobody.stream(request, signal()));
  failsWith(ModelError, "unreachable", /^cannot reach http:\/\/127\.0\.0\.1:1\/api\/chat: .+; start the server at the base URL http:\/\/127\.0\.0\.1:1, or set another one$/)(unreachable.error);
  const rude = createServer((socket) => socket.once("data", () => socket.destroy()));
  await new Promise((resolve) => rude.listen(0, "127.0.0.1", resolve));
  context.after(() => rude.close());
  const hangsUp = fetchModel({ provider: "ollama", baseUrl: `http://127.0.0.1:${rude.address().port}` });
  failsWith(ModelError, "cut")((await collect(hangsUp.stream(request, signal()))).error);

  let answer = () => {};
  const closed = [];
  const server = await serve(context, (_, response) => {
    response.on("close", () => closed.push(true));
    answer(response);
  });
  const piece = 'data: {"choices":[{"delta":{"content":"one"}}]}\n\n';
  const model = (timeouts) => fetchModel({ provider: "openai", baseUrl: server.base, timeouts });
  const timeout = failsWith(ModelError, "timeout", /^openai at http.* sent nothing for 0\.05 s; try again$/);
  timeout((await collect(model({ firstByteMs: 50 }).stream(request, signal()))).error);
  answer = (response) => response.writeHead(200, { "content-type": "text/event-stream" }).write(piece);
  timeout((await collect(model({ idleMs: 50 }).stream(request, signal()))).error);
  answer = (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(piece);
    const life = setInterval(() => response.write(": alive\n\n"), 10);
    response.on("close", () => clearInterval(life));
  };
  timeout((await collect(model({ stalledMs: 50 }).stream(request, signal()))).error);
  // Everything that matters has come, so the answer must end although the connection stays open.
  answer = (response) => response.writeHead(200, { "content-type": "text/event-stream" }).write(piece + 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n');
  const { events, error } = await collect(model({ idleMs: 50 }).stream(request, signal()));
  assert.equal(error, undefined);
  assert.deepEqual(events.at(-1), { type: "finished", reason: "stop" });
  for (let tries = 0; closed.length < 4 && tries < 200; tries++) await later(5);
  assert.equal(closed.length, 4);
});

test("a fetch of one's own", async () => {
  const seen = [];
  const model = (answer) => fetchModel({ provider: "openai", baseUrl: "https://host/v1", key: KEY, retries: 0, fetch: async (...call) => (seen.push(call), answer()) });
  const body = 'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  const { events } = await collect(model(() => new Response(body)).stream(request, signal()));
  assert.deepEqual(events, [{ type: "text", text: "hi" }, UNTOLD, { type: "finished", reason: "stop" }]);
  const [url, init] = seen[0];
  assert.equal(url, "https://host/v1/chat/completions");
  assert.deepEqual([init.method, init.redirect, init.credentials], ["POST", "manual", "omit"]);
  const thrown = await collect(model(() => { throw new Error(`no route, and ${KEY}`); }).stream(request, signal()));
  failsWith(ModelError, "unreachable", /no route, and \*\*\*/)(thrown.error);
  failsWith(ModelError, "cut")((await collect(model(() => new Response(null)).stream(request, signal()))).error);
  // A `fetch` that ignores the signal must not delay an abort.
  const controller = new AbortController();
  const waiting = collect(model(() => new Promise(() => {})).stream(request, controller.signal));
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  controller.abort();
  assert.equal((await waiting).error.name, "AbortError");
  assert.equal(timers(), before - 1);
});

test("base URLs, as people copy them", () => {
  const at = (provider, baseUrl) => new Wire({ provider, baseUrl }).encode({ ...request, model: "a?b" }).url;
  const cases = [
    ["openai", "http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"],
    ["openai", " https://host/x/chat/completions ", "https://host/x/chat/completions"],
    ["responses", "https://host/v1/responses", "https://host/v1/responses"],
    ["anthropic", "https://host/v1/messages/", "https://host/v1/messages"],
    ["anthropic", "https://host", "https://host/v1/messages"],
    ["gemini", "https://host/v1beta", "https://host/v1beta/models/a%3Fb:streamGenerateContent?alt=sse"],
    ["ollama", "http://localhost:11434/v1", "http://localhost:11434/api/chat"],
    ["ollama", "http://localhost:11434/api/chat", "http://localhost:11434/api/chat"],
    ["openai", "https://host/openai/deployments/d?api-version=1", "https://host/openai/deployments/d/chat/completions?api-version=1"],
    ["anthropic", "https://host?beta=true", "https://host/v1/messages?beta=true"],
    ["gemini", "https://host/v1beta?a=b", "https://host/v1beta/models/a%3Fb:streamGenerateContent?a=b&alt=sse"],
    ["gemini", "https://host/v1beta?alt=sse", "https://host/v1beta/models/a%3Fb:streamGenerateContent?alt=sse"],
  ];
  for (const [provider, base, url] of cases) assert.equal(at(provider, base), url);
  const wrong = [
    ["localhost", /"localhost" is not valid/],
    ["ftp://host/v1", /"ftp:\/\/host\/v1" is neither http nor https/],
    ["ftp://me:secret@host/v1?key=secret", /"ftp:\/\/host\/v1" is neither/],
    ["https://me:secret@host:99999/v1", /"https:\/\/host:99999\/v1" is not valid/],
    ["me:secret@host?key=secret", /"host" is neither/],
    ["https://user:secret@host/v1", /holds a user name or password/],
    ["https://host/v1#secret", /has a fragment/],
    ["https://host/v1#", /has a fragment/],
  ];
  for (const [base, message] of wrong) {
    assert.throws(() => at("openai", base), (error) => failsWith(ModelError, "misconfigured", message)(error) && !inspect(error).includes("secret"));
  }
});

test("a request that names no model is not sent", async (context) => {
  const { base, requests } = await serve(context, (_, response) => response.end());
  const model = fetchModel({ provider: "openai", baseUrl: base });
  for (const modelName of [undefined, null, ""]) {
    assert.throws(() => new Engine({ model, modelName, tree: new MemoryTree() }), failsWith(InputError, "invalid_input", /^modelName: is missing; set it to/, "modelName"));
  }
  const missing = failsWith(InputError, "invalid_input", /^request\.model: is empty; set it to the provider's name/, "request.model");
  const { error } = await collect(model.stream({ model: "", tools: [], messages: [], thinking: false }));
  missing(error);
  assert.throws(() => new Wire({ provider: "gemini" }).encode({ model: "", tools: [], messages: [], thinking: false }), missing);
  // The same must hold for a model that wraps this one and has no name of its own.
  const around = { stream: (...given) => model.stream(...given) };
  const { ending } = await new Engine({ model: around, tree: new MemoryTree() }).speculate({ messages: [] }, "go").finished;
  assert.deepEqual([ending.code, ending.error.startsWith("request.model: is empty")], ["invalid_input", true]);
  assert.deepEqual(requests, []);
});

test("mistakes of the caller are told at once", () => {
  const misconfigured = (message) => failsWith(ModelError, "misconfigured", message);
  assert.throws(() => fetchModel({ provider: "openai" }), misconfigured(/^openai: there is no key; set the option `key` to one$/));
  fetchModel({ provider: "ollama" });
  fetchModel({ provider: "openai", baseUrl: "http://localhost:8000/v1" });
  assert.throws(() => fetchModel({ provider: "gpt" }), failsWith(InputError, "invalid_input", /provider: must be anthropic/));
  assert.throws(() => fetchModel({}), failsWith(InputError, "invalid_input", /provider/));
  assert.throws(() => fetchModel(), failsWith(InputError, "invalid_input", /^options: is missing/));
  assert.throws(() => fetchModel({ provider: "openai", key: 1 }), failsWith(InputError, "invalid_input", /key/));
  for (const wrong of ["2", -1, NaN, {}, true]) {
    const ollama = (options) => () => fetchModel({ provider: "ollama", ...options });
    assert.throws(ollama({ retries: wrong }), failsWith(InputError, "invalid_input", /^retries: must be a number, 0 or more, and is /, "retries"));
    assert.throws(ollama({ timeouts: { idleMs: wrong } }), failsWith(InputError, "invalid_input", /and is/, "timeouts.idleMs"));
  }
  const wire = new Wire({ provider: "openai" });
  assert.throws(() => wire.encode(request, "sk-\u0007secret"), (error) => misconfigured(/characters that no key has/)(error) && !inspect(error).includes("secret"));
  assert.throws(() => wire.encode({ ...request, messages: [{ role: "robot", parts: [] }] }), failsWith(InputError, "invalid_input", /request\.messages\[0\]\.role/));
  assert.throws(() => wire.encode({ model: "m" }), failsWith(InputError, "invalid_input", /request\.messages/));
  assert.throws(() => wire.decoder(request).push("text"), failsWith(InputError, "invalid_input", /bytes/));
  wire.dispose();
  wire.dispose();
  assert.throws(() => wire.encode(request), failsWith(DisposedError, "disposed"));
  const model = fetchModel({ provider: "openai", key: KEY });
  assert.ok(!`${inspect(model, { depth: 9, showHidden: true })}${JSON.stringify(model)}`.includes("secret"));
});

test("a decoder tells a mistake once what came before it was given", () => {
  const decoder = new Wire({ provider: "openai" }).decoder(request);
  const bytes = (text) => new TextEncoder().encode(text);
  assert.deepEqual(decoder.push(bytes('data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {]\n\n')), [{ type: "text", text: "a" }, UNTOLD]);
  assert.throws(() => decoder.end(), failsWith(ModelError, "malformed"));
  assert.deepEqual(decoder.push(bytes("data: x\n\n")), []);
  decoder.dispose();
  assert.throws(() => decoder.end(), failsWith(DisposedError, "disposed"));
  // Ids of calls must be new in the conversation.
  const messages = [
    { role: "user", parts: [{ type: "text", text: "x" }] },
    { role: "model", parts: [{ type: "toolCall", id: "call_1", name: "ls", args: {} }] },
    { role: "tool", parts: [{ type: "toolResult", id: "call_1", name: "ls", output: "a" }] },
  ];
  const other = new Wire({ provider: "openai" }).decoder({ ...request, messages });
  const call = { index: 0, id: "call_1", function: { name: "ls", arguments: "{}" } };
  const events = other.push(bytes(`data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] }, finish_reason: "tool_calls" }] })}\n\ndata: [DONE]\n\n`));
  assert.equal(events[0].type, "toolCall");
  assert.notEqual(events[0].id, "call_1");
});

test("a model without images is told that there was one", async () => {
  const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" };
  const seen = { ...request, messages: [{ role: "user", parts: [{ type: "text", text: "what is this?" }, image] }] };
  for (const [images, told] of [[undefined, /image_url/], [true, /image_url/], [false, /^[^]*what is this\?\\n\\n\[an image, which you cannot see\](?![^]*image_url)/]]) {
    let sent;
    const fetch = async (_, { body }) => ((sent = body), new Response(stream("chat"), { headers: { "content-type": kind("openai") } }));
    const model = fetchModel({ provider: "openai", baseUrl: "http://localhost/v1", key: KEY, images, fetch });
    for await (const _ of model.stream(seen, signal()));
    assert.match(sent, told);
  }
  assert.equal(seen.messages[0].parts[1], image, "the conversation itself keeps it");
  const blind = fetchModel({ provider: "openai", baseUrl: "http://localhost/v1", key: KEY, images: false });
  await assert.rejects(async () => void (await blind.stream(undefined, signal())[Symbol.asyncIterator]().next()), InputError);
});
