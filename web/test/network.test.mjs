import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { listen, start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

const foreign = (visitor) => visitor.requests.filter((url) => !url.startsWith(`${site.origin}/`) && !/^(blob|data):/.test(url));

test("no request leaves the page's own origin", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.toQuestion();
  await visitor.answer("y");
  await visitor.said("1 of 8 tests fails");
  await page.locator('[data-view="gate"]').click();
  await page.locator(".example").first().click();
  await page.locator('[data-view="timeline"]').click();
  assert.ok(3 < visitor.requests.length, "requests are seen at all");
  assert.deepEqual(foreign(visitor), []);
  assert.equal(await page.locator("iframe").count(), 0, "nothing that could reach a network is there");
  await visitor.done();
});

test("the page's policy refuses other origins, to the page and to the project's tests", async (t) => {
  let asked = 0;
  const { server, origin } = await listen((_request, response) => {
    asked += 1;
    response.writeHead(200, { "access-control-allow-origin": "*", "content-type": "text/javascript" }).end("export default 1");
  });
  t.after(() => server.close());
  const visitor = await site.open({ allow: [/Content Security Policy|violates/i, /Failed to load|Failed to fetch/] });
  const { page } = visitor;
  const refused = await page.evaluate((url) => fetch(url).then(() => "answered", () => "refused"), origin);
  assert.equal(refused, "refused");

  await page.locator("#prompt").focus();
  await visitor.firstTurn();
  await visitor.press("Tab");
  await visitor.suggestion("run the tests");
  await visitor.openFile("test/unique.test.js");
  await visitor.press("Control+End");
  await page.keyboard.insertText(`
it("has nothing to ask with", () => {
  for (const name of ["fetch", "WebSocket", "XMLHttpRequest", "EventSource", "Worker"]) assert.equal(globalThis[name], undefined, name);
});
it("reaches nothing with what it digs out", async () => {
  let dug;
  for (let at = globalThis; at; at = Object.getPrototypeOf(at)) dug ??= Object.getOwnPropertyDescriptor(at, "fetch")?.value;
  assert.equal(typeof dug, "function");
  await assert.rejects(dug.call(globalThis, "${origin}/a"));
});
it("makes no code from text", () => {
  assert.throws(() => new Function("return import('${origin}/a.js')"), EvalError);
});
`);
  await page.locator("#prompt").focus();
  await visitor.press("Tab");
  await page.waitForFunction(() => document.activeElement?.id === "question");
  await visitor.answer("y");
  await visitor.said("1 of 11 tests fails");
  const output = await visitor.log();
  for (const name of ["has nothing to ask with", "reaches nothing with what it digs out", "makes no code from text"]) {
    assert.ok(output.includes(`✔ ${name}`), output);
  }
  assert.equal(asked, 0);
  await fetch(origin);
  assert.equal(asked, 1, "the server would have noticed");
  await visitor.done();
});

/** A server that speaks chat completions and allows requests from a page. */
async function completions() {
  const asked = [];
  const api = { asked, fails: 0, slow: 0 };
  const { server, origin } = await listen(async (request, response) => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
    let text = "";
    for await (const piece of request) text += piece;
    const body = JSON.parse(text);
    asked.push({ url: request.url, headers: request.headers, body });
    if (body.model === "unknown") {
      return response.writeHead(404, { ...cors, "content-type": "application/json" }).end('{"error":{"message":"there is no model unknown"}}');
    }
    if (0 < api.fails) {
      api.fails -= 1;
      // The answer is late enough that the user can type in the meantime.
      await new Promise((resolve) => setTimeout(resolve, 300));
      return response.writeHead(400, { ...cors, "content-type": "application/json" }).end('{"error":{"message":"out of order"}}');
    }
    await new Promise((resolve) => setTimeout(resolve, api.slow));
    response.writeHead(200, { ...cors, "content-type": "text/event-stream" });
    const send = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: body.model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    const last = body.messages.at(-1);
    const said = body.messages.filter(({ role }) => role === "assistant").length;
    if (body.response_format || /suggest/i.test(JSON.stringify(last.content ?? "")) ) {
      send({ role: "assistant", content: '{"suggestion":"add a licence file"}' });
      send({}, "stop");
    } else if (last.role === "user") {
      const call = (name, args) => ({ role: "assistant", tool_calls: [{ index: 0, id: `call_${said}`, type: "function", function: { name, arguments: JSON.stringify(args) } }] });
      const isLicence = JSON.stringify(last.content).includes("licence");
      send(isLicence ? call("write_file", { file_path: "LICENSE", content: "MIT\n" }) : call("read_file", { file_path: "package.json" }));
      send({}, "tool_calls");
    } else {
      send({ role: "assistant", content: "That is " });
      send({ content: "tidy-slug." });
      send({}, "stop");
    }
    response.end("data: [DONE]\n\n");
  });
  return Object.assign(api, { origin, close: () => (server.closeAllConnections(), server.close()) });
}

test("no suggestion is asked for with the switch off, nor for whoever types already", async (t) => {
  const api = await completions();
  t.after(api.close);
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.useOwn({ baseUrl: `${api.origin}/v1`, model: "mine-1", key: "key" });
  const turn = async (prompt) => {
    const before = api.asked.length;
    await page.locator("#prompt").fill(prompt);
    await page.locator("#prompt").focus();
    await visitor.press("Enter");
    return before;
  };
  await page.getByLabel("Run ahead").uncheck();
  const off = await turn("what is this?");
  await visitor.said("That is tidy-slug.");
  await page.waitForTimeout(300);
  assert.equal(api.asked.length - off, 2, "the turn's own requests");

  await page.getByLabel("Run ahead").check();
  await visitor.suggestion("add a licence file");
  api.slow = 300;
  const typing = await turn("and what else?");
  await page.keyboard.type("then do");
  await page.waitForFunction(() => 2 <= document.querySelector(".log").textContent.split("That is tidy-slug.").length - 1);
  await page.waitForTimeout(300);
  assert.equal(api.asked.length - typing, 2, "the turn's own requests");
  assert.equal(await page.locator(".ghost .rest").count(), 0);
  await visitor.done();
});

test("a model at the visitor's own address answers, is suggested by, and works ahead; the key stays in memory", async (t) => {
  const api = await completions();
  t.after(api.close);
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.useOwn({ baseUrl: `${api.origin}/v1`, model: "mine-1", key: "key-of-a-visitor" });
  await page.locator("#prompt").fill("what is this?");
  await page.locator("#prompt").focus();
  await visitor.press("Enter");
  await visitor.said("That is tidy-slug.");
  await visitor.suggestion("add a licence file");
  await visitor.ahead("completed");
  assert.equal((await visitor.files()).LICENSE, undefined);
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  assert.equal((await visitor.files()).LICENSE, "MIT\n");

  assert.ok(api.asked.every(({ url, body }) => url === "/v1/chat/completions" && body.model === "mine-1"));
  assert.ok(api.asked.every(({ headers }) => headers.authorization === "Bearer key-of-a-visitor" && headers.referer === undefined && headers.cookie === undefined));
  assert.deepEqual(foreign(visitor).filter((url) => !url.startsWith(api.origin)), [], "only the visitor's own address was asked");
  const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie, location.href, document.documentElement.outerHTML]));
  assert.doesNotMatch(kept, /key-of-a-visitor/);

  await page.reload();
  await page.waitForSelector("#prompt");
  assert.match(await page.locator("#tools").innerText(), /Model: recording/);
  await visitor.said("Your own model, mine-1, does not answer any more");
  await visitor.said("now the recording answers");
  await page.waitForTimeout(250);
  await page.reload();
  await page.waitForFunction(() => 2 <= document.querySelectorAll(".log .note").length);
  assert.doesNotMatch(await page.locator(".log .note").last().innerText(), /mine-1/, "told once");
  await visitor.done();
});

test("the settings show what is in force, and what was cancelled is gone", async (t) => {
  const api = await completions();
  t.after(api.close);
  const visitor = await site.open({});
  const { page } = visitor;
  const dialog = page.locator("dialog.settings");
  const form = () => dialog.locator("form").evaluate((element) => Object.fromEntries(new FormData(element)));
  const open = () => page.getByRole("button", { name: /^Model:/ }).click();
  const change = async (baseUrl, model, key) => {
    await open();
    await page.getByLabel("A model of your own.").check();
    await page.getByLabel("Base URL").fill(baseUrl);
    await dialog.locator('input[name="model"]').fill(model);
    await dialog.locator('input[name="key"]').fill(key);
  };
  await change("http://localhost:1/v1", "cancelled", "key-that-was-cancelled");
  await dialog.getByRole("button", { name: /^Cancel/ }).click();
  assert.equal((await form()).key, "", "no key lies in the closed form");
  await open();
  assert.deepEqual(await form(), { kind: "recorded", baseUrl: "", model: "", key: "" });
  assert.equal(await page.getByLabel("Base URL").isVisible(), false);
  await visitor.press("Escape");

  const inForce = { kind: "remote", baseUrl: `${api.origin}/v1`, model: "mine-1", key: "key-of-a-visitor" };
  await visitor.useOwn(inForce);
  await change("http://localhost:1/v1", "other", "another-key");
  await visitor.press("Escape");
  assert.equal((await form()).key, "");
  await open();
  assert.deepEqual(await form(), inForce);
  await page.getByLabel("A recording.").check();
  await dialog.getByRole("button", { name: "Use it" }).click();
  await open();
  assert.deepEqual(await form(), { kind: "recorded", baseUrl: "", model: "", key: "" }, "who answers no more is forgotten");
  await visitor.done();
});

test("a wrong address, model or form is told in words", async (t) => {
  const api = await completions();
  t.after(api.close);
  const visitor = await site.open({ allow: [/Failed to load resource|net::ERR|CORS/] });
  const { page } = visitor;
  await visitor.useOwn({ baseUrl: "not a url", model: "m", key: "" });
  assert.match(await page.locator("dialog.settings [role=alert]").innerText(), /must begin with http/);
  await visitor.press("Escape");
  await visitor.useOwn({ baseUrl: `${api.origin}/v1`, model: "unknown", key: "" });
  const ask = async () => {
    await page.locator("#prompt").fill("what is this?");
    await page.locator("#prompt").focus();
    await visitor.press("Enter");
  };
  await ask();
  await visitor.said("there is no model unknown");
  assert.deepEqual((await visitor.saved()).messages, [], "a prompt without an answer is not part of the conversation");
  api.close();
  await ask();
  await page.waitForFunction(() => 2 <= document.querySelectorAll("[data-failed]").length, undefined, { timeout: 60_000 });
  await visitor.done();
});

test("a prompt that failed is kept, and can be tried again by button and by key", async (t) => {
  const api = await completions();
  t.after(api.close);
  const visitor = await site.open({ allow: [/Failed to load resource/] });
  const { page } = visitor;
  await visitor.useOwn({ baseUrl: `${api.origin}/v1`, model: "mine-1", key: "" });
  const prompt = page.locator("#prompt");
  const failures = (count) => page.waitForFunction((wanted) => document.querySelectorAll("[data-failed]").length === wanted, count);
  api.fails = 3;
  await prompt.fill("what is this?");
  await prompt.focus();
  await visitor.press("Enter");
  await failures(1);
  assert.match(await page.locator("[data-failed]").innerText(), /out of order/);
  assert.match(await visitor.live(), /out of order/);
  assert.equal(await prompt.inputValue(), "what is this?");
  await visitor.shot("11-failed");
  await page.getByRole("button", { name: "Try again: what is this?" }).click();
  assert.equal(await prompt.inputValue(), "", "it is not there twice");
  await failures(2);
  assert.equal(await visitor.focused(), "prompt");

  await visitor.press("Enter");
  await page.waitForSelector(".working");
  await page.keyboard.type("another thought");
  await failures(3);
  assert.equal(await prompt.inputValue(), "what is this?\nanother thought", "it stands before what is typed");

  await page.reload();
  await failures(3);
  await visitor.useOwn({ baseUrl: `${api.origin}/v1`, model: "mine-1", key: "" });
  await page.getByRole("button", { name: "Try again: what is this?" }).last().click();
  await visitor.said("That is tidy-slug.");
  const { messages } = await visitor.saved();
  assert.equal(messages.filter(({ role }) => role === "user").length, 1, "what failed is not part of the conversation");
  await visitor.done();
});
