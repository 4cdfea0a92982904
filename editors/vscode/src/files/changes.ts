import * as vscode from "vscode";

/**
 * Changes are collected until none came for this time, because they come in bursts: a save after an edit, one event for
 * each file.
 */
const QUIET_MS = 200;

/** Reports the paths below a folder that were changed, in an editor or elsewhere, as soon as a burst is over. */
export function onPathsChanged(root: vscode.Uri, changed: (paths: string[]) => void): vscode.Disposable {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const paths = new Set<string>();
  const below = root.path.endsWith("/") ? root.path : `${root.path}/`;
  const soon = (uri: vscode.Uri): void => {
    if (uri.scheme !== root.scheme || uri.authority !== root.authority || !uri.path.startsWith(below)) return;
    paths.add(uri.path.slice(below.length));
    clearTimeout(timer);
    timer = setTimeout(() => {
      const all = [...paths];
      paths.clear();
      changed(all);
    }, QUIET_MS);
  };
  const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(root, "**"));
  return vscode.Disposable.from(
    watcher,
    watcher.onDidCreate(soon),
    watcher.onDidChange(soon),
    watcher.onDidDelete(soon),
    vscode.workspace.onDidChangeTextDocument(({ document: { uri }, contentChanges }) => {
      if (0 < contentChanges.length) soon(uri);
    }),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}
