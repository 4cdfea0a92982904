import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

test("a reload keeps files and conversation, and work ahead is gone without a trace", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await visitor.openFile("README.md");
  await visitor.press("Control+End");
  await page.keyboard.type("\nmine\n");
  const before = await visitor.saved();
  assert.doesNotMatch(JSON.stringify(before), /maxLength cuts a long slug/, "nothing of what is staged is kept anywhere");
  assert.doesNotMatch(JSON.stringify(before.messages), /add tests for maxLength/);
  await page.reload();
  await page.waitForSelector("#prompt");
  await visitor.said("The page was loaded again.");
  const after = await visitor.saved();
  assert.deepEqual(after.files, before.files);
  assert.match(after.files["README.md"], /mine/);
  assert.deepEqual(after.messages, before.messages);
  await visitor.suggestion("add tests for maxLength");
  await visitor.ahead("completed");
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  assert.match((await visitor.files())["test/slugify.test.js"], /maxLength/);
  await visitor.done();
});

test("a reload in the middle of a turn tells so", async () => {
  const visitor = await site.open({ speed: 1 });
  const { page } = visitor;
  await visitor.press("Enter");
  await visitor.said("read_file");
  await page.reload();
  await page.waitForSelector("#prompt");
  await visitor.said("The turn “add a maxLength option to slugify” was interrupted");
  assert.deepEqual((await visitor.saved()).messages, []);
  await page.locator("#prompt").focus();
  await page.keyboard.type("add a maxLength option to slugify");
  await visitor.press("Enter");
  await visitor.suggestion("add tests for maxLength");
  await visitor.done();
});

test("what cannot be read is told, and the page begins anew", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await page.addInitScript(() => sessionStorage.setItem("headstart.session", '{"version":1,"files":{"a":7}}'));
  await page.reload();
  await page.waitForSelector("#prompt");
  await visitor.said("could not be read; this is a clean start");
  await visitor.done();
});

test("starting over brings the sample project back", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await page.getByRole("button", { name: "Start over" }).click();
  assert.equal(await page.inputValue("#prompt"), "add a maxLength option to slugify");
  assert.doesNotMatch(await page.locator(".editor").innerText(), /maxLength/);
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await visitor.ahead("none");
  await visitor.firstTurn();
  await visitor.done();
});
