// A mention is completed while it is typed, and a prompt with a mention that cannot be resolved is not sent.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start } from "./support.mjs";

let site;
before(async () => (site = await start()));
after(() => site.close());

test("a mention is completed by keyboard and by mouse, and what is not there is not sent", async () => {
  const visitor = await site.open({});
  const { page } = visitor;
  const input = page.locator("#prompt");
  await input.fill("");
  await page.keyboard.type("look at @slug");
  await page.locator("#mentions li").first().waitFor();
  assert.equal(await page.locator('#mentions [aria-selected="true"]').textContent(), "@src/slugify.js");
  await visitor.shot("mentions");
  await page.keyboard.press("Tab");
  assert.equal(await input.inputValue(), "look at @src/slugify.js ");
  assert.equal(await visitor.focused(), "prompt");
  assert.equal(await page.locator("#mentions").isVisible(), false);
  await page.keyboard.type("and @tes");
  await page.locator("#mentions li", { hasText: "@test/" }).first().click();
  assert.match(await input.inputValue(), /^look at @src\/slugify\.js and @test\//);

  await input.fill("");
  await page.keyboard.type("read @src/gone.js");
  await page.keyboard.press("Enter");
  await page.locator("text=@src/gone.js: there is no such file").first().waitFor();
  assert.equal(await input.inputValue(), "read @src/gone.js");
  await visitor.done();
});
