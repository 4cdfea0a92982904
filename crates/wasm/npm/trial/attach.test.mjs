// Tests of suggestions in the fields of a page, with the keys of a real browser.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "vite";
import { openBrowser, serve } from "./browser.mjs";
import { viteOptions } from "./runs.mjs";

let browser;
before(async () => void (browser = await openBrowser()));
after(() => browser.close());

/** Builds a project, opens its page, and waits until it works. */
async function opened(context, project, isReady, { query = "", touch = false, without } = {}) {
  const root = join(import.meta.dirname, "projects", project);
  await build(viteOptions(root));
  const server = await serve(join(root, "dist"));
  const page = await browser.newPage({ hasTouch: touch });
  if (without) await page.addInitScript((name) => delete globalThis[name], without);
  context.after(async () => {
    await page.close();
    server.close();
  });
  const failures = [];
  page.on("pageerror", (error) => failures.push(String(error)));
  await page.goto(`${server.address}${query}`);
  await page.waitForFunction(isReady);
  return { page, failures };
}

const ghost = (page) => page.evaluate(() => document.querySelector("[data-headstart=ghost]")?.lastChild.textContent ?? null);
const suggest = async (page, field, ...suggestions) => {
  await page.evaluate(([field, suggestions]) => globalThis.page.suggest(field, ...suggestions), [field, suggestions]);
  await page.waitForFunction((field) => globalThis.page.shown(field) !== undefined, field);
};

test("a textarea: keys of a suggestion, and where none shows those of the field", async (context) => {
  const { page, failures } = await opened(context, "attach", () => globalThis.page !== undefined);
  const field = page.locator("textarea");
  await field.focus();
  await suggest(page, 0, "run the tests", "commit this");
  assert.equal(await ghost(page), "run the tests");
  assert.match(await field.getAttribute("aria-description"), /^Suggestion: run the tests\./);
  await page.keyboard.press("Alt+BracketRight");
  assert.equal(await ghost(page), "commit this");
  await page.keyboard.type("comm");
  assert.equal(await ghost(page), "it this");
  await page.keyboard.press("Tab");
  assert.equal(await field.inputValue(), "commit this");
  assert.equal(await ghost(page), null);
  assert.equal(await field.getAttribute("aria-description"), null);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "INPUT", "Tab leads on");
  await field.fill("");
  await suggest(page, 0, "run the tests");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await field.inputValue(), "");
  await field.focus();
  await page.keyboard.press("Escape");
  assert.equal(await ghost(page), null);
  await suggest(page, 0, "run the linter");
  await page.keyboard.press("ArrowRight");
  assert.equal(await field.inputValue(), "run the linter");
  assert.deepEqual(failures, []);
});

for (const [name, field] of [["textarea", 0], [".plain", 2]]) {
  test(`a draft that is in a field already, or that the page puts there, is never overwritten: ${name}`, async (context) => {
    const { page, failures } = await opened(context, "attach", () => globalThis.page !== undefined, { query: "?draft=please+keep+this" });
    const input = page.locator(name);
    const text = () => input.evaluate((field) => field.value ?? field.innerText);
    await input.focus();
    await page.evaluate((field) => globalThis.page.suggest(field, "run the tests"), field);
    // The next suggestion goes with the text, so the one before was decided on when it shows.
    await suggest(page, field, "please keep this in a file");
    assert.equal(await ghost(page), " in a file");
    const set = (text) => input.evaluate((field, text) => (field.value === undefined ? (field.textContent = text) : (field.value = text)), text);
    await set("another draft of mine");
    await page.keyboard.press("Tab");
    assert.equal(await text(), "another draft of mine");
    assert.equal(await ghost(page), null);
    // A cleared controller knows nothing of the text that is still there.
    await page.evaluate((field) => globalThis.page.clear(field), field);
    await input.focus();
    await page.evaluate((field) => globalThis.page.suggest(field, "run the tests"), field);
    await page.waitForFunction(() => globalThis.page.effects.at(-1) === "abandonSpeculation");
    await page.keyboard.press("Tab");
    assert.equal(await text(), "another draft of mine");
    assert.deepEqual(failures, []);
  });
}

test("a suggestion of several lines is seen whole, in a field that has room for one, and in a line", async (context) => {
  const { page } = await opened(context, "attach", () => globalThis.page !== undefined);
  const long = "run the tests of the tokenizer and of the serializer again";
  const area = page.locator("textarea");
  await area.evaluate((field) => (field.rows = 1));
  const height = (await area.boundingBox()).height;
  await suggest(page, 0, long);
  const isWithin = () => page.evaluate(() => {
    const range = document.createRange();
    range.selectNodeContents(document.querySelector("[data-headstart=ghost]").lastChild);
    const [letters, field] = [range.getBoundingClientRect(), document.querySelector("textarea").getBoundingClientRect()];
    return field.top <= letters.top && letters.bottom <= field.bottom;
  });
  assert.ok(await isWithin(), "all lines are in the field");
  assert.ok(height < (await area.boundingBox()).height);
  await area.focus();
  await page.keyboard.press("Escape");
  assert.equal((await area.boundingBox()).height, height, "the field is as it was");
  await suggest(page, 1, long);
  const whole = page.locator("[data-headstart=whole]");
  assert.equal(await whole.innerText(), long);
  await whole.click();
  assert.deepEqual(await page.evaluate(() => globalThis.page.taken), [long]);
  assert.equal(await whole.count(), 0);
});

test("a tap on the ghost takes it; the first tap in a field only leads there", async (context) => {
  const { page } = await opened(context, "attach", () => globalThis.page !== undefined, { touch: true });
  const field = page.locator("textarea");
  await suggest(page, 0, "run the tests");
  const box = await field.boundingBox();
  const tap = (x) => page.touchscreen.tap(box.x + x, box.y + 20);
  await tap(40);
  assert.equal(await field.inputValue(), "");
  assert.ok(await field.evaluate((field) => document.activeElement === field));
  await tap(250);
  assert.equal(await field.inputValue(), "", "this is beside the letters");
  await tap(40);
  assert.equal(await field.inputValue(), "run the tests");
});

test("elements whose content is edited, by the browser and by an editor of their own", async (context) => {
  const { page, failures } = await opened(context, "attach", () => globalThis.page !== undefined);
  for (const [name, number] of [[".plain", 2], [".edited", 3]]) {
    const field = page.locator(name);
    await field.focus();
    const box = await field.boundingBox();
    await suggest(page, number, "run the tests");
    const place = () => page.evaluate(() => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector("[data-headstart=ghost]").lastChild);
      const { left, top } = range.getBoundingClientRect();
      return { left, top };
    });
    const empty = await place();
    assert.ok(Math.abs(empty.left - (box.x + 12)) < 1 && Math.abs(empty.top - (box.y + 8)) < 8, `${name}: ${JSON.stringify(empty)} in ${JSON.stringify(box)}`);
    await page.keyboard.type("Run the ");
    // What changed in an element is told a moment later.
    await page.waitForFunction(() => document.querySelector("[data-headstart=ghost]")?.lastChild.textContent === "tests");
    const typed = await place();
    assert.ok(40 < typed.left - empty.left && typed.left - empty.left < 100 && Math.abs(typed.top - empty.top) < 2, `${name}: ${JSON.stringify([empty, typed])}`);
    await page.keyboard.press("Tab");
    assert.equal((await field.innerText()).trim(), "run the tests");
    assert.equal(await ghost(page), null);
    if (name === ".edited") continue;
    await page.keyboard.press("Control+z");
    assert.match(await field.innerText(), /^Run the\s$/, "what was typed can be had back");
  }
  assert.deepEqual(failures, []);
});

test("a place without sizes, as jsdom is, has suggestions too", async (context) => {
  const { page, failures } = await opened(context, "attach", () => globalThis.page !== undefined, { without: "ResizeObserver" });
  await page.locator("textarea").focus();
  await suggest(page, 0, "run the tests");
  await page.keyboard.press("Tab");
  assert.equal(await page.locator("textarea").inputValue(), "run the tests");
  assert.deepEqual(failures, []);
});

test("a line whose Tab hands the suggestion over", async (context) => {
  const { page } = await opened(context, "attach", () => globalThis.page !== undefined);
  await page.locator("input").focus();
  await suggest(page, 1, "run the tests");
  await page.keyboard.press("Tab");
  assert.deepEqual(await page.evaluate(() => globalThis.page.taken), ["run the tests"]);
  assert.equal(await page.locator("input").inputValue(), "");
  const effects = await page.evaluate(() => globalThis.page.effects);
  assert.ok(effects.includes("startSpeculation") && effects.includes("record") && !effects.includes("insert"), `${effects}`);
});

test("the ghost stands where the letters would", async (context) => {
  const { page } = await opened(context, "attach", () => globalThis.page !== undefined);
  for (const [number, name] of ["textarea", "input"].entries()) {
    const field = page.locator(name);
    await field.fill("");
    await suggest(page, number, "run the tests");
    const place = () => page.evaluate(() => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector("[data-headstart=ghost]").lastChild);
      const { left, top, bottom } = range.getBoundingClientRect();
      return { left, middle: (top + bottom) / 2 };
    });
    const empty = await place();
    const box = await field.boundingBox();
    assert.ok(Math.abs(empty.left - (box.x + 12)) < 1, `${name}: ${empty.left} in ${box.x}`);
    if (name === "input") assert.ok(Math.abs(empty.middle - (box.y + box.height / 2)) < 2, `${empty.middle} in ${box.y} ${box.height}`);
    await field.focus();
    await page.keyboard.type("run ");
    const typed = await place();
    assert.ok(20 < typed.left - empty.left && typed.left - empty.left < 60, `${name}: ${typed.left - empty.left}`);
    await page.evaluate((number) => globalThis.page.detach(number), number);
    assert.equal(await ghost(page), null);
  }
});

test("what is composed is not cut short, and counts when it is done", async (context) => {
  const { page } = await opened(context, "attach", () => globalThis.page !== undefined);
  await page.locator("textarea").focus();
  await suggest(page, 0, "テストを実行");
  const session = await page.context().newCDPSession(page);
  await session.send("Input.imeSetComposition", { text: "て", selectionStart: 1, selectionEnd: 1 });
  assert.equal(await ghost(page), null, "nothing covers what is composed");
  await session.send("Input.imeSetComposition", { text: "テスト", selectionStart: 3, selectionEnd: 3 });
  await session.send("Input.insertText", { text: "テスト" });
  await page.waitForFunction(() => globalThis.page.shown(0) !== undefined && document.querySelector("[data-headstart=ghost]") !== null);
  assert.equal(await ghost(page), "を実行");
});

test("React: a controlled field, in strict mode", async (context) => {
  const { page, failures } = await opened(context, "react", () => document.querySelector("#suggest") !== null);
  // React renders later, so the test waits for the text.
  const says = (expected) => page.waitForFunction((expected) => document.querySelector("output").textContent === expected, JSON.stringify(expected));
  await page.click("#suggest");
  await says({ value: "", sent: [], suggestion: "run the tests" });
  await page.locator("input").focus();
  await page.keyboard.type("run t");
  assert.equal(await ghost(page), "he tests");
  await page.keyboard.press("Tab");
  await says({ value: "run the tests", sent: [], suggestion: null });
  await page.keyboard.press("Enter");
  await says({ value: "", sent: ["run the tests"], suggestion: "commit this" });
  assert.equal(await ghost(page), "commit this");
  assert.deepEqual(failures, []);
});

test("React: the draft with which a field begins is never overwritten", async (context) => {
  const { page } = await opened(context, "react", () => document.querySelector("#suggest") !== null, { query: "?draft=keep+this" });
  const field = page.locator("input");
  await field.focus();
  await page.evaluate(() => document.querySelector("#suggest").click());
  // The field's own timer came before this one.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 0)));
  await page.keyboard.press("Tab");
  assert.equal(await field.inputValue(), "keep this");
});
