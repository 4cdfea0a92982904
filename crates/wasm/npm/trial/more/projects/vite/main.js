// Imports every entry beside the others; each has its own module if it needs one.
import * as headstart from "headstart";
import * as controller from "headstart/controller";
import * as core from "headstart/core";
import * as gate from "headstart/gate";
import { scenario } from "../../../scenario.mjs";

async function main() {
  await Promise.all([headstart.init(), core.init(), gate.init()]);
  const { reason } = core.judge({ name: "shell", args: { command: "ls" } });
  if ("classifyShell" in core) throw new Error("the core reads shell commands");
  const small = [reason, gate.classifyShell("ls").reason, controller.filterSuggestion("run the tests").keep];
  return { ...(await scenario(headstart)), small };
}

globalThis.outcome = await main().catch((error) => ({ failed: String(error?.stack ?? error) }));
