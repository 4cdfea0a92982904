// A browser, a server for the built page, and functions for what a visitor does.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
export const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm", svg: "image/svg+xml", png: "image/png" };
/** The path of Chromium; by default the one on Debian. */
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** The folder for screenshots; none are made without it. */
export const SHOTS = process.env.SCREENSHOTS;

/** Listens on a free port of this machine, and gives the origin. */
export async function listen(handler) {
  const server = createServer(handler);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, origin: `http://127.0.0.1:${server.address().port}` };
}

const serveDist = async (request, response) => {
  const path = new URL(request.url, "http://page").pathname;
  const file = normalize(join(DIST, path === "/" ? "index.html" : decodeURIComponent(path)));
  try {
    if (!file.startsWith(DIST)) throw new Error("outside");
    const body = await readFile(file);
    response.writeHead(200, { "content-type": TYPES[file.split(".").at(-1)] ?? "application/octet-stream" });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
};

/** Starts a browser and the page's server for one test file; `close` ends both. */
export async function start() {
  const { server, origin } = await listen(serveDist);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  return {
    origin,
    browser,
    open: (options) => open(browser, origin, options),
    async close() {
      await browser.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * Opens the page as a new visitor. Errors and refused requests, which the page must never cause, fail the test at
 * `done`.
 */
async function open(browser, origin, { speed = 8, view = "", path = "", width = 1280, height = 860, colorScheme = "light", allow = [] } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const requests = [];
  const troubles = [];
  context.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => troubles.push(`error: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") troubles.push(`console: ${message.text()}`);
  });
  await page.goto(`${origin}/${path}?speed=${speed}${view}`);
  await page.waitForSelector("#prompt", { state: view ? "attached" : "visible" });
  await page.waitForFunction(() => document.querySelector("[data-opening]") === null);
  const visitor = new Visitor(page, requests);
  visitor.done = async () => {
    await context.close();
    const unexpected = troubles.filter((trouble) => !allow.some((pattern) => pattern.test(trouble)));
    assert.deepEqual(unexpected, []);
  };
  return visitor;
}

/** The actions of a visitor, and what the visitor sees. */
export class Visitor {
  constructor(page, requests) {
    this.page = page;
    this.requests = requests;
  }

  press(...keys) {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  /** Waits for the ghost text, and then until Tab takes it: the page ignores keys right after a suggestion appears. */
  async suggestion(text) {
    await this.page.waitForFunction((wanted) => document.querySelector(".ghost .rest")?.textContent === wanted, text, { timeout: 15_000 });
    await this.page.waitForTimeout(450);
  }

  /** Waits until the work ahead has this status: `completed`, `boundary`, `none`, … */
  ahead(status) {
    return this.page.waitForSelector(`[data-ahead="${status}"]`, { timeout: 15_000 });
  }

  /** Waits until the conversation has this text. */
  said(text) {
    return this.page.waitForFunction((wanted) => document.querySelector(".log")?.textContent.includes(wanted), text, { timeout: 20_000 });
  }

  /**
   * Ends the first turn and takes its suggestion; then the work for the next one, `run the tests`, has stopped at its
   * boundary.
   */
  async toBoundary() {
    await this.firstTurn();
    await this.press("Tab");
    await this.suggestion("run the tests");
    await this.ahead("boundary");
  }

  /** Takes that suggestion, too, so that the page asks whether the tests may run. */
  async toQuestion() {
    await this.toBoundary();
    await this.press("Tab");
    await this.page.waitForFunction(() => document.activeElement?.id === "question");
  }

  /** Answers a question by a key. It waits first, because the page ignores keys right after a question appears. */
  async answer(key) {
    await this.page.waitForTimeout(450);
    await this.press(key);
  }

  log() {
    return this.page.locator(".log").innerText();
  }

  /** The text that was announced last to screen readers. */
  live() {
    return this.page.evaluate(() => document.querySelector("#live").lastElementChild?.textContent ?? "");
  }

  /** The latest texts that were announced to screen readers. */
  told() {
    return this.page.locator("#live > *").allInnerTexts();
  }

  /** The session as it survives a reload; `messages` are those in the lines of the conversation. */
  async saved() {
    await this.page.waitForTimeout(250);
    const saved = JSON.parse(await this.page.evaluate(() => sessionStorage.getItem("headstart.session")));
    const lines = (saved.lines ?? "").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    return { ...saved, messages: lines.flatMap(({ type, message }) => (type === "message" ? [message] : [])) };
  }

  async files() {
    return (await this.saved()).files;
  }

  async focused() {
    return this.page.evaluate(() => document.activeElement?.id || document.activeElement?.className || document.activeElement?.tagName);
  }

  /** Opens a file and puts the cursor into the editor. */
  async openFile(path) {
    await this.page.locator(".file-list button", { hasText: path }).click();
    await this.page.locator(".editor .cm-content").click();
  }

  async shot(name) {
    if (!SHOTS) return;
    mkdirSync(SHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SHOTS, `${name}.png`) });
  }

  /** Chooses a model at an address in the settings. */
  async useOwn({ baseUrl, model, key }) {
    const { page } = this;
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByLabel("A model of your own.").check();
    await page.getByLabel("Base URL").fill(baseUrl);
    await page.locator('input[name="model"]').fill(model);
    await page.locator('input[name="key"]').fill(key);
    await page.getByRole("button", { name: "Use it" }).click();
  }

  /** Does the first turn, until the suggestion is shown and the work behind it has ended. */
  async firstTurn() {
    await this.press("Enter");
    await this.suggestion("add tests for maxLength");
    await this.ahead("completed");
  }
}
