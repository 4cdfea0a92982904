// Draws media/icon.png from media/icon.svg. The PNG is in the repository, so that building the extension needs no
// browser.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("..", import.meta.url));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 256, height: 256 } });
await page.setContent(`<style>body{margin:0}svg{display:block}</style>${await readFile(`${root}media/icon.svg`, "utf8")}`);
await page.screenshot({ path: `${root}media/icon.png`, omitBackground: true });
await browser.close();
