import assert from "node:assert/strict";
import { test } from "node:test";
import { SETTINGS, calls, openAi, says, wantsSuggestion } from "./open-ai.js";
import { Workbench, until } from "./workbench.js";

test("a server of one's own: a key for it alone, the cost in the status bar, the off switch", { timeout: 120_000 }, async () => {
  const { asked, handlers } = openAi((one) => {
    if (wantsSuggestion(one)) return says(JSON.stringify({ suggestion: "run it again", suggestions: ["run it again"] }));
    return says("Done as you said.");
  });
  const workbench = await Workbench.open({ settings: SETTINGS, handlers });
  try {
    await workbench.command("headstart: Set API key");
    const box = workbench.page.locator(".quick-input-box input[type=password]");
    await box.waitFor();
    await workbench.type("secret-of-this-server");
    await workbench.press("Enter");
    await box.waitFor({ state: "hidden" });
    await workbench.send("hello");
    await workbench.chat.locator(".model", { hasText: "Done as you said." }).waitFor();
    await workbench.send("hello again");
    await workbench.ghost("run it again");
    await workbench.status("ready");
    await workbench.picture("server");
    assert.deepEqual([...new Set(asked.map(({ authorization }) => authorization))], ["Bearer secret-of-this-server"]);
    assert.ok(asked.every(({ body }) => body.model === "tiny"));
    const item = workbench.page.locator(".statusbar-item", { hasText: "headstart" });
    assert.match((await item.textContent()) ?? "", /\dk tokens/);
    assert.ok(!(await workbench.page.content()).includes("secret-of-this-server"));

    // When suggestions are off, the suggestion must go, and no request may be made except for what the user types.
    await workbench.command("headstart: Turn Suggestions On or Off");
    await workbench.status("off");
    await workbench.noGhost();
    const before = asked.length;
    await workbench.send("one more");
    await until("the turn was answered", async () => (await workbench.chat.locator(".model").count()) === 3);
    await workbench.page.waitForTimeout(1_500);
    assert.equal(asked.length, before + 1);
    await workbench.picture("off");
  } finally {
    await workbench.picture("server-last");
    await workbench.close();
  }
});

test("in the mode that asks, a write asks; declined it is not made, and the model hears of it", { timeout: 90_000 }, async () => {
  const { asked, handlers } = openAi(({ body }) => {
    if (body.messages.at(-1)?.role !== "tool") return calls("write_file", { file_path: "notes.md", content: "mine\n" });
    return says("I left it.");
  });
  const workbench = await Workbench.open({ settings: { ...SETTINGS, "headstart.mode": "default", "headstart.enabled": false }, handlers });
  try {
    await workbench.send("write notes");
    await workbench.chat.locator("#question", { hasText: "notes.md" }).waitFor();
    await workbench.status("needs your consent");
    await workbench.page.waitForTimeout(450);
    await workbench.press("n");
    await workbench.chat.locator(".model", { hasText: "I left it." }).waitFor();
    assert.equal(workbench.server.stored.has("notes.md"), false);
    assert.equal(asked.at(-1)?.body.messages.at(-1)?.role, "tool");

    await workbench.send("write notes all the same");
    await workbench.chat.locator("#question").waitFor();
    // A key right after a question appears must not be an answer, because it may have been meant for something else.
    await workbench.chat.locator("[data-answer=no]").evaluate((button) =>
      button.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true, cancelable: true })),
    );
    await workbench.page.waitForTimeout(450);
    await workbench.press("Tab", "Shift+Tab", "Shift+Tab", "Enter");
    await workbench.stored("notes.md", (text) => text === "mine\n", "is written");
  } finally {
    await workbench.picture("consent-last");
    await workbench.close();
  }
});

test("a provider that is busy is waited for, and the chat says so", { timeout: 90_000 }, async () => {
  let refused = 0;
  const { handlers } = openAi(() => says("Here I am."));
  const answer = handlers?.get("/v1/chat/completions");
  assert.ok(answer);
  handlers?.set("/v1/chat/completions", (request, body, response) => {
    refused += 1;
    if (1 < refused) return answer(request, body, response);
    response.writeHead(429, { "content-type": "application/json", "retry-after": "3", "access-control-expose-headers": "retry-after" }).end("{}");
  });
  const workbench = await Workbench.open({ settings: { ...SETTINGS, "headstart.enabled": false }, handlers });
  try {
    await workbench.send("hello");
    await workbench.chat.locator("#hint", { hasText: /asked again in [123] s/ }).waitFor();
    await workbench.picture("waits");
    await workbench.chat.locator(".model", { hasText: "Here I am." }).waitFor();
    assert.equal(await workbench.chat.locator("#hint", { hasText: "asked again" }).count(), 0);
  } finally {
    await workbench.picture("waits-last");
    await workbench.close();
  }
});

test("a server's refusal is told in the chat, and the prompt can be sent again", { timeout: 90_000 }, async () => {
  const handlers: NonNullable<Parameters<typeof Workbench.open>[0]>["handlers"] = new Map([
    ["/v1/chat/completions", (_request, _body, response) => {
      response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: "no such key" } }));
    }],
  ]);
  const workbench = await Workbench.open({ settings: SETTINGS, handlers });
  try {
    await workbench.send("hello");
    await workbench.chat.locator(".note.error button", { hasText: "Set API key" }).waitFor();
    await workbench.status("idle");
    await workbench.picture("refusal");
    // The keyboard must lead from the prompt back to the buttons above it.
    await workbench.press("Shift+Tab", "Shift+Tab", "Enter");
    await until("it was sent again", async () => (await workbench.chat.locator(".note.error").count()) === 2);
  } finally {
    await workbench.close();
  }
});
