import assert from "node:assert/strict";
import { test } from "node:test";
import type { Recording } from "headstart";
import { Workbench, until } from "./workbench.js";

const RECORDING: Recording = {
  turns: [
    { toolCalls: [{ name: "ls", args: { path: "." } }] },
    { text: "There is a changelog." },
    { toolCalls: [{ name: "write_file", args: { file_path: "ahead.md", content: "ahead\n" } }] },
    { text: "Written ahead." },
    { text: "As you typed." },
  ],
  suggestions: ["update the changelog\nwrite the tests"],
};

test("the keys of the prompt: what is typed goes with the suggestion or gives it up", { timeout: 120_000 }, async () => {
  const workbench = await Workbench.open({ recording: RECORDING, settings: { "headstart.candidates": 2 } });
  const value = () => workbench.input.inputValue();
  try {
    await workbench.send("is there a changelog?");
    await workbench.ghost("update the changelog");
    await workbench.chat.locator("#hint", { hasText: "1/2" }).waitFor();

    // VS Code's keybindings lead to the next suggestion and back.
    await workbench.press("Alt+]");
    await workbench.ghost("write the tests");
    await workbench.press("Alt+[");
    await workbench.ghost("update the changelog");

    // Typing along keeps the suggestion, and one wrong letter that is taken back does not remove it.
    await workbench.type("upd");
    await workbench.ghost("ate the changelog");
    await workbench.type("x");
    await workbench.noGhost();
    await workbench.press("Backspace");
    await workbench.ghost("ate the changelog");

    // Case is ignored, so typing it in capitals keeps it, too.
    await workbench.press("Backspace", "Backspace", "Backspace");
    await workbench.type("UPD");
    await workbench.ghost("ate the changelog");

    // The right arrow puts the whole suggestion into the prompt.
    await workbench.press("ArrowRight");
    await until("the suggestion is in the prompt", async () => (await value()) === "update the changelog");

    // Typing something else discards the suggestion and its work.
    await workbench.type(" not at all");
    await workbench.noGhost();
    await until("nothing is staged", async () => !(await workbench.chat.locator("#ahead").isVisible()));
    assert.equal(workbench.server.stored.has("ahead.md"), false);
  } finally {
    await workbench.picture("prompt-last");
    await workbench.close();
  }
});

test("Escape dismisses, Tab in an editor is a tab, and a view that was away comes back whole", { timeout: 120_000 }, async () => {
  const workbench = await Workbench.open({ recording: RECORDING });
  try {
    await workbench.openFile("README.md");
    await workbench.send("is there a changelog?");
    await workbench.ghost("update the changelog");
    await workbench.focusEditor();
    await workbench.press("Control+Home", "Tab");
    await workbench.editorShows("    # wordcount");
    assert.equal(await workbench.chat.locator(".user").count(), 1);

    // After the view was hidden and opened again, the conversation and the suggestion must be there.
    await workbench.openChat();
    await workbench.press("Control+b");
    await workbench.page.locator("iframe.webview.ready").waitFor({ state: "hidden" });
    await workbench.openChat();
    await workbench.ghost("update the changelog");
    assert.equal(await workbench.chat.locator(".model").count(), 1);

    await workbench.press("Escape");
    await workbench.noGhost();

    // The recording has no further suggestion. A user who asks for one must be told so.
    await workbench.press("Control+Alt+g");
    await workbench.chat.locator(".note.info", { hasText: "There is no suggestion now" }).waitFor();
    assert.equal(workbench.server.stored.has("ahead.md"), false);
  } finally {
    await workbench.picture("escape-last");
    await workbench.close();
  }
});

test("a first try: without a folder, without a key, in a dark window", { timeout: 120_000 }, async () => {
  const workbench = await Workbench.open({ folder: false, theme: "Default Dark Modern" });
  try {
    await workbench.command("headstart: Try with a recording");
    await workbench.ghost("add a function that gives the most frequent words");
    await workbench.chat.locator("#welcome .note", { hasText: "A recording answers here, no model" }).waitFor();
    await workbench.tab();
    await workbench.ghost("add tests for top");
    await workbench.editorShows("def top");
    await workbench.status("running ahead");
    await workbench.picture("try-running");
    await workbench.status("ready");
    await workbench.picture("try-ready");
    await workbench.tab();
    await workbench.chat.locator(".changes", { hasText: "test_top.py" }).waitFor();
    await workbench.page.locator(".tab", { hasText: "test_top.py" }).waitFor();
  } finally {
    await workbench.picture("try-last");
    await workbench.close();
  }
});

test("what is missing for a model is said, and the prompt is not lost", { timeout: 90_000 }, async () => {
  const workbench = await Workbench.open();
  try {
    await workbench.send("hello");
    await workbench.chat.locator(".note", { hasText: "No model is chosen yet" }).waitFor();
    assert.equal(await workbench.input.inputValue(), "hello");
    await workbench.status("no model yet");
    assert.equal(await workbench.chat.locator(".note button").count(), 3);
  } finally {
    await workbench.picture("missing-last");
    await workbench.close();
  }
});
