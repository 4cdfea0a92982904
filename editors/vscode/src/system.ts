import * as vscode from "vscode";
import type { AgentOptions, RulesTold } from "headstart";
import { statusOf } from "./repository.js";
import type { Headstart } from "./session/options.js";

/** The system instruction of a conversation, and the project's rules in it that the user is still to be told of. */
export interface SystemText {
  text: string;
  rules: RulesTold | undefined;
}

/**
 * Makes the system instruction from the present surroundings of the conversation. `options` are those of its agent;
 * they decide which tools there are.
 */
export async function systemOf(headstart: Pick<Headstart, "systemText">, root: vscode.Uri, readsRules: boolean, options: AgentOptions): Promise<SystemText> {
  const { runCommand, workspace } = options;
  let rules: RulesTold | undefined;
  const { platform } = (globalThis as { process?: { platform?: string } }).process ?? {};
  const gitStatus = await statusOf(root);
  const surroundings = {
    folder: workspace ?? root.path.slice(root.path.lastIndexOf("/") + 1),
    system: `${platform === undefined ? "" : `${platform}, `}in ${vscode.env.appName}; ${runCommand ? "commands run in bash" : "there is no shell"}`,
    date: today(),
    ...(gitStatus !== undefined && { gitStatus }),
  };
  const text = await headstart.systemText({ ...options, ...(readsRules && { projectRules: (told) => void (rules = told) }) }, surroundings);
  return { text, rules };
}

/** Today's date in the local time of the user. */
function today(): string {
  const now = new Date();
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => `${part}`.padStart(2, "0")).join("-");
}
