// One path through the page from end to end; `npm run smoke` runs only this file.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

/** A duration as the page shows it. */
const shown = (ms) => (ms < 95 ? `${ms < 9.95 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

test("the licences of others go along with the page", async () => {
  for (const [file, part] of [["licences-module.md", "tree-sitter-bash "], ["licences-code.md", "lit-html"]]) {
    const answer = await fetch(new URL(file, site.origin));
    assert.ok(answer.ok && (await answer.text()).includes(part), file);
  }
});

test("the whole flow goes by keyboard: suggestion, diff, Tab, a boundary with consent, and real tests", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  assert.equal(await visitor.focused(), "prompt");
  await visitor.shot("1-first-screen");
  const original = (await page.evaluate(() => sessionStorage.getItem("headstart.session"))) ?? "{}";
  assert.deepEqual(JSON.parse(original).messages ?? [], []);

  await visitor.press("Enter");
  await visitor.suggestion("add tests for maxLength");
  assert.equal(await visitor.live(), "Suggestion: add tests for maxLength. Tab to accept.");
  await visitor.ahead("completed");
  const beforeTab = await visitor.files();
  assert.match(beforeTab["src/slugify.js"], /maxLength = Infinity/, "the first turn wrote it");
  assert.doesNotMatch(beforeTab["test/slugify.test.js"], /maxLength/, "what ran ahead is staged only");
  await visitor.shot("2-ahead");

  await visitor.press("F2");
  await page.waitForSelector("dialog.diff[open] .cm-changedLine");
  assert.match(await page.locator("dialog.diff").innerText(), /test\/slugify\.test\.js \(changed, \+8 −0\)/);
  await visitor.shot("3-diff");
  await visitor.press("Escape");
  await page.waitForSelector("dialog.diff", { state: "hidden" });
  assert.equal(await visitor.focused(), "prompt", "the dialog gives the focus back");

  await visitor.press("Tab");
  await page.waitForSelector("[data-applied]");
  assert.match((await visitor.files())["test/slugify.test.js"], /maxLength cuts a long slug/);
  assert.equal(await visitor.focused(), "prompt");
  const [, before] = (await visitor.saved()).steps;
  assert.equal(before.savedMs, before.workMs, "all of it was done before Tab");
  assert.ok((await visitor.log()).includes(`The work took ${shown(before.workMs)}, done while you read.`));

  await visitor.suggestion("run the tests");
  await visitor.ahead("boundary");
  assert.doesNotMatch(await visitor.log(), /npm test/, "nobody was asked, so nothing ran");
  const why = await page.locator("[data-ahead] ~ p.quiet").innerText();
  assert.match(why, /A browser has no copy-on-write view of a project/, "it says why it stopped, and where it would not");
  await visitor.press("Tab");
  await page.waitForSelector("#question");
  await page.waitForFunction(() => document.activeElement?.id === "question");
  assert.match(await page.locator("#question").innerText(), /npm test/);
  await visitor.shot("4-consent");
  await visitor.answer("y");
  await visitor.said("1 of 8 tests fails");
  const output = await visitor.log();
  assert.match(output, /✖ a slug that is cut does not end with a separator/);
  assert.match(output, /AssertionError: "one-" !== "one"/);
  assert.match(output, /at .*test\/slugify\.test\.js:\d+:\d+/, "the place is the project's, not a blob's");
  assert.match(output, /ℹ pass 7\nℹ fail 1/);
  await visitor.shot("5-tests");

  await visitor.suggestion("fix the failing test");
  await visitor.ahead("completed");
  await visitor.press("Tab");
  await visitor.suggestion("run the tests");
  await visitor.ahead("boundary");
  await visitor.press("Tab");
  await page.waitForFunction(() => document.activeElement?.id === "question");
  await visitor.answer("y");
  await visitor.said("All 8 tests pass.");
  await visitor.suggestion("document maxLength");
  await visitor.ahead("completed");
  await visitor.press("Tab");
  await visitor.suggestion("bump the version to 1.4.0");
  await visitor.ahead("completed");
  await visitor.press("Tab");
  await visitor.said("That is the end of this recording.");
  const files = await visitor.files();
  assert.match(files["package.json"], /"version": "1.4.0"/);
  assert.match(files["CHANGELOG.md"], /option `maxLength`/);

  await page.locator('[data-view="timeline"]').focus();
  await visitor.press("Enter");
  await page.waitForSelector(".timeline .chart");
  const rows = await page.locator(".timeline tbody tr").allInnerTexts();
  assert.equal(rows.length, 7);
  assert.match(await page.locator(".chart").getAttribute("aria-label"), /A bar chart of 7 steps/);
  await visitor.shot("6-timeline");
  const { steps } = await visitor.saved();
  const taken = steps.filter((step) => step.fate === "taken");
  assert.equal(taken.length, 6);
  for (const step of taken) assert.ok(0 < step.savedMs, `${step.prompt} saved time`);
  await visitor.done();
});
