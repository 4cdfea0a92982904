// Makes the picture of the README from the built page at its normal speed: node test/screenshot.mjs
// ../docs/playground.png
import { start } from "./support.mjs";

const [target] = process.argv.slice(2);
if (!target) throw new Error("usage: node test/screenshot.mjs FILE.png");

const site = await start();
const visitor = await site.open({ speed: 1, width: 1240, height: 780 });
const { page } = visitor;
await visitor.toQuestion();
await visitor.answer("y");
await visitor.suggestion("fix the failing test");
await visitor.ahead("completed");
await page.waitForTimeout(500);
await page.screenshot({ path: target });
await visitor.done();
await site.close();
