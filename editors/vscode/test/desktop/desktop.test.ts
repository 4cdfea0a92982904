// Tests in a VS Code whose extensions run in Node, as on a desktop, over a real folder and with the real binary.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../e2e/workbench.js";
import { openEditor } from "./editor.js";

const shell = (command: string) => ({ toolCalls: [{ name: "shell", args: { command } }] });
const EDIT = { file_path: "notes.md", old_string: "mine\n", new_string: "mine\nand yours\n" };
const RECORDING = {
  turns: [
    shell("cat notes.md"),
    shell("pwd > made"),
    { text: "It is made." },
    shell("cat made"),
    { toolCalls: [{ name: "edit", args: EDIT }] },
    { text: "It is theirs, too." },
  ],
  suggestions: ["make it theirs"],
};

test("commands that read run by themselves, also ahead, others ask, and an accept is on the disk", { timeout: 180_000 }, async () => {
  const { workbench, root, close } = await openEditor(RECORDING, { "notes.md": "mine\n" });
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  try {
    await workbench.send("make it");
    await workbench.chat.locator("#question", { hasText: "pwd > made" }).waitFor();
    await workbench.picture("desktop-question");
    assert.match((await workbench.chat.locator(".call").allTextContents()).join("\n"), /cat notes\.md/);
    assert.throws(() => read("made"));
    await workbench.page.waitForTimeout(450);
    await workbench.press("y");
    await workbench.chat.locator(".model", { hasText: "It is made." }).waitFor();
    assert.equal(read("made"), `${root}\n`);

    await workbench.ghost("make it theirs");
    await workbench.status("ready");
    await workbench.picture("desktop-ready");
    assert.match((await workbench.chat.locator("#ahead").textContent()) ?? "", /cat made/);
    assert.equal(read("notes.md"), "mine\n");
    await workbench.tab();
    await workbench.chat.locator(".model", { hasText: "It is theirs, too." }).waitFor();
    await until("it is on the disk", () => Promise.resolve(read("notes.md") === "mine\nand yours\n"));
    await workbench.picture("desktop-accepted");

    const lines = await workbench.chat.locator(".user, .model").allTextContents();
    await workbench.reload();
    await workbench.openChat();
    await until("the conversation is there again", async () => JSON.stringify(await workbench.chat.locator(".user, .model").allTextContents()) === JSON.stringify(lines));
  } finally {
    await workbench.picture("desktop-last");
    await close();
  }
});
