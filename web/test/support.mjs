// A browser, a server for the built page, and words for what a visitor does.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
export const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm", svg: "image/svg+xml", png: "image/png" };
/** Where Chromium is; Debian's place by default. */
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** Where screenshots go; none are made without it. */
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

/** A browser and the page's server for one test file; `close` ends both. */
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

/** Opens the page as a new visitor. What a page must never do, errors and refused requests, fails the test at `done`. */
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

/** What a visitor does and sees. */
export class Visitor {
  constructor(page, requests) {
    this.page = page;
    this.requests = requests;
  }

  press(...keys) {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  /** Waits for the ghost text, and until Tab takes it: not a key that was meant for something else. */
  async suggestion(text) {
    await this.page.waitForFunction((wanted) => document.querySelector(".ghost .rest")?.textContent === wanted, text, { timeout: 15_000 });
    await this.page.waitForTimeout(450);
  }

  /** Waits until the work ahead is `completed`, `boundary`, `none`, … */
  ahead(status) {
    return this.page.waitForSelector(`[data-ahead="${status}"]`, { timeout: 15_000 });
  }

  /** Waits for words in the conversation. */
  said(text) {
    return this.page.waitForFunction((wanted) => document.querySelector(".log")?.textContent.includes(wanted), text, { timeout: 20_000 });
  }

  /** The first turn is over and its suggestion taken: the next one, `run the tests`, has stopped at its boundary. */
  async toBoundary() {
    await this.firstTurn();
    await this.press("Tab");
    await this.suggestion("run the tests");
    await this.ahead("boundary");
  }

  /** That one is taken, too: the page asks whether the tests may run. */
  async toQuestion() {
    await this.toBoundary();
    await this.press("Tab");
    await this.page.waitForFunction(() => document.activeElement?.id === "question");
  }

  /** Answers a question by a key, not before it has been there for a moment. */
  async answer(key) {
    await this.page.waitForTimeout(450);
    await this.press(key);
  }

  log() {
    return this.page.locator(".log").innerText();
  }

  /** What the screen reader was told last. */
  live() {
    return this.page.evaluate(() => document.querySelector("#live").lastElementChild?.textContent ?? "");
  }

  /** What it was told of late. */
  told() {
    return this.page.locator("#live > *").allInnerTexts();
  }

  /** What the session is, as it survives a reload; `messages` are those of the conversation's lines. */
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

  /** Chooses a model at an address. */
  async useOwn({ baseUrl, model, key }) {
    const { page } = this;
    await page.getByRole("button", { name: /^Model:/ }).click();
    await page.getByLabel("A model of your own.").check();
    await page.getByLabel("Base URL").fill(baseUrl);
    await page.locator('input[name="model"]').fill(model);
    await page.locator('input[name="key"]').fill(key);
    await page.getByRole("button", { name: "Use it" }).click();
  }

  /** The first turn, up to the suggestion and the work behind it. */
  async firstTurn() {
    await this.press("Enter");
    await this.suggestion("add tests for maxLength");
    await this.ahead("completed");
  }
}
