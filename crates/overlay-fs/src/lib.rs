//! Staged files over a read-only tree: a merged view, a change set, and a commit that is all or nothing.
//!
//! A [`Tree`] is read access to files below a root. An [`Overlay`] is a tree over another one that also takes writes,
//! removals and moves, and keeps them in memory: its readers see them at once, its base never does. It notes what it
//! read and what it replaced. [`Overlay::change_set`] is the list of what an accept would do, serialisable, with
//! content. [`Workspace::commit`] compares that list with the real tree, and applies all of it or, if the user
//! changed what the work relies on, nothing. Paths are [`WorkspacePath`]s, which cannot leave the root; links that do
//! are refused.
//!
//! Overlays stack: [`ChangeSet::then`] makes one change set of two. A change set can be applied to any checkout of
//! the same base, written as a patch for `git apply` ([`ChangeSet::patch`]), and stored with its contents or, by
//! their hashes, without ([`ChangeSet::by_hash`]). A host that can change its files only one call at a time
//! implements [`Writer`], and gets the same rules from [`commit_through`]; one that can change several files in one
//! call implements [`AtomicWriter`], and gets them from [`commit_atomically`].
//!
//! ```
//! # use std::sync::Arc;
//! use headstart_overlay_fs::{CommitOptions, CommitOutcome, MemoryTree, Overlay, Quota};
//! use headstart_overlay_fs::{Tree, Workspace, WorkspacePath};
//!
//! # futures::executor::block_on(async {
//! let workspace = Arc::new(MemoryTree::from_files([("src/main.rs", "fn main() {}\n")])?);
//! let overlay = Overlay::new(workspace.clone(), Quota::default());
//! let (old, new) = (WorkspacePath::parse("src/main.rs")?, WorkspacePath::parse("src/bin/tool.rs")?);
//! overlay.rename(&old, &new).await?;
//! assert_eq!(overlay.read(&new).await?, b"fn main() {}\n");
//! assert!(workspace.read(&new).await.is_err());
//!
//! let changes = overlay.change_set();
//! println!("{}", changes.diff());
//! let outcome = workspace.commit(&changes, CommitOptions::default()).await?;
//! assert!(matches!(outcome, CommitOutcome::Committed(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # What counts as a conflict
//!
//! A file that is removed and holds other content now; one that is written, or moved, and of which both sides changed the
//! same place, or that is not text; one that is gone or is something else; something where a file is created; a new
//! name in a folder that is removed; a link where a folder was; a file that was read and holds other content; a
//! folder that was listed and has other names; a path that was looked for in vain and is there. Not a conflict: times, inodes and permission bits (the user's are kept), edits of one text in different
//! places (both count; of a file that the work moved, at its new place), and files that nobody looked at. The first look
//! at a path counts, so an edit between a read and a write is seen. Where the times of a tree cannot show every edit
//! ([`Fingerprint::racy`]), the content is compared. [`CommitOptions`] says what the host wants otherwise; [`resolve`] is the rules alone.
//! [`resolve_conflicts`] works what a user says to the conflicts into the change set: keep theirs, keep the work's, or both with markers.
//!
//! # Limitations
//!
//! * Staged content, and the content of the base that it replaces, is held in memory, bounded by [`Quota`].
//! * On disk a commit first exchanges a file and then looks at what came out, because no system call compares and
//!   exchanges in one. What the user saves in the last microseconds before the exchange is put back, and is not at
//!   its path until then. A program that holds a replaced file open and writes to it later writes to the old file;
//!   that one is kept when it would otherwise be removed.
//! * On a file system that can neither exchange nor rename without replacing (network, FAT), nothing is at a path for
//!   a moment, and a file that is made there in that moment may be replaced.
//! * A merge works on lines, exactly as `git merge-file --diff-algorithm=myers` does, and knows nothing of their
//!   meaning: two edits in different places may still not fit together. Edits without an unchanged line of the base
//!   between them are a conflict. So are both edits of a text if one side changed so much of it (some 500 lines that
//!   are elsewhere in the other text) that git would guess.
//! * What the user moved counts as removed: if the work changed it, that is a conflict.
//! * A file with several hard links is staged and committed only for a caller who says that its other names keep the former
//!   content ([`Overlay::breaking_hard_links`]). A FIFO, a socket or a device is not staged. Neither is what would be in a file or
//!   folder that this user may not write, or that nobody may; if that comes later, a commit refuses it. Work that made
//!   a file writable ([`Change::mode`]) may replace it. A new folder can always be written by its owner, whatever bits it
//!   was given. A change in a folder on another file
//!   system than the workspace's own, or behind a bind mount, is refused.
//! * A new file gets the group and the access list that its folder gives, a replaced or moved one keeps its own with
//!   its extended attributes. If the system does not let this user set an owner or an attribute, the file goes
//!   without it, and without the group's permissions if its group is another one now. Attributes in `security.*` that
//!   describe a content (capabilities, checksums) are not carried over to another content.
//! * `git` and other programs that look at the disk do not see what is staged. The overlay knows no special names:
//!   the caller has to see to it that `.git` is not touched.
//! * Names that differ only in case or Unicode form are different, whatever the disk thinks; a path of more than
//!   4,096 bytes is refused by the system.
//!
//! # Features
//!
//! * `os` (off by default, Unix): `OsTree`, a workspace on a real disk through cap-std directory handles.
//! * `failpoints` (off by default): for tests; a numbered fail point before every system call of a commit, and a
//!   record of what it did to the disk.
//!
//! # Decisions that are not obvious
//!
//! - **A commit has a second participant** (`src/participant.rs`). Whatever has to change together with the files
//!   (the refs of a repository) is prepared before the journal is written, and committed once a phase of the journal
//!   says that all files are in place. The rename that enters this phase decides: before it, recovery takes the files
//!   back; after it, recovery has the participant finish, and takes the files back only if it refuses. The staging
//!   room knows nothing of git, and a journal with such a part is an error for whoever opens the workspace without
//!   the participant, because half of an accept must not be ended by somebody who cannot see the other half. Locks
//!   are known by their inodes. Git's own locks are noted once git has said that it holds them, and the lock of the
//!   index is made only after the journal knows it, so that a process that dies leaves no lock that could be a
//!   user's.
//! - **For whoever works outside the overlay, everything staged is one change set** (`Tree::staged_changes`), however
//!   many overlays are stacked.
//! - **One place for the rules of a commit.** `overlay_fs::resolve` compares a change set with a tree, merges texts and names the conflicts;
//!   the tree on disk, the one in memory, `commit_through` (for hosts with one asynchronous call per path) and `commit_atomically` (for hosts that
//!   make one edit of all paths, and promise all or nothing) all ask it, and each makes sure of every path once more when it replaces it.
//!   `Host::commit_options` says what a stale read and a merge come to. An edit of a file that the work moved goes along to its new place. A
//!   fingerprint that is racy (it may not show a later edit) says so, and then the content decides. The merge finds the hunks that git finds
//!   (`src/merge/search.rs` says why it has to be the same ones), so its result, and its markers, are those of `git merge-file
//!   --diff-algorithm=myers`, byte for byte. 500 random merges are compared in every run of the tests; of 40,000 in two long runs (`cargo test
//!   -p headstart-overlay-fs --lib -- --ignored twenty_thousand --nocapture`) 9,617 were merged alike and 30,381 were conflicts of both, none
//!   was merged where git has a conflict, and 2 were conflicts where git has a result (texts that differ so much that git guesses).
//! - **A conflict is answered in the change set.** `overlay_fs::resolve_conflicts` applies what a user says (theirs,
//!   the work's, both with markers) to a change set, which is then committed by the ordinary rules. A choice holds
//!   for what the user saw: an edit after it is a conflict again.
//! - **The tree on disk is five folders whose imports go one way** (`src/os`): `disk` (calls of the system, each of which a test can stop or
//!   record), `attributes`, `staging` (private folders and how far their commits got), `commit`, `recover` (interrupted commits, undo, sweeps).
//! - **What a loss of power leaves is tested, not argued.** A commit's system calls are recorded;
//!   `overlay-fs/tests/faults/power` makes every disk that a journalling file system may have kept of them, and
//!   recovers on it. Every call that changes the disk has to go through `src/os/disk/calls.rs`, because the test does
//!   not see it otherwise. The test also fails for a sync that nothing needs.
//! - **Who committed last** (`src/os/staging/lock_token.rs`). Whoever takes the commit lock writes a random token beside
//!   the staging folders. A process that finds its own token there knows that nothing is half done, and looks at none
//!   of the accepts that are kept; otherwise it looks at all of them.
//! - **One look at a path** (`src/os/commit/observed_tree.rs`) serves both the comparison and the plan of a commit, because
//!   what counts in the end is what comes out of the workspace, and that is read after it is out.
//! - **A history of edits is a byte string.** `overlay-fs/tests/trees/play.rs` reads one as staging, stacking, edits
//!   of the user, commits, crashes and undos, and compares the results with a plain map; random tests, the fuzz
//!   target in `overlay-fs/fuzz` and the replays of former failures share it.

mod atomic;
mod change_set;
mod check;
mod commit;
mod content;
mod exact;
mod ignore_rules;
mod left_out;
mod memory;
mod merge;
mod metadata;
#[cfg(feature = "os")]
mod os;
mod overlay;
mod participant;
mod resolve_conflicts;
mod text;
mod tree;
mod walk;
mod wrapper;
mod writer;

pub use atomic::{AtomicWriter, Entry, Step, commit_atomically};
pub use change_set::{Change, ChangeKind, ChangeSet, ChangeSummary, ModeChange, Observation};
pub use change_set::{ChangeByHash, ChangeKindByHash, ChangeSetByHash, ContentError};
pub use check::{Resolution, Resolving, resolve};
pub use commit::{CommitOptions, CommitOutcome, Committed, Conflict, ConflictKind};
pub use commit::{Merge, StaleReads};
pub use content::{Content, ContentHash};
pub use headstart_workspace_path::{PathError, WorkspacePath};
pub use ignore_rules::{IgnoreRules, MAX_IGNORE_PATTERNS};
pub use left_out::{KeepObstacle, LeftOut, MOST_KEPT, Torn};
pub use memory::MemoryTree;
pub use metadata::{EntryKind, Fingerprint, Metadata, carried_bits};
#[cfg(feature = "os")]
#[cfg(feature = "failpoints")]
pub use os::failpoints;
#[cfg(feature = "os")]
pub use os::file_times;
#[cfg(feature = "os")]
pub use os::{
    Durability, KeptTurn, OsOptions, OsTree, Preparing, Process, SeveralUndone, Stayed, SweepOutcome, Swept,
    UndoLimit, UndoOutcome,
};
pub use overlay::{Overlay, Quota, Savepoint};
pub use participant::{Direction, Finish, NotPrepared, Participant, Prepared};
pub use resolve_conflicts::{Choice, Keep, resolve_conflicts};
pub use tree::{DirEntry, SystemError, Tree, TreeError, Workspace};
pub use wrapper::{WorkspaceWrapper, commit_inner};
pub use writer::{Writer, commit_through};
