//! What git commands of work ahead did to a repository, and how it is accepted: together with the files, or not at all.
//!
//! Work ahead may run `git commit` in a copy-on-write view of the workspace. Its `.git` is never copied back: that would
//! overwrite what the user did meanwhile. Instead a [`GitChange`] is *read* from the two states of the folder, the user's and the
//! view's: which refs moved from what to what, what is staged otherwise, and which objects that takes. An accept is
//! git's own two-phase commit around that of the files, as a [`Participant`](headstart_overlay_fs::Participant) of
//! [`Workspace::commit_with`](headstart_overlay_fs::Workspace::commit_with):
//!
//! 1. the objects, which nothing points at yet, so that they are harmless if the rest fails; git makes sure of each of
//!    them, and that none is missing;
//! 2. `git update-ref --stdin` prepares: git holds the locks, and the old values hold;
//! 3. the journal is written, with the names of those locks; then the files are put in place;
//! 4. the journal says that they are, and git commits the refs;
//! 5. the index, path by path, where it still holds what it did when the work began.
//!
//! A ref that its user moved meanwhile is a conflict, and nothing is written. Where a process dies before step 4 the files are
//! taken back and git lets go by itself; after it, the next run finishes.
//!
//! ```
//! use headstart_git_ahead::{GitChange, Head, ObjectFormat, ObjectName, RefChange, RefName};
//!
//! let main = RefName::parse("refs/heads/main")?;
//! let (old, new) = (ObjectName::parse(&"1".repeat(40))?, ObjectName::parse(&"2".repeat(40))?);
//! let change = GitChange {
//!     format: ObjectFormat::Sha1,
//!     objects: None,
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
//! * Branches, tags, notes, a detached `HEAD` and the first stash are accepted. Configuration, hooks, a switched branch, a merge or rebase
//!   under way, remote-tracking refs, replaced objects and a stash on top of another are told, as is a
//!   branch in the place of another's folder (`a/b` for `a`) ([`GitChange::other`]), and none is ever
//!   applied.
//! * A linked worktree, a submodule, a partial clone, and a repository whose folder is a link are left alone.
//! * What the work's commands wrote to reflogs stays in the view: an accept is one entry of its own.
//! * Hooks of the repository run where the command ran, in the view; an accept runs none, nor any other program that a
//!   configuration names. Commits that are signed there are taken as they are.
//!
//! # Features
//!
//! * `os` (off by default, Unix): reads repositories on a real disk, and accepts, with the system's git.
//! * `failpoints` (off by default): for tests; a fail point between each two steps.
//!
//! # Decisions that are not obvious
//!
//! - **A repository is never copied back** (`src/os/read.rs`). A view's `.git` would overwrite what its user did meanwhile, so only what git
//!   itself knows how to apply is read from it: refs with their old values, paths of the index, objects. Git sees the view's state in a private
//!   folder alone, under a configuration of ours, for the view's own names programs; objects go through a pack, which names each of them anew
//!   by its content.

mod change;
mod error;
mod name;
#[cfg(all(feature = "os", unix))]
mod os;

pub use change::{GitChange, Head, Index, IndexEntry, Objects, RefChange, Staged};
pub use error::GitError;
pub use name::{ObjectFormat, ObjectName, RefName};
#[cfg(all(feature = "os", unix))]
pub use os::{Git, MergeCheck, Offer, Reader, Repository, Setting, Snapshot, no_programs, version_in};
