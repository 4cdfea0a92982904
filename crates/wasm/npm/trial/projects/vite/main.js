import * as headstart from "headstart";
import * as core from "headstart/core";
import { scenario } from "../../scenario.mjs";

async function main() {
  let early;
  try {
    headstart.filterSuggestion("run the tests");
  } catch (error) {
    early = error.code;
  }
  if (early !== "not_initialized") throw new Error(`before init: ${early}`);
  await Promise.all([headstart.init(), headstart.init(), core.init()]);
  const { reason } = core.judge({ name: "shell", args: { command: "ls" } });
  if ("classifyShell" in core) throw new Error("the core reads shell commands");
  return { ...(await scenario(headstart)), core: reason };
}

globalThis.outcome = await main().catch((error) => ({ failed: String(error?.stack ?? error) }));
