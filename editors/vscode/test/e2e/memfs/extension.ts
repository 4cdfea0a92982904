import * as vscode from "vscode";
import { MemoryFiles } from "../../../src/sample/memory.js";
import { PROJECT } from "../../../src/sample/project.js";

/** The workspace of the tests: the sample project in memory, and what a test adds to it. */
export function activate(context: vscode.ExtensionContext): void {
  const files = { ...PROJECT, ...vscode.workspace.getConfiguration("memfs").get<Record<string, string>>("files") };
  const stored = new Stored(Object.fromEntries(Object.entries(files).map(([path, text]) => [`/sample/${path}`, text])));
  context.subscriptions.push(vscode.workspace.registerFileSystemProvider("memfs", stored, { isCaseSensitive: true }));
  // The workspace has no search provider, so that the keys for opening a file find nothing.
  context.subscriptions.push(vscode.commands.registerCommand("memfs.open", open));
  // Tests read from the server what is stored: an editor shows only what it believes to be stored.
  context.subscriptions.push(
    stored.onDidChangeFile((changes) => {
      for (const { uri } of changes) void report(stored, uri);
    }),
  );
}

/** Files of this name cannot be made. */
class Stored extends MemoryFiles {
  override writeFile(uri: vscode.Uri, bytes: Uint8Array, options: { create: boolean; overwrite: boolean }): void {
    if (uri.path.endsWith("/refused.md")) throw vscode.FileSystemError.NoPermissions(uri);
    super.writeFile(uri, bytes, options);
  }
}

async function open(): Promise<void> {
  const path = await vscode.window.showInputBox({ prompt: "path" });
  if (path) await vscode.window.showTextDocument(vscode.Uri.from({ scheme: "memfs", path: `/sample/${path}` }), { preview: false });
}

async function report(stored: MemoryFiles, uri: vscode.Uri): Promise<void> {
  const server = vscode.workspace.getConfiguration("memfs").get<string>("server");
  let text: string | null = null;
  try {
    text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(stored.readFile(uri));
  } catch {
    // It is gone, or a folder.
  }
  await fetch(`${server}/stored`, { method: "POST", body: JSON.stringify({ path: uri.path.replace("/sample/", ""), text }) });
}
