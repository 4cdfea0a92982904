import assert from "node:assert/strict";
import { test } from "node:test";
import type { Recording } from "headstart";
import { Workbench, until } from "./workbench.js";

const EDIT = { file_path: "CHANGELOG.md", old_string: "## Unreleased\n", new_string: "## Unreleased\n\n- `top` is new.\n" };

/**
 * A first turn that only reads, because a conversation that is too short has no suggestion, and then work on the
 * changelog.
 */
const RECORDING: Recording = {
  turns: [
    { toolCalls: [{ name: "ls", args: { path: "." } }] },
    { text: "There is a changelog." },
    { toolCalls: [{ name: "read_file", args: { file_path: "CHANGELOG.md" } }] },
    { toolCalls: [{ name: "edit", args: EDIT }] },
    { text: "The changelog mentions it." },
    { text: "Run anew." },
  ],
  suggestions: ["update the changelog"],
};

async function staged(files: Record<string, string> = {}): Promise<Workbench> {
  const workbench = await Workbench.open({ recording: RECORDING, files, settings: { "files.autoSave": "off" } });
  try {
    await workbench.openFile("CHANGELOG.md");
    await workbench.send("is there a changelog?");
    await workbench.ghost("update the changelog");
    await workbench.status("ready");
    await workbench.focusEditor();
    await workbench.press("Control+Home");
    return workbench;
  } catch (error) {
    await workbench.close();
    throw error;
  }
}

test("an unsaved edit in the same place is a conflict, and is kept", { timeout: 90_000 }, async () => {
  const workbench = await staged();
  try {
    await workbench.press("ArrowDown", "ArrowDown", "ArrowDown");
    await workbench.type("- mine");
    await workbench.editorShows("- mine");
    await workbench.openChat();
    await workbench.tab();
    await workbench.chat.locator("#question", { hasText: "You edited CHANGELOG.md in the same place meanwhile" }).waitFor();
    await workbench.picture("conflict");
    const isKept = async () => {
      const text = await workbench.editorText();
      assert.ok(text.includes("- mine") && !text.includes("top"), text);
      assert.equal(workbench.server.stored.get("CHANGELOG.md"), undefined);
      await workbench.page.locator(".tab.dirty", { hasText: "CHANGELOG.md" }).waitFor();
    };
    await isKept();
    // After "no" the prompt must be in the line again, and must run like any other prompt.
    await workbench.page.waitForTimeout(450);
    await workbench.press("n");
    await until("the prompt is back", async () => (await workbench.input.inputValue()) === "update the changelog");
    await workbench.press("Enter");
    await workbench.chat.locator(".model", { hasText: "Run anew." }).waitFor();
    await isKept();
  } finally {
    await workbench.picture("conflict-last");
    await workbench.close();
  }
});

test("of a conflict the user may take the work's, or have it run again on what is there now", { timeout: 120_000 }, async () => {
  for (const [key, holds] of [["w", ["top", true]], ["r", ["- mine", true]]] as const) {
    const workbench = await staged();
    try {
      await workbench.press("ArrowDown", "ArrowDown", "ArrowDown");
      await workbench.type("- mine");
      await workbench.openChat();
      await workbench.tab();
      await workbench.chat.locator("#question").waitFor();
      await workbench.page.waitForTimeout(450);
      await workbench.press(key);
      if (key === "r") {
        await workbench.chat.locator(".note.warning", { hasText: "your edit is kept" }).waitFor();
        await workbench.chat.locator(".model", { hasText: "Run anew." }).waitFor();
        await workbench.chat.getByRole("button", { name: "Show what was staged" }).click();
        await workbench.page.locator(".tab.active", { hasText: "CHANGELOG.md (staged by headstart)" }).waitFor();
      } else {
        await workbench.chat.locator(".changes", { hasText: "CHANGELOG.md" }).waitFor();
        await workbench.editorShows("- mine", false);
        await workbench.editorShows(...holds);
      }
    } finally {
      await workbench.picture(`conflict-${key}-last`);
      await workbench.close();
    }
  }
});

test("an unsaved edit in another place is merged, stays unsaved, and one undo takes only the work back", { timeout: 90_000 }, async () => {
  const workbench = await staged();
  try {
    await workbench.press("Control+End");
    await workbench.type("- And this is mine.");
    await workbench.openChat();
    await workbench.tab();
    await workbench.chat.locator(".changes", { hasText: "merged with your edits" }).waitFor();
    await workbench.editorShows("- `top` is new.");
    await workbench.editorShows("- And this is mine.");
    await workbench.picture("merged");
    assert.equal(workbench.server.stored.get("CHANGELOG.md"), undefined, "what the user has not saved is not saved for them");
    await workbench.page.locator(".tab.dirty", { hasText: "CHANGELOG.md" }).waitFor();
    await workbench.focusEditor();
    await workbench.press("Control+z");
    await workbench.editorShows("- `top` is new.", false);
    await workbench.editorShows("- And this is mine.");
  } finally {
    await workbench.picture("merged-last");
    await workbench.close();
  }
});

test("lines that end as on Windows are kept, and so is a byte order mark", { timeout: 90_000 }, async () => {
  const text = "\ufeff# Changelog\r\n\r\n## Unreleased\r\n\r\n## 0.1.0\r\n";
  const recording: Recording = {
    ...RECORDING,
    turns: RECORDING.turns?.map((turn) => ({
      ...turn,
      ...(turn.toolCalls?.[0]?.name === "edit" && { toolCalls: [{ name: "edit", args: { ...EDIT, old_string: "## Unreleased", new_string: "## Unreleased: soon" } }] }),
    })) ?? [],
  };
  const workbench = await Workbench.open({ recording, files: { "CHANGELOG.md": text } });
  try {
    await workbench.send("is there a changelog?");
    await workbench.ghost("update the changelog");
    await workbench.status("ready");
    await workbench.tab();
    await workbench.stored("CHANGELOG.md", (now) => now !== undefined, "is written");
    await workbench.stored("CHANGELOG.md", (now) => now === text.replace("## Unreleased", "## Unreleased: soon"), "is the same but for the edit");
  } finally {
    await workbench.picture("windows-last");
    await workbench.close();
  }
});

test("an edit that the editor cannot make leaves all as it was", { timeout: 90_000 }, async () => {
  const write = (file_path: string) => ({ name: "write_file", args: { file_path, content: "made\n" } });
  const turns = RECORDING.turns?.map((turn) =>
    turn.toolCalls?.[0]?.name === "edit" ? { toolCalls: [...turn.toolCalls, write("a-first.md"), write("refused.md")] } : turn,
  ) ?? [];
  const workbench = await Workbench.open({ recording: { ...RECORDING, turns } });
  try {
    await workbench.openFile("CHANGELOG.md");
    await workbench.send("is there a changelog?");
    await workbench.ghost("update the changelog");
    await workbench.status("ready");
    await workbench.tab();
    await workbench.chat.locator(".note.warning", { hasText: "nothing was changed" }).waitFor();
    await workbench.picture("refused");
    await workbench.stored("a-first.md", (now) => now === null || now === undefined, "is not there");
    assert.equal(workbench.server.stored.get("CHANGELOG.md"), undefined);
    await workbench.editorShows("top", false);
    assert.equal(await workbench.page.locator(".tab.dirty").count(), 0);
    // The conversation does not contain work that was not applied, so the user must still be able to look at what was
    // staged.
    await workbench.chat.locator(".note.warning button", { hasText: "Show what was staged" }).waitFor();
  } finally {
    await workbench.picture("refused-last");
    await workbench.close();
  }
});
