import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

let site;
before(async () => (site = await start()));
after(() => site.close());

/** Checks the page as it is now. */
async function check({ page }, where) {
  const found = await page.evaluate(async () => {
    const { violations, incomplete } = await window.axe.run(document, { resultTypes: ["violations", "incomplete"] });
    const told = (results) => results.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, any }) => `${html.slice(0, 140)} (${any[0]?.message ?? ""})`).join(" | ")}`);
    return { violations: told(violations), incomplete: told(incomplete.filter(({ id }) => id === "color-contrast")) };
  });
  assert.deepEqual(found.violations, [], where);
  return found;
}

for (const colorScheme of ["light", "dark"]) {
  test(`no view has a barrier, and every text has contrast, in ${colorScheme}`, async () => {
    const visitor = await site.open({ colorScheme });
    const { page } = visitor;
    // The script is injected by the test, because the page's own policy would not let it in.
    await page.evaluate(await (await import("node:fs/promises")).readFile(AXE, "utf8"));
    await check(visitor, "the first screen");
    await visitor.firstTurn();
    await check(visitor, "a suggestion");
    await visitor.shot(`9-${colorScheme}-ahead`);
    await visitor.press("F2");
    await page.waitForSelector("dialog.diff[open] .cm-changedLine");
    await check(visitor, "the diff");
    await visitor.press("Escape");
    await visitor.press("Tab");
    await visitor.suggestion("run the tests");
    await visitor.ahead("boundary");
    await check(visitor, "a boundary");
    await visitor.press("Tab");
    await page.waitForFunction(() => document.activeElement?.id === "question");
    await check(visitor, "the question");
    await visitor.answer("y");
    await visitor.said("1 of 8 tests fails");
    await check(visitor, "the tests' output");
    await page.getByRole("button", { name: "Conversations" }).click();
    await check(visitor, "the conversations");
    await visitor.press("Escape");
    await visitor.shot(`9-${colorScheme}-tests`);
    await page.locator('[data-view="gate"]').click();
    for (const example of await page.locator(".example").all()) {
      await example.click();
      await check(visitor, `the gate: ${await example.innerText()}`);
    }
    await visitor.shot(`9-${colorScheme}-gate`);
    await page.locator('[data-view="timeline"]').click();
    await check(visitor, "the timeline");
    await visitor.shot(`9-${colorScheme}-timeline`);
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByLabel("A model of your own.").check();
    await check(visitor, "the settings");
    await visitor.done();
  });

  test(`the colours of texts have a contrast of at least 4.5 on all they stand on, in ${colorScheme}`, async () => {
    const visitor = await site.open({ colorScheme });
    const colours = await visitor.page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      return Object.fromEntries([...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).flatMap((rule) => [...(rule.style ?? [])]).filter((name) => name.startsWith("--")).map((name) => [name.slice(2), style.getPropertyValue(name).trim()]));
    });
    const on = {
      ink: ["bg", "surface", "sunken", "accent-soft", "good-soft", "warn-soft", "bad-soft", "selection", ...Object.keys(colours).filter((name) => name.startsWith("effect-"))],
      muted: ["bg", "surface", "sunken"],
      accent: ["bg", "surface", "accent-soft"],
      "on-accent": ["accent"],
      good: ["surface", "good-soft"],
      warn: ["surface", "warn-soft"],
      bad: ["surface", "bad-soft", "sunken"],
      "code-keyword": ["surface", "sunken", "good-soft", "bad-soft"],
      "code-string": ["surface", "sunken", "good-soft", "bad-soft"],
      "code-number": ["surface", "sunken", "good-soft", "bad-soft"],
      "code-name": ["surface", "sunken", "good-soft", "bad-soft"],
    };
    const low = Object.entries(on).flatMap(([text, grounds]) =>
      grounds.map((ground) => [text, ground, contrast(colours[text], colours[ground])]).filter(([, , ratio]) => !(4.5 <= ratio)),
    );
    assert.deepEqual(low, []);
    const bars = ["model", "tools", "read", "decide", "wait"].filter((name) => name !== "read" && !(3 <= contrast(colours[name], colours.sunken)));
    assert.deepEqual(bars, []);
    await visitor.done();
  });
}

/** The contrast ratio of two colours, as WCAG defines it. */
function contrast(left, right) {
  const luminance = (written) => {
    const colour = written.length === 4 ? written.replace(/[0-9a-f]/gi, "$&$&") : written;
    const channels = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
    const [red, green, blue] = channels.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [bright, dark] = [luminance(left), luminance(right)].sort((a, b) => b - a);
  return (bright + 0.05) / (dark + 0.05);
}

test("on a small screen nothing is cut off, and everything can be tapped", async () => {
  const visitor = await site.open({ width: 400, height: 800 });
  const { page } = visitor;
  const fits = async (where) => {
    const { width, wide } = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      wide: [...document.querySelectorAll("main *")].filter((element) => 400 < element.getBoundingClientRect().right && !element.closest(".table-wrap, pre, .cm-scroller, .call")).map((element) => element.className || element.tagName),
    }));
    assert.equal(width, 400, `${where}: ${wide}`);
    assert.deepEqual(wide, [], where);
  };
  await fits("the first screen");
  await visitor.shot("10-small-first");
  await page.getByRole("button", { name: "Send" }).click();
  await visitor.suggestion("add tests for maxLength");
  await visitor.ahead("completed");
  await fits("a suggestion");
  await visitor.shot("10-small-suggestion");
  await page.locator('[data-key="diff"]').click();
  await page.waitForSelector("dialog.diff[open] .cm-changedLine");
  await visitor.shot("10-small-diff");
  await fits("the diff");
  await page.locator("dialog.diff").getByRole("button", { name: "Accept" }).click();
  await page.waitForSelector("[data-applied]");
  await fits("applied");
  await page.locator('[data-view="gate"]').click();
  await fits("the gate");
  await visitor.shot("10-small-gate");
  await page.locator('[data-view="timeline"]').click();
  await fits("the timeline");
  await visitor.shot("10-small-timeline");
  await visitor.done();
});

for (const [width, height] of [[400, 800], [360, 640]]) {
  test(`at ${width} × ${height} the prompt is in sight, all in its line is readable, and each part of a command has its reason`, async () => {
    const visitor = await site.open({ width, height });
    const { page } = visitor;
    const inSight = async (where) => {
      const { top, bottom, keys } = await page.evaluate(() => {
        const { top, bottom } = document.querySelector("#prompt").getBoundingClientRect();
        return { top, bottom, keys: document.querySelector("#prompt-keys").getBoundingClientRect().bottom };
      });
      assert.ok(0 <= top && bottom <= height && keys <= height, `${where}: ${top} ${bottom} ${keys}`);
    };
    // The prompt grows in the frame after the one in which a line breaks, when the browser reports its new size, so the
    // check waits for that.
    const fits = async (where) => {
      const isAllShown = () => {
        const [input, ghost] = [document.querySelector("#prompt"), document.querySelector(".ghost")];
        return Math.max(input.scrollHeight, ghost.scrollHeight) <= input.offsetHeight;
      };
      await page.waitForFunction(isAllShown, undefined, { timeout: 5_000 }).catch(() => assert.fail(`${where}: the prompt is cut`));
    };
    await inSight("the first screen");
    await fits("the first prompt");
    await visitor.toBoundary();
    await inSight("a suggestion");
    await visitor.press("Tab");
    await page.waitForFunction(() => document.activeElement?.id === "question");
    assert.equal(await page.locator("#prompt").getAttribute("placeholder"), "The agent waits for your answer");
    await fits("the placeholder");
    await visitor.answer("y");
    await visitor.suggestion("fix the failing test");
    await page.setViewportSize({ width: 240, height });
    await page.waitForFunction(() => 2 <= document.querySelector(".ghost .rest").getClientRects().length);
    await fits("a suggestion of several lines");
    await page.setViewportSize({ width, height });
    await page.locator('[data-view="gate"]').click();
    await page.getByRole("button", { name: "curl -s", exact: false }).click();
    const reasons = page.locator(".verdict td:nth-child(3)");
    assert.deepEqual(await reasons.allInnerTexts(), ["curl opens a connection", "sh runs other programs"]);
    for (const reason of await reasons.all()) assert.ok(await reason.isVisible());
    assert.equal(await page.getByRole("row").count(), 3, "still a table, to a screen reader");
    await visitor.done();
  });
}

test("a screen reader hears of the view that is shown, and of a reload", async () => {
  const visitor = await site.open({ speed: 1 });
  const { page } = visitor;
  await page.waitForTimeout(900);
  assert.deepEqual(await visitor.told(), [], "nothing has happened yet");
  await visitor.firstTurn();
  await page.reload();
  await visitor.suggestion("add tests for maxLength");
  await page.waitForTimeout(900);
  const told = await visitor.told();
  assert.match(told[0], /^The page was loaded again\. Files and conversation are as they were/);
  assert.deepEqual(told.slice(1), ["Suggestion: add tests for maxLength. Tab to accept."]);
  const gate = page.locator('[data-view="gate"]');
  await gate.click();
  await page.waitForFunction(() => document.querySelector("#live").lastElementChild.textContent.startsWith("allow: "));
  await page.locator('[data-view="play"]').click();
  await gate.click();
  await page.locator('[data-view="play"]').click();
  await page.waitForTimeout(900);
  assert.equal((await visitor.told()).filter((line) => line.startsWith("allow: ")).length, 1, "not of a view that was left");
  await visitor.done();
});

test("the way back closes a dialog, and the skip link leads to the prompt from every view", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await page.locator('[data-view="gate"]').click();
  await page.locator('[data-view="play"]').click();
  await visitor.firstTurn();
  const open = page.locator("dialog[open]");
  await visitor.press("F2");
  await open.waitFor();
  await page.goBack();
  await page.waitForSelector(".gate:not([hidden])");
  assert.equal(await open.count(), 0);
  assert.match(await visitor.focused(), /cm-content/);
  await page.getByRole("button", { name: /^Model:/ }).click();
  await open.waitFor();
  await page.goForward();
  await page.waitForSelector(".play:not([hidden])");
  assert.equal(await open.count(), 0);
  assert.equal(await visitor.focused(), "prompt");
  await page.locator('[data-view="timeline"]').click();
  await page.locator(".skip").focus();
  await visitor.press("Enter");
  await page.waitForSelector(".play:not([hidden])");
  assert.equal(await visitor.focused(), "prompt");
  await page.goto(`${site.origin}/?speed=8#toString`);
  await page.waitForSelector(".play:not([hidden])");
  await visitor.done();
});

test("every control is reached by Tab, and what has the focus shows it", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  await visitor.press("Escape");
  await page.evaluate(() => document.activeElement.blur());
  const reached = new Set();
  const blind = [];
  for (let step = 0; step < 60; step += 1) {
    await visitor.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      const holder = element.closest(".editor, .gate-editor") ?? element;
      return { name: element.textContent.trim().slice(0, 30) || element.id || element.getAttribute("aria-label") || element.tagName, outline: getComputedStyle(holder).outlineStyle, isBody: element === document.body };
    });
    // After the last control the focus goes to the browser's own controls, and then to the first one again.
    if (at.isBody) continue;
    if (at.outline === "none") blind.push(at.name);
    reached.add(at.name);
  }
  assert.deepEqual(blind, []);
  for (const name of ["Playground", "Gate", "Timeline", "Start over", "README.md", "Model: recording", "prompt"]) {
    assert.ok([...reached].some((found) => found.startsWith(name)), `${name} in ${[...reached].join(", ")}`);
  }
  await visitor.done();
});
