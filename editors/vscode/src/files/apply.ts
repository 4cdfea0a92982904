import * as vscode from "vscode";
import type { ChangeSet } from "headstart";
import type { Headstart } from "../session/options.js";
import { placed } from "./placing.js";

/** What applying code needs: the package, the folder of the project, its deny rules, and a way to show a change. */
export interface Applying {
  headstart: Pick<Headstart, "MemoryTree" | "Overlay" | "judge">;
  root: vscode.Uri | undefined;
  deny: string[];
  show(changes: ChangeSet): Promise<void>;
}

/**
 * Puts the code of an answer into its file, after the user has seen the change and agreed. If it is not certain what
 * the code replaces, or if the model may not write there, nothing is changed and a message says why.
 */
export async function applyCode({ text, path: named }: { text: string; path?: string }, { headstart, root, deny, show }: Applying): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  const uri = named === undefined ? editor?.document.uri : root && vscode.Uri.joinPath(root, named);
  const folder = root && `${root.path.replace(/\/$/, "")}/`;
  if (uri === undefined || folder === undefined || uri.scheme !== root?.scheme || uri.authority !== root.authority || !uri.path.startsWith(folder)) {
    return refuse("Open the file of the project that the code belongs to, then apply it.");
  }
  const path = uri.path.slice(folder.length);
  const { decision, detail } = headstart.judge({ name: "write_file", args: { file_path: path, content: text } }, { mode: "auto-edit", deny });
  if (decision === "boundary") return refuse(`Nothing is applied to ${path}: ${detail}`);
  const document = await open(uri);
  const before = document?.getText();
  if (document === undefined && (await exists(uri))) return refuse(`Nothing is applied to ${path}: it is no text.`);
  const whole = text.endsWith("\n") ? text : `${text}\n`;
  const place = before === undefined ? { from: 0, to: 0, text: whole } : placed(before, text);
  if (place === undefined) {
    return refuse(`It is not certain what of ${path} the code replaces: its first and last line have to be there once. Insert it where the cursor is instead.`);
  }
  const tree = new headstart.MemoryTree(before === undefined ? {} : { [path]: before });
  const overlay = new headstart.Overlay(tree);
  await overlay.write(path, `${before?.slice(0, place.from) ?? ""}${place.text}${before?.slice(place.to) ?? ""}`);
  const changes = overlay.changeSet();
  overlay.dispose();
  tree.dispose();
  await show(changes);
  if ((await vscode.window.showInformationMessage(`Apply the code to ${path}?`, "Apply", "Discard")) !== "Apply") return;
  const edit = new vscode.WorkspaceEdit();
  if (document === undefined) edit.createFile(uri, { contents: new TextEncoder().encode(whole) });
  else edit.replace(uri, new vscode.Range(document.positionAt(place.from), document.positionAt(place.to)), place.text);
  const isAsBefore = document === undefined ? !(await exists(uri)) : document.getText() === before;
  if (!isAsBefore || !(await vscode.workspace.applyEdit(edit))) return refuse(`${path} has changed meanwhile: nothing is applied.`);
  await vscode.window.showTextDocument(uri, { preview: false });
}

function open(uri: vscode.Uri): Thenable<vscode.TextDocument | undefined> {
  return vscode.workspace.openTextDocument(uri).then((document) => document, () => undefined);
}

function exists(uri: vscode.Uri): Thenable<boolean> {
  return vscode.workspace.fs.stat(uri).then(() => true, () => false);
}

function refuse(why: string): void {
  void vscode.window.showWarningMessage(`headstart: ${why}`);
}
