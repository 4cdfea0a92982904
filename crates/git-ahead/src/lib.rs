//! Finds out what git commands of work ahead did to a repository, and applies it at an accept: together with the
//! files, or not at all.
//!
//! Work ahead may run `git commit` in a copy-on-write view of the workspace. Its `.git` is never copied back, because
//! that would overwrite what the user did meanwhile. Instead a [`GitChange`] is *read* from the two states of the
//! folder, the user's and the view's: which refs moved from what to what, what is staged differently, and which
//! objects that needs. An accept is git's own two-phase commit around that of the files, as a
//! [`Participant`](headstart_overlay_fs::Participant) of
//! [`Workspace::commit_with`](headstart_overlay_fs::Workspace::commit_with):
//!
//! 1. the objects are added. No ref names them yet, so they are harmless if the rest fails; git checks each of them,
//!    and that none is missing;
//! 2. `git update-ref --stdin` prepares: git checks the old values and locks the refs;
//! 3. the journal is written, with the names of those locks; then the files are put in place;
//! 4. the journal says that they are in place, and git commits the refs;
//! 5. the index is written, path by path, except for paths that are not as they were when the work began.
//!
//! A ref that the user moved meanwhile is a conflict, and nothing is written. If a process dies before step 4, the
//! files are taken back and git releases its locks by itself; after it, the next run finishes.
//!
//! ```
//! use headstart_git_ahead::{GitChange, Head, ObjectFormat, ObjectName, RefChange, RefName};
//!
//! let main = RefName::parse("refs/heads/main")?;
//! let (old, new) = (ObjectName::parse(&"1".repeat(40))?, ObjectName::parse(&"2".repeat(40))?);
//! let change = GitChange {
//!     format: ObjectFormat::Sha1,
//!     objects: None,
//!     large: Vec::new(),
//!     refs: vec![RefChange { name: main.clone(), old: Some(old), new: Some(new), commits: 1, subjects: vec!["Add tests".to_owned()] }],
//!     head: Head::Unchanged { branch: Some(main) },
//!     index: Default::default(),
//!     paths: Vec::new(),
//!     other: Vec::new(),
//! };
//! assert_eq!(change.summary(), "1 commit on main");
//! assert_eq!(GitChange::try_from(&*change.beside())?, change);
//! # Ok::<(), headstart_git_ahead::GitError>(())
//! ```
//!
//! # Limitations
//!
//! * Branches, tags, notes, a detached `HEAD`, a switch to a new branch and the first stash are accepted. Everything else
//!   is reported in [`GitChange::other`] and never applied: configuration, hooks, any other switch (where refs are kept in
//!   tables, each), a merge or rebase that is not
//!   finished, remote-tracking refs, replaced objects, a stash on top of another one, and a branch in the place of
//!   another's folder (`a/b` for `a`).
//! * Contents that git-LFS keeps in `.git/lfs/objects` come along with a commit. Where it keeps them elsewhere, a commit
//!   with a pointer to a new one is refused. They also stay among git's own objects until git collects what nobody names.
//! * A linked worktree, a submodule, a partial clone, and a repository whose folder is a link are not supported.
//! * What the work's commands wrote to reflogs stays in the view: an accept is a single entry.
//! * Hooks of the repository run where the command ran, in the view. An accept runs none, nor any other program that
//!   a configuration names. Commits that were signed in the view are accepted as they are.
//!
//! # Features
//!
//! * `os` (off by default): reads repositories on a real disk, and accepts, with the system's git. On Windows it adds
//!   a [`Repository`] of which there is no value, because no command runs ahead there.
//! * `failpoints` (off by default): for tests; a fail point between any two steps.
//!
//! # Decisions that are not obvious
//!
//! - **A repository is never copied back** (`src/os/read.rs`). A view's `.git` would overwrite what the user did
//!   meanwhile, so only what git itself can apply is read from it: refs with their old values, paths of the index,
//!   objects. Git sees the view's state only in a private folder, under a configuration of ours, because the view's
//!   own may name programs. Objects go through a pack, for which git computes each name anew from the content.

mod change;
#[cfg(all(feature = "os", windows))]
mod elsewhere;
mod error;
mod name;
#[cfg(feature = "os")]
mod offer;
#[cfg(all(feature = "os", unix))]
mod os;
#[cfg(feature = "os")]
mod settings;

pub use change::{GitChange, Head, Index, IndexEntry, LargeFile, Objects, RefChange, Staged, Unstaged};
#[cfg(all(feature = "os", windows))]
pub use elsewhere::{Git, Reader, Repository, Snapshot, Surroundings};
pub use error::GitError;
pub use name::{ObjectFormat, ObjectName, RefName};
#[cfg(feature = "os")]
pub use offer::{MergeCheck, Offer};
#[cfg(all(feature = "os", unix))]
pub use os::{Git, Reader, Repository, Snapshot, Surroundings};
#[cfg(feature = "os")]
pub use settings::{KeptFile, Setting, no_programs, version_in};
