import * as vscode from "vscode";
import type { ChangeSet, ChangeSummary } from "headstart";
import { textOf } from "./files/text.js";

export const STAGED = "headstart-staged";

/** `new` is the text of a file that has no other side. */
type Side = "before" | "after" | "new";

/** Shows staged changes: the two sides of each file as read-only documents. */
export class StagedDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changes: (id: string) => ChangeSet | undefined;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #added = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
    overviewRulerColor: new vscode.ThemeColor("diffEditorOverview.insertedForeground"),
  });
  readonly #watched: vscode.Disposable[];

  constructor(changes: (id: string) => ChangeSet | undefined) {
    this.#changes = changes;
    const mark = (editors: readonly vscode.TextEditor[]): void => editors.forEach((editor) => this.#mark(editor));
    this.#watched = [
      vscode.window.onDidChangeVisibleTextEditors(mark),
      vscode.workspace.onDidChangeTextDocument(({ document }) => mark(vscode.window.visibleTextEditors.filter((editor) => editor.document === document))),
    ];
  }

  dispose(): void {
    for (const one of [...this.#watched, this.#added, this.#changed]) one.dispose();
  }

  /** Marks all lines of a new file as added. */
  #mark(editor: vscode.TextEditor): void {
    const { document } = editor;
    if (document.uri.scheme !== STAGED || parse(document.uri).side !== "new") return;
    const { lineCount } = document;
    const last = 1 < lineCount && document.lineAt(lineCount - 1).text === "" ? lineCount - 2 : lineCount - 1;
    editor.setDecorations(this.#added, [new vscode.Range(0, 0, last, 0)]);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const { id, side, path } = parse(uri);
    const bytes = this.#changes(id)?.sides(path)[side === "before" ? "before" : "after"];
    if (bytes === undefined) return "";
    return textOf(bytes) ?? `(${bytes.length} bytes that are no text)\n`;
  }

  /** Reads the documents on screen again, because more was staged. */
  refresh(): void {
    for (const { uri } of vscode.workspace.textDocuments) if (uri.scheme === STAGED) this.#changed.fire(uri);
  }

  /** Opens the diff of one file, or of all of them. */
  async open(id: string, path?: string): Promise<void> {
    const changes = this.#changes(id);
    const files = changes?.summary().filter(({ type }) => type !== "createDirectory") ?? [];
    const only = path === undefined ? (files.length === 1 ? files[0]?.path : undefined) : path;
    if (files.length === 0) {
      void vscode.window.showInformationMessage("headstart: nothing is staged.");
    } else if (only !== undefined) {
      await openOne(id, only, files.find(({ path }) => path === only));
    } else if (await hasCommand("vscode.changes")) {
      // For a moved file the title that the editor makes says where it was.
      const rows = files.map(({ path, type, from }) => [
        uriOf(id, "after", path),
        type === "create" ? undefined : uriOf(id, "before", path, from),
        type === "delete" ? undefined : uriOf(id, "after", path),
      ]);
      await vscode.commands.executeCommand("vscode.changes", "headstart: staged changes", rows);
    } else {
      const picked = await vscode.window.showQuickPick(
        files.map((file) => ({ label: movedTo(file, file.path), description: `${file.type} +${file.added} −${file.removed}`, file })),
        { title: "headstart: staged changes", placeHolder: "Which file?" },
      );
      if (picked) await openOne(id, picked.file.path, picked.file);
    }
  }
}

/**
 * Opens one file. A new file is not shown as a diff, because the other side would be a text of one empty line, which
 * would be shown as removed.
 */
async function openOne(id: string, path: string, file?: ChangeSummary): Promise<void> {
  const name = movedTo(file, path.slice(path.lastIndexOf("/") + 1));
  const options: vscode.TextDocumentShowOptions = { preview: true };
  if (file?.type === "create") {
    await vscode.commands.executeCommand("vscode.open", uriOf(id, "new", path), options, `${name} (new, staged by headstart)`);
    return;
  }
  await vscode.commands.executeCommand("vscode.diff", uriOf(id, "before", path, file?.from), uriOf(id, "after", path), `${name} (staged by headstart)`, options);
}

/** The name of a changed file. A moved file has its former path before it. */
function movedTo(file: Pick<ChangeSummary, "from"> | undefined, name: string): string {
  return file?.from === undefined ? name : `${file.from} → ${name}`;
}

/** The address of one side of a path's change; `at` is the path on that side. */
function uriOf(id: string, side: Side, path: string, at = path): vscode.Uri {
  return vscode.Uri.from({ scheme: STAGED, path: `/${at}`, query: JSON.stringify({ id, side, path }) });
}

function parse(uri: vscode.Uri): { id: string; side: Side; path: string } {
  return JSON.parse(uri.query) as { id: string; side: Side; path: string };
}

async function hasCommand(command: string): Promise<boolean> {
  return (await vscode.commands.getCommands()).includes(command);
}
