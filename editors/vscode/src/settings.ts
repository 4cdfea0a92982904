import * as vscode from "vscode";
import type { ApprovalMode, ModelFacts, ProviderName, ToolPolicies } from "headstart";

export type Provider = ProviderName | "vscode" | "recording";

export interface Settings {
  enabled: boolean;
  background: "auto" | "always";
  speculation: boolean;
  provider: Provider;
  model: string;
  baseUrl: string;
  /** The size of the model's context window, in tokens. */
  window: number | undefined;
  price: ModelFacts["price"];
  mode: ApprovalMode;
  aheadWrites: "ask" | "boundary";
  tab: "take" | "insert";
  candidates: number;
  deny: string[];
  /** The policies for single tools, of the user and of the workspace. Those of the workspace can only be stricter. */
  tools: { user: ToolPolicies; project: ToolPolicies };
  /** The names of tools of other extensions that the model may call. */
  editorTools: string[];
  index: boolean;
  /** Whether the project's own rules go to the model. */
  rules: boolean;
  recording: string;
  /** The path of the native program `headstart`. A workspace cannot set it. */
  binary: string;
}

/** The current settings. */
export function settings(): Settings {
  const config = vscode.workspace.getConfiguration("headstart");
  return {
    enabled: unlessOff(config, "enabled"),
    background: values(config, "background", "auto").every((said) => said === "always") ? "always" : "auto",
    speculation: unlessOff(config, "speculation"),
    provider: own<Provider>(config, "provider", "openai"),
    model: own(config, "model", "").trim(),
    baseUrl: own(config, "baseUrl", "").trim(),
    window: positive(own(config, "window", 0)),
    price: priceOf(own<unknown>(config, "price", undefined)),
    mode: own<ApprovalMode>(config, "mode", "auto-edit"),
    aheadWrites: own<"ask" | "boundary">(config, "aheadWrites", "ask"),
    tab: own<"take" | "insert">(config, "tab", "take"),
    candidates: Math.min(3, ...values(config, "candidates", 1).map((said) => (typeof said === "number" ? Math.max(1, said) : 1))),
    deny: denied(config),
    tools: toolsSaid(config),
    editorTools: own<unknown[]>(config, "editorTools", []).filter((name): name is string => typeof name === "string" && name !== ""),
    index: unlessOff(config, "index"),
    rules: unlessOff(config, "rules"),
    recording: own(config, "recording", "").trim(),
    binary: ownBinary(config),
  };
}

/**
 * The user's own value, whatever the workspace says, even if a version of VS Code ignores the scope of the setting: which
 * model is asked and where, what asks, and what Tab does are not for whoever wrote a workspace to say.
 */
function own<Value>(config: vscode.WorkspaceConfiguration, name: string, otherwise: Value): Value {
  const found = config.inspect<Value>(name);
  return found?.globalValue ?? found?.defaultValue ?? otherwise;
}

/**
 * The user's own value and behind it what the workspace and its folder say, where they say anything. Whoever wrote a
 * workspace may have less done, and never more, so a setting that it may have comes to the strictest of these.
 */
function values(config: vscode.WorkspaceConfiguration, name: string, otherwise: unknown): unknown[] {
  const found = config.inspect<unknown>(name);
  return [own(config, name, otherwise), found?.workspaceValue, found?.workspaceFolderValue].filter((value) => value !== undefined);
}

/** A setting that is on until somebody turns it off. */
function unlessOff(config: vscode.WorkspaceConfiguration, name: string): boolean {
  return values(config, name, true).every((said) => said === true);
}

function positive(number: unknown): number | undefined {
  return Number.isSafeInteger(number) && 0 < (number as number) ? (number as number) : undefined;
}

/** The price of a setting. If it is not valid there is none, and the chat works without it. */
function priceOf(given: unknown): ModelFacts["price"] {
  const { input, output, cached, cacheWrite } = (given ?? {}) as Record<string, unknown>;
  const isAmount = (amount: unknown): amount is number => typeof amount === "number" && 0 <= amount && amount < 1e9;
  if (!isAmount(input) || !isAmount(output)) return undefined;
  return { input, output, ...(isAmount(cached) && { cached }), ...(isAmount(cacheWrite) && { cacheWrite }) };
}

/** The denied patterns. A workspace can add to those of the user, but not remove any. */
function denied(config: vscode.WorkspaceConfiguration): string[] {
  const found = config.inspect<string[]>("deny");
  const added = [found?.workspaceValue, found?.workspaceFolderValue].flatMap((list) => list ?? []);
  return [...new Set([...own<string[]>(config, "deny", []), ...added])].filter((pattern) => typeof pattern === "string" && pattern !== "");
}

/** The program that runs on the machine. No default counts either, which another extension may set. */
function ownBinary(config: vscode.WorkspaceConfiguration): string {
  const binary = config.inspect<unknown>("binary")?.globalValue;
  return typeof binary === "string" ? binary.trim() : "";
}

/** The policy tables as they are written. The agent reports wrong entries. */
function toolsSaid(config: vscode.WorkspaceConfiguration): Settings["tools"] {
  const found = config.inspect<ToolPolicies>("tools");
  const [workspace, folder] = [found?.workspaceValue ?? {}, found?.workspaceFolderValue ?? {}];
  // If the workspace has two tables, neither weakens what the other one says.
  const rule = [workspace.rule, folder.rule].flatMap((rules) => rules ?? []);
  const stricter = Object.fromEntries(Object.entries(workspace).filter(([name, policy]) => RANK.indexOf(`${folder[name]}`) < RANK.indexOf(`${policy}`)));
  return { user: found?.globalValue ?? {}, project: { ...workspace, ...folder, ...stricter, ...(0 < rule.length ? { rule } : { rule: undefined }) } };
}

/** The policies from the least to the most strict. An unknown policy ranks before all of them, so that it is not hidden. */
const RANK = ["automatic", "ask", "exclude"];

/** Whether a change of the settings is about the model. */
export function choosesModel(change: vscode.ConfigurationChangeEvent): boolean {
  return ["provider", "model", "baseUrl", "recording", "window", "price"].some((name) => change.affectsConfiguration(`headstart.${name}`));
}
