import * as vscode from "vscode";
import { type Costs, purposes, shortNumber, tokens as tokensOf } from "./session/costs.js";

export type State = "off" | "setup" | "idle" | "thinking" | "working" | "asks" | "ahead" | "ready" | "failed" | "waits";

const SHOWN: Record<State, [icon: string, word: string]> = {
  off: ["circle-slash", "off"],
  setup: ["gear", "no model yet"],
  idle: ["sparkle", "idle"],
  thinking: ["loading~spin", "looking for a suggestion"],
  working: ["loading~spin", "working"],
  asks: ["question", "needs your consent"],
  ahead: ["loading~spin", "running ahead"],
  ready: ["check", "ready"],
  failed: ["error", "done, and something failed"],
  waits: ["question", "ready up to a question"],
};

/** The item in the status bar. It shows the state and the costs of the session, and a click opens the chat. */
export class StatusItem {
  readonly #item: vscode.StatusBarItem;

  constructor() {
    this.#item = vscode.window.createStatusBarItem("headstart.status", vscode.StatusBarAlignment.Right, 90);
    this.#item.name = "headstart";
    this.#item.command = "headstart.open";
    this.#item.show();
  }

  show(state: State, model: string, costs: Costs | undefined): void {
    const [icon, word] = SHOWN[state];
    const tokens = costs ? tokensOf(costs) : 0;
    const money = !costs?.money ? "" : `, ${costs.money.toFixed(2)}`;
    const cost = tokens === 0 ? "" : `, ${shortNumber(tokens)} tokens${money}`;
    this.#item.text = `$(${icon}) headstart: ${word}${cost}`;
    this.#item.accessibilityInformation = { label: `headstart: ${word}${cost}`, role: "button" };
    const rows = costs ? purposes.map((purpose) => ({ purpose, ...costs[purpose] })) : [];
    const spent = rows.filter(({ inputTokens, outputTokens }) => 0 < inputTokens + outputTokens);
    const table = spent.map(({ purpose, inputTokens, cachedInputTokens, outputTokens }) => `| ${purpose} | ${inputTokens} | ${cachedInputTokens} | ${outputTokens} |`);
    const lines = [`**headstart**: ${word}${model === "" ? "" : ` (${model})`}`];
    if (0 < table.length) lines.push("", "| tokens | read | of these cached | written |", "|---|--:|--:|--:|", ...table);
    if (costs && 0 < costs.savedMs) lines.push("", `Waiting saved: ${(costs.savedMs / 1_000).toFixed(1)} s`);
    this.#item.tooltip = new vscode.MarkdownString(lines.join("\n"));
  }

  dispose(): void {
    this.#item.dispose();
  }
}
