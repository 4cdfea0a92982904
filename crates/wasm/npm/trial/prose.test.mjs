// Tests of answers in Markdown that grow in a page.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "vite";
import { openBrowser, serve } from "./browser.mjs";
import { viteOptions } from "./runs.mjs";

let browser;
let server;
let page;
before(async () => {
  const root = join(import.meta.dirname, "projects/prose");
  await build(viteOptions(root));
  [browser, server] = [await openBrowser(), await serve(join(root, "dist"))];
  page = await browser.newPage();
  await page.goto(server.address);
  await page.waitForFunction(() => globalThis.page !== undefined);
});
after(async () => {
  await browser.close();
  server.close();
});

/** Lines of which each may change what the ones before it are. */
const LINES = [
  "words and `code` and `src/a.js`", "**bold", "text** _more_", "", "", "- one", "  - two", "* three", "1. first", "2", "2. second", "   further", "```js src/a.js",
  "const a = `b`;", "```", "~~~", "# title", "===", "---", "> said", "a | b", "--- | ---", "1 | 2", "<div>", "</div>", "<!-- so", "-->", "[name]", "[name]: https://example.org",
  "[x](https://example.org/x) ![y](z.png)", "    indented", "\\* no list", "- [ ] task", "***", "\tafter a tab", "<script>alert(1)</script>", "last  ", "next",
];

/** Numbers from a seed: the same ones in every run. */
function numbers(seed) {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
}

test("what has grown in pieces is what the whole text gives", { timeout: 300_000 }, async () => {
  const random = numbers(7);
  const cases = Array.from({ length: 1000 }, () => {
    const end = random(4) === 0 ? "\r\n" : "\n";
    const text = Array.from({ length: 2 + random(14) }, () => LINES[random(LINES.length)]).join(end);
    const cuts = Array.from({ length: 1 + random(30) }, () => random(text.length + 1));
    return { text, cuts: [...cuts, text.length].toSorted((one, other) => one - other) };
  });
  const differing = await page.evaluate(async (cases) => {
    const { page } = globalThis;
    const differing = [];
    for (const { text, cuts } of cases) {
      page.begin();
      for (const cut of cuts) page.say(text.slice(0, cut));
      const whole = page.whole(text);
      // A drawing that took long has a pause behind it.
      for (let left = 100; page.html() !== whole && 0 < left; left -= 1) await new Promise((resolve) => setTimeout(resolve, 10));
      if (page.html() !== whole) differing.push({ text, cuts, grown: page.html(), whole });
    }
    return differing;
  }, cases);
  assert.deepEqual(differing.slice(0, 2), [], `${differing.length} differ`);
});

test("a long answer is read about once, however small its pieces are", async () => {
  const part = (number) => `Part ${number} counts **words** of \`src/a.js\`.\n\n- one thing\n- another\n\n`;
  const text = Array.from({ length: 200 }, (_, number) => part(number)).join("");
  const read = await page.evaluate((text) => {
    globalThis.page.begin();
    for (let end = 0; end <= text.length; end += 4) globalThis.page.say(text.slice(0, end));
    globalThis.page.say(text);
    return globalThis.page.read();
  }, text);
  // A block is read again while it grows. All of the text each time would be 1,400 times its length.
  assert.ok(read < 30 * text.length, `${read} characters are read of ${text.length}`);
});

test("buttons of a path and over code do what their text says at last", async () => {
  const text = "See `src/a.js`.\n\n```js\none();\ntwo();\n```\n";
  await page.evaluate((text) => {
    globalThis.page.begin();
    for (let end = 1; end <= text.length; end += 1) globalThis.page.say(text.slice(0, end));
  }, text);
  await page.waitForFunction(() => document.querySelector("pre code")?.textContent === "one();\ntwo();");
  for (const button of await page.locator("article button").all()) await button.click();
  assert.deepEqual(await page.evaluate(() => globalThis.page.pressed), ["src/a.js", "one();\ntwo();"]);
});

test("nothing of a model is HTML", async () => {
  await page.evaluate(() => {
    globalThis.page.begin();
    globalThis.page.say("<img src=x onerror=\"globalThis.harm = 1\">\n\n[a](javascript:alert(1)) ![p](https://example.org/p.png)\n");
  });
  assert.equal(await page.locator("article img, article a").count(), 0);
  assert.equal(await page.evaluate(() => globalThis.harm), undefined);
});
