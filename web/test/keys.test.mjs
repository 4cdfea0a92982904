// Tab takes a suggestion, and further events of the same Tab do not move the focus. Without a suggestion Tab moves the
// focus as usual.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

const taken = async (visitor) => (await visitor.saved()).steps.filter(({ fate }) => fate === "taken").map(({ prompt }) => prompt);

test("Tab pressed twice takes one suggestion, and the next Tab takes the next one", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await visitor.press("Tab");
  await page.waitForTimeout(60);
  await visitor.press("Tab");
  assert.equal(await visitor.focused(), "prompt");
  await visitor.suggestion("run the tests");
  await visitor.ahead("boundary");
  assert.deepEqual(await taken(visitor), ["add tests for maxLength"]);
  assert.equal(await visitor.focused(), "prompt");
  await visitor.press("Tab");
  await page.waitForFunction(() => document.activeElement?.id === "question");
  await visitor.done();
});

test("Tab held down takes one suggestion, however long it is held", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  for (let repeat = 0; repeat < 30; repeat += 1) {
    await page.keyboard.down("Tab");
    assert.equal(await visitor.focused(), "prompt", `after ${repeat} repeats`);
    await page.waitForTimeout(40);
  }
  await visitor.suggestion("run the tests");
  await page.keyboard.down("Tab");
  await page.keyboard.up("Tab");
  assert.equal(await visitor.focused(), "prompt");
  assert.deepEqual(await taken(visitor), ["add tests for maxLength"]);
  await visitor.press("Tab");
  await page.waitForFunction(() => document.activeElement?.id === "question");
  await visitor.done();
});

test("Tab held down or pressed twice does not lead out of the question that it led to", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.toBoundary();
  await page.keyboard.down("Tab");
  await page.waitForFunction(() => document.activeElement?.id === "question");
  for (let repeat = 0; repeat < 5; repeat += 1) await page.keyboard.down("Tab");
  assert.equal(await visitor.focused(), "question");
  await page.keyboard.up("Tab");
  await page.waitForTimeout(450);
  await visitor.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), "Run Y", "a Tab of its own leads on");
  await visitor.done();
});

test("Tab is kept while the work is being handed over, and the visitor is not shut in", async () => {
  const visitor = await site.open({ speed: 0.5 });
  const { page } = visitor;
  await visitor.press("Enter");
  await visitor.suggestion("add tests for maxLength");
  await visitor.press("Tab");
  await visitor.said("Finishing what runs already");
  await page.waitForTimeout(500);
  await visitor.press("Tab");
  assert.equal(await visitor.focused(), "prompt");
  await visitor.press("Shift+Tab");
  assert.notEqual(await visitor.focused(), "prompt");
  await page.locator("#prompt").focus();
  await visitor.press("Escape");
  await visitor.said("Stopped. Nothing was applied.");
  await visitor.press("Tab");
  assert.notEqual(await visitor.focused(), "prompt", "there is nothing to take");
  await visitor.done();
});

/**
 * A number of key repeats that is larger than the number of stops between the log and the prompt: calls, and places
 * that they found.
 */
const STOPS = 10;

test("Tab that is held to go through the page takes nothing by chance, and goes on where there is nothing to take", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await page.locator(".log").focus();
  for (let repeat = 0; repeat < STOPS; repeat += 1) await page.keyboard.down("Tab");
  await page.keyboard.up("Tab");
  assert.equal(await visitor.focused(), "prompt");
  assert.deepEqual(await taken(visitor), []);
  await visitor.press("Escape");
  await page.locator(".log").focus();
  for (let repeat = 0; repeat < STOPS; repeat += 1) await page.keyboard.down("Tab");
  await page.keyboard.up("Tab");
  assert.notEqual(await visitor.focused(), "prompt");
  await visitor.done();
});
