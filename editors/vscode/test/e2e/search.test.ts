import assert from "node:assert/strict";
import { test } from "node:test";
import { SETTINGS, calls, openAi, says, wantsSuggestion } from "./open-ai.js";
import { Workbench, until } from "./workbench.js";

const FILES = {
  "shop/auth/login.kt": "package shop\n\n/** Checks a password. */\nfun checkLogin() {}\n",
  "shop/cart.kt": "package shop\n\nfun total() {}\n",
  ".gitignore": "build/\n",
  "build/made.kt": "fun checkLogin() {}\n",
  "private/secret.kt": "fun checkLogin() {}\n",
  'shop/"odd" $(bug).kt': "fun oddlyNamed() {}\n",
  "shop/login.md": `# Notes\n\n${"A line about logins.\n".repeat(80)}\n## The zebra crossing\n\nHere it is.\n`,
};

class Search {
  constructor(readonly workbench: Workbench) {}

  get box() {
    return this.workbench.page.locator(".quick-input-box input").first();
  }

  get rows() {
    return this.workbench.page.locator(".quick-input-list .monaco-list-row");
  }

  async open(): Promise<void> {
    await this.workbench.command("headstart: Search the Project");
    await until("the search is there", async () => /what to look for/i.test((await this.box.getAttribute("placeholder")) ?? ""));
  }

  async ask(query: string): Promise<void> {
    await this.box.fill(query);
  }

  async shows(text: string): Promise<void> {
    await this.rows.filter({ hasText: text }).first().waitFor();
  }

  async texts(): Promise<string[]> {
    return (await this.rows.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  }
}

test("the project is searched by keyboard: places open at their line, rules hold, what changes is found", { timeout: 120_000 }, async () => {
  const workbench = await Workbench.open({ files: FILES, settings: { "headstart.deny": ["private/"] } });
  const search = new Search(workbench);
  try {
    await search.open();
    await until("it says how much is indexed", async () => /\d+ files/.test((await workbench.page.locator(".quick-input-title").textContent()) ?? ""));
    await search.ask("where are passwords checked");
    await search.shows("checkLogin");
    await workbench.picture("search");
    const found = await search.texts();
    assert.match(found[0] ?? "", /^checkLogin ?shop\/auth\/login\.kt:1/);
    assert.ok(!found.some((text) => /private|build\//.test(text)), found.join("\n"));
    await workbench.press("Enter");
    await workbench.page.locator(".tab.active", { hasText: "login.kt" }).waitFor();
    await workbench.editorShows("fun checkLogin");

    // A hit in the second part of a long file must open at its line.
    await search.open();
    await search.ask("zebra crossing");
    await search.shows("login.md:");
    await workbench.press("Enter");
    await workbench.page.locator(".tab.active", { hasText: "login.md" }).waitFor();
    await workbench.editorShows("The zebra crossing");

    // Queries that find nothing or are odd: an unknown word, another script, a hostile name, a very long query.
    await search.open();
    await search.ask("xylophone");
    await search.shows("Nothing fits");
    await search.ask("用户登录");
    await search.shows("Nothing fits");
    await search.ask("oddlyNamed");
    await search.shows('shop/"odd"');
    assert.equal(await search.rows.locator(".codicon-bug").count(), 0, "a name makes no icon");
    await search.ask("total ".repeat(150));
    await search.shows("shop/cart.kt");
    await workbench.press("Escape");

    // An edit that is not saved must be found, because it is what the user sees.
    await workbench.openFile("shop/cart.kt");
    await workbench.focusEditor();
    await workbench.press("Control+End");
    await workbench.type("fun quaggaFarm() {}");
    await workbench.page.waitForTimeout(400);
    await search.open();
    await search.ask("quaggaFarm");
    await search.shows("shop/cart.kt");
    await workbench.press("Escape");
  } finally {
    await workbench.picture("search-last");
    await workbench.close();
  }
});

test("a model searches by the index; what it staged is found by it and by the user, until it is dismissed", { timeout: 120_000 }, async () => {
  const { asked, handlers } = openAi((one) => {
    const last = one.body.messages.at(-1);
    if (wantsSuggestion(one)) return says(JSON.stringify({ suggestion: "add a zebra", suggestions: ["add a zebra"] }));
    if (last?.role !== "tool") return last?.content?.includes("zebra") ? calls("write_file", { file_path: "zebra.kt", content: "fun zebraStable() {}\n" }) : calls("codebase", { query: "password" });
    return JSON.stringify(last).includes("zebraStable") || JSON.stringify(last).includes("checkLogin") ? says("Found.") : calls("codebase", { query: "zebra stable" });
  });
  const workbench = await Workbench.open({ files: FILES, settings: SETTINGS, handlers });
  const search = new Search(workbench);
  try {
    // The test waits for the index, because before that a model gets lines instead of places.
    await search.open();
    await until("all is indexed", async () => /· \d+ files/.test((await workbench.page.locator(".quick-input-title").textContent()) ?? ""));
    await workbench.press("Escape");
    await workbench.send("where is it?");
    await workbench.chat.locator(".model", { hasText: "Found." }).waitFor();
    const names = JSON.stringify(asked[0]?.body.tools);
    assert.match(names, /"codebase"/);
    assert.match(names, /"repo_map"/);
    assert.match(JSON.stringify(asked.at(1)?.body.messages.at(-1)), /shop\/auth\/login\.kt:1-4 checkLogin/);
    await workbench.send("and again?");
    await workbench.ghost("add a zebra");
    await workbench.status("ready");
    assert.ok(asked.some(({ body }) => /zebra\.kt:1-1 zebraStable/.test(JSON.stringify(body.messages.at(-1)))), "its own edit, ahead");
    await search.open();
    await search.ask("zebraStable");
    await search.shows("staged");
    await workbench.picture("search-staged");
    await workbench.press("Enter");
    await workbench.page.locator(".tab.active", { hasText: "zebra.kt (new, staged by headstart)" }).waitFor();
    await workbench.editorShows("fun zebraStable");
    // All lines of a new file must be marked as added, and none as removed. The file has one line; the empty one after
    // it does not count.
    const marks = () => workbench.page.locator(".monaco-editor .view-overlays > div").evaluateAll((rows) => rows.map((row) => [...row.children].map((mark) => getComputedStyle(mark).backgroundColor)));
    const isGreen = (colour: string): boolean => {
      const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map(Number);
      return red < green && blue < green;
    };
    await until("its line is green, and no other", async () => {
      const [first, ...others] = await marks();
      return first?.some(isGreen) === true && !others.flat().some(isGreen);
    });
    await workbench.picture("new-file");
    assert.equal(workbench.server.stored.has("zebra.kt"), false);
  } finally {
    await workbench.picture("search-model-last");
    await workbench.close();
  }
});

test("with the setting off there is no index: no tools, and the command says why", { timeout: 90_000 }, async () => {
  const { asked, handlers } = openAi(() => says("Done."));
  const workbench = await Workbench.open({ files: FILES, settings: { ...SETTINGS, "headstart.index": false, "headstart.enabled": false }, handlers });
  try {
    await workbench.send("hello");
    await workbench.chat.locator(".model", { hasText: "Done." }).waitFor();
    assert.ok(!JSON.stringify(asked[0]?.body.tools).includes("codebase"));
    await workbench.command("headstart: Search the Project");
    await workbench.page.locator(".notification-toast", { hasText: "headstart.index" }).waitFor();
    await workbench.picture("search-off");
  } finally {
    await workbench.close();
  }
});
