import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

/** A duration as the page shows it. */
const shown = (ms) => (ms < 95 ? `${ms < 9.95 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

test("Tab while the work still runs waits for its end, and Right takes the suggestion into the line", async () => {
  const visitor = await site.open({ speed: 2 });
  const { page } = visitor;
  await visitor.press("Enter");
  await visitor.suggestion("add tests for maxLength");
  await visitor.press("ArrowRight");
  assert.equal(await page.inputValue("#prompt"), "add tests for maxLength");
  await visitor.press("Enter");
  await page.waitForSelector("[data-applied]");
  assert.match((await visitor.files())["test/slugify.test.js"], /maxLength cuts a long slug/);
  const { steps } = await visitor.saved();
  assert.equal(steps.at(-1).fate, "taken");
  assert.ok(0 < steps.at(-1).waitedMs);
  await visitor.done();
});

test("what is said of work that is taken while it runs is what the timeline says", async () => {
  const visitor = await site.open({ speed: 1 });
  const { page } = visitor;
  await visitor.press("Enter");
  await visitor.suggestion("add tests for maxLength");
  await page.waitForTimeout(100);
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  const { steps, entries } = await visitor.saved();
  const { workMs, savedMs, waitedMs } = steps[1];
  const { restMs, tookMs } = entries.find(({ kind }) => kind === "applied");
  assert.ok(50 < savedMs && 1000 < restMs, JSON.stringify(steps[1]));
  assert.ok(Math.abs(workMs - savedMs - restMs) < 1, "each part of the work was before Tab or behind it");
  assert.ok(restMs <= tookMs && tookMs <= waitedMs + 1, `${restMs} ${tookMs} ${waitedMs}`);
  const card = await page.locator("[data-applied]").innerText();
  assert.ok(card.includes(`Applied in ${shown(tookMs)}. ${shown(savedMs)} of the work were done while you read, ${shown(restMs)} while you waited.`), card);
  await page.locator('[data-view="timeline"]').click();
  assert.ok((await page.locator(".timeline .sum").innerText()).startsWith(`${shown(savedMs)} of work were done while you read, in 1 taken suggestion.`));
  const row = await page.locator(".timeline tbody tr").last().innerText();
  assert.ok(row.includes(shown(waitedMs)) && row.includes(shown(savedMs)), row);
  await visitor.done();
});

test("work that was all waited for is told as that", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  const saved = await visitor.saved();
  const applied = saved.entries.find(({ kind }) => kind === "applied");
  Object.assign(applied, { savedMs: 0, restMs: 2512, tookMs: 2530 });
  await page.addInitScript((text) => sessionStorage.setItem("headstart.session", text), JSON.stringify(saved));
  await page.reload();
  await visitor.said("Applied in 2.5 s. The work took 2.5 s, and you waited for it.");
  await visitor.done();
});

test("work that is taken while it runs can be stopped, and nothing of it is applied", async () => {
  const visitor = await site.open({ speed: 1 });
  const { page } = visitor;
  await visitor.press("Enter");
  await visitor.suggestion("add tests for maxLength");
  await visitor.press("Tab");
  await visitor.said("add tests for maxLength");
  await visitor.press("Escape");
  await visitor.said("Stopped. Nothing was applied.");
  assert.doesNotMatch((await visitor.files())["test/slugify.test.js"], /maxLength/);
  assert.equal(await page.locator("[data-applied]").count(), 0);
  assert.doesNotMatch(JSON.stringify((await visitor.saved()).messages), /add tests for maxLength/);
  await visitor.done();
});

test("a declined call does not run, and the model is told", async () => {
  const visitor = await site.open({});
  await visitor.toQuestion();
  await visitor.answer("n");
  await visitor.said("The tests did not run");
  const { messages } = await visitor.saved();
  assert.match(JSON.stringify(messages), /the user declined this call/);
  assert.doesNotMatch(await visitor.log(), /ℹ tests/);
  await visitor.done();
});

test("a question does not take the focus from somebody who types, so that no letter of theirs answers it", async () => {
  const visitor = await site.open({ speed: 1 });
  const { page } = visitor;
  await page.locator("#prompt").fill("run the tests");
  await visitor.press("Enter");
  await page.keyboard.type("m");
  await page.waitForSelector("#question");
  await page.keyboard.type("y next prompt");
  assert.equal(await visitor.focused(), "prompt");
  assert.equal(await page.inputValue("#prompt"), "my next prompt");
  assert.equal(await page.locator("#question").count(), 1, "it is not answered");
  assert.equal(await visitor.live(), "The agent asks whether a command may run.");
  await page.getByRole("button", { name: /^Decline/ }).click();
  await page.waitForSelector(".composer button.primary");
  assert.equal(await page.inputValue("#prompt"), "my next prompt");
  await visitor.done();
});

test("a command may run without a question from now on, until the visitor takes that back", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.toQuestion();
  await visitor.answer("a");
  await page.waitForSelector("[data-allowed]");
  assert.match(await page.locator("[data-allowed]").innerText(), /^Runs without a question: npm test \*/);
  await page.waitForSelector(".composer button.primary");
  assert.match(await visitor.log(), /ℹ tests/);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.waitForSelector("[data-allowed]", { state: "detached" });
  await visitor.done();
});

test("a letter that was on its way when the question took the focus does not answer it", async () => {
  const visitor = await site.open({ speed: 1 });
  const { page } = visitor;
  await page.locator("#prompt").fill("run the tests");
  await visitor.press("Enter");
  const isThere = await page.evaluate(async () => {
    const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
    while (document.activeElement?.id !== "question") await next();
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true, cancelable: true }));
    await next();
    return document.querySelector("#question") !== null;
  });
  assert.ok(isThere, "it is not answered");
  await visitor.answer("n");
  await page.waitForSelector(".composer button.primary");
  assert.doesNotMatch(await visitor.log(), /ℹ tests/);
  await visitor.done();
});

test("a turn can be stopped, also while it asks", async () => {
  const visitor = await site.open({ speed: 1 });
  await visitor.press("Enter");
  await visitor.page.waitForSelector(".working");
  await visitor.press("Escape");
  await visitor.said("Stopped.");
  assert.equal((await visitor.saved()).working, undefined);
  await visitor.done();
});
