import assert from "node:assert/strict";
import { test } from "node:test";
import { SETTINGS, calls, openAi, says, wantsSuggestion } from "./open-ai.js";
import { Workbench, until } from "./workbench.js";

/** A server whose answers can be held back by the test. */
function model() {
  let hold = false;
  const { asked, handlers } = openAi((one) => {
    if (wantsSuggestion(one)) return says(JSON.stringify({ suggestion: "write the notes" }));
    const { messages } = one.body;
    const last = messages.at(-1);
    if (last?.role === "tool") return says("That is it.");
    if (last?.content === "is there a changelog?") return calls("ls", { path: "." });
    return last?.content === "write the notes" ? calls("write_file", { file_path: "notes.md", content: "made\n" }) : says("Nothing else.");
  });
  const [[path, answer] = []] = handlers ?? [];
  if (path === undefined || answer === undefined) throw new Error("the server has one path");
  const held: NonNullable<typeof handlers> = new Map([[path, (request, body, response) => {
    if (!hold) answer(request, body, response);
  }]]);
  return { asked, handlers: held, hold: (now: boolean) => void (hold = now) };
}

const lines = (workbench: Workbench) => workbench.chat.locator(".user, .model").allTextContents();

test("a conversation goes on after the window was loaded again, until it is ended", { timeout: 180_000 }, async () => {
  const { asked, handlers, hold } = model();
  const workbench = await Workbench.open({ settings: SETTINGS, handlers });
  try {
    await workbench.send("is there a changelog?");
    await workbench.ghost("write the notes");
    await workbench.status("ready");
    await workbench.tab();
    await workbench.chat.locator(".changes", { hasText: "notes.md" }).waitFor();
    await workbench.ghost("write the notes");
    await until("work ahead has ended", async () => (await workbench.chat.locator("#ahead .headline.ready").count()) === 1);
    const [before, sent] = [await lines(workbench), asked.length];

    await workbench.reload();
    await workbench.openChat();
    await workbench.chat.locator(".changes .file").waitFor();
    await workbench.picture("reload");
    assert.deepEqual(await lines(workbench), before);
    // The work ahead is gone after a reload, and no request may be made to replace it.
    await workbench.noGhost();
    assert.equal(asked.length, sent);
    assert.equal(await workbench.chat.locator(".changes button").count(), 0);

    // The model must get the same messages as before the reload, followed by the new prompt.
    await workbench.type("and now?");
    await workbench.press("Enter");
    await until("the prompt was sent", () => Promise.resolve(asked.some(({ body }) => body.messages.at(-1)?.content === "and now?")));
    const { messages } = asked.find(({ body }) => body.messages.at(-1)?.content === "and now?")?.body ?? { messages: [] };
    const answered = ["assistant", "tool", "assistant"];
    assert.deepEqual(messages.map(({ role }) => role), ["system", "user", ...answered, "user", ...answered, "user"]);
    assert.equal(messages[1]?.content, "is there a changelog?");

    // Now the window is reloaded in the middle of a turn.
    await workbench.ghost("write the notes");
    hold(true);
    await workbench.type("what else?");
    await workbench.press("Enter");
    await workbench.status("working");
    await until("the prompt is under way", () => Promise.resolve(asked.length > sent));
    await workbench.page.waitForTimeout(500);
    hold(false);
    await workbench.reload();
    await workbench.openChat();
    await workbench.chat.locator(".note", { hasText: "loaded again while this was under way" }).waitFor();
    await workbench.picture("reload-interrupted");
    await workbench.chat.getByRole("button", { name: "Try again" }).click();
    await until("it is answered", async () => (await workbench.chat.locator(".model").count()) === 4);

    // The conversation keeps the name that the user gave it, also in the next window.
    await workbench.command("headstart: Rename the Conversation");
    const box = workbench.page.locator(".quick-input-box input").first();
    await until("its first prompt is its name", async () => (await box.inputValue()) === "is there a changelog?");
    await box.fill("  The   changelog ");
    await workbench.press("Enter");
    await workbench.command("headstart: Go On with a Conversation");
    await workbench.page.locator(".quick-input-list .monaco-list-row", { hasText: "The changelog" }).waitFor();
    await workbench.press("Escape");

    // A new conversation stays new in the next window.
    await workbench.command("headstart: New Conversation");
    await until("the chat is empty", async () => (await workbench.chat.locator(".user").count()) === 0);
    await workbench.reload();
    await workbench.openChat();
    assert.equal(await workbench.chat.locator(".user").count(), 0);
  } finally {
    await workbench.picture("reload-last");
    await workbench.close();
  }
});
