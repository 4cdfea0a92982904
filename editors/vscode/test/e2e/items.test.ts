import assert from "node:assert/strict";
import { test } from "node:test";
import { SETTINGS, calls, openAi, says, wantsSuggestion } from "./open-ai.js";
import { Workbench, until } from "./workbench.js";

const PICTURE = "\n\ndef slug_of_the_picture():\n    return 1\n";
/** Hostile names: the first reverses the letters behind it, the second would be a picture if it were read as HTML. */
const HOSTILE = { "many/\u202egnp.py": PICTURE, "many/<img src=x>.py": PICTURE };
const FILES = { ...Object.fromEntries(["one", "two", "three", "four"].map((name) => [`many/${name}.py`, PICTURE])), ...HOSTILE };

test("what a search found stands below it, opens at its line, and what a call names itself has no row", { timeout: 240_000 }, async () => {
  for (const theme of ["Default Dark Modern", "Default Light Modern", "Default High Contrast"]) {
    const { handlers } = openAi((one) => {
      if (wantsSuggestion(one)) return says(JSON.stringify({ suggestion: "" }));
      const last = one.body.messages.at(-1);
      if (last?.role !== "user") return says("There.");
      return last.content?.includes("read") ? calls("read_file", { file_path: "many/one.py", offset: 3, limit: 1 }) : calls("codebase", { query: "slug of the picture" });
    });
    const workbench = await Workbench.open({ files: FILES, handlers, settings: SETTINGS, theme });
    const rows = workbench.chat.locator(".rows");
    try {
      await workbench.send("where is the picture?");
      await rows.waitFor();
      await workbench.chat.locator(".model", { hasText: "There." }).waitFor();
      await workbench.picture(`items ${theme}`);
      assert.equal(await rows.locator(":scope > ul > li").count(), 4);
      await rows.locator("summary", { hasText: /^\d+ more$/ }).click();
      const shown = (await rows.locator("li").allTextContents()).join("\n");
      assert.ok(shown.includes("\\u{202e}gnp.py") && !shown.includes("\u202e") && shown.includes("<img src=x>.py"), shown);
      assert.equal(await rows.locator("img").count(), 0);
      await workbench.picture(`items-all ${theme}`);
      await rows.getByRole("button", { name: /^two\.py/ }).click();
      await workbench.page.locator(".tab.active", { hasText: "two.py" }).waitFor();
      await workbench.page.locator(".statusbar-item", { hasText: /^Ln [1-3], Col 1/ }).waitFor();
      await rows.getByRole("button", { name: /gnp\.py/ }).click();
      await until("it is open", async () => ((await workbench.page.locator(".tab.active").getAttribute("aria-label")) ?? "").includes("gnp.py"));

      await workbench.send("read it");
      await workbench.chat.locator(".model", { hasText: "There." }).nth(1).waitFor();
      assert.equal(await rows.count(), 1);
      await workbench.chat.locator(".call button.path", { hasText: "many/one.py:3" }).click();
      await workbench.page.locator(".tab.active", { hasText: "one.py" }).waitFor();
      await workbench.page.locator(".statusbar-item", { hasText: "Ln 3, Col 1" }).waitFor();
    } finally {
      await workbench.picture(`items-last ${theme}`);
      await workbench.close();
    }
    if (!process.env.SCREENSHOTS) break;
  }
});
