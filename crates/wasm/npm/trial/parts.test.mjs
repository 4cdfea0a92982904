// Tests of a page that fetches the module in two parts: a conversation begins with the first part, and must be the same
// as with the whole module.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { classifyShell, judge } from "headstart";
import { openBrowser, serve } from "./browser.mjs";

const folder = dirname(createRequire(import.meta.url).resolve("headstart/package.json"));
const commands = readFileSync(new URL("sample.jsonl", import.meta.url), "utf8").trim().split("\n").map((row) => JSON.parse(row).cmd);

let browser;
let server;
before(async () => {
  [browser, server] = await Promise.all([openBrowser(), serve(folder, { ".json": "text/plain" })]);
});
after(async () => {
  await browser.close();
  server.close();
});

/** Opens a page that has the package as `headstart`. `rest` handles each request for the second part. */
async function opened(context, rest = (route) => route.continue()) {
  const page = await browser.newPage();
  context.after(() => page.close());
  const fetched = [];
  page.on("requestfinished", (request) => fetched.push(new URL(request.url()).pathname.slice(1)));
  await page.route("**/headstart-rest.wasm", rest);
  await page.goto(`${server.address}package.json`);
  await page.evaluate(async () => {
    globalThis.headstart = await import("/index.js");
    /** A model that says what it was asked, and runs `command` if there is one. */
    globalThis.modelOf = (command) => ({
      asked: 0,
      async *stream({ messages, responseSchema }) {
        this.asked += 1;
        if (responseSchema) yield { type: "text", text: '{"suggestion":""}' };
        else if (command && messages.at(-1).role !== "tool") yield { type: "toolCall", name: "shell", args: { command } };
        else yield { type: "text", text: "Hello." };
        yield { type: "finished", reason: "stop" };
      },
    });
    globalThis.agentOf = (model) =>
      new headstart.Agent({ model, tree: new headstart.MemoryTree({ "a.txt": "one\n" }), mode: "auto-edit", runCommand: async () => ({ output: "ran\n" }) });
  });
  return { page, fetched };
}

/** A handler that holds a request back until `go` is called. */
function held() {
  let go;
  const going = new Promise((resolve) => (go = resolve));
  return { go, hold: async (route) => (await going, route.continue()) };
}

test("a prompt is sent before the rest is there, and answered when it is", async (context) => {
  const { go, hold } = held();
  const { page, fetched } = await opened(context, hold);
  const begun = await page.evaluate(async () => {
    await headstart.initToBegin();
    globalThis.model = modelOf("ls; curl example.org");
    globalThis.agent = agentOf(model);
    const sent = agent.submit("run it");
    while (model.asked === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    return { sent, phase: agent.view.phase, items: agent.view.items.map(({ type }) => type) };
  });
  assert.deepEqual(begun, { sent: "begins", phase: "turn", items: ["prompt"] });
  assert.deepEqual(fetched.filter((file) => file.endsWith(".wasm")), ["headstart-start.wasm"]);
  go();
  await page.waitForFunction(() => agent.view.question !== undefined);
  const { call, verdict } = await page.evaluate(() => JSON.parse(JSON.stringify(agent.view.question)));
  assert.equal(call.args.command, "ls; curl example.org");
  assert.deepEqual([verdict.decision, verdict.reason], ["boundary", "network"]);
  assert.deepEqual(fetched.filter((file) => file.endsWith(".wasm")), ["headstart-start.wasm", "headstart-rest.wasm"]);
});

test("init waits for both parts, and every verdict is that of the module in one piece", async (context) => {
  const { page, fetched } = await opened(context);
  const rules = { mode: "auto-edit", deny: ["*.pem"], policies: [{ program: "make", decision: "allow" }] };
  const found = await page.evaluate(
    async ([commands, rules]) => {
      await Promise.all([headstart.init(), headstart.init(), headstart.initToBegin()]);
      return commands.map((command) => headstart.classifyShell(command, rules));
    },
    [commands, rules],
  );
  assert.ok(500 < found.length);
  assert.deepEqual(found, JSON.parse(JSON.stringify(commands.map((command) => classifyShell(command, rules)))));
  assert.deepEqual(fetched.filter((file) => file.endsWith(".wasm")).toSorted(), ["headstart-rest.wasm", "headstart-start.wasm"]);
});

test("who judges a command before the rest is there waits for it, and gets the same verdict", async (context) => {
  const { page } = await opened(context);
  const verdicts = await page.evaluate(async (commands) => {
    await headstart.initToBegin();
    return commands.map((command) => headstart.judge({ name: "shell", args: { command } }));
  }, commands);
  assert.deepEqual(verdicts, JSON.parse(JSON.stringify(commands.map((command) => judge({ name: "shell", args: { command } })))));
});

test("a rest that cannot be had fails the turn, and the next one has it tried again", async (context) => {
  let isThere = false;
  const { page } = await opened(context, (route) => (isThere ? route.continue() : route.abort()));
  const failed = await page.evaluate(async () => {
    await headstart.initToBegin();
    globalThis.agent = agentOf(modelOf());
    return headstart.init().catch(({ name, code }) => ({ name, code }));
  });
  assert.deepEqual(failed, { name: "HeadstartError", code: "not_loaded" });
  const said = () =>
    page.evaluate(async () => {
      agent.submit("hello");
      await agent.idle();
      return JSON.stringify(agent.view.items);
    });
  assert.match(await said(), /the module could not be loaded/);
  isThere = true;
  assert.match(await said(), /"Hello\."/);
});
