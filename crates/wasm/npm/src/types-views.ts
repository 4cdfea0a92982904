// Commands of work ahead that write, in views.
import type { ChangeSet } from "./change-set.js";
import type { Overlay } from "./files.js";
import type { CommandOutput } from "./types-engine.js";
import type { MaybePromise } from "./types-files.js";

/**
 * Makes views: copy-on-write copies of the workspace in which commands of work ahead may write. A view must be kept
 * apart from the machine: nothing that a command does in it may be seen outside of it, and it has no network. The
 * program `headstart` makes such views (`headstart shadow serve --here DIR`).
 */
export interface Views {
  /**
   * How views are kept apart; `undefined` if there are none at this moment, so that a command that writes stops the work
   * ahead. It is asked for before each command.
   */
  readonly tier: "kernel" | "clone" | "copy" | undefined;
  /**
   * Runs a command, and stages in `changes` every difference of the view from the base of that overlay, which is empty
   * and shows the tree with `below`. The overlay belongs to this call. If this throws, the command counts as not run, and
   * the work stops before it. The signal fires when the command is not wanted any more.
   */
  run(request: ViewRequest, changes: Overlay, signal: AbortSignal): Promise<ViewOutput>;
  /** A view is not needed any more, and what runs in it has to end. The view may never have been made. */
  end(view: string): void;
  /**
   * The files of the workspace that changed since a moment (in milliseconds since the Unix epoch), as far as a command
   * may have read them. It is called when the user takes work that ran commands in views, so that they are told of files
   * that the last one has not seen. Without it none are known.
   */
  changedSince?(unixMs: number): MaybePromise<string[]>;
}

/** A command for a view. */
export interface ViewRequest {
  /** The name of the view. The first command makes it, and later ones find what that left. */
  view: string;
  /** For `bash -c`, as the model wrote it. */
  command: string;
  /** Where it runs: a folder in the workspace, or one that is staged; `.` is the workspace itself. */
  directory: string;
  /** What the view shows over the tree, because this work stands on it. */
  below: ChangeSet;
  /** What the view shows over both, because this work staged it. */
  staged: ChangeSet;
  /** What the work did to a git repository before, as your own `git` said it; the view shows that, too. */
  git?: { below?: GitChange[]; step?: GitChange };
  /** The paths that the view must not show, as in `.gitignore`. */
  deny: string[];
  /** `closed`: the view must not show files whose names suggest a secret (`.env`, `*.pem`, …). */
  secrets: "closed" | "open";
  /** End the command, with its view, after this time. */
  timeLimitMs: number;
  /** Keep at most this many bytes of output. */
  outputLimit: number;
}

/** What work did to a git repository, as the program `headstart` tells it. It is passed on as it is. */
export type GitChange = Record<string, unknown>;

/** The result of a command in a view, without its changes. */
export interface ViewOutput extends CommandOutput {
  /** Paths outside the workspace to which it wrote, in words. The work stops before such a command. */
  outside?: string[] | undefined;
  /** What the view refused it. */
  refused?: ViewRefusals | undefined;
  /** Paths of the changes that are not in the tree as the command found them. It runs once more, or the work stops. */
  changedMeanwhile?: string[] | undefined;
  /** What could not be staged as it was, in words for the model. */
  notes?: string[] | undefined;
  /**
   * What all commands in this view did to the git repository of the workspace, if your tree can make that change
   * ({@link AtomicTree.commitAll}).
   */
  git?: GitChange | undefined;
  /** Why what it did to a repository cannot be kept, if it did something. The work stops before such a command. */
  gitRefused?: string | null | undefined;
  /**
   * A moment, in milliseconds since the Unix epoch, at its beginning or before: it may not have seen what changed from
   * then on.
   */
  beganMs?: number | undefined;
  /** How long it ran. */
  timeMs?: number | undefined;
}

/** What a view refused a command, which may be why the command failed. */
export interface ViewRefusals {
  /** How often it tried to reach a network. */
  network?: number;
  /** It asked for more rights than its user has. */
  privileges?: boolean;
  /** It is a debugger, or looks into processes as one does. */
  tracing?: boolean;
  /** It renamed a folder as a whole, or from one file system to another. */
  renaming?: boolean;
  /** It needed a key to sign with. */
  signature?: boolean;
  /** The limit that it reached, in words. */
  quota?: string | null;
}
