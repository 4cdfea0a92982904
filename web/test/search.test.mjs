import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { listen, start } from "./support.mjs";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

let site;
before(async () => (site = await start()));
after(() => site.close());

/** Types a query, and waits until its result is shown. */
async function search({ page }, query, answer) {
  await page.locator("#search").fill(query);
  await page.waitForFunction((wanted) => document.querySelector(".search-results [role=status]")?.textContent.includes(wanted), answer, { timeout: 10_000 });
}

const places = ({ page }) => page.locator(".hits .place").allInnerTexts();

test("places are found by keyboard alone, and open at their line", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  const fetched = () => visitor.requests.filter((url) => /code-index/.test(url)).length;
  assert.equal(fetched(), 0, "the index is not fetched before it is needed");
  await search(visitor, "taken number", "place");
  assert.ok(0 < fetched());
  assert.match((await places(visitor))[0], /^src\/unique\.js:1$/);
  await visitor.shot("11-search");

  await page.locator("#search").focus();
  await visitor.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.closest(".hits li") === document.querySelector(".hits li")), true);
  await visitor.press("ArrowUp");
  assert.equal(await visitor.focused(), "search");
  await visitor.press("ArrowDown", "Enter");
  assert.match(await visitor.focused(), /cm-content/);
  assert.equal(await page.locator(".editor .cm-content").getAttribute("aria-label"), "Content of src/unique.js");

  await page.locator("#search").focus();
  await visitor.press("Escape");
  assert.equal(await page.locator("#search").inputValue(), "");
  assert.equal(await page.locator(".file-list").count(), 1);
  await visitor.done();
});

test("an edit of the visitor's and one that is staged are found a moment after, and are gone with it", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await search(visitor, "zebraCrossing", "Nothing fits.");
  await page.locator("#search").fill("");
  await visitor.openFile("src/fold.js");
  await visitor.press("Control+Home");
  await page.keyboard.type("function zebraCrossing() {}\n");
  await search(visitor, "zebraCrossing", "1 place");
  assert.deepEqual(await places(visitor), ["src/fold.js:1"]);

  // Work ahead stages tests. The search has to find them before they are in the project.
  await search(visitor, "cuts a long slug", "place");
  const staged = page.locator(".hits .mark.staged");
  assert.equal(await staged.count(), 0);
  await page.locator("#prompt").focus();
  await visitor.firstTurn();
  await staged.first().waitFor();
  assert.match((await places(visitor))[0], /^test\/slugify\.test\.js/);
  await visitor.shot("11-search-staged");
  assert.ok(!(await visitor.files())["test/slugify.test.js"].includes("cuts a long slug"));

  // A staged place opens the diff.
  await page.locator("#search").focus();
  await visitor.press("Enter");
  await page.waitForSelector("dialog.diff[open] .cm-changedLine");
  await visitor.press("Escape");

  // Once the work is dismissed, the search must not find it any more.
  await page.locator("#prompt").focus();
  await visitor.press("Escape");
  await visitor.ahead("none");
  await staged.first().waitFor({ state: "detached" });
  await visitor.done();
});

test("a query may be anything, and nothing in it or in a file is markup", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await search(visitor, "用户登录", "Nothing fits.");
  await search(visitor, "the and of", "place");
  await search(visitor, '"><img src=x onerror=alert(1)> AND NOT (', "");
  assert.equal(await page.locator(".search-results img").count(), 0);
  await page.locator("#search").fill("slugify ".repeat(12_500));
  await page.waitForFunction(() => /slugify\.js/.test(document.querySelector(".hits .place")?.textContent), undefined, { timeout: 10_000 });
  await page.locator("#search").fill("   ");
  await page.locator(".file-list").waitFor();
  await visitor.done();
});

test("where the index cannot be fetched that is said, with what to do", async () => {
  const visitor = await site.open({ allow: [/Failed to load resource/, /net::ERR_FAILED/] });
  const { page } = visitor;
  await page.route(/code-index[^/]*\.js/, (route) => route.abort());
  await search(visitor, "slugify", "load the page again");
  await page.locator("#search").press("Escape");
  await page.locator(".file-list").waitFor();
  await visitor.done();
});

for (const [width, height, colorScheme] of [[1280, 860, "light"], [1280, 860, "dark"], [400, 800, "light"], [400, 800, "dark"]]) {
  test(`the search has no barrier and fits at ${width}, ${colorScheme}`, async () => {
    const visitor = await site.open({ width, height, colorScheme });
    const { page } = visitor;
    await page.evaluate(await readFile(AXE, "utf8"));
    await visitor.firstTurn();
    await search(visitor, "slugify separator", "place");
    await page.locator(".hits button").first().scrollIntoViewIfNeeded();
    const violations = await page.evaluate(async () => (await window.axe.run(document)).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`));
    assert.deepEqual(violations, []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    await visitor.shot(`12-search-${width}-${colorScheme}`);
    await visitor.done();
  });
}

/**
 * A server that speaks chat completions. It stages a file, searches for the content, and tells what the search has
 * found.
 */
async function searching() {
  const asked = [];
  const { server, origin } = await listen(async (request, response) => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
    let text = "";
    for await (const piece of request) text += piece;
    const body = JSON.parse(text);
    asked.push(body);
    response.writeHead(200, { ...cors, "content-type": "text/event-stream" });
    const send = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: body.model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    const call = (name, args) => {
      send({ role: "assistant", tool_calls: [{ index: 0, id: `call_${asked.length}`, type: "function", function: { name, arguments: JSON.stringify(args) } }] });
      send({}, "tool_calls");
    };
    const last = body.messages.at(-1);
    const tools = body.messages.filter(({ role }) => role === "tool").length;
    if (body.response_format || /suggest/i.test(JSON.stringify(last.content ?? ""))) {
      send({ role: "assistant", content: '{"suggestion":"add a zebra"}' });
      send({}, "stop");
    } else if (last.role === "user" && JSON.stringify(last.content).includes("zebra")) call("write_file", { file_path: "src/zebra.js", content: "export function zebraCrossing() {}\n" });
    else if (last.role === "tool" && /zebra|wrote|created|new file/i.test(JSON.stringify(last.content)) && !JSON.stringify(last.content).includes("zebraCrossing()")) call("codebase", { query: "zebra crossing" });
    else if (last.role === "user") call("codebase", { query: "unique slug" });
    else {
      send({ role: "assistant", content: `After ${tools}: ${JSON.stringify(last.content)}` });
      send({}, "stop");
    }
    response.end("data: [DONE]\n\n");
  });
  return { asked, origin, close: () => (server.closeAllConnections(), server.close()) };
}

test("a model of the visitor's searches the project, and ahead of them what it has staged", async (t) => {
  const api = await searching();
  t.after(api.close);
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.useOwn({ baseUrl: `${api.origin}/v1`, model: "mine-1", key: "key" });
  await page.getByRole("button", { name: "Model: mine-1" }).waitFor();
  await page.locator("#prompt").fill("where is it?");
  await page.locator("#prompt").focus();
  await visitor.press("Enter");
  await visitor.said("src/unique.js:1-");
  assert.ok(api.asked[0].tools.some(({ function: { name } }) => name === "repo_map"));
  await visitor.suggestion("add a zebra");
  await visitor.ahead("completed");
  assert.match(await page.locator(".ahead-body").textContent(), /src\/zebra\.js:1-1 zebraCrossing/);
  const isButton = (name) => page.locator(".items .name", { hasText: name }).first().evaluate((element) => element.matches("button"));
  assert.deepEqual([await isButton("unique.js"), await isButton("zebra.js")], [true, false], "what is only staged cannot be opened in the project");
  await visitor.done();
});
