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
    shell("sed -i 's/yours/theirs/' notes.md && wc -l < notes.md > lines && mkdir -p out && cp notes.md out/"),
    { text: "It is theirs, too." },
  ],
  suggestions: ["make it theirs"],
};

test("commands that read run by themselves, also ahead, others ask and run ahead in a view, and an accept is on the disk", { timeout: 180_000 }, async () => {
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
    const ahead = (await workbench.chat.locator("#ahead").textContent()) ?? "";
    assert.match(ahead, /sed -i/);
    assert.doesNotMatch(ahead, /not run ahead/);
    assert.equal(read("notes.md"), "mine\n");
    assert.throws(() => read("lines"));
    await workbench.tab();
    await workbench.chat.locator(".model", { hasText: "It is theirs, too." }).waitFor();
    await until("it is on the disk", () => Promise.resolve(read("notes.md") === "mine\nand theirs\n"));
    assert.deepEqual([read("lines"), read("out/notes.md")], ["2\n", "mine\nand theirs\n"]);
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
