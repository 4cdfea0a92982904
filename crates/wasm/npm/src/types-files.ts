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
  /** Milliseconds, or any number that changes whenever the content does. If it is left out, contents are compared. */
  modified?: number | undefined;
}

export interface DirEntry {
  name: string;
  kind: EntryKind;
}

/**
 * Read access to files. Paths are relative, separated by "/"; "" is the root.
 *
 * Whatever a method throws becomes a `TreeError` with its words and the path. An error whose `code` says so (Node's
 * `ENOENT`, an editor's `FileNotFound`, the browser's `NotFoundError`, and so on) counts as "nothing there".
 */
export interface Tree {
  /** Undefined if nothing is there. */
  metadata(path: string): MaybePromise<Metadata | undefined>;
  read(path: string): MaybePromise<Uint8Array>;
  list(path: string): MaybePromise<DirEntry[]>;
  /** The target of a link, as it is written in the link. */
  readLink?(path: string): MaybePromise<string>;
}

/** A tree to which work can be committed. The tree may keep the bytes that `write` gets. */
export interface WritableTree extends Tree {
  /** Makes a file, or replaces its content. The folder exists already. */
  write(path: string, content: Uint8Array, options: { executable: boolean }): MaybePromise<void>;
  /** Makes a folder where nothing is. The folder above exists already. */
  createDir(path: string): MaybePromise<void>;
  /** Removes a file, a link, or an empty folder. */
  remove(path: string): MaybePromise<void>;
  symlink?(path: string, target: string): MaybePromise<void>;
}

/** How a file is staged, or written to a tree in memory. */
export interface WriteOptions {
  /** Whether its owner may execute it. If left out, this stays as it was. */
  executable?: boolean | undefined;
}

/**
 * A tree that takes a commit as a whole: an editor with edits over several files, or a server with transactions. A tree
 * with this method needs no other method of a {@link WritableTree}; they are not called.
 */
export interface AtomicTree extends Tree {
  /**
   * Makes all steps, in this order, or none of them; this is your promise.
   *
   * What the work depends on was compared just before. Compare once more, at the moment of the write, whether each path
   * is what its step says. If some are not, change nothing and return these paths: the commit is then a conflict about
   * them. Nothing, or an empty list, says that everything is done. If this throws, the commit ends with a `TreeError`,
   * at the error's `path` if that is the path of a step; then, too, everything must be as before. The tree may keep the
   * bytes.
   *
   * `beside` is there if commands of the work changed a git repository in your views ({@link ViewOutput.git}): make that
   * change together with the steps, of which there may be none then, both or neither. Paths that prevent it, such as
   * `.git/refs/heads/main`, are conflicts of the kind `ref`.
   */
  commitAll(steps: CommitStep[], beside?: string): MaybePromise<{ conflicts: string[] } | void>;
}

/**
 * One path of a commit, and what must be there before. The content of a folder is removed before the folder, and
 * created after it.
 */
export type CommitStep =
  /** Makes a file where nothing is. */
  | { type: "create"; path: string; content: Uint8Array; executable: boolean; /** Removed there by a step of its own. */ movedFrom?: string }
  /** Gives the existing file, which has the content `before`, another content or another executable bit. */
  | { type: "replace"; path: string; before: Uint8Array; content: Uint8Array; executable: boolean; movedFrom?: string }
  /** Removes a file with this content. */
  | { type: "remove"; path: string; before: Uint8Array }
  /** Makes a folder where nothing is. */
  | { type: "createDir"; path: string }
  /** Removes a folder that is empty by then. */
  | { type: "removeDir"; path: string }
  /** Makes a link where nothing is. */
  | { type: "symlink"; path: string; target: string }
  /** Removes a link with this target. */
  | { type: "removeSymlink"; path: string; target: string };

/** How much an overlay may hold. */
export interface Quota {
  /** The most staged paths. Default: 10,000. */
  files?: number | undefined;
  /** The most bytes of staged content and of what it replaces. Default: 256 MiB. */
  bytes?: number | undefined;
  /** The most bytes of one file. Default: 64 MiB. */
  fileBytes?: number | undefined;
  /** The most names in a path. Default: 128. */
  depth?: number | undefined;
}

/** A change as it is listed, without its content. */
export interface ChangeSummary {
  path: string;
  type: "create" | "modify" | "delete" | "rename" | "createDirectory";
  /** For a rename, the path before. */
  from?: string;
  /** Lines; 0 for a binary file. */
  added: number;
  removed: number;
  binary: boolean;
  /** The permission bits before and after, in octal, if they differ. */
  mode?: { old: string; new: string };
}

/** Something that commands of work ahead wrote or removed and that an accept does not bring: git ignores it, or it is build output. */
export interface LeftOut {
  path: string;
  folder?: boolean;
  /** The files that were written; 0 if something was only removed. */
  written: number;
  /** Whether more was written than was counted. */
  more?: boolean;
  /** Whether it is a cache by its name (`target`, `__pycache__`), which tools make again. */
  cache?: boolean;
  /** What was removed, as far as it was counted. */
  removed?: number;
  /** Why an accept cannot bring it, even if its user wants it. */
  obstacle?: { type: "tooMuch"; bytes: number } | { type: "cache" | "unfit" | "changed" | "closed" | "gone" | "outside" };
}

/** How a commit treats what has changed meanwhile. */
export interface CommitOptions {
  /** For files that were only read and have changed since: a conflict (the default) or a warning. */
  staleReads?: "conflict" | "warn" | undefined;
  /** For a text that both sides changed in different places: merged (the default) or a conflict. */
  merge?: "text" | "never" | undefined;
}

/** What one side of a conflict has. */
export interface ConflictSide {
  kind: EntryKind;
  /** In bytes. */
  len: number;
  executable: boolean;
  /** A hash of the content, if the content was read. */
  content?: string;
}

/** A path that is not what the change set depends on. */
export interface Conflict {
  /** "." is the root. */
  path: string;
  kind: "modified" | "deleted" | "created" | "replaced" | "staleRead" | "ref";
  /** What the change set would put there; missing if nothing. */
  staged?: ConflictSide;
  /** What is there now; missing if nothing. */
  found?: ConflictSide;
}

export type CommitOutcome =
  | { type: "committed"; /** Files that hold both sides' edits. */ merged: string[]; staleReads: Conflict[] }
  | { type: "conflict"; /** Nothing was changed. */ conflicts: Conflict[] };

/** A file that has an earlier content again. */
export interface Restored {
  path: string;
  /** Whether there is a file now. */
  exists: boolean;
}

/** What a user has undone of the work in a conversation, or made again, since the model was told last. */
export interface UndoNews {
  /** Files that are as they were before a commit. */
  undone: Restored[];
  /** Files that are as they were after a commit; the model was told of the undo before. */
  redone: Restored[];
  /** In words for the model. It goes before the user's words, in the same message. */
  note: string;
  /** In a line for the user. */
  forUser: string;
  /** The number by which {@link UndoWatch.told} knows these news. */
  look: number;
}
