import assert from "node:assert/strict";
import { test } from "node:test";
import { type Asked, SETTINGS, calls, openAi, says, wantsSuggestion } from "./open-ai.js";
import { Workbench, until } from "./workbench.js";

const EDIT = { file_path: "CHANGELOG.md", old_string: "## Unreleased\n", new_string: "## Unreleased\n\n- `top` is new.\n" };
const write = (file_path: string) => calls("write_file", { file_path, content: "made\n" });

/** The answers of the model to each prompt, in order. */
const ANSWERS: Record<string, object[][]> = {
  "is there a changelog?": [calls("ls", { path: "." }), says("There is a changelog.")],
  "update the changelog": [calls("read_file", { file_path: "CHANGELOG.md" }), calls("edit", EDIT), write("notes.md"), says("The changelog mentions it.")],
  "write the tests": [write("tests.md"), says("The tests are written.")],
};
const NOTE = "[Note: the user has undone changes that you made. These files are as they were before them:\n- CHANGELOG.md\n- notes.md (there is no such file now)]";

/** The messages of every request that is not for a suggestion. */
const turns = (asked: Asked[]) => asked.filter((one) => !wantsSuggestion(one)).map(({ body }) => body.messages);
type Messages = Asked["body"]["messages"];
const lastPrompt = (messages: Messages) => messages.map(({ role }) => role).lastIndexOf("user");
const promptOf = (messages: Messages) => messages[lastPrompt(messages)]?.content ?? "";
/** The messages that were sent with a prompt. */
const sentWith = (asked: Asked[], prompt: string) => turns(asked).find((messages) => promptOf(messages).endsWith(prompt)) ?? [];

/**
 * Opens a workbench in which work on two files was accepted, the next work is ready, and the editor of the first file
 * has the focus.
 */
async function accepted(): Promise<{ workbench: Workbench; asked: Asked[] }> {
  let suggested = 0;
  const { asked, handlers } = openAi((one) => {
    if (wantsSuggestion(one)) return says(JSON.stringify({ suggestion: suggested++ === 0 ? "update the changelog" : "write the tests" }));
    const { messages } = one.body;
    const begin = lastPrompt(messages);
    const done = messages.slice(begin).filter(({ role }) => role === "tool").length;
    const answers = Object.entries(ANSWERS).find(([prompt]) => messages[begin]?.content?.endsWith(prompt))?.[1];
    return answers?.[done] ?? says("As you say.");
  });
  const workbench = await Workbench.open({ settings: SETTINGS, handlers });
  try {
    await workbench.openFile("CHANGELOG.md");
    await workbench.send("is there a changelog?");
    await workbench.ghost("update the changelog");
    await workbench.status("ready");
    await workbench.tab();
    await workbench.stored("notes.md", (text) => text === "made\n", "is written");
    await workbench.editorShows("- `top` is new.");
    await workbench.ghost("write the tests");
    await workbench.status("ready");
    await workbench.focusEditor();
    return { workbench, asked };
  } catch (error) {
    await workbench.picture("accepted-failed");
    await workbench.close();
    throw error;
  }
}

async function undo(workbench: Workbench): Promise<void> {
  await workbench.press("Control+z");
  await workbench.editorShows("- `top` is new.", false);
  await workbench.stored("notes.md", (text) => text === null, "is gone again");
}

test("undone work is told to the model with the next prompt, once, and what rested on it is no longer offered", { timeout: 120_000 }, async () => {
  const { workbench, asked } = await accepted();
  try {
    const before = sentWith(asked, "write the tests");
    await undo(workbench);
    await workbench.noGhost();
    await workbench.status("idle");
    await until("both files are marked", async () => (await workbench.chat.locator(".changes .file.undone").count()) === 2);
    await workbench.picture("undone");
    await workbench.send("go on");
    await workbench.chat.locator(".note.info", { hasText: "you have undone its changes of CHANGELOG.md, notes.md" }).waitFor();
    await workbench.chat.locator(".model", { hasText: "As you say." }).waitFor();
    await workbench.picture("undone-told");
    const sent = sentWith(asked, "go on");
    assert.equal(promptOf(sent), `${NOTE}\n\ngo on`);
    // The former messages must be sent unchanged, and the prompt that ran ahead must not be among them.
    const history = before.slice(0, lastPrompt(before));
    assert.ok(8 < history.length);
    assert.deepEqual(sent.slice(0, -1), history);
    await workbench.send("is it so?");
    await until("the second answer is there", async () => (await workbench.chat.locator(".model", { hasText: "As you say." }).count()) === 2);
    assert.equal(promptOf(sentWith(asked, "is it so?")), "is it so?");
    assert.equal(await workbench.chat.locator(".note.info").count(), 1);
    assert.equal(await workbench.chat.locator(".changes .file.undone").count(), 2);
    assert.equal(workbench.server.stored.has("tests.md"), false);
  } finally {
    await workbench.picture("undone-last");
    await workbench.close();
  }
});

test("what is redone before the next prompt was never undone", { timeout: 120_000 }, async () => {
  const { workbench, asked } = await accepted();
  try {
    await undo(workbench);
    await workbench.noGhost();
    await workbench.press("Control+Shift+z");
    await workbench.editorShows("- `top` is new.");
    await workbench.stored("notes.md", (text) => text === "made\n", "is there again");
    await workbench.send("go on");
    await workbench.chat.locator(".model", { hasText: "As you say." }).waitFor();
    assert.equal(promptOf(sentWith(asked, "go on")), "go on");
    assert.equal(await workbench.chat.locator(".note").count(), 0);
    assert.equal(await workbench.chat.locator(".file.undone").count(), 0);
  } finally {
    await workbench.picture("redone-last");
    await workbench.close();
  }
});

test("a suggestion after an undo, and what runs ahead for it, know of it", { timeout: 120_000 }, async () => {
  const { workbench, asked } = await accepted();
  try {
    await undo(workbench);
    await workbench.noGhost();
    const before = asked.length;
    await workbench.press("Control+Alt+g");
    await workbench.ghost("write the tests");
    await workbench.status("ready");
    const [question, ahead] = asked.slice(before).map(({ body }) => body.messages);
    assert.ok(question?.some(({ content }) => content?.startsWith(NOTE)), JSON.stringify(question?.slice(-2)));
    assert.equal(promptOf(ahead ?? []), `${NOTE}\n\nwrite the tests`);
    await workbench.openChat();
    await workbench.tab();
    await workbench.stored("tests.md", (text) => text === "made\n", "is written");
    await workbench.chat.locator(".note.info", { hasText: "you have undone" }).waitFor();
    await workbench.picture("undone-ahead");
    await workbench.send("go on");
    await workbench.chat.locator(".model", { hasText: "As you say." }).waitFor();
    const sent = sentWith(asked, "go on");
    assert.deepEqual(sent.filter(({ content }) => content?.includes("[Note:")).map(({ content }) => content), [`${NOTE}\n\nwrite the tests`]);
    assert.equal(promptOf(sent), "go on");
    // The chat must show prompts as they were typed or taken, without the note.
    assert.equal(await workbench.chat.locator(".user", { hasText: "Note:" }).count(), 0);
  } finally {
    await workbench.picture("undone-ahead-last");
    await workbench.close();
  }
});
