// Gets the outcome of a project, as a program or as a page in a browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { serve } from "./browser.mjs";

/** The JSON that a program prints. If the program fails, the error has all of its output. */
export function printed(program, args, options = {}) {
  try {
    const output = execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options });
    return JSON.parse(output);
  } catch (error) {
    return assert.fail(`${error.message}\n${error.stdout ?? ""}`);
  }
}

/** The outcome of a program in Node. */
export const node = (...args) => printed(process.execPath, args);

/** The outcome of the page at an address. */
export async function outcomeOf(browser, address) {
  const page = await browser.newPage();
  const failures = [];
  page.on("pageerror", (error) => failures.push(String(error)));
  page.on("requestfailed", (request) => failures.push(`${request.url()} failed`));
  try {
    await page.goto(address);
    const waited = page.waitForFunction(() => globalThis.outcome, undefined, { timeout: 30_000 });
    const outcome = await waited.then((handle) => handle.jsonValue()).catch((error) => assert.fail([...failures, error].join("\n")));
    assert.deepEqual(failures, []);
    return outcome;
  } finally {
    await page.close();
  }
}

/** The outcome of the page in a folder; `types` replaces the content types of some extensions. */
export async function served(browser, folder, types) {
  const server = await serve(folder, types);
  try {
    return await outcomeOf(browser, server.address);
  } finally {
    server.close();
  }
}

export const viteOptions = (root) => ({
  root,
  base: "./",
  configFile: false,
  logLevel: "error",
  worker: { format: "es" },
  build: { target: "es2022", emptyOutDir: true },
});

/** Builds with webpack, which only some projects have installed. */
export async function webpacked(options) {
  const { default: webpack } = await import(pathToFileURL(createRequire(join(import.meta.dirname, "more/package.json")).resolve("webpack")));
  const stats = await promisify(webpack)({ mode: "production", performance: { hints: false }, ...options });
  assert.ok(!stats.hasErrors() && !stats.hasWarnings(), stats.toString());
}
