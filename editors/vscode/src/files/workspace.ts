import * as vscode from "vscode";
import type { AtomicTree, CommitStep, DirEntry, EntryKind, Metadata } from "headstart";
import { bytesOf, changedStretch, sameBytes, sameText, textOf } from "./text.js";

/** A time so near may be that of two changes. */
const YOUNG_MS = 2_500;
/** How long a folder is taken for what it was. */
const KNOWN_MS = 2_000;

/** Makes the error with which a tree answers. */
export type Fail = (code: "not_found" | "io" | "unsupported" | "is_a_directory" | "not_a_directory", message: string, path: string) => Error;

/** The files of a workspace folder, wherever VS Code has them: on a disk, behind a server, in memory.
 *
 * They are as their user sees them: a document with unsaved changes stands for its file. */
export class WorkspaceFiles implements AtomicTree {
  readonly #root: vscode.Uri;
  readonly #fail: Fail;
  readonly #folders = new Map<string, number>();

  constructor(root: vscode.Uri, fail: Fail) {
    this.#root = root;
    this.#fail = fail;
  }

  async metadata(path: string): Promise<Metadata | undefined> {
    const uri = await this.#inside(path);
    const unsaved = await unsavedIn(uri);
    if (unsaved !== undefined) return { kind: "file", size: unsaved.length };
    try {
      const { type, size, mtime } = await vscode.workspace.fs.stat(uri);
      const kind = kindOf(type);
      if (kind !== "file") return { kind, size: 0 };
      // A provider without times says 0, or the present.
      const shows = 0 < mtime && mtime < Date.now() - YOUNG_MS;
      return { kind, size, ...(shows && { modified: mtime }) };
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw this.#told(error, path);
    }
  }

  async read(path: string): Promise<Uint8Array> {
    const uri = await this.#inside(path);
    const unsaved = await unsavedIn(uri);
    if (unsaved !== undefined) return unsaved;
    try {
      if (kindOf((await vscode.workspace.fs.stat(uri)).type) === "other") {
        throw this.#fail("unsupported", `${path} is no regular file`, path);
      }
      return await vscode.workspace.fs.readFile(uri);
    } catch (error) {
      throw this.#told(error, path);
    }
  }

  async list(path: string): Promise<DirEntry[]> {
    const uri = await this.#inside(path);
    try {
      const entries = await vscode.workspace.fs.readDirectory(uri);
      return entries.filter(([name]) => isPlainName(name)).map(([name, type]) => ({ name, kind: kindOf(type) }));
    } catch (error) {
      throw this.#told(error, path);
    }
  }

  /** One edit of VS Code's for all of a commit, so that one undo takes it back. */
  async commitAll(steps: CommitStep[]): Promise<{ conflicts: string[] }> {
    const edit = new vscode.WorkspaceEdit();
    const whole: CommitStep[] = [];
    const texts: (() => void)[] = [];
    const toSave: vscode.TextDocument[] = [];
    const conflicts: string[] = [];
    const removed = new Set<string>();
    for (const step of steps) {
      const uri = await this.#inside(step.path);
      if (step.type === "createDir") continue;
      const document = step.type === "replace" ? await documentOf(uri, step) : undefined;
      if (document !== undefined && step.type === "replace") {
        if (!sameText(document.getText(), textOf(step.before) ?? "")) {
          conflicts.push(step.path);
          continue;
        }
        const stretch = changedStretch(document.getText(), endsAs(document, textOf(step.content) ?? ""));
        if (stretch === undefined) continue;
        const range = new vscode.Range(document.positionAt(stretch.from), document.positionAt(stretch.to));
        if (!document.isDirty) toSave.push(document);
        texts.push(() => edit.replace(uri, range, stretch.text));
        continue;
      }
      if (!removed.has(step.path) && !(await this.#isStill(step))) conflicts.push(step.path);
      whole.push(step);
      if (step.type === "create" || step.type === "replace") {
        edit.createFile(uri, { contents: step.content, overwrite: step.type === "replace" });
      } else {
        removed.add(step.path);
        edit.deleteFile(uri, { recursive: false });
      }
    }
    if (0 < conflicts.length) return { conflicts };
    // Files before texts: what an edit that fails halfway leaves are then whole files, which are easily taken back. A text that
    // was changed since its document was looked at fails all of them: VS Code compares the versions.
    for (const text of texts) text();
    // `edit.size` counts texts only.
    if (0 < whole.length + texts.length && !(await vscode.workspace.applyEdit(edit))) {
      await this.#takeBack(whole);
      return this.#refused(steps);
    }
    for (const step of steps) if (step.type === "createDir") await this.#makeDir(step.path);
    await Promise.all(toSave.map((document) => document.save()));
    return { conflicts };
  }

  /** Why VS Code refused an edit: what has changed, or that something cannot be written. */
  async #refused(steps: CommitStep[]): Promise<{ conflicts: string[] }> {
    const conflicts: string[] = [];
    for (const step of steps) if (!(await this.#isStill(step))) conflicts.push(step.path);
    if (conflicts.length === 0) throw this.#fail("io", "the editor refused the edit: a file cannot be written, or was changed at that moment", "");
    return { conflicts };
  }

  /** Makes a folder that no file of the edit made. */
  async #makeDir(path: string): Promise<void> {
    try {
      await vscode.workspace.fs.createDirectory(await this.#inside(path));
    } catch (error) {
      throw this.#told(error, path);
    }
  }

  /** Takes back what an edit did to whole files before it failed; what somebody changed since stays. */
  async #takeBack(steps: CommitStep[]): Promise<void> {
    for (const step of steps.reverse()) {
      const uri = await this.#inside(step.path);
      const now = await bytesAt(uri);
      if (step.type === "remove" && now === undefined) {
        await vscode.workspace.fs.writeFile(uri, step.before);
      } else if (step.type === "create" && now && sameBytes(now, step.content)) {
        await vscode.workspace.fs.delete(uri);
      } else if (step.type === "replace" && now && sameBytes(now, step.content)) {
        await vscode.workspace.fs.writeFile(uri, step.before);
      }
    }
  }

  async #isStill(step: CommitStep): Promise<boolean> {
    const found = await this.metadata(step.path);
    switch (step.type) {
      case "create":
        return found === undefined;
      case "createDir":
        return true;
      case "removeDir":
        return found?.kind === "directory";
      case "replace":
      case "remove":
        return found?.kind === "file" && sameBytes(await this.read(step.path), step.before);
      case "symlink":
      case "removeSymlink":
        // There is no call that makes one, and none is ever seen here.
        throw this.#fail("unsupported", `${step.path}: links are not made here`, step.path);
    }
  }

  /** The address of a path that is really below the root: no link leads to it, and no name is read as several. */
  async #inside(path: string): Promise<vscode.Uri> {
    const names = path === "" ? [] : path.split("/");
    const drives = /^[a-zA-Z]:/.test(this.#root.fsPath);
    if (!names.every((name) => isPlainName(name) && !(drives && name.includes(":")))) {
      throw this.#fail("unsupported", `${path} holds a name that cannot be used here`, path);
    }
    for (let above = 1; above < names.length; above++) await this.#folder(names.slice(0, above).join("/"), path);
    return names.length === 0 ? this.#root : vscode.Uri.joinPath(this.#root, ...names);
  }

  async #folder(folder: string, path: string): Promise<void> {
    const now = Date.now();
    if (now < (this.#folders.get(folder) ?? 0)) return;
    try {
      const { type } = await vscode.workspace.fs.stat(vscode.Uri.joinPath(this.#root, folder));
      if (kindOf(type) === "other") throw this.#fail("unsupported", `${folder} is a link; links are not followed here`, path);
      this.#folders.set(folder, now + KNOWN_MS);
    } catch (error) {
      // A folder that is to be made leads nowhere.
      if (!isAbsence(error)) throw error;
    }
  }

  #told(error: unknown, path: string): Error {
    if (!(error instanceof vscode.FileSystemError)) return error instanceof Error ? error : this.#fail("io", String(error), path);
    switch (error.code) {
      case "FileNotFound":
        return this.#fail("not_found", `${path} does not exist`, path);
      case "FileIsADirectory":
        return this.#fail("is_a_directory", `${path} is a directory`, path);
      case "FileNotADirectory":
        return this.#fail("not_a_directory", `${path} is not a directory`, path);
      default:
        return this.#fail("io", error.code === "NoPermissions" ? `${path}: no permission` : `${path} could not be reached`, path);
    }
  }
}

/** An open document that its user has not saved, as it would be saved: it is what they have. */
async function unsavedIn(uri: vscode.Uri): Promise<Uint8Array | undefined> {
  const address = uri.toString();
  const document = vscode.workspace.textDocuments.find((one) => one.isDirty && one.uri.toString() === address);
  if (document === undefined) return undefined;
  // A document does not show the mark, and saving it writes it again: nobody has removed it.
  const hasMark = startsWithMark((await bytesAt(uri)) ?? new Uint8Array());
  return bytesOf((hasMark ? "\ufeff" : "") + document.getText());
}

function startsWithMark([first, second, third]: Uint8Array): boolean {
  return first === 0xef && second === 0xbb && third === 0xbf;
}

/** The document for a text, opened if it is not; `undefined` for what is no text or is shown in another encoding. */
async function documentOf(uri: vscode.Uri, step: { before: Uint8Array; content: Uint8Array }): Promise<vscode.TextDocument | undefined> {
  const before = textOf(step.before);
  if (before === undefined || textOf(step.content) === undefined) return undefined;
  try {
    const document = await vscode.workspace.openTextDocument(uri);
    const onDisk = document.isDirty ? undefined : await bytesAt(uri);
    const sameFile = onDisk === undefined || sameText(document.getText(), textOf(onDisk) ?? "");
    // A clean document with another text than its UTF-8 file is in another encoding, or about to be read again.
    return sameFile ? document : undefined;
  } catch {
    return undefined;
  }
}

function endsAs(document: vscode.TextDocument, text: string): string {
  const plain = text.replace(/\r\n?/g, "\n");
  return document.eol === vscode.EndOfLine.CRLF ? plain.replace(/\n/g, "\r\n") : plain;
}

async function bytesAt(uri: vscode.Uri): Promise<Uint8Array | undefined> {
  try {
    return await vscode.workspace.fs.readFile(uri);
  } catch {
    return undefined;
  }
}

function kindOf(type: vscode.FileType): EntryKind {
  // Where a link leads to cannot be asked, so none is followed.
  if (type & vscode.FileType.SymbolicLink) return "other";
  if (type & vscode.FileType.Directory) return "directory";
  return type & vscode.FileType.File ? "file" : "other";
}

function isPlainName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[\\/\0]/.test(name);
}

function isAbsence(error: unknown): boolean {
  return error instanceof vscode.FileSystemError && (error.code === "FileNotFound" || error.code === "FileNotADirectory");
}
