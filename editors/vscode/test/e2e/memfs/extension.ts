import * as vscode from "vscode";
import { MemoryFiles } from "../../../src/sample/memory.js";
import { PROJECT } from "../../../src/sample/project.js";

/** The workspace of the tests: the sample project in memory, with the files that a test adds. */
export function activate(context: vscode.ExtensionContext): void {
  const files = { ...PROJECT, ...vscode.workspace.getConfiguration("memfs").get<Record<string, string>>("files") };
  const stored = new Stored(Object.fromEntries(Object.entries(files).map(([path, text]) => [`/sample/${path}`, text])));
  context.subscriptions.push(vscode.workspace.registerFileSystemProvider("memfs", stored, { isCaseSensitive: true }));
  // The workspace has no search provider, so the editor's keys for opening a file find nothing, and this command
  // replaces them.
  context.subscriptions.push(vscode.commands.registerCommand("memfs.open", open));
  // Changes are reported to the server, because an editor shows only what it believes to be stored, and tests have to
  // know what is.
  context.subscriptions.push(
    stored.onDidChangeFile((changes) => {
      for (const { uri } of changes) void report(stored, uri);
    }),
  );
}

/** Files in memory that refuse to write a file of one name. */
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
    // The file is gone, or it is a folder, so there is no text.
  }
  await fetch(`${server}/stored`, { method: "POST", body: JSON.stringify({ path: uri.path.replace("/sample/", ""), text }) });
}
