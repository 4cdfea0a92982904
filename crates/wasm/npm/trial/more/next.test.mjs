// Tests of Next.js: a server component, a route and a component in the browser, built by each of its bundlers.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { openBrowser } from "../browser.mjs";
import { node, outcomeOf } from "../runs.mjs";

const here = import.meta.dirname;
const expected = node(join(here, "../projects/node-esm/main.mjs"));
const next = join(here, "node_modules/next/dist/bin/next");
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
let browser;
before(async () => (browser = await openBrowser()));
after(() => browser?.close());

/** Starts the built project. Gives its address, and a function that ends it. */
async function started(cwd) {
  const server = spawn(process.execPath, [next, "start", "-H", "127.0.0.1", "-p", "0"], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface(server.stdout)) {
    const found = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(line);
    if (found) {
      server.stdout.resume();
      return { address: `http://127.0.0.1:${found[1]}/`, close: () => server.kill() };
    }
  }
  return assert.fail("next start said no address");
}

for (const bundler of ["turbopack", "webpack"]) {
  test(`Next.js with ${bundler}`, { timeout: 600_000 }, async () => {
    // The copy is beside the original, so that its relative imports stay valid.
    const folder = join(here, "projects", `next-${bundler}`);
    cpSync(join(here, "projects/next"), folder, { recursive: true });
    await promisify(execFile)(process.execPath, [next, "build", `--${bundler}`], { cwd: folder, env }).catch(({ stdout, stderr }) => assert.fail(stdout + stderr));
    const server = await started(folder);
    try {
      const route = await fetch(`${server.address}route`);
      assert.deepEqual(await route.json(), expected);
      const page = await browser.newPage();
      await page.goto(server.address);
      assert.deepEqual(JSON.parse(await page.locator("#server").innerText()), expected);
      await page.close();
      assert.deepEqual(await outcomeOf(browser, server.address), expected);
    } finally {
      server.close();
    }
  });
}
