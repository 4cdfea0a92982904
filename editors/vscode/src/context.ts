import * as vscode from "vscode";

/** The context keys that conditions of keybindings and menus can use. */
export type ContextKey = "ready" | "busy" | "suggestionVisible" | "changesStaged" | "chatFocused";

export class ContextKeys {
  readonly #set = new Map<ContextKey, boolean>();

  set(values: Partial<Record<ContextKey, boolean>>): void {
    for (const [key, value] of Object.entries(values) as [ContextKey, boolean][]) {
      if (this.#set.get(key) === value) continue;
      this.#set.set(key, value);
      void vscode.commands.executeCommand("setContext", `headstart.${key}`, value);
    }
  }
}
