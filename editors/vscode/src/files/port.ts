import type { DirEntry, EntryKind } from "headstart";

/** What is at a path. */
export interface Found {
  kind: EntryKind;
  size: number;
  /** Milliseconds; left out where it would not show every change. */
  modified?: number;
}

/** One path of an edit, with what it rests on. */
export type Step =
  | { type: "create"; path: string; after: Uint8Array }
  | { type: "replace"; path: string; before: Uint8Array; after: Uint8Array }
  | { type: "remove"; path: string; before: Uint8Array | "directory" }
  | { type: "createDir"; path: string };

/** An editor's files below one folder. Paths are relative, with `/`. */
export interface Files {
  /** As its user sees it: a document with unsaved changes stands for its file. */
  stat(path: string): Promise<Found | undefined>;
  read(path: string): Promise<Uint8Array>;
  list(path: string): Promise<DirEntry[]>;
  /** Makes all steps or none, unless a path is no longer as the step says; then, or if it fails, the answer says why. */
  apply(steps: Step[], label: string): Promise<string | undefined>;
}
