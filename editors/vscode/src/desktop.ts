// The entry of the extension on hosts that can start programs: on a desktop, and on the far side of a remote
// connection.
import type { ExtensionContext } from "vscode";
import { activate as begin } from "./extension.js";
import { openShell } from "./shell/shell.js";

export function activate(context: ExtensionContext): void {
  begin(context, (options) => openShell(options, process.env));
}
