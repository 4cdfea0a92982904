import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Recording } from "headstart";
import { type BrowserContext, type FrameLocator, type Page, chromium } from "playwright-core";
import { ROOT, type Served, serve } from "./server.js";

const ARGUMENTS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];
const PATIENCE = 20_000;

export interface WorkbenchOptions {
  settings?: Record<string, unknown>;
  /** Files besides those of the sample project. */
  files?: Record<string, string>;
  /** The answers of the model. */
  recording?: Recording;
  folder?: boolean;
  theme?: string;
  handlers?: Served["handlers"];
}

/** VS Code for the Web in a headless browser, used by the keyboard. */
export class Workbench {
  readonly requests: string[] = [];
  readonly log: string[] = [];

  private constructor(
    readonly page: Page,
    readonly server: Served,
    readonly context: BrowserContext,
    readonly profile: string,
  ) {}

  static async open(options: WorkbenchOptions = {}): Promise<Workbench> {
    const { settings = {}, files = {}, recording, folder = true, theme, handlers } = options;
    const recorded = recording && { "headstart.provider": "recording", "headstart.recording": "recording.json" };
    const server = await serve(
      {
        ...recorded,
        "memfs.files": { ...files, ...(recording && { "recording.json": JSON.stringify(recording) }) },
        ...(theme && { "workbench.colorTheme": theme }),
        ...settings,
      },
      folder,
    );
    for (const [path, handler] of handlers ?? []) server.handlers.set(path, handler);
    const workbench = await Workbench.launch(server);
    await workbench.load(`http://app.localhost:${server.port}/`, folder);
    return workbench;
  }

  /** Starts a browser that has no page yet. */
  static async launch(server: Served): Promise<Workbench> {
    const profile = await mkdtemp(join(tmpdir(), "headstart-vscode-"));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      headless: true,
      locale: "en-US",
      viewport: { width: 1280, height: 800 },
      args: ARGUMENTS,
    });
    const page = context.pages()[0] ?? (await context.newPage());
    page.setDefaultTimeout(PATIENCE);
    const workbench = new Workbench(page, server, context, profile);
    context.on("request", (request) => workbench.requests.push(request.url()));
    page.on("console", (message) => workbench.log.push(`${message.type()} ${message.text()}`));
    page.on("pageerror", (error) => workbench.log.push(`pageerror ${error.message}`));
    return workbench;
  }

  async load(url: string, folder = true): Promise<void> {
    await this.page.goto(url);
    if (folder) await this.page.locator(".explorer-folders-view .monaco-list-row").first().waitFor();
    else await this.page.locator(".statusbar").waitFor();
    await this.started();
  }

  private async started(): Promise<void> {
    await this.page.locator(".statusbar-item", { hasText: "headstart" }).waitFor();
  }

  /** Reloads the window. After that the files in memory are as they were at the start. */
  async reload(): Promise<void> {
    await this.page.reload();
    await this.started();
  }

  async close(): Promise<void> {
    await this.context.close();
    await this.server.close();
    await rm(this.profile, { recursive: true, force: true });
  }

  /** The page of the chat view. */
  get chat(): FrameLocator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }

  get input() {
    return this.chat.locator("#input");
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** Takes the suggestion. It waits first, because Tab is ignored right after a suggestion appears. */
  async tab(): Promise<void> {
    await this.page.waitForTimeout(450);
    await this.press("Tab");
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
  }

  /** Opens the chat by its key, and waits until the prompt has the focus. */
  async openChat(): Promise<void> {
    await this.press("Control+Alt+h");
    await this.input.waitFor();
    await until("the prompt has the focus", () => this.input.evaluate((input) => input.ownerDocument.activeElement === input && input.ownerDocument.hasFocus()));
  }

  /** Sends a prompt with the keyboard. */
  async send(prompt: string): Promise<void> {
    await this.openChat();
    await this.type(prompt);
    await this.press("Enter");
  }

  async ghost(text: string): Promise<void> {
    await this.chat.locator("#ghost", { hasText: text }).waitFor();
  }

  async noGhost(): Promise<void> {
    await this.chat.locator("#ghost").waitFor({ state: "hidden" });
  }

  /** Runs a command of the palette. */
  async command(title: string): Promise<void> {
    await this.press("F1");
    const box = this.page.locator(".quick-input-box input").first();
    await box.waitFor();
    await this.type(title);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().waitFor();
    await this.press("Enter");
    // A box that is still visible may already be that of a question of the command.
    await until("the palette is gone", async () => !(await box.isVisible()) || !(await box.inputValue()).startsWith(">"));
  }

  /** Opens a file of the workspace in an editor. */
  async openFile(path: string): Promise<void> {
    await this.command("memfs: Open by path");
    const box = this.page.locator(".quick-input-box input").first();
    await box.waitFor();
    await this.type(path);
    await this.press("Enter");
    const name = path.slice(path.lastIndexOf("/") + 1);
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
  }

  /** Gives the focus to the editor. */
  async focusEditor(): Promise<void> {
    await this.press("Control+1");
    await this.page.locator(".editor-group-container.active .monaco-editor.focused").waitFor();
  }

  /** The lines that are shown in the active editor. */
  async editorText(): Promise<string> {
    const lines = await this.page.locator(".editor-group-container.active .editor-instance .view-lines").last().evaluate((box) =>
      [...box.querySelectorAll<HTMLElement>(".view-line")]
        .map((line) => ({ top: Number.parseFloat(line.style.top), text: line.textContent ?? "" }))
        .sort((one, other) => one.top - other.top)
        .map(({ text }) => text.replace(/\u00a0/g, " ")),
    );
    return lines.join("\n");
  }

  async editorShows(text: string, shows = true): Promise<void> {
    await until(`the editor ${shows ? "shows" : "no longer shows"} ${JSON.stringify(text)}`, async () => (await this.editorText()).includes(text) === shows);
  }

  async status(text: string): Promise<void> {
    await this.page.locator(".statusbar-item", { hasText: `headstart: ${text}` }).waitFor();
  }

  async stored(path: string, holds: (text: string | null | undefined) => boolean, what: string): Promise<void> {
    await until(() => `${path} ${what}; stored is ${JSON.stringify([...this.server.stored])}`, () => Promise.resolve(holds(this.server.stored.get(path))));
  }

  /** Makes a picture for people to look at, if `SCREENSHOTS` is set. No test depends on it. */
  async picture(name: string): Promise<void> {
    if (!process.env.SCREENSHOTS) return;
    await sleep(500);
    await mkdir(join(ROOT, "out/pictures"), { recursive: true });
    await this.page.screenshot({ path: join(ROOT, `out/pictures/${name}.png`) });
  }
}

export async function until(what: string | (() => string), holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    if (await holds()) return;
    await sleep(50);
  }
  assert.fail(`waited in vain until ${typeof what === "string" ? what : what()}`);
}
