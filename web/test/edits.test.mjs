import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

test("an edit in another place of the same file is merged", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await visitor.openFile("test/slugify.test.js");
  await visitor.press("Control+Home");
  await page.keyboard.type("// mine\n");
  await page.locator("#prompt").focus();
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  assert.match(await visitor.log(), /Merged with your own edits: test\/slugify\.test\.js/);
  const text = (await visitor.files())["test/slugify.test.js"];
  assert.match(text, /^\/\/ mine\nimport/);
  assert.match(text, /maxLength cuts a long slug/);
  assert.equal(await page.locator(".editor .cm-line").first().innerText(), "// mine", "the open editor shows the merged file");
  await visitor.done();
});

test("an edit in the same place is a conflict: nothing is applied, the edit stays, and the prompt can run anew", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await visitor.openFile("test/slugify.test.js");
  await visitor.press("Control+End");
  await page.keyboard.type("// mine, at the end\n");
  const before = await visitor.files();
  await page.locator("#prompt").focus();
  await visitor.press("Tab");
  await page.waitForSelector("[data-conflict]");
  assert.deepEqual(await visitor.files(), before);
  await visitor.shot("7-conflict");
  await page.locator("[data-conflict] button", { hasText: "Run “add tests for maxLength”" }).click();
  await visitor.suggestion("run the tests");
  const text = (await visitor.files())["test/slugify.test.js"];
  assert.match(text, /maxLength cuts a long slug/);
  assert.match(text, /mine, at the end/);
  await visitor.done();
});

test("what the work has read and the visitor has changed since is a conflict, too", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.toBoundary();
  await visitor.openFile("package.json");
  await visitor.press("Control+End");
  await page.keyboard.type("\n");
  await page.locator("#prompt").focus();
  await visitor.press("Tab");
  await page.waitForSelector("[data-conflict]");
  assert.match(await visitor.log(), /package\.json: the work read it, and you have changed it since/);
  await visitor.done();
});

test("an accept shows in the open editor, and an undo there takes it back", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await visitor.openFile("test/slugify.test.js");
  const before = (await visitor.files())["test/slugify.test.js"];
  await page.locator("#prompt").focus();
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  await page.locator(".editor .cm-content").click();
  await visitor.press("Control+z");
  assert.equal((await visitor.files())["test/slugify.test.js"], before);
  await visitor.done();
});
