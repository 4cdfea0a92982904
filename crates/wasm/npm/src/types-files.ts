// Trees, staged files, change sets, commits.

/** A value, or a promise of it. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** What a name stands for. */
export type EntryKind = "file" | "directory" | "symlink" | "other";

/** What is at a path; of a link, the link itself. */
export interface Metadata {
  kind: EntryKind;
  /** In bytes. */
  size: number;
  executable?: boolean | undefined;
  /** Milliseconds, or any number that changes whenever the content does. Left out: contents are compared. */
  modified?: number | undefined;
}

export interface DirEntry {
  name: string;
  kind: EntryKind;
}

/**
 * Read access to files. Paths are relative, separated by "/"; "" is the root.
 *
 * Whatever a method throws becomes a `TreeError` that names it and the path. An error whose `code` says so (Node's `ENOENT`, an
 * editor's `FileNotFound`, the browser's `NotFoundError`, and so on) counts as "nothing there".
 */
export interface Tree {
  /** undefined: nothing there. */
  metadata(path: string): MaybePromise<Metadata | undefined>;
  read(path: string): MaybePromise<Uint8Array>;
  list(path: string): MaybePromise<DirEntry[]>;
  /** Where a link points, as it is written in the link. */
  readLink?(path: string): MaybePromise<string>;
}

/** A tree to which work can be committed. The bytes that `write` gets are the tree's to keep. */
export interface WritableTree extends Tree {
  /** Makes a file, or replaces its content. The folder is there. */
  write(path: string, content: Uint8Array, options: { executable: boolean }): MaybePromise<void>;
  /** Makes a folder where nothing is. The folder above is there. */
  createDir(path: string): MaybePromise<void>;
  /** Removes a file, a link, or an empty folder. */
  remove(path: string): MaybePromise<void>;
  symlink?(path: string, target: string): MaybePromise<void>;
}

/** How a file is staged, or written to a tree in memory. */
export interface WriteOptions {
  /** Whether its owner may execute it; as it was, if it is not said. */
  executable?: boolean | undefined;
}

/**
 * A tree that takes a commit as a whole: an editor that makes one edit of several files, a server with transactions. A tree with this
 * method needs none of the others of a {@link WritableTree}, and they are not called.
 */
export interface AtomicTree extends Tree {
  /**
   * Makes all steps, in this order, or none: that is your promise.
   *
   * What the work rests on was compared just before. Make sure once more, at the moment you write, that each path is as its step says; where
   * some are not, change nothing and give these paths: the commit is then a conflict about them. Nothing, or an empty list, says that all
   * is done. What this throws is a `TreeError` of the commit, at the error's `path` if it names one of the steps'; then, too, everything has
   * to be as it was. The bytes are the tree's to keep.
   */
  commitAll(steps: CommitStep[]): MaybePromise<{ conflicts: string[] } | void>;
}

/** One path of a commit, and what has to be there for it. What stands in a folder comes before its removal, and after its creation. */
export type CommitStep =
  /** A file where nothing is. */
  | { type: "create"; path: string; content: Uint8Array; executable: boolean; /** Removed there by a step of its own. */ movedFrom?: string }
  /** The file that is there with the content `before` gets another one, or another executable bit. */
  | { type: "replace"; path: string; before: Uint8Array; content: Uint8Array; executable: boolean; movedFrom?: string }
  /** A file with this content goes. */
  | { type: "remove"; path: string; before: Uint8Array }
  /** A folder where nothing is. */
  | { type: "createDir"; path: string }
  /** A folder that is empty by then goes. */
  | { type: "removeDir"; path: string }
  /** A link where nothing is. */
  | { type: "symlink"; path: string; target: string }
  /** A link that points there goes. */
  | { type: "removeSymlink"; path: string; target: string };

/** How much an overlay may hold. */
export interface Quota {
  /** Staged paths; 10,000 if it is not said. */
  files?: number | undefined;
  /** Staged content and what it replaces, in bytes; 256 MiB. */
  bytes?: number | undefined;
  /** One file, in bytes; 64 MiB. */
  fileBytes?: number | undefined;
  /** Names in a path; 128. */
  depth?: number | undefined;
}

/** A change as it is listed, without content. */
export interface ChangeSummary {
  path: string;
  type: "create" | "modify" | "delete" | "rename" | "createDirectory";
  /** For a rename: the path before. */
  from?: string;
  /** Lines; 0 for a binary file. */
  added: number;
  removed: number;
  binary: boolean;
}

/** How a commit treats what changed meanwhile. */
export interface CommitOptions {
  /** What was only read and has changed since: a conflict (as if it were not said), or a warning. */
  staleReads?: "conflict" | "warn" | undefined;
  /** A text that both sides changed, in different places: merged (as if it were not said), or a conflict. */
  merge?: "text" | "never" | undefined;
}

/** What one side of a conflict has. */
export interface ConflictSide {
  kind: EntryKind;
  /** In bytes. */
  len: number;
  executable: boolean;
  /** A hash of the content, where it was looked at. */
  content?: string;
}

/** A path that is not what the change set rests on. */
export interface Conflict {
  /** "." is the root. */
  path: string;
  kind: "modified" | "deleted" | "created" | "replaced" | "staleRead" | "ref";
  /** What the change set would put there; none: nothing. */
  staged?: ConflictSide;
  /** What is there now; none: nothing. */
  found?: ConflictSide;
}

export type CommitOutcome =
  | { type: "committed"; /** Files that hold both sides' edits. */ merged: string[]; staleReads: Conflict[] }
  | { type: "conflict"; /** Nothing was changed. */ conflicts: Conflict[] };

/** A file that is again as it was once. */
export interface Restored {
  path: string;
  /** Whether there is a file now. */
  exists: boolean;
}

/** What a user has undone of the work in a conversation, or made again, since the model was told last. */
export interface UndoNews {
  /** As they were before a commit. */
  undone: Restored[];
  /** As they were after it; the model was told of the undo before. */
  redone: Restored[];
  /** In words for the model. It goes before the user's words, in the same message. */
  note: string;
  /** In a line for the user. */
  forUser: string;
  /** By which {@link UndoWatch.told} knows them. */
  look: number;
}
