// The items that a call found are listed below it as rows, and a row opens its place.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { listen, start } from "./support.mjs";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
/** Hostile names: the first reverses the letters behind it, the second would be a picture if it were read as HTML. */
const HOSTILE = ["src/\u202egnp.js", "src/<img src=x onerror=alert(1)>.js"];

let site;
before(async () => (site = await start()));
after(() => site.close());

/** A server that speaks chat completions. It takes each prompt as the arguments of one call, or of several. */
async function calling() {
  const { server, origin } = await listen(async (request, response) => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
    let text = "";
    for await (const piece of request) text += piece;
    const { messages, model, response_format } = JSON.parse(text);
    response.writeHead(200, { ...cors, "content-type": "text/event-stream" });
    const send = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    const last = messages.at(-1);
    const isSuggestion = response_format !== undefined || JSON.stringify(last.content).includes("suggest");
    if (isSuggestion || last.role !== "user" || !last.content.startsWith("[[")) {
      send({ role: "assistant", content: isSuggestion ? '{"suggestion":""}' : `Answer ${messages.length}.` });
      send({}, "stop");
    } else {
      const calls = JSON.parse(last.content).map(([name, args], index) => ({ index, id: `call_${messages.length}_${index}`, type: "function", function: { name, arguments: JSON.stringify(args) } }));
      send({ role: "assistant", tool_calls: calls });
      send({}, "tool_calls");
    }
    response.end("data: [DONE]\n\n");
  });
  return { origin, close: () => (server.closeAllConnections(), server.close()) };
}

/** Opens the page with that model. `ask` has calls made and waits for the answer after them. */
async function begin(t, options) {
  const api = await calling();
  t.after(api.close);
  const visitor = await site.open(options);
  const { page } = visitor;
  await visitor.useOwn({ baseUrl: `${api.origin}/v1`, model: "mine-1", key: "key" });
  await page.getByRole("button", { name: "Model: mine-1" }).waitFor();
  const ask = async (...calls) => {
    const answers = await page.locator(".said.model").count();
    await page.locator("#prompt").fill(JSON.stringify(calls));
    await page.locator("#prompt").focus();
    await visitor.press("Enter");
    await page.locator(".said.model").nth(answers).waitFor();
  };
  return { visitor, page, ask };
}

for (const [width, height] of [[1280, 860], [400, 800]]) {
  test(`what a search found stands below it, a place opens, and the rest is folded (${width} wide)`, async (t) => {
    const { visitor, page, ask } = await begin(t, { width, height });
    await ask(...HOSTILE.map((file_path) => ["write_file", { file_path, content: "export const slugOfThePicture = 1;\n" }]));
    await ask(["codebase", { query: "slug of the picture" }]);
    const items = page.locator(".log .items").last();
    assert.equal(await items.locator(":scope > ul > li").count(), 4);
    assert.match(await items.locator("summary").innerText(), /^\d+ more$/);
    await visitor.shot(`items-${width}`);
    await items.locator("summary").click();
    const shown = await items.innerText();
    assert.ok(shown.includes("\\u{202e}gnp.js") && !shown.includes("\u202e"), shown);
    assert.ok(shown.includes("<img src=x onerror=alert(1)>.js"), shown);
    assert.equal(await items.locator("img").count(), 0);
    const unsafe = await page.locator(".call summary, .file-list").allTextContents();
    assert.ok(!unsafe.join().includes("\u202e"), "nor do the lines of the calls and the list of files turn a name");
    await page.evaluate(await readFile(AXE, "utf8"));
    const faults = await page.evaluate(async () => (await axe.run(document.querySelector(".log"))).violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`));
    assert.deepEqual(faults, []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), "nothing is wider than the page");
    await visitor.shot(`items-all-${width}`);

    await items.getByRole("button", { name: /gnp\.js/ }).click();
    await page.locator(".editor .cm-content", { hasText: "slugOfThePicture" }).waitFor();
    assert.match(await visitor.focused(), /cm-content/);

    const rows = await items.locator("li").allTextContents();
    await visitor.saved();
    await page.reload();
    await page.locator(".log .items li").first().waitFor();
    assert.deepEqual(await page.locator(".log .items").last().locator("li").allTextContents(), rows, "a reload shows them again");
    await visitor.done();
  });
}

test("what a call names itself has no row, and opens at its line from what it gave", async (t) => {
  const { visitor, page, ask } = await begin(t, {});
  await ask(["read_file", { file_path: "src/slugify.js", offset: 3, limit: 2 }], ["shell", { command: "ls" }]);
  assert.equal(await page.locator(".log .items").count(), 0);
  await page.locator(".log .call summary", { hasText: "src/slugify.js" }).click();
  await page.getByRole("button", { name: "Open slugify.js (3-4)" }).click();
  assert.equal(await page.locator(".editor .cm-content").getAttribute("aria-label"), "Content of src/slugify.js");
  const line = await page.evaluate(() => {
    const { anchorNode } = document.getSelection();
    return (anchorNode instanceof Element ? anchorNode : anchorNode.parentElement).closest(".cm-line").textContent;
  });
  assert.equal(line, (await visitor.files())["src/slugify.js"].split("\n")[2]);
  await visitor.done();
});
