import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

test("typing something else gives the work up and leaves nothing of it", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  const before = await visitor.saved();
  await page.keyboard.type("w");
  await visitor.ahead("none");
  assert.match(await page.locator("[data-ahead]").innerText(), /“add tests for maxLength” was given up/);
  assert.equal(await page.locator(".ghost .rest").count(), 0);
  const after = await visitor.saved();
  assert.deepEqual(after.files, before.files);
  assert.deepEqual(after.messages, before.messages);
  assert.equal(after.steps.at(-1).fate, "given up");
  await page.keyboard.type("hat is fold for");
  await visitor.press("Enter");
  await visitor.said("I am a recording");
  await visitor.suggestion("add tests for maxLength");
  await visitor.done();
});

test("whatever a visitor types first, there is a way on: the nearest recorded prompt as the ghost, and all of them as buttons", async () => {
  for (const [prompt, ghost] of [["Tell me a joke", "add a maxLength option to slugify"], ["Please add some tests", "add tests for maxLength"]]) {
    const visitor = await site.open({});
    const { page } = visitor;
    await page.fill("#prompt", prompt);
    await visitor.press("Enter");
    await visitor.said("I am a recording");
    await visitor.suggestion(ghost);
    const buttons = page.locator("[data-recorded] .buttons button");
    assert.equal(await buttons.count(), 6);
    assert.equal(await buttons.first().innerText(), ghost);
    if (prompt.startsWith("Please")) {
      await buttons.filter({ hasText: "add a maxLength option" }).click();
      await visitor.said("takes maxLength now");
    } else {
      await visitor.press("Tab");
      await page.waitForSelector("[data-applied]");
    }
    assert.equal(await page.locator("[data-recorded]").count(), 0);
    await visitor.done();
  }
});

test("a slip that is taken back brings the suggestion and its work back, and Right is no decision either", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await page.keyboard.type("x");
  await page.waitForFunction(() => document.querySelector(".ghost .rest") === null);
  await visitor.press("Backspace");
  await visitor.suggestion("add tests for maxLength");
  await visitor.ahead("completed");
  await visitor.press("ArrowRight");
  assert.equal(await page.inputValue("#prompt"), "add tests for maxLength");
  await visitor.press("Control+a", "Backspace");
  await visitor.suggestion("add tests for maxLength");
  await visitor.ahead("completed");
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  await visitor.done();
});

test("Tab takes nothing that has only just come on screen", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.press("Enter");
  // The key is pressed inside the page at the moment at which the suggestion shows, so that the load of the machine
  // does not matter.
  await page.evaluate(() => new Promise((resolve) => {
    const tell = () => {
      if (!document.querySelector(".ghost .rest")) return;
      document.querySelector("#prompt").dispatchEvent(new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true }));
      watch.disconnect();
      resolve();
    };
    const watch = new MutationObserver(tell);
    watch.observe(document.body, { subtree: true, childList: true, characterData: true });
  }));
  await visitor.suggestion("add tests for maxLength");
  assert.equal((await visitor.saved()).steps.filter(({ fate }) => fate === "taken").length, 0);
  await visitor.ahead("completed");
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  await visitor.done();
});

test("typing what the suggestion begins with keeps it, and Tab takes all of it", async () => {
  const visitor = await site.open({});
  await visitor.firstTurn();
  await visitor.page.keyboard.type("add te");
  await visitor.suggestion("sts for maxLength");
  await visitor.ahead("completed");
  await visitor.press("Tab");
  await visitor.page.waitForSelector("[data-applied]");
  assert.equal(await visitor.page.inputValue("#prompt"), "");
  await visitor.done();
});

test("Esc dismisses, and Tab then leaves the line as ever", async () => {
  const visitor = await site.open({});
  await visitor.firstTurn();
  const before = await visitor.files();
  await visitor.press("Escape");
  await visitor.ahead("none");
  await visitor.press("Tab");
  assert.notEqual(await visitor.focused(), "prompt");
  assert.deepEqual(await visitor.files(), before);
  await visitor.done();
});

test("work that is at its first call when it is given up is gone, too", async () => {
  const visitor = await site.open({ speed: 1.5 });
  await visitor.press("Enter");
  await visitor.suggestion("add tests for maxLength");
  await visitor.ahead("running");
  await visitor.press("Escape");
  await visitor.ahead("none");
  await visitor.page.waitForTimeout(1500);
  assert.doesNotMatch((await visitor.files())["test/slugify.test.js"], /maxLength/);
  await visitor.done();
});

test("the switch turns suggestions and work ahead off and on", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await page.getByLabel("Run ahead").uncheck();
  await visitor.ahead("none");
  assert.equal(await page.locator(".ghost .rest").count(), 0);
  await page.getByLabel("Run ahead").check();
  await visitor.suggestion("add tests for maxLength");
  await visitor.done();
});
