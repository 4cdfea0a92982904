import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../e2e/workbench.js";
import { openEditor } from "./editor.js";

const SLOW = {
  turns: [{ toolCalls: [{ name: "ls", args: { path: "." } }] }, { text: "There is one." }, { text: "Ahead." }, { text: "Never said.", delayMs: 60_000 }],
  suggestions: ["update the changelog", "add a test"],
};

test("Escape dismisses a suggestion and stops a turn in the first session of a window", { timeout: 180_000 }, async () => {
  const { workbench, close } = await openEditor(SLOW, { "CHANGELOG.md": "none\n" });
  try {
    await workbench.send("is there a changelog?");
    await workbench.ghost("update the changelog");
    await workbench.press("Escape");
    await workbench.noGhost();
    await workbench.type("go on");
    await workbench.press("Enter");
    await workbench.chat.locator("#hint", { hasText: "Esc stops" }).waitFor();
    await workbench.press("Escape");
    await until("the turn is over", async () => (await workbench.chat.locator("body").getAttribute("data-busy")) === "idle");
    assert.equal(await workbench.chat.locator(".user").count(), 2);
  } finally {
    await workbench.picture("escape-first");
    await close();
  }
});
