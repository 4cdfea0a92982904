import * as vscode from "vscode";
import type { ChangeSet } from "headstart";
import { textOf } from "./files/text.js";

export const STAGED = "headstart-staged";

/** Shows what is staged: each file's two sides as documents that cannot be edited. */
export class StagedDocuments implements vscode.TextDocumentContentProvider {
  readonly #changes: (id: string) => ChangeSet | undefined;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;

  constructor(changes: (id: string) => ChangeSet | undefined) {
    this.#changes = changes;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const { id, side, path } = parse(uri);
    const bytes = this.#changes(id)?.sides(path)[side];
    if (bytes === undefined) return "";
    return textOf(bytes) ?? `(${bytes.length} bytes that are no text)\n`;
  }

  /** More was staged: what is on screen is read again. */
  refresh(): void {
    for (const { uri } of vscode.workspace.textDocuments) if (uri.scheme === STAGED) this.#changed.fire(uri);
  }

  /** Opens the diff of a file, or of all of them. */
  async open(id: string, path?: string): Promise<void> {
    const changes = this.#changes(id);
    const files = changes?.summary().filter(({ type }) => type !== "createDirectory") ?? [];
    const only = path === undefined ? (files.length === 1 ? files[0]?.path : undefined) : path;
    if (files.length === 0) {
      void vscode.window.showInformationMessage("headstart: nothing is staged.");
    } else if (only !== undefined) {
      await openOne(id, only, files.find(({ path }) => path === only)?.type === "create");
    } else if (await hasCommand("vscode.changes")) {
      const rows = files.map(({ path, type }) => [
        uriOf(id, "after", path),
        type === "create" ? undefined : uriOf(id, "before", path),
        type === "delete" ? undefined : uriOf(id, "after", path),
      ]);
      await vscode.commands.executeCommand("vscode.changes", "headstart: staged changes", rows);
    } else {
      const picked = await vscode.window.showQuickPick(
        files.map(({ path, type, added, removed }) => ({ label: path, description: `${type} +${added} −${removed}`, path, isNew: type === "create" })),
        { title: "headstart: staged changes", placeHolder: "Which file?" },
      );
      if (picked) await openOne(id, picked.path, picked.isNew);
    }
  }
}

/** The other side of a new file would be a text of one empty line, which it does not replace. */
async function openOne(id: string, path: string, isNew: boolean): Promise<void> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const options: vscode.TextDocumentShowOptions = { preview: true };
  if (isNew && (await hasCommand("vscode.changes"))) {
    const after = uriOf(id, "after", path);
    await vscode.commands.executeCommand("vscode.changes", `${name} (new, staged by headstart)`, [[after, undefined, after]]);
    return;
  }
  await vscode.commands.executeCommand("vscode.diff", uriOf(id, "before", path), uriOf(id, "after", path), `${name} (staged by headstart)`, options);
}

function uriOf(id: string, side: "before" | "after", path: string): vscode.Uri {
  return vscode.Uri.from({ scheme: STAGED, path: `/${path}`, query: JSON.stringify({ id, side }) });
}

function parse(uri: vscode.Uri): { id: string; side: "before" | "after"; path: string } {
  const { id, side } = JSON.parse(uri.query) as { id: string; side: string };
  return { id, side: side === "before" ? "before" : "after", path: uri.path.slice(1) };
}

async function hasCommand(command: string): Promise<boolean> {
  return (await vscode.commands.getCommands()).includes(command);
}
