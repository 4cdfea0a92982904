use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{ChangeSet, CommitOptions, OsTree, UndoOutcome, Workspace as _};
use rustix::io::Errno;

use super::disk::Disk;
use crate::place::{Place, committed, path, wait_a_tick};

/// What is done while the power may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// A commit of every kind of change.
    Commit,
    PreparedCommit,
    /// A commit on a file system that only knows plain renames.
    PlainCommit,
    /// A commit that does everything and then cannot be marked as done.
    FailedCommit,
    /// A commit of so few files that each is synced by itself.
    SmallCommit,
    Undo,
    /// A sweep of accepts that are too old, and of one that was undone.
    Sweep,
}

impl Act {
    pub(super) fn changes(self, place: &Place) -> ChangeSet {
        if self != Self::SmallCommit {
            return place.staged();
        }
        let overlay = place.overlay();
        block_on(async {
            overlay.write(&path("changed"), b"new\n".to_vec()).await.unwrap();
            overlay.write(&path("new/file"), b"n\n".to_vec()).await.unwrap();
            overlay.remove(&path("empty")).await.unwrap();
        });
        overlay.change_set()
    }

    /// Prepares what the act needs.
    pub(super) fn begin(self, place: &Place, changes: &ChangeSet) {
        match self {
            Self::Undo => assert_eq!(place.commit(changes), committed()),
            Self::Sweep => {
                for number in 0..6 {
                    let overlay = place.overlay();
                    block_on(overlay.write(&path("changed"), format!("{number}\n").into())).unwrap();
                    assert_eq!(place.commit(&overlay.change_set()), committed());
                }
                assert!(matches!(place.tree.undo_last(), Ok(UndoOutcome::Undone { .. })));
            }
            _ => {}
        }
    }

    pub(super) fn run(self, tree: &OsTree, changes: &ChangeSet) {
        let commit = || block_on(tree.commit(changes, CommitOptions::default()));
        match self {
            Self::Commit | Self::SmallCommit => assert_eq!(commit(), committed()),
            Self::PreparedCommit => {
                wait_a_tick();
                block_on(tree.prepare(changes)).unwrap();
                assert_eq!(commit(), committed());
            }
            Self::PlainCommit => {
                arm(|point| match point.call {
                    "exchange" | "move" => FailAction::Fail(Errno::INVAL.raw_os_error()),
                    _ => FailAction::GoOn,
                });
                assert_eq!(commit(), committed());
                disarm();
            }
            Self::FailedCommit => {
                arm(|point| match point.name {
                    b"committed" if point.call == "rename" => FailAction::Fail(Errno::IO.raw_os_error()),
                    _ => FailAction::GoOn,
                });
                commit().unwrap_err();
                disarm();
            }
            Self::Undo => assert!(matches!(tree.undo(changes), Ok(UndoOutcome::Undone { .. }))),
            Self::Sweep => drop(tree.sweep().unwrap()),
        }
    }

    /// Whether its outcome must be in the workspace after it returned.
    pub(super) fn is_made(self) -> bool {
        !matches!(self, Self::Sweep | Self::FailedCommit)
    }

    /// Whether the disk has the mark that the act is done.
    pub(super) fn is_marked(self, disk: &Disk) -> bool {
        match self {
            Self::Undo => disk.has_mark("undone"),
            _ => disk.has_mark("committed"),
        }
    }
}
