// How soon the page can be used over a typical connection: 10 Mbit/s, a round trip of 40 ms, and an empty cache.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { CHROMIUM, TYPES, listen } from "./support.mjs";

const BYTES_PER_SECOND = 10_000_000 / 8;
const ROUND_TRIP_MS = 40;
/** The latest time at which the line has to take a prompt. The machine's own time is included. */
const USABLE_MS = 1_500;
/**
 * The latest time at which the engine has to be there, as far as the network decides it. The machine's own time is not
 * included, because a test cannot bound it.
 */
const NETWORK_MS = 1_250;

let site;
let browser;
before(async () => {
  site = await listen(serve);
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});
after(async () => {
  await browser.close();
  site.server.closeAllConnections();
  site.server.close();
});

const packed = new Map();
/** Serves files as a server of static files does, compressed; each file is compressed once. */
async function serve(request, response) {
  const path = new URL(request.url, "http://page").pathname;
  const file = fileURLToPath(new URL(`../dist${path === "/" ? "/index.html" : path}`, import.meta.url));
  try {
    if (!packed.has(file)) packed.set(file, gzipSync(await readFile(file), { level: 9 }));
    response.writeHead(200, { "content-type": TYPES[file.split(".").at(-1)], "content-encoding": "gzip" }).end(packed.get(file));
  } catch {
    response.writeHead(404).end();
  }
}

test("a prompt can be sent before engine, editor, diff and gate are fetched", async (t) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.setCacheDisabled", { cacheDisabled: true });
  await network.send("Network.emulateNetworkConditions", {
    offline: false, latency: ROUND_TRIP_MS, downloadThroughput: BYTES_PER_SECOND, uploadThroughput: BYTES_PER_SECOND,
  });
  const began = new Map();
  const got = [];
  let isThere = false;
  network.on("Network.requestWillBeSent", ({ requestId, request }) => began.set(requestId, request.url));
  network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (!isThere) got.push({ url: began.get(requestId), bytes: encodedDataLength });
  });
  // The page's own clock tells when the prompt has the focus, and when the engine has taken over the conversation.
  await page.addInitScript(() => {
    const look = new MutationObserver(() => {
      if (document.activeElement?.id === "prompt") globalThis.usableMs ??= performance.now();
      if (document.activeElement?.id !== "prompt" || document.querySelector("[data-opening]")) return;
      look.disconnect();
      globalThis.answersMs = performance.now();
    });
    look.observe(document, { childList: true, subtree: true });
  });
  await page.goto(site.origin, { waitUntil: "commit" });
  await page.waitForFunction(() => globalThis.usableMs !== undefined);
  const wasOpening = await page.evaluate(() => document.querySelector("[data-opening]") !== null);
  await page.keyboard.press("Enter");
  await page.keyboard.type("and then");
  await page.waitForFunction(() => globalThis.answersMs !== undefined);
  isThere = true;
  await page.waitForFunction(() => document.querySelector(".composer button")?.textContent === "Stop");
  assert.ok(wasOpening, "the engine was still on its way when the prompt was sent");
  assert.equal(await page.locator(".said.you").textContent(), "You: add a maxLength option to slugify", "what was sent meanwhile is asked");
  assert.equal(await page.inputValue("#prompt"), "and then", "and what was typed stands in the line");

  const bytes = got.reduce((sum, one) => sum + one.bytes, 0);
  const names = got.map(({ url, bytes }) => `${new URL(url).pathname.slice(1) || "index.html"} ${Math.round(bytes / 1024)} KiB`);
  // Three round trips: for the connection, for the page, and for the files that it names, which are fetched in
  // parallel.
  const networkMs = (bytes / BYTES_PER_SECOND) * 1_000 + 3 * ROUND_TRIP_MS;
  const { usableMs, answersMs } = await page.evaluate(() => ({ usableMs: globalThis.usableMs, answersMs: globalThis.answersMs }));
  t.diagnostic(`a prompt can be sent after ${Math.round(usableMs)} ms; the engine is there after ${Math.round(answersMs)} ms, of which the network takes ${Math.round(networkMs)} ms: ${names.join(", ")}`);
  assert.ok(usableMs < USABLE_MS, `${Math.round(usableMs)} ms`);
  assert.deepEqual(got.filter(({ url }) => /(file-editor|diff-view|gate)-/.test(url)), [], "what comes later");
  assert.ok(networkMs < NETWORK_MS, `${Math.round(networkMs)} ms: ${names.join(", ")}`);
  // The rest must load without a user action, and Chromium must not fetch anything twice.
  await page.waitForSelector(".editor .cm-content");
  await page.waitForSelector(".gate", { state: "attached" });
  const urls = [...began.values()].filter((url) => url.startsWith(site.origin));
  assert.deepEqual(urls.toSorted(), [...new Set(urls)].toSorted());
  await context.close();
});
