import type * as vscode from "vscode";

/** The path of a file relative to a folder; `undefined` if the file is not below the folder. */
export function pathIn(root: vscode.Uri, uri: vscode.Uri): string | undefined {
  const below = root.path.endsWith("/") ? root.path : `${root.path}/`;
  const isOurs = uri.scheme === root.scheme && uri.authority === root.authority && uri.path.startsWith(below);
  return isOurs ? uri.path.slice(below.length) : undefined;
}
