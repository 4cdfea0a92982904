// A host for one of the extension's bundles in Node: the part of VS Code's interface that a conversation needs, over a
// folder on disk.
import { readFileSync } from "node:fs";
import { lstat, mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import type { FromPage, Item, ToPage, ViewState } from "../../src/view/protocol.js";

const EXTENSION = resolve(".");

class Uri {
  readonly authority = "";
  constructor(readonly scheme: string, readonly path: string, readonly query = "") {}
  get fsPath(): string {
    return this.path;
  }
  static file = (path: string) => new Uri("file", path);
  static from = ({ scheme, path, query }: { scheme: string; path: string; query?: string }) => new Uri(scheme, path, query);
  static joinPath = (uri: Uri, ...names: string[]) => new Uri(uri.scheme, join(uri.path, ...names));
  toString(): string {
    return `${this.scheme}://${this.path}`;
  }
}

class FileSystemError extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

class Disposable {
  constructor(readonly dispose: () => void) {}
  static from = (...all: { dispose(): void }[]) => new Disposable(() => all.forEach((one) => one.dispose()));
}

class EventEmitter<Event> {
  readonly #hear = new Set<(event: Event) => void>();
  readonly event = (hear: (event: Event) => void) => {
    this.#hear.add(hear);
    return new Disposable(() => this.#hear.delete(hear));
  };
  fire(event: Event): void {
    for (const hear of this.#hear) hear(event);
  }
  dispose(): void {}
}

/** A place in a document. */
class Position {
  constructor(readonly offset: number) {}
}

class Range {
  constructor(readonly start: Position, readonly end: Position) {}
}

/** An edit over several files. Each step is made when the edit is applied. */
class WorkspaceEdit {
  readonly steps: (() => Promise<void>)[] = [];
  createFile(uri: Uri, { contents, overwrite }: { contents: Uint8Array; overwrite?: boolean }): void {
    this.steps.push(async () => {
      await mkdir(dirname(uri.path), { recursive: true });
      await writeFile(uri.path, contents, { flag: overwrite === true ? "w" : "wx" });
    });
  }
  deleteFile(uri: Uri): void {
    this.steps.push(async () => {
      const { isDirectory } = await lstat(uri.path).then((found) => ({ isDirectory: found.isDirectory() }));
      await rm(uri.path, { recursive: isDirectory });
    });
  }
  replace(uri: Uri, { start, end }: Range, text: string): void {
    this.steps.push(async () => {
      const before = await readFile(uri.path, "utf8");
      await writeFile(uri.path, before.slice(0, start.offset) + text + before.slice(end.offset));
    });
  }
}

/** What the editor says of a path: a link is told along with what it leads to. */
async function statOf(path: string): Promise<{ type: number; size: number; mtime: number }> {
  const found = await lstat(path).catch(absent);
  const target = found.isSymbolicLink() ? await stat(path).catch(() => undefined) : found;
  const type = target === undefined ? 0 : target.isDirectory() ? 2 : target.isFile() ? 1 : 0;
  return { type: type | (found.isSymbolicLink() ? 64 : 0), size: found.size, mtime: found.mtimeMs };
}

const nothing = () => new Disposable(() => {});
const absent = (error: NodeJS.ErrnoException) => {
  throw new FileSystemError(error.code === "ENOENT" ? "FileNotFound" : error.code === "ENOTDIR" ? "FileNotADirectory" : "Unavailable");
};

export interface HostOptions {
  bundle: "extension.js" | "web.js";
  /** The folder of the workspace. The scheme is the one that the editor uses for it. */
  root: string;
  scheme?: string;
  isTrusted?: boolean;
  settings?: Record<string, unknown>;
  /** The settings in the folder's own `.vscode/settings.json`. */
  workspaceSettings?: Record<string, unknown>;
}

/** A window of an editor in which the chat is open. */
export class DesktopHost {
  state: ViewState | undefined;
  readonly items = new Map<string, Item>();
  readonly #heard = new EventEmitter<FromPage>();
  readonly #settingsChanged = new EventEmitter<{ affectsConfiguration(name: string): boolean }>();
  #isClosed = false;
  /** Called before an edit is made; with `false` the editor refuses it. */
  beforeEdit: () => boolean = () => true;
  readonly warnings: string[] = [];
  readonly #subscriptions: { dispose(): void }[] = [];

  constructor(readonly options: HostOptions) {
    const { bundle, root } = options;
    const load = createRequire(import.meta.url);
    const vscode = this.#vscode();
    const wanted = (name: string): unknown => {
      if (name === "vscode") return vscode;
      // A page has no modules of Node's, so the bundle for it must not ask for one.
      if (bundle === "web.js") throw new Error(`${name} is asked for`);
      return load(name);
    };
    const module = { exports: {} as { activate(context: unknown): void } };
    new Function("require", "module", "exports", readFileSync(join(EXTENSION, "dist", bundle), "utf8"))(wanted, module, module.exports);
    module.exports.activate({
      extensionUri: Uri.file(EXTENSION),
      storageUri: undefined,
      globalStorageUri: Uri.file(join(root, "../storage")),
      workspaceState: { get: () => undefined, update: () => Promise.resolve() },
      secrets: { get: () => Promise.resolve(undefined), onDidChange: nothing },
      subscriptions: this.#subscriptions,
    });
    this.say({ type: "ready", draft: "" });
  }

  say(message: FromPage): void {
    this.#heard.fire(message);
  }

  set(name: string, value: unknown): void {
    (this.options.settings ??= {})[name] = value;
    this.#settingsChanged.fire({ affectsConfiguration: (asked) => asked === "headstart" || asked === `headstart.${name}` });
  }

  /** Closes the window. After that, writes are dropped. */
  close(): void {
    this.#isClosed = true;
    for (const one of this.#subscriptions.reverse()) one.dispose();
  }

  #told(message: ToPage): void {
    if (message.type !== "state") return;
    this.state = message.state;
    if (message.all) this.items.clear();
    for (const item of message.items) this.items.set(item.key, structuredClone(item));
  }

  #vscode(): unknown {
    const { root, scheme = "file", isTrusted = true } = this.options;
    const inspect = (name: string) => ({ globalValue: this.options.settings?.[name], workspaceValue: this.options.workspaceSettings?.[name] });
    const webview = {
      asWebviewUri: (uri: Uri) => uri,
      cspSource: "",
      onDidReceiveMessage: this.#heard.event,
      postMessage: (message: ToPage) => this.#told(message),
    };
    return {
      Uri, FileSystemError, Disposable, EventEmitter, WorkspaceEdit, Range,
      EndOfLine: { LF: 1, CRLF: 2 },
      RelativePattern: class {}, MarkdownString: class {}, ThemeColor: class {},
      FileType: { File: 1, Directory: 2, SymbolicLink: 64 },
      FileChangeType: { Changed: 1, Created: 2, Deleted: 3 },
      DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
      StatusBarAlignment: { Right: 2 },
      ProgressLocation: { Window: 10 }, QuickPickItemKind: { Separator: -1 },
      env: { appName: "a host of tests" },
      extensions: { getExtension: () => undefined },
      languages: { getDiagnostics: () => [] },
      lm: {},
      commands: { registerCommand: nothing, executeCommand: () => Promise.resolve(), getCommands: () => Promise.resolve([]) },
      window: {
        visibleTextEditors: [],
        showWarningMessage: (text: string) => Promise.resolve(void this.warnings.push(text)),
        activeTextEditor: undefined,
        createStatusBarItem: () => ({ show() {}, dispose() {} }),
        createTextEditorDecorationType: nothing,
        onDidChangeVisibleTextEditors: nothing,
        onDidChangeActiveTextEditor: nothing,
        registerWebviewViewProvider: (_: string, view: { resolveWebviewView(view: unknown): void }) => {
          view.resolveWebviewView({ webview, visible: true, onDidDispose: nothing });
          return nothing();
        },
      },
      workspace: {
        isTrusted,
        workspaceFolders: [{ uri: new Uri(scheme, root), name: "project" }],
        textDocuments: [],
        openTextDocument: async (uri: Uri) => {
          const text = await readFile(uri.path, "utf8");
          return { uri, isDirty: false, eol: 1, getText: () => text, positionAt: (offset: number) => new Position(offset), save: () => Promise.resolve(true) };
        },
        applyEdit: async (edit: WorkspaceEdit) => {
          if (!this.beforeEdit()) return false;
          for (const step of edit.steps) await step();
          return true;
        },
        getConfiguration: () => ({
          inspect,
          get: (name: string, otherwise: unknown) => inspect(name).workspaceValue ?? inspect(name).globalValue ?? otherwise,
        }),
        createFileSystemWatcher: () => ({ onDidCreate: nothing, onDidChange: nothing, onDidDelete: nothing, dispose() {} }),
        registerTextDocumentContentProvider: nothing,
        registerFileSystemProvider: nothing,
        onDidChangeConfiguration: this.#settingsChanged.event,
        onDidChangeWorkspaceFolders: nothing,
        onDidChangeTextDocument: nothing,
        fs: {
          readFile: (uri: Uri) => readFile(uri.path).catch(absent),
          writeFile: async (uri: Uri, bytes: Uint8Array) => this.#isClosed || writeFile(uri.path, bytes),
          createDirectory: async (uri: Uri) => this.#isClosed || mkdir(uri.path, { recursive: true }),
          rename: (from: Uri, to: Uri) => rename(from.path, to.path),
          delete: (uri: Uri) => rm(uri.path, { recursive: true }),
          stat: (uri: Uri) => statOf(uri.path),
          readDirectory: (uri: Uri) =>
            readdir(uri.path, { withFileTypes: true }).then((all) => all.map((one) => [one.name, one.isSymbolicLink() ? 64 : one.isDirectory() ? 2 : 1]), absent),
        },
      },
    };
  }
}
