// Conversations that the browser keeps can be titled, listed, continued and removed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start, Visitor } from "./support.mjs";

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

test("a conversation that is open in another tab goes on as a copy, and neither tab loses a word", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  const other = new Visitor(await page.context().newPage(), []);
  await other.page.goto(page.url());
  await other.page.waitForFunction(() => document.querySelector("#prompt") && !document.querySelector("[data-opening]"));
  const goOn = async () => {
    await other.page.getByRole("button", { name: "Conversations" }).click();
    await other.page.locator("dialog[open]").getByRole("button", { name: "Go on: add a maxLength option to slugify" }).last().click();
  };
  await goOn();
  await other.said("It is open in another tab as well, so this is a copy.");
  const prompts = () =>
    page.evaluate(() =>
      Object.keys(localStorage)
        .map((name) => JSON.parse(localStorage[name]).lines.trim().split("\n").map((line) => JSON.parse(line)))
        .map((lines) => lines.flatMap(({ type, text }) => (type === "prompt" ? [text] : []))),
    );
  for (const tab of [visitor, other]) {
    await tab.page.bringToFront();
    await tab.suggestion("add tests for maxLength");
    await tab.press("Tab");
    await tab.page.waitForSelector("[data-applied]");
    await tab.page.waitForTimeout(300);
  }
  const said = ["add a maxLength option to slugify", "add tests for maxLength"];
  assert.deepEqual(await prompts(), [said, said], "two conversations, both with all that was said");
  // Loaded again, each tab finds its own; and where the first tab is gone, its conversation goes on as itself.
  await other.page.reload();
  await other.said("The page was loaded again. Files");
  await page.close();
  const third = new Visitor(await other.page.context().newPage(), []);
  await third.page.goto(other.page.url());
  await third.page.waitForFunction(() => document.querySelector("#prompt") && !document.querySelector("[data-opening]"));
  await third.page.getByRole("button", { name: "Conversations" }).click();
  const dialog = third.page.locator("dialog[open]");
  await dialog.getByRole("button", { name: /^Go on/ }).last().click();
  await third.said("This conversation goes on. Files");
  assert.equal((await third.page.evaluate(() => localStorage.length)), 2);
  await visitor.done();
});
