import * as vscode from "vscode";
import type { ChangeSet, Tool, Tree } from "headstart";
import { CodeIndex, type IndexProgress, type SearchHit, init } from "headstart/code-index";
import { onPathsChanged } from "../files/changes.js";
import { bytesOf } from "../files/text.js";
import { type FoundSymbol, definitionsOf } from "./definitions.js";

/** How many milliseconds a language extension has for the definitions of a document. */
const PATIENCE_MS = 2_000;
const LARGEST_DOCUMENT = 1 << 20;

let loading: Promise<void> | undefined;

/** Loads the module of the search from the extension's own folder. */
async function load(extension: vscode.Uri): Promise<void> {
  const start = async (): Promise<void> => {
    const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extension, "dist", "code-index.wasm"));
    await init(bytes as Uint8Array<ArrayBuffer>);
  };
  loading ??= start();
  try {
    await loading;
  } catch (error) {
    loading = undefined;
    throw error;
  }
}

/**
 * The index of a folder. It is made in the background when it is asked for the first time, and updated as VS Code
 * reports changes. For open documents it also takes the definitions that their language extension gives.
 */
export class ProjectSearch implements vscode.Disposable {
  readonly #root: vscode.Uri;
  readonly #tree: Tree;
  readonly #following: vscode.Disposable;
  readonly #progressed = new vscode.EventEmitter<IndexProgress>();
  readonly onProgress = this.#progressed.event;
  #index: CodeIndex;
  #deny: string[];
  #building: Promise<unknown> | undefined;
  #failed: string | undefined;
  #isOver = false;

  private constructor(root: vscode.Uri, tree: Tree, deny: string[]) {
    this.#root = root;
    this.#tree = tree;
    this.#deny = deny;
    this.#index = new CodeIndex(tree, { deny });
    this.#following = vscode.Disposable.from(
      onPathsChanged(root, (paths) => paths.forEach((path) => void this.#follow(path))),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        const path = editor && this.#pathOf(editor.document.uri);
        if (path) void this.#follow(path);
      }),
      this.#progressed,
    );
  }

  /** Opens the index. No file of the folder is read yet. */
  static async open(extension: vscode.Uri, root: vscode.Uri, tree: Tree, deny: string[]): Promise<ProjectSearch> {
    await load(extension);
    return new ProjectSearch(root, tree, deny);
  }

  get progress(): IndexProgress {
    return this.#index.progress;
  }

  /** Why the folder cannot be indexed, in words for the user; `undefined` if it can. */
  get failed(): string | undefined {
    return this.#failed;
  }

  /** Begins to index all files, unless that has begun already. */
  begin(): void {
    if (this.#building || this.#isOver) return;
    const index = this.#index;
    const building = index.build({ onProgress: (progress) => this.#progressed.fire(progress) });
    this.#building = building;
    this.#failed = undefined;
    building.then(
      () => vscode.window.visibleTextEditors.forEach(({ document }) => void this.#follow(this.#pathOf(document.uri) ?? "")),
      (error: unknown) => {
        if (this.#isOver || this.#index !== index) return;
        this.#failed = error instanceof Error ? error.message : String(error);
        // Without this the next search would not try again.
        this.#building = undefined;
      },
    );
    const told = async (window: vscode.Progress<{ message?: string }>): Promise<void> => {
      const showing = this.onProgress(({ percent, indexed, files }) => window.report({ message: `${percent} % (${indexed} of ${files} files)` }));
      await building.catch(() => {});
      showing.dispose();
    };
    void vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: "headstart: indexing the project" }, told);
  }

  /** The best places in what is indexed so far, with the staged changes. */
  search(query: string, limit: number, staged?: ChangeSet): Promise<SearchHit[]> {
    return this.#index.search(query, { limit, ...(staged && { staged }) });
  }

  /** Reports that what is at the path may have changed. */
  async update(path: string): Promise<void> {
    if (this.#building) await this.#index.update(path);
  }

  /** The tools `codebase` and `repo_map` for a model. */
  get tools(): Tool[] {
    return this.#index.tools.map((tool) => ({
      ...tool,
      run: (args, view, signal) => this.#index.tools.find(({ name }) => name === tool.name)?.run(args, view, signal),
    }));
  }

  /** Sets which paths are denied. If they differ from the former ones, the index is made anew. */
  useRules(deny: string[]): void {
    if (JSON.stringify(deny) === JSON.stringify(this.#deny)) return;
    this.#deny = deny;
    const wasBegun = this.#building !== undefined;
    this.#building = undefined;
    this.#index.dispose();
    this.#index = new CodeIndex(this.#tree, { deny });
    if (wasBegun) this.begin();
  }

  dispose(): void {
    this.#isOver = true;
    this.#following.dispose();
    this.#index.dispose();
  }

  async #follow(path: string): Promise<void> {
    const index = this.#index;
    if (this.#isOver || !this.#building || path === "") return;
    try {
      const document = vscode.workspace.textDocuments.find(({ uri }) => this.#pathOf(uri) === path);
      const told = document && document.getText().length <= LARGEST_DOCUMENT ? { text: document.getText(), symbols: await symbolsOf(document) } : undefined;
      if (this.#isOver || this.#index !== index) return;
      // Without definitions of an extension, the index itself looks for lines that look like definitions.
      if (told?.symbols) await index.update(path, bytesOf(told.text), { definitions: told.symbols });
      else await index.update(path);
    } catch {
      // The folder or the index is gone. The error is ignored, because the next search reports it.
    }
  }

  #pathOf(uri: vscode.Uri): string | undefined {
    const below = this.#root.path.endsWith("/") ? this.#root.path : `${this.#root.path}/`;
    const isOurs = uri.scheme === this.#root.scheme && uri.authority === this.#root.authority && uri.path.startsWith(below);
    return isOurs ? uri.path.slice(below.length) : undefined;
  }
}

async function symbolsOf(document: vscode.TextDocument) {
  const asked = vscode.commands.executeCommand<FoundSymbol[] | undefined>("vscode.executeDocumentSymbolProvider", document.uri);
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE_MS));
  const version = document.version;
  const found = await Promise.race([Promise.resolve(asked).catch(() => undefined), late]);
  return found?.length && document.version === version ? definitionsOf(found) : undefined;
}
