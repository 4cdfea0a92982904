// What VS Code's built-in extension for git says about the repository of a folder.
import * as vscode from "vscode";
import type { MentionPart } from "headstart";
import { pathIn } from "./files/path-in.js";

/** The part of the extension's interface that is used here. */
interface Git {
  getRepository(uri: vscode.Uri): Repository | null;
}
interface Repository {
  readonly rootUri: vscode.Uri;
  readonly state: {
    readonly HEAD: { readonly name?: string; readonly commit?: string; readonly upstream?: { readonly remote: string; readonly name: string } } | undefined;
    readonly mergeChanges: readonly Change[];
    readonly indexChanges: readonly Change[];
    readonly workingTreeChanges: readonly Change[];
    readonly untrackedChanges?: readonly Change[];
  };
  diffWithHEAD(path: string): Promise<string>;
}
interface Change {
  readonly uri: vscode.Uri;
  readonly status: number;
}

/** How long a conversation waits for the extension at most. */
const PATIENCE_MS = 1_000;
/** How many files are given to the model at most. */
const MOST_FILES = 100;
/** How many characters of all diffs together are given at most. */
const MOST_TEXT = 200_000;
/** The letters of git's status, indexed by the numbers that the extension uses. */
const LETTERS = ["M", "A", "D", "R", "C", "M", "D", "?", "!", "A", "R", "T"];
const UNTRACKED = 7;

/** The repository of a folder; `undefined` if there is none, or if the extension is missing. */
async function repositoryOf(root: vscode.Uri): Promise<Repository | undefined> {
  const extension = vscode.extensions.getExtension<{ enabled: boolean; getAPI(version: 1): Git }>("vscode.git");
  if (extension === undefined) return undefined;
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), PATIENCE_MS));
  const found = async (): Promise<Repository | undefined> => {
    const git = await extension.activate();
    return (git.enabled && git.getAPI(1).getRepository(root)) || undefined;
  };
  return Promise.race([found().catch(() => undefined), late]);
}

/** The branch and the changed files, in the form of `git status --porcelain=v1 --branch`. */
export async function statusOf(root: vscode.Uri): Promise<string | undefined> {
  const repository = await repositoryOf(root);
  if (repository === undefined) return undefined;
  const { HEAD } = repository.state;
  const upstream = HEAD?.upstream && `...${HEAD.upstream.remote}/${HEAD.upstream.name}`;
  const name = HEAD?.name ?? "HEAD (no branch)";
  const branch = HEAD?.name !== undefined && HEAD.commit === undefined ? `No commits yet on ${name}` : `${name}${upstream ?? ""}`;
  const rows = changesOf(repository, root).map(({ path, status }) => (status === UNTRACKED ? `?? ${path}` : ` ${LETTERS[status] ?? "M"} ${path}`));
  return [`## ${branch}`, ...rows, ""].join("\n");
}

/** The differences from the last commit. */
export async function diffOf(root: vscode.Uri): Promise<MentionPart[]> {
  const repository = await repositoryOf(root);
  if (repository === undefined) throw new Error("VS Code's git knows no repository of this folder");
  const changes = changesOf(repository, root);
  if (changes.length === 0) return [{ text: "Nothing differs from the last commit." }];
  const parts: MentionPart[] = [];
  let room = MOST_TEXT;
  for (const { path, uri, status } of changes.slice(0, MOST_FILES)) {
    const text = status === UNTRACKED ? `${path}: new, not in git yet` : (await repository.diffWithHEAD(uri.fsPath)).trimEnd() || `${path}: ${LETTERS[status] ?? "M"}`;
    parts.push({ path, text: text.length <= room ? text : `${text.slice(0, room)}\n… the rest of ${path} is left out` });
    room = Math.max(0, room - text.length);
    if (room === 0) break;
  }
  if (parts.length < changes.length) parts.push({ text: `… ${changes.length - parts.length} more files` });
  return parts;
}

/** The changed files of the folder, each once. */
function changesOf({ state }: Repository, root: vscode.Uri): { path: string; uri: vscode.Uri; status: number }[] {
  const all = [...state.mergeChanges, ...state.workingTreeChanges, ...state.indexChanges, ...(state.untrackedChanges ?? [])];
  const known = new Map<string, { path: string; uri: vscode.Uri; status: number }>();
  for (const { uri, status } of all) {
    const path = pathIn(root, uri);
    if (path !== undefined && !known.has(path)) known.set(path, { path, uri, status });
  }
  return [...known.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}
