import * as vscode from "vscode";
import type { DirEntry, EntryKind } from "headstart";
import type { Fail } from "./tree.js";
import type { Files, Found, Step } from "./port.js";
import { bytesOf, changedStretch, sameBytes, sameText, textOf } from "./text.js";

/** A time so near may be that of two changes. */
const YOUNG_MS = 2_500;
/** How long a folder is taken for what it was. */
const KNOWN_MS = 2_000;

/** The files of a workspace folder, wherever VS Code has them: on a disk, behind a server, in memory. */
export class WorkspaceFiles implements Files {
  readonly #root: vscode.Uri;
  readonly #fail: Fail;
  readonly #folders = new Map<string, number>();

  constructor(root: vscode.Uri, fail: Fail) {
    this.#root = root;
    this.#fail = fail;
  }

  async stat(path: string): Promise<Found | undefined> {
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

  async apply(steps: Step[], label: string): Promise<string | undefined> {
    const edit = new vscode.WorkspaceEdit();
    const done: Step[] = [];
    const toSave: vscode.TextDocument[] = [];
    const texts: (() => void)[] = [];
    const metadata = { label, needsConfirmation: false };
    for (const step of steps) {
      const uri = await this.#inside(step.path);
      if (step.type === "createDir") continue;
      const document = step.type === "replace" ? await documentOf(uri, step) : undefined;
      if (document !== undefined && step.type === "replace") {
        if (!sameText(document.getText(), textOf(step.before) ?? "")) return changed(step.path);
        const stretch = changedStretch(document.getText(), endsAs(document, textOf(step.after) ?? ""));
        if (stretch === undefined) continue;
        const range = new vscode.Range(document.positionAt(stretch.from), document.positionAt(stretch.to));
        if (!document.isDirty) toSave.push(document);
        texts.push(() => edit.replace(uri, range, stretch.text, metadata));
        continue;
      }
      if (!(await this.#isStill(step))) return changed(step.path);
      done.push(step);
      if (step.type === "remove") edit.deleteFile(uri, { recursive: false }, metadata);
      else edit.createFile(uri, { contents: step.after, overwrite: step.type === "replace" }, metadata);
    }
    // Files before texts: what an edit that fails halfway leaves are then whole files, which are easily taken back. A text that
    // was changed since its document was looked at fails all of them: VS Code compares the versions.
    for (const text of texts) text();
    // `edit.size` counts texts only.
    if (0 < done.length + texts.length && !(await vscode.workspace.applyEdit(edit))) {
      await this.#takeBack(done);
      return "the editor refused the edit, because a file was changed at that moment or cannot be written.";
    }
    for (const step of steps) if (step.type === "createDir") await this.#makeDir(step.path);
    await Promise.all(toSave.map((document) => document.save()));
    return undefined;
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
  async #takeBack(steps: Step[]): Promise<void> {
    for (const step of steps.reverse()) {
      const uri = await this.#inside(step.path);
      const now = await bytesAt(uri);
      if (step.type === "remove" && now === undefined && step.before !== "directory") {
        await vscode.workspace.fs.writeFile(uri, step.before);
      } else if (step.type === "create" && now && sameBytes(now, step.after)) {
        await vscode.workspace.fs.delete(uri);
      } else if (step.type === "replace" && now && sameBytes(now, step.after)) {
        await vscode.workspace.fs.writeFile(uri, step.before);
      }
    }
  }

  async #isStill(step: Step): Promise<boolean> {
    const found = await this.stat(step.path);
    if (step.type === "create") return found === undefined;
    if (step.type === "createDir") return true;
    if (step.before === "directory") return found?.kind === "directory";
    return found?.kind === "file" && sameBytes(await this.read(step.path), step.before);
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
async function documentOf(uri: vscode.Uri, step: { before: Uint8Array; after: Uint8Array }): Promise<vscode.TextDocument | undefined> {
  const before = textOf(step.before);
  if (before === undefined || textOf(step.after) === undefined) return undefined;
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

function changed(path: string): string {
  return `${path} was changed at that moment.`;
}
