// The part of a commit that VS Code has no call for: links, executable bits, and what work did to the git repository. A
// program on the machine makes it.
import type { CommitStep } from "headstart";
import { sameBytes } from "./text.js";

/** What is at a path. What is there before may have another executable bit. */
export type DiskEntry =
  | { type: "file"; content: Uint8Array; executable: boolean }
  | { type: "link"; target: string }
  | { type: "folder" };

/** A path, with what is there before and after; `undefined` for nothing. */
export interface DiskChange {
  path: string;
  before: DiskEntry | undefined;
  after: DiskEntry | undefined;
}

/** The disk that a workspace folder is on. */
export interface Disk {
  /** Where a link leads, as it is written in it. */
  readLink(path: string): Promise<string>;
  /** Whether the owner of a file may execute it. */
  isExecutable(path: string): Promise<boolean>;
  /**
   * Makes all changes, or none if a path is not as its change says: then these paths are the conflicts. `beside` is what
   * the work did to the git repository, which is changed as well; a ref that has moved is a conflict, too.
   */
  accept(changes: DiskChange[], beside?: string): Promise<DiskAccept>;
}

export interface DiskAccept {
  conflicts: string[];
  /** Takes the changes back. Rejects if that is not possible. */
  takeBack(): Promise<void>;
}

/** The steps of a commit by who makes them. */
export interface Division {
  editor: CommitStep[];
  /** What the disk makes before the edit. */
  disk: DiskChange[];
  /** Files that the edit writes and that get their executable bit after it, because a new file has none before. */
  bits: { path: string; executable: boolean }[];
}

/**
 * Divides the steps of a commit. All steps at a link, and at what takes its place, are for the disk. `onDisk` gives the
 * content of a file that the edit does not change.
 */
export async function divide(steps: CommitStep[], disk: Pick<Disk, "isExecutable">, onDisk: (path: string) => Promise<Uint8Array | undefined>): Promise<Division> {
  const links = steps.filter(({ type }) => type === "symlink" || type === "removeSymlink").map(({ path }) => path);
  const changes = new Map<string, DiskChange>();
  const division: Division = { editor: [], disk: [], bits: [] };
  for (const step of steps) {
    const { path, type } = step;
    if (links.some((link) => path === link || path.startsWith(`${link}/`))) {
      const { before, after } = changes.get(path) ?? {};
      changes.set(path, { path, before: before ?? entryBefore(step), after: entryAfter(step) ?? after });
      continue;
    }
    const hasBit = type === "create" || type === "replace";
    if (hasBit && step.executable !== (type === "replace" && (await disk.isExecutable(path)))) {
      const { executable } = step;
      const content = type === "replace" && sameBytes(step.before, step.content) ? await onDisk(path) : undefined;
      if (content !== undefined) {
        changes.set(path, { path, before: { type: "file", content, executable: !executable }, after: { type: "file", content, executable } });
        continue;
      }
      division.bits.push({ path, executable });
    }
    division.editor.push(step);
  }
  division.disk = [...changes.values()];
  return division;
}

function entryBefore(step: CommitStep): DiskEntry | undefined {
  switch (step.type) {
    case "replace":
    case "remove":
      return { type: "file", content: step.before, executable: false };
    case "removeSymlink":
      return { type: "link", target: step.target };
    case "removeDir":
      return { type: "folder" };
    default:
      return undefined;
  }
}

function entryAfter(step: CommitStep): DiskEntry | undefined {
  switch (step.type) {
    case "create":
    case "replace":
      return { type: "file", content: step.content, executable: step.executable };
    case "symlink":
      return { type: "link", target: step.target };
    case "createDir":
      return { type: "folder" };
    default:
      return undefined;
  }
}
