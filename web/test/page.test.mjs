// The parts around the conversation: links, the picture beside a shared link, marked lines, hints about keys for
// visitors with a keyboard, and the end of the recording, which says how to go on.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

const marked = (page) => page.locator(".editor .cm-applied").allInnerTexts();

test("lines that the work wrote are marked until they are edited or something else is sent", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await page.waitForSelector(".editor .cm-content");
  await visitor.firstTurn();
  const first = await marked(page);
  assert.equal(first.length, 2, first.join("\n"));
  assert.match(first[0], /maxLength = Infinity/);
  assert.match(first[1], /slice\(0, maxLength\)/);
  await page.locator(".editor .cm-applied").first().click();
  await visitor.press("End");
  await page.keyboard.type(" // mine");
  assert.deepEqual(await marked(page), [first[1]], "what the user changes is theirs");
  await page.locator("#prompt").focus();
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  assert.deepEqual(await marked(page), [], "the turn before is read");
  await page.locator("[data-applied] button", { hasText: "test/slugify.test.js" }).click();
  // The editor draws only lines in sight, so the test goes to the end of the file.
  await visitor.press("Control+End");
  await page.waitForFunction(() => document.querySelectorAll(".editor .cm-applied").length === 8, undefined, { timeout: 5_000 }).catch(() => {});
  const tests = await marked(page);
  assert.equal(tests.length, 8, `also in a file that was not open: ${tests.join("\n")}`);
  assert.match(tests.join("\n"), /maxLength cuts a long slug/);
  await visitor.done();
});

test("an undo in the editor takes back what the work wrote in a file that was not open", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await page.waitForSelector(".editor .cm-content");
  await visitor.firstTurn();
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  await visitor.openFile("test/slugify.test.js");
  await visitor.press("Control+z");
  assert.doesNotMatch((await visitor.files())["test/slugify.test.js"], /maxLength/);
  await visitor.done();
});

test("when the recording has nothing more, the page says what to do next", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  const next = page.locator("[data-ending]");
  await page.locator("#prompt").fill("bump the version to 1.4.0");
  await visitor.press("Enter");
  await next.waitFor();
  assert.match(await next.innerText(), /^That was the recording\. What now\?/);
  const to = await next.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.deepEqual(to, ["#timeline", "#gate", "../chat.html", "../elsewhere/vscode.html", "https://www.npmjs.com/package/headstart"]);
  await next.getByRole("button", { name: "Choose a model of your own" }).click();
  await page.waitForSelector("dialog.settings[open]");
  await visitor.press("Escape");
  await next.getByRole("button", { name: "Start over" }).click();
  await page.waitForSelector(".intro");
  assert.equal(await next.count(), 0);
  await visitor.done();
});

test("whoever has no keyboard is told of no keys", async () => {
  const context = await site.browser.newContext({ viewport: { width: 400, height: 800 }, isMobile: true, hasTouch: true });
  const page = await context.newPage();
  await page.goto(`${site.origin}/?speed=8`);
  await page.waitForFunction(() => document.querySelector("#prompt") && !document.querySelector("[data-opening]"));
  const keys = async (where) => {
    assert.equal(await page.locator("kbd:visible").count(), 0, where);
    assert.doesNotMatch(await page.locator("main").innerText(), /\b(Tab|Enter|Esc|F2)\b/, where);
  };
  await keys("the first screen");
  await page.getByRole("button", { name: "Send" }).tap();
  const accept = page.locator('[data-key="accept"]');
  await accept.waitFor();
  await keys("a suggestion");
  await page.waitForTimeout(450);
  assert.equal(await page.locator("#live").innerText(), "Suggestion: add tests for maxLength. Accept takes it.");
  await accept.tap();
  await page.waitForSelector("[data-applied]");
  await keys("applied");
  await context.close();
});

test("the page links to source, package and docs, and brings its picture along", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  const links = await page.locator("footer a").evaluateAll((links) => links.map((link) => [link.textContent, link.getAttribute("href")]));
  assert.deepEqual(links.map(([text]) => text), ["Documentation", "Source", "npm package"]);
  assert.equal(links[0][1], "../", "it lies in the book of the docs");
  assert.match(links[1][1], /^https:\/\/[^/]+\/[^/]+\/headstart$/);
  const picture = await page.locator('meta[property="og:image"]').getAttribute("content");
  const answer = await fetch(new URL(picture.split("/").at(-1), `${site.origin}/`));
  const bytes = Buffer.from(await answer.arrayBuffer());
  const size = await Promise.all(["width", "height"].map((side) => page.locator(`meta[property="og:image:${side}"]`).getAttribute("content")));
  assert.deepEqual([16, 20].map((at) => String(bytes.readUInt32BE(at))), size, "the size that the page names is that of the file");
  await visitor.done();
});

test("a long conversation makes the page no longer", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.toBoundary();
  const { whole, seen } = await page.evaluate(() => ({ whole: document.documentElement.scrollHeight, seen: innerHeight }));
  assert.equal(whole, seen);
  await visitor.done();
});
