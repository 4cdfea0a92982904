import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST_PROMPT, RECORDING } from "../../src/sample/project.js";
import { Workbench, until } from "./workbench.js";

const QUICK = { ...RECORDING, turns: RECORDING.turns?.map((turn) => ({ ...turn, delayMs: 60 })) ?? [] };

test("suggestion, work ahead, diff, accept, undo, consent: by keyboard alone", { timeout: 120_000 }, async () => {
  const workbench = await Workbench.open({ recording: QUICK });
  try {
    await workbench.openFile("wordcount/__init__.py");
    await workbench.openChat();
    await workbench.chat.locator("p", { hasText: "There is no shell here: VS Code for the Web starts no programs. Tests and builds are not run, nor run ahead." }).waitFor();
    await workbench.send(FIRST_PROMPT);
    await workbench.ghost("add tests for top");

    // The work runs ahead, and nothing of it may be in the project.
    await workbench.status("ready");
    assert.equal(await workbench.chat.locator("#ahead .file").count(), 2);
    assert.match((await workbench.chat.locator("#ahead").textContent()) ?? "", /Tests and builds are not run ahead here\./);
    assert.equal(workbench.server.stored.get("tests/test_top.py"), undefined);
    await workbench.editorShows("count, top", false);
    await workbench.picture("ready");

    // Both staged files are shown in one view.
    await workbench.press("Control+Alt+d");
    await workbench.page.locator(".tab.active", { hasText: "staged changes" }).waitFor();
    await until("the diff shows what is staged", async () =>
      (await workbench.page.locator(".multiDiffEditor .view-line", { hasText: "test_no_more_than_there_are" }).count()) === 1,
    );
    await workbench.picture("diff-of-several");
    await workbench.press("Control+F4");

    // Tab accepts, and the next suggestion is shown. A double press must count as one, and the prompt must keep the
    // focus.
    await workbench.openChat();
    await workbench.tab();
    await workbench.press("Tab");
    await workbench.stored("tests/test_top.py", (text) => text?.includes("def test_no_more") === true, "is written");
    await workbench.stored("wordcount/__init__.py", (text) => text?.includes("count, top") === true, "is changed");
    await workbench.ghost("update the changelog");
    assert.equal(await workbench.input.evaluate((input) => input.ownerDocument.activeElement === input), true);
    await workbench.editorShows("count, top");
    await workbench.picture("accepted");

    // A single staged file is shown in a diff of its own.
    await workbench.status("ready");
    await workbench.press("Control+Alt+d");
    await workbench.page.locator(".tab.active", { hasText: "CHANGELOG.md (staged by headstart)" }).waitFor();
    await until("the diff shows the new line", async () =>
      (await workbench.page.locator(".monaco-diff-editor .modified .view-line", { hasText: "frequent" }).count()) === 1,
    );
    await workbench.picture("diff-of-one");
    await workbench.press("Control+F4");
    assert.equal(workbench.server.stored.get("CHANGELOG.md"), undefined);

    // Work that stopped at a call has to ask, and Y has to run the call.
    await workbench.openChat();
    await workbench.tab();
    await workbench.stored("CHANGELOG.md", (text) => text?.includes("`top` gives") === true, "is changed");
    await workbench.ghost("keep my notes folder out of git");
    await workbench.status("ready up to a question");
    await workbench.picture("boundary");
    await workbench.tab();
    await workbench.chat.locator("#question").waitFor();
    await until("the harmless answer has the focus", () =>
      workbench.chat.locator("[data-answer=no]").evaluate((button) => button.ownerDocument.activeElement === button),
    );
    await workbench.picture("question");
    assert.equal(workbench.server.stored.get(".git/info/exclude"), undefined);
    // The question ignores keys right after it appears, because they may have been meant for something else.
    await workbench.page.waitForTimeout(450);
    await workbench.press("y");
    await workbench.stored(".git/info/exclude", (text) => text === "notes/\n", "is written");
    await workbench.chat.locator(".model", { hasText: "Here the recording ends" }).waitFor();
    await workbench.picture("end");

    // One step of the editor's own undo has to take the work back.
    await workbench.openFile("wordcount/__init__.py");
    await workbench.editorShows("count, top");
    await workbench.press("Control+z");
    await workbench.picture("undo");
    await workbench.editorShows("count, top", false);

    const origin = `localhost:${workbench.server.port}`;
    const elsewhere = workbench.requests.filter((url) => /^(https?|wss?):/.test(url) && !new URL(url).host.endsWith(origin));
    assert.deepEqual(elsewhere, []);
  } finally {
    await workbench.picture("flow-last");
    await workbench.close();
  }
});
