use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::undo::is_whole;
use crate::os::OsTree;
use crate::os::commit::commit_failure::at_root;
use crate::os::commit::lock::CommitLock;
use crate::os::disk::seen::FileState;
use crate::os::staging::journal::Step;
use crate::os::staging::{Phase, Staging};
use crate::{ContentHash, EntryKind, TreeError, WorkspacePath};

/// The commits of one turn ([`CommitOptions::turn`](crate::CommitOptions::turn)) that are kept, or a single commit that
/// belongs to none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeptTurn {
    /// The turn.
    pub turn: Option<ContentHash>,
    /// The [digests](crate::ChangeSet::digest_with) of its commits that can be taken back, oldest first.
    pub commits: Vec<ContentHash>,
    /// Whether its first commit is among them. If it is kept no more, the turn cannot be taken back as a whole.
    pub is_whole: bool,
    /// Whether commits of it were taken back. If others are in force, the undo was cut off.
    pub is_undone: bool,
    /// The paths at which commits of it were taken back.
    pub restored: BTreeSet<WorkspacePath>,
    /// When the first of these commits was made, in seconds since the Unix epoch.
    pub since: u64,
    /// The paths that they changed, with the hashes of the contents that they wrote there: none where they only removed
    /// something.
    pub written: BTreeMap<WorkspacePath, Vec<ContentHash>>,
    /// What [other participants](crate::Workspace::commit_with) committed along with them.
    pub beside: Vec<String>,
}

impl OsTree {
    /// What can be taken back, turn by turn, in the order of their last commits. A turn of which nothing is in force
    /// any more is among them.
    pub fn kept_turns(&self) -> Result<Vec<KeptTurn>, TreeError> {
        let _lock = CommitLock::take(&self.root)?;
        self.recover()?;
        let mut turns = Vec::new();
        for (staging, phase) in self.ended().map_err(|error| at_root(&error))? {
            add(&mut turns, &staging, phase).map_err(|error| at_root(&error))?;
        }
        Ok(turns)
    }
}

fn add(turns: &mut Vec<KeptTurn>, staging: &Staging, phase: Phase) -> io::Result<()> {
    let Some(changes) = staging.changes(phase)? else { return Ok(()) };
    let journal = staging.journal(phase)?;
    let is_half_removed = match &journal {
        Some(journal) => phase == Phase::Committed && !is_whole(staging, &journal.steps)?,
        None => false,
    };
    if is_half_removed {
        return Ok(());
    }
    let in_turn = journal.as_ref().and_then(|journal| journal.turn);
    let known = turns.iter().position(|known| in_turn.is_some_and(|of| known.turn == Some(of.turn)));
    if phase == Phase::Undone {
        let known = known.unwrap_or_else(|| {
            turns.push(KeptTurn { turn: in_turn.map(|of| of.turn), ..KeptTurn::default() });
            turns.len() - 1
        });
        turns[known].is_undone = true;
        let steps = journal.into_iter().flat_map(|journal| journal.steps);
        turns[known].restored.extend(steps.filter(|step| !is_about_folder(step)).map(|step| step.path));
        return Ok(());
    }
    let mut kept = known.map_or_else(KeptTurn::default, |known| turns.remove(known));
    kept.turn = in_turn.map(|of| of.turn);
    kept.is_whole |= in_turn.is_none_or(|of| of.place == 0);
    if kept.commits.is_empty() {
        let made = staging.marked()?.1.map_or(0, |found| found.modified.0);
        kept.since = u64::try_from(made).unwrap_or(0);
    }
    kept.commits.push(changes);
    for step in journal.iter().flat_map(|journal| &journal.steps).filter(|step| !is_about_folder(step)) {
        let new = step.new.as_ref().and_then(|new| new.hash);
        kept.written.entry(step.path.clone()).or_default().extend(new);
    }
    kept.beside.extend(journal.and_then(|journal| journal.beside));
    turns.push(kept);
    Ok(())
}

fn is_about_folder(step: &Step) -> bool {
    let is_folder =
        |state: &Option<FileState>| state.as_ref().is_some_and(|state| state.kind == EntryKind::Directory);
    is_folder(&step.new) || is_folder(&step.old)
}
