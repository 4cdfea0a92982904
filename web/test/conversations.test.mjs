// Conversations that the browser keeps can be titled, listed, continued and removed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

test("a conversation that was left is kept with its files, and can be renamed, gone on with and removed", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  const dialog = page.locator("dialog[open]");
  const list = async () => {
    await page.getByRole("button", { name: "Conversations" }).click();
    await dialog.waitFor();
  };
  await visitor.firstTurn();
  await page.getByRole("button", { name: "Start over" }).click();
  await page.waitForSelector(".intro");
  assert.doesNotMatch((await visitor.files())["src/slugify.js"], /maxLength/);
  await list();
  const title = dialog.getByLabel("Title");
  assert.equal(await title.inputValue(), "add a maxLength option to slugify");
  await title.fill("the option");
  await visitor.press("Tab");
  await page.getByRole("button", { name: "Close" }).click();
  // Another tab lists the conversation, too, because the browser keeps it and not the tab.
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForFunction(() => document.querySelector("#prompt") && !document.querySelector("[data-opening]"));
  await other.getByRole("button", { name: "Conversations" }).click();
  assert.equal(await other.locator("dialog[open]").getByLabel("Title").inputValue(), "the option");
  await other.close();

  await list();
  await dialog.getByRole("button", { name: /^Go on/ }).click();
  await visitor.said("This conversation goes on.");
  assert.match((await visitor.files())["src/slugify.js"], /maxLength = Infinity/);
  await visitor.suggestion("add tests for maxLength");
  await visitor.ahead("completed");
  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  const kept = await page.evaluate(() => Object.keys(localStorage).map((name) => JSON.parse(localStorage[name]).lines));
  assert.equal(kept.length, 1, "one conversation, not two");
  const types = kept[0].trim().split("\n").map((line) => JSON.parse(line).type);
  assert.deepEqual([types[0], types.includes("title")], ["session", true], "lines as a chat in a terminal has them");
  await list();
  assert.match(await dialog.innerText(), /this one/);
  assert.equal(await dialog.getByRole("button", { name: /^Remove/ }).count(), 0, "the one that goes on stays");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Start over" }).click();
  await page.waitForSelector(".intro");
  // A damaged conversation must be reported, and must not break the page.
  await page.evaluate(() => {
    const saved = JSON.parse(localStorage[Object.keys(localStorage)[0]]);
    const lines = `${saved.lines}{"type":"title","text":"damaged"}\n`;
    localStorage.setItem("headstart.sessions/damaged", JSON.stringify({ ...saved, lines, entries: [{ kind: "applied" }] }));
  });
  await list();
  await dialog.getByRole("button", { name: "Go on: damaged" }).click();
  await visitor.said("That conversation cannot be gone on with");
  assert.match(await page.inputValue("#prompt"), /^add a maxLength/, "what goes on stays");
  await page.evaluate(() => localStorage.removeItem("headstart.sessions/damaged"));
  await list();
  await dialog.getByRole("button", { name: /^Remove/ }).click();
  await page.waitForFunction(() => localStorage.length === 0);
  assert.match(await dialog.innerText(), /None is kept yet/);
  await visitor.done();
});
