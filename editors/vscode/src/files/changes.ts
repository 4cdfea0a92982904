import * as vscode from "vscode";

/** Changes come in heaps: a save after an edit, one event for each file. */
const QUIET_MS = 200;

/** Says when files below a folder were changed, in an editor or elsewhere, and it is quiet again. */
export function onFilesChanged(root: vscode.Uri, changed: () => void): vscode.Disposable {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const soon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(changed, QUIET_MS);
  };
  const below = root.path.endsWith("/") ? root.path : `${root.path}/`;
  const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(root, "**"));
  return vscode.Disposable.from(
    watcher,
    watcher.onDidCreate(soon),
    watcher.onDidChange(soon),
    watcher.onDidDelete(soon),
    vscode.workspace.onDidChangeTextDocument(({ document: { uri }, contentChanges }) => {
      const isOurs = uri.scheme === root.scheme && uri.authority === root.authority && uri.path.startsWith(below);
      if (isOurs && 0 < contentChanges.length) soon();
    }),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}
