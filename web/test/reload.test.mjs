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

test("what a reload tells is in sight, and who scrolls back to read is left there", async () => {
  const visitor = await site.open({ width: 400, height: 800 });
  const { page } = visitor;
  await visitor.toBoundary();
  await page.waitForTimeout(250);
  await page.reload();
  await visitor.said("The page was loaded again.");
  await visitor.suggestion("run the tests");
  const distance = () => page.locator(".log").evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);
  assert.ok((await distance()) < 5);
  await page.locator('[data-view="timeline"]').click();
  await page.locator('[data-view="play"]').click();
  assert.ok((await distance()) < 5, "also behind another view");
  await page.locator(".log").evaluate((log) => (log.scrollTop = 0));
  await visitor.ahead("boundary");
  await page.locator("#prompt").fill("what is fold for");
  await page.locator("#prompt").focus();
  await visitor.press("Enter");
  await visitor.said("I am a recording");
  assert.equal(await page.locator(".log").evaluate((log) => log.scrollTop), 0);
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
  assert.equal(await page.inputValue("#prompt"), "add a maxLength option to slugify", "the prompt is not lost");
  await page.locator("#prompt").focus();
  await visitor.press("Enter");
  await visitor.suggestion("add tests for maxLength");
  await visitor.done();
});

/** Reloads the page with another text in the storage than the one that the page leaves there. */
async function reloadWith({ page }, saved) {
  await page.evaluate((text) => (window.name = text), typeof saved === "string" ? saved : JSON.stringify(saved));
  await page.reload();
  await page.waitForSelector("#prompt");
}

test("whatever cannot be gone on from is told, and the page begins anew", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await page.addInitScript(() => {
    if (window.name) sessionStorage.setItem("headstart.session", window.name);
    window.name = "";
  });
  await visitor.firstTurn();
  const whole = await visitor.saved();
  await reloadWith(visitor, whole);
  await visitor.said("Files and conversation are as they were");
  const damaged = {
    "no JSON": "{",
    "no object": "null",
    "no session": '{"version":3,"lines":"","entries":[],"steps":[],"files":{"a":7}}',
    "an older form": { ...whole, version: 2 },
    "no files": { ...whole, files: null },
    "a path that leaves the project": { ...whole, files: { "../x": "" } },
    "half a character": { ...whole, files: { ...whole.files, "README.md": "x\ud83c" } },
    "no entry": { ...whole, entries: [null] },
    "a call without a call": { ...whole, entries: [{ kind: "call", ahead: false }] },
    "no step": { ...whole, steps: [null] },
    "a step without stretches": { ...whole, steps: [{ ...whole.steps[0], stretches: null }] },
    "no conversation": { ...whole, lines: 7 },
    "no line": { ...whole, lines: `${whole.lines}{\n` },
    "no message": { ...whole, lines: `${whole.lines}{"type":"message","message":null}\n` },
    "lines of a newer version": { ...whole, lines: whole.lines.replace('"version":1', '"version":9') },
  };
  for (const [what, saved] of Object.entries(damaged)) {
    await reloadWith(visitor, saved);
    await visitor.said("could not be read; this is a clean start").catch(() => assert.fail(what));
    const { files, messages, entries, steps } = await visitor.saved();
    assert.ok("src/slugify.js" in files && !/maxLength/.test(files["src/slugify.js"]), what);
    assert.deepEqual([messages, entries.length, steps], [[], 1, []], what);
    assert.equal(await page.inputValue("#prompt"), "add a maxLength option to slugify", what);
    await page.reload();
    await visitor.said("Files and conversation are as they were").catch(() => assert.fail(`${what}, and another reload`));
  }
  await page.locator("#prompt").focus();
  await visitor.firstTurn();
  await visitor.done();
});

test("half a character in a file does no harm", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  const type = (text) => page.evaluate((typed) => document.execCommand("insertText", false, typed), text);
  const end = async () => (await visitor.files())["README.md"].slice(-4);
  await visitor.openFile("README.md");
  await visitor.press("Control+End");
  // Some input methods give the two halves of a character one after the other.
  await type("x\ud83c");
  assert.ok((await end()).endsWith("\nx\ufffd"));
  await type("\udf89");
  assert.equal(await end(), "\nx🎉");
  await type("\ud83c");
  await page.locator("#prompt").focus();
  await visitor.firstTurn();
  await page.reload();
  await visitor.said("Files and conversation are as they were");
  assert.equal(await end(), "x🎉\ufffd");
  await visitor.suggestion("add tests for maxLength");
  await visitor.done();
});

test("what is too large to be kept is told at once, and a reload tells that it is gone", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.firstTurn();
  const name = "headstart.session";
  const stored = () => page.evaluate((key) => sessionStorage.getItem(key), name);
  assert.match(await stored(), /maxLength/);
  await visitor.openFile("README.md");
  await visitor.press("Control+End");
  await page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", `${"many words ".repeat(10)}\n`.repeat(54_000));
    document.querySelector(".editor .cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await visitor.said("a reload would now begin anew");
  assert.match(await visitor.live(), /a reload would now begin anew/);
  assert.doesNotMatch(await stored(), /maxLength/, "the older state is not what a reload finds");
  await page.locator("#prompt").fill("what is fold for");
  await page.locator("#prompt").focus();
  await visitor.press("Enter");
  await visitor.said("I am a recording");
  assert.equal((await visitor.log()).split("begin anew").length, 2, "it is told once");
  await page.reload();
  await visitor.said("more than the browser keeps for a page, so this is a clean start");
  assert.doesNotMatch(await visitor.log(), /as they were/);
  assert.doesNotMatch((await visitor.files())["src/slugify.js"], /maxLength/);
  assert.equal(await page.inputValue("#prompt"), "add a maxLength option to slugify");
  await visitor.done();
});

test("what becomes small enough is kept again", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await visitor.openFile("README.md");
  await page.evaluate(() => {
    const { setItem } = Storage.prototype;
    Storage.prototype.setItem = function (key, text) {
      if (20_000 < text.length) throw new DOMException("full", "QuotaExceededError");
      setItem.call(this, key, text);
    };
  });
  await visitor.press("Control+End");
  await page.keyboard.insertText("a".repeat(20_000));
  await visitor.said("a reload would now begin anew");
  await page.locator(".editor .cm-content").focus();
  await visitor.press("Control+z");
  await visitor.said("are kept again");
  await page.reload();
  await visitor.said("Files and conversation are as they were");
  await visitor.done();
});

test("a browser that keeps nothing is told as that", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  await page.evaluate(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException("no", "SecurityError");
    };
  });
  await visitor.firstTurn();
  await visitor.said("The browser keeps nothing for this page");
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.reload();
  await page.waitForSelector(".intro");
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
