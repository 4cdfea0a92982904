import * as vscode from "vscode";
import type { AtomicTree, CommitStep, DirEntry, EntryKind, Metadata } from "headstart";
import { type Disk, type DiskAccept, divide } from "./disk.js";
import { bytesOf, changedStretch, sameBytes, sameText, textOf } from "./text.js";

/** A modification time is not reported if it is this recent, because two changes in a row could show the same time. */
const YOUNG_MS = 2_500;
/** For how long a folder that was checked is not checked again. */
const KNOWN_MS = 2_000;

/** Makes the error that a tree throws. */
export type Fail = (code: "not_found" | "io" | "unsupported" | "is_a_directory" | "not_a_directory", message: string, path: string) => Error;

/**
 * The files of a workspace folder, wherever VS Code has them: on a disk, behind a server, or in memory.
 *
 * A file is read as the user sees it: if its document has unsaved changes, they are its content. Links and executable
 * bits are known only of a folder on a disk.
 */
export class WorkspaceFiles implements AtomicTree {
  readonly #root: vscode.Uri;
  readonly #fail: Fail;
  readonly #disk: () => Disk | undefined;
  readonly #folders = new Map<string, number>();

  /** `disk` gives the disk on which the folder is, while a program is there that can write to it. */
  constructor(root: vscode.Uri, fail: Fail, disk: () => Disk | undefined = () => undefined) {
    this.#root = root;
    this.#fail = fail;
    this.#disk = disk;
  }

  async metadata(path: string): Promise<Metadata | undefined> {
    const uri = await this.#inside(path);
    const unsaved = await unsavedIn(uri);
    const executable = async () => (await this.#disk()?.isExecutable(path)) ?? false;
    if (unsaved !== undefined) return { kind: "file", size: unsaved.length, executable: await executable() };
    try {
      const { type, size, mtime } = await vscode.workspace.fs.stat(uri);
      const kind = this.#kindOf(type);
      if (kind !== "file") return { kind, size: 0 };
      // Providers that have no times give 0 or the present time, so such a time is not reported.
      const shows = 0 < mtime && mtime < Date.now() - YOUNG_MS;
      return { kind, size, executable: await executable(), ...(shows && { modified: mtime }) };
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
      if (isNoFile((await vscode.workspace.fs.stat(uri)).type)) {
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
      return entries.filter(([name]) => isPlainName(name)).map(([name, type]) => ({ name, kind: this.#kindOf(type) }));
    } catch (error) {
      throw this.#told(error, path);
    }
  }

  async readLink(path: string): Promise<string> {
    const disk = this.#disk();
    if (disk === undefined) throw this.#fail("unsupported", `${path} is a link; links are not followed here`, path);
    await this.#inside(path);
    return disk.readLink(path);
  }

  /**
   * Makes all steps of a commit one edit of VS Code, so that one undo takes the whole commit back. Links, executable bits
   * and changes of the git repository, which are `beside` the steps, are written to the disk before the edit, and taken
   * back if the edit fails.
   */
  async commitAll(all: CommitStep[], beside?: string): Promise<{ conflicts: string[] }> {
    const disk = this.#disk();
    if (disk === undefined && beside !== undefined) throw this.#fail("unsupported", "the program that accepts commits has ended", "");
    const { editor: steps, disk: changes, bits } = disk === undefined ? { editor: all, disk: [], bits: [] } : await divide(all, disk, async (path) => bytesAt(await this.#inside(path)));
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
    let written: DiskAccept | undefined;
    if (disk !== undefined && (0 < changes.length || beside !== undefined)) {
      written = await disk.accept(changes, beside);
      if (0 < written.conflicts.length) return { conflicts: written.conflicts };
    }
    // Whole files come before texts. If the edit fails halfway, only whole files have been changed then, and those are
    // easily restored. If a document has changed since it was read, the whole edit fails, because VS Code compares the
    // versions.
    for (const text of texts) text();
    // `edit.size` counts only texts, so the whole files are counted here.
    if (0 < whole.length + texts.length && !(await vscode.workspace.applyEdit(edit).then((done) => done, () => false))) {
      await this.#takeBack(whole);
      await written?.takeBack().catch((error: unknown) => {
        throw this.#fail("io", `the editor refused the edit, and what was written before it stays: ${error instanceof Error ? error.message : String(error)}`, "");
      });
      return this.#refused(steps);
    }
    for (const step of steps) if (step.type === "createDir") await this.#makeDir(step.path);
    await Promise.all(toSave.map((document) => document.save()));
    if (disk !== undefined && 0 < bits.length) await this.#setBits(disk, bits);
    return { conflicts };
  }

  /** Sets executable bits after the edit. A failure does not undo the edit, so the user is told. */
  async #setBits(disk: Disk, bits: { path: string; executable: boolean }[]): Promise<void> {
    const told = (why: string) => void vscode.window.showWarningMessage(`headstart: whether ${bits.map(({ path }) => path).join(", ")} may be executed was not written: ${why}`);
    try {
      const changes = await Promise.all(bits.map(async ({ path, executable }) => {
        const content = (await bytesAt(await this.#inside(path))) ?? new Uint8Array();
        return { path, before: { type: "file" as const, content, executable: !executable }, after: { type: "file" as const, content, executable } };
      }));
      const { conflicts } = await disk.accept(changes);
      if (0 < conflicts.length) told("it changed at that moment");
    } catch (error) {
      told(error instanceof Error ? error.message : String(error));
    }
  }

  /** Finds out why VS Code refused an edit: the paths that have changed, or an error if a file cannot be written. */
  async #refused(steps: CommitStep[]): Promise<{ conflicts: string[] }> {
    const conflicts: string[] = [];
    for (const step of steps) if (!(await this.#isStill(step))) conflicts.push(step.path);
    if (conflicts.length === 0) throw this.#fail("io", "the editor refused the edit: a file cannot be written, or was changed at that moment", "");
    return { conflicts };
  }

  /** Makes a folder that has no file in the edit, and so is not made with one. */
  async #makeDir(path: string): Promise<void> {
    try {
      await vscode.workspace.fs.createDirectory(await this.#inside(path));
    } catch (error) {
      throw this.#told(error, path);
    }
  }

  /** Takes back what a failed edit did to whole files; a file that somebody has changed since stays as it is. */
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
        // VS Code has no call that makes a link, and without a disk this tree reports none, so none can be removed.
        throw this.#fail("unsupported", `${step.path}: links are not made here`, step.path);
    }
  }

  /** The address of a path that is certainly below the root: no link leads to it, and no name is read as several. */
  async #inside(path: string): Promise<vscode.Uri> {
    const names = path === "" ? [] : path.split("/");
    const drives = /^[a-zA-Z]:/.test(this.#root.fsPath);
    if (!names.every((name) => isPlainName(name) && !(drives && name.includes(":")))) {
      throw this.#fail("unsupported", `${path} holds a name that cannot be used here`, path);
    }
    for (let above = 1; above < names.length; above++) await this.#folder(names.slice(0, above).join("/"), path);
    return names.length === 0 ? this.#root : vscode.Uri.joinPath(this.#root, ...names);
  }

  /** VS Code does not tell where a link leads to, so without a disk links are not followed. */
  #kindOf(type: vscode.FileType): EntryKind {
    if (isLink(type)) return this.#disk() === undefined ? "other" : "symlink";
    return kindOf(type);
  }

  async #folder(folder: string, path: string): Promise<void> {
    const now = Date.now();
    if (now < (this.#folders.get(folder) ?? 0)) return;
    try {
      const { type } = await vscode.workspace.fs.stat(vscode.Uri.joinPath(this.#root, folder));
      if (isNoFile(type)) throw this.#fail("unsupported", `${folder} is a link; links are not followed here`, path);
      this.#folders.set(folder, now + KNOWN_MS);
    } catch (error) {
      // A folder that does not exist yet cannot lead out of the root.
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

/**
 * The content of an open document with unsaved changes, as it would be saved, because that is what the user works with.
 */
async function unsavedIn(uri: vscode.Uri): Promise<Uint8Array | undefined> {
  const address = uri.toString();
  const document = vscode.workspace.textDocuments.find((one) => one.isDirty && one.uri.toString() === address);
  if (document === undefined) return undefined;
  // A document does not show a byte order mark, and a save writes it again, so the content has to have it.
  const hasMark = startsWithMark((await bytesAt(uri)) ?? new Uint8Array());
  return bytesOf((hasMark ? "\ufeff" : "") + document.getText());
}

function startsWithMark([first, second, third]: Uint8Array): boolean {
  return first === 0xef && second === 0xbb && third === 0xbf;
}

/**
 * The document for a text, opened if necessary; `undefined` if the file is no text, or is shown in another encoding.
 */
async function documentOf(uri: vscode.Uri, step: { before: Uint8Array; content: Uint8Array }): Promise<vscode.TextDocument | undefined> {
  const before = textOf(step.before);
  if (before === undefined || textOf(step.content) === undefined) return undefined;
  try {
    const document = await vscode.workspace.openTextDocument(uri);
    const onDisk = document.isDirty ? undefined : await bytesAt(uri);
    const sameFile = onDisk === undefined || sameText(document.getText(), textOf(onDisk) ?? "");
    // If a clean document differs from its file read as UTF-8, it has another encoding or is about to be reloaded.
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

function isLink(type: vscode.FileType): boolean {
  return (type & vscode.FileType.SymbolicLink) !== 0;
}

/** Whether it is neither a file nor a folder itself. */
function isNoFile(type: vscode.FileType): boolean {
  return isLink(type) || kindOf(type) === "other";
}

function kindOf(type: vscode.FileType): EntryKind {
  if (type & vscode.FileType.Directory) return "directory";
  return type & vscode.FileType.File ? "file" : "other";
}

function isPlainName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[\\/\0]/.test(name);
}

function isAbsence(error: unknown): boolean {
  return error instanceof vscode.FileSystemError && (error.code === "FileNotFound" || error.code === "FileNotADirectory");
}
