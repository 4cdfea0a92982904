//! A workspace on a real disk. Every access starts at one directory handle.

mod attributes;
mod commit;
mod disk;
pub mod file_times;
mod options;
mod read;
mod recover;
mod refusal;
mod staging;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;

use self::commit::discard_prepared;
use self::disk::calls::{self, Stat, Time};
use self::disk::clock::Clock;
#[cfg(feature = "failpoints")]
pub use self::disk::failpoints;
use self::disk::system::{self, Errno, os_name};
pub use self::options::{Durability, OsOptions, Preparing, UndoLimit};
pub use self::recover::kept_turns::KeptTurn;
pub use self::recover::outcome::{Stayed, SweepOutcome, Swept};
pub use self::recover::undo::UndoOutcome;
pub use self::recover::undo_several::SeveralUndone;
use self::staging::Staging;
use self::staging::cache::StagingCache;
use self::staging::home::{self, StagingHomes};
use self::staging::lock_token::LockToken;
pub use self::staging::process::Process;
use crate::{ContentHash, Fingerprint, Metadata, Participant, TreeError};

/// A folder on disk and everything in it (feature `os`; Linux, macOS, other Unix systems, and Windows).
///
/// After [`open`](Self::open) nothing is reached by an absolute path: every call starts at the folder's handle, and
/// the kernel (or cap-std, where the kernel cannot) refuses what would leave it. The calls block, because a read from
/// a local disk takes microseconds. A host with a slow disk has to call them where it may block.
///
/// A commit works in a private folder: one below [`OsOptions::state`], if a rename from there reaches the workspace,
/// else `.headstart-staging-…` directly in the workspace, which no listing shows and which git ignores. It is removed
/// when the commit ends, unless it is kept for an undo; see [`sweep`](Self::sweep) for what a killed process leaves.
#[derive(Debug)]
pub struct OsTree {
    root: Dir,
    /// The device number of its file system.
    device: u64,
    homes: StagingHomes,
    clock: Clock,
    options: OsOptions,
    participant: Option<Arc<dyn Participant>>,
    /// The host's state folder, if it is inside the workspace. No view shows it.
    hidden: Option<WorkspacePath>,
    /// What was prepared for a commit, by its digest.
    prepared: Mutex<Vec<(ContentHash, Staging)>>,
    /// What this process knows of the staging folders.
    known: Mutex<StagingCache>,
    /// The token that this tree wrote when it last had the commit lock.
    token: Mutex<Option<LockToken>>,
    /// What was kept for undos when this tree last looked.
    undoable: Mutex<Undoable>,
    /// Interrupted commits that were found and ended, to be told.
    notes: Mutex<Vec<Swept>>,
}

impl OsTree {
    /// Opens a workspace. If `path` is a symbolic link or goes through one, the workspace is where that leads now,
    /// also if the link changes later.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TreeError> {
        Self::open_with(path, OsOptions::default())
    }

    /// As [`open`](Self::open), with a host's options.
    pub fn open_with(path: impl AsRef<Path>, options: OsOptions) -> Result<Self, TreeError> {
        let path = path.as_ref();
        let opened_at = path.canonicalize().ok();
        let hidden = opened_at.as_deref().zip(options.state.as_deref());
        let hidden = hidden.and_then(|(root, state)| home::within(root, state));
        let opened = Dir::open_ambient_dir(path, ambient_authority()).and_then(|root| {
            let homes = StagingHomes::new(root.try_clone()?, opened_at, options.state.clone())?;
            let device = calls::look_at(&root)?.device;
            let clock = Clock::of(&root)?;
            Ok((root, device, homes, clock))
        });
        match opened {
            Ok((root, device, homes, clock)) => {
                let (participant, prepared, known, token, undoable, notes) = Default::default();
                Ok(Self {
                    root,
                    device,
                    homes,
                    clock,
                    options,
                    participant,
                    hidden,
                    prepared,
                    known,
                    token,
                    undoable,
                    notes,
                })
            }
            Err(error) => {
                let message = format!("cannot open the workspace {}: {error}", path.display());
                let source = Some((&error).into());
                Err(TreeError::Io { path: WorkspacePath::root(), message, source })
            }
        }
    }

    /// The same tree, with what is committed along with its files
    /// ([`Workspace::commit_with`](crate::Workspace::commit_with)). A workspace in which such a commit may have been
    /// interrupted has to be opened with the same participant; otherwise its methods return an error.
    #[must_use]
    pub fn with_participant(mut self, participant: Arc<dyn Participant>) -> Self {
        self.participant = Some(participant);
        self
    }

    fn take_prepared(&self, changes: ContentHash) -> Option<Staging> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let at = prepared.iter().position(|(digest, _)| *digest == changes)?;
        Some(prepared.swap_remove(at).1)
    }

    fn keep_prepared(&self, changes: ContentHash, staging: Staging) {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).push((changes, staging));
    }

    fn known(&self) -> MutexGuard<'_, StagingCache> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn token(&self) -> MutexGuard<'_, Option<LockToken>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn undoable(&self) -> MutexGuard<'_, Undoable> {
        self.undoable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no view shows a path, because it is a staging folder or belongs to the host.
    fn is_reserved(&self, path: &WorkspacePath) -> bool {
        path.names().any(home::is_staging_name)
            || self.hidden.as_ref().is_some_and(|hidden| is_at_or_below(path, hidden))
    }

    fn note(&self, swept: Swept) {
        self.notes().push(swept);
    }

    fn notes(&self) -> MutexGuard<'_, Vec<Swept>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folders of commits that can be undone, and how many bytes each holds. That number never changes.
type Undoable = BTreeMap<String, u64>;

impl Drop for OsTree {
    /// Removes what was prepared and not committed, and accepts that are too old to be kept.
    fn drop(&mut self) {
        let prepared = std::mem::take(self.prepared.get_mut().unwrap_or_else(PoisonError::into_inner));
        for (_, staging) in prepared {
            discard_prepared(Some(staging));
        }
        self.make_room_at_end();
    }
}

/// A path relative to the root, for the operating system; an error if it cannot have one of the names.
fn os_path(path: &WorkspacePath) -> io::Result<&OsStr> {
    if path.is_root() {
        return Ok(OsStr::new("."));
    }
    for name in path.names() {
        os_name(name)?;
    }
    system::os_path(path.as_bytes())
}

/// Whether a path is another one or below it, on a file system that opens a name by either case of its letters.
fn is_at_or_below(path: &WorkspacePath, above: &WorkspacePath) -> bool {
    let mut names = path.names();
    above.names().all(|name| names.next().is_some_and(|other| other.eq_ignore_ascii_case(name)))
}

/// The error for a path. Refusals by cap-std itself have no error number.
fn tree_error(path: &WorkspacePath, error: &io::Error) -> TreeError {
    let path = path.clone();
    match (error.kind(), Errno::from_io_error(error)) {
        (io::ErrorKind::PermissionDenied, None) | (_, Some(Errno::LOOP | Errno::XDEV)) => {
            TreeError::Escapes { path }
        }
        (io::ErrorKind::NotFound, _) => TreeError::NotFound { path },
        (_, Some(Errno::NOTDIR)) => TreeError::NotADirectory { path },
        (_, Some(Errno::ISDIR)) => TreeError::IsADirectory { path },
        _ => TreeError::io(path, error),
    }
}

fn metadata_of(found: &Stat) -> Metadata {
    let Stat { kind, device, inode, len, links, .. } = *found;
    let nanoseconds = |(seconds, part): Time| seconds.saturating_mul(1_000_000_000).saturating_add(part);
    let fingerprint = Fingerprint {
        kind,
        device,
        inode,
        len,
        mode: found.mode,
        modified_ns: nanoseconds(found.modified),
        changed_ns: nanoseconds(found.changed),
        racy: false,
    };
    Metadata { kind, len, executable: fingerprint.is_executable(), links, fingerprint }
}
