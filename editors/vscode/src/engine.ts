import * as vscode from "vscode";
import * as headstart from "headstart";
import type { Fail } from "./files/workspace.js";

let loading: Promise<void> | undefined;

/** Loads the module. Its wasm is read from the extension's own folder, because that works on every host. */
export async function load(extension: vscode.Uri): Promise<typeof headstart> {
  loading ??= start(extension);
  await loading;
  return headstart;
}

async function start(extension: vscode.Uri): Promise<void> {
  const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extension, "dist", "headstart.wasm"));
  await headstart.init(bytes as Uint8Array<ArrayBuffer>);
}

export const treeError: Fail = (code, message, path) => Object.assign(new Error(message), { name: "TreeError", code, path });
