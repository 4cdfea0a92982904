import assert from "node:assert/strict";
import { test } from "node:test";
import type { Recording } from "headstart";
import { Workbench, until } from "./workbench.js";

const RECORDING: Recording = { turns: [{ text: "I have read it." }, { text: "And that." }] };
const FILES = { ".gitignore": "out/\n", "out/count.txt": "made\n", ".env": "KEY=hidden\n", "AGENTS.md": "Use tabs.\n" };

test("a mention is completed in the prompt, without what git ignores and what is closed; one that cannot be told is not sent", { timeout: 120_000 }, async () => {
  const workbench = await Workbench.open({ recording: RECORDING, files: FILES });
  const rows = () => workbench.chat.locator("#mentions li span").allTextContents();
  const value = () => workbench.input.inputValue();
  try {
    await workbench.openFile(".env");
    await workbench.openChat();
    await workbench.type("see @");
    await until("the list is open", async () => (await rows()).includes("@wordcount/"));
    const all = await rows();
    for (const there of ["@open", "@selection", "@problems", "@rule:AGENTS", "@AGENTS.md"]) assert.ok(all.includes(there), `${there}: ${all.join(" ")}`);
    assert.deepEqual(all.filter((name) => name.startsWith("@out") || name.includes(".env")), []);
    await workbench.picture("mentions");

    await workbench.type("coun");
    await until("the best is first", async () => (await rows())[0] === "@wordcount/counter.py");
    await workbench.press("Enter");
    await until("it is in the prompt", async () => (await value()) === "see @wordcount/counter.py ");
    assert.equal(await workbench.chat.locator("#mentions").isVisible(), false);
    await workbench.press("Enter");
    await workbench.chat.locator("article.model", { hasText: "I have read it." }).waitFor();
    await workbench.chat.locator(".note", { hasText: "The project's rules go to the model: AGENTS.md." }).waitFor();

    // The content of a closed file must not be told even if the editor shows it. Escape closes the list and leaves the
    // text.
    await workbench.type("see @ope");
    await until("the list is open again", async () => (await rows())[0] === "@open");
    await workbench.press("Escape");
    await workbench.type("n");
    await workbench.press("Enter");
    await workbench.chat.locator(".note", { hasText: "Not sent: @open: is closed" }).waitFor();
    await until("the prompt is back", async () => (await value()) === "see @open");
    await workbench.picture("not-sent");
  } finally {
    await workbench.picture("mentions-last");
    await workbench.close();
  }
});
