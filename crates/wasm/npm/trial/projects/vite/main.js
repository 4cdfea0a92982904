import * as headstart from "headstart";
import { scenario } from "../../scenario.mjs";

async function main() {
  let early;
  try {
    headstart.judge({ name: "ls", args: {} });
  } catch (error) {
    early = error.code;
  }
  if (early !== "not_initialized") throw new Error(`before init: ${early}`);
  await Promise.all([headstart.init(), headstart.init()]);
  return scenario(headstart);
}

globalThis.outcome = await main().catch((error) => ({ failed: String(error?.stack ?? error) }));
