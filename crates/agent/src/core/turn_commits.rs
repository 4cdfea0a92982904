//! What each turn has changed in the workspace, for a host that can take commits back.

use std::sync::Arc;

use headstart_overlay_fs::ContentHash;
use headstart_speculation::UndoWatch;

use super::Core;

/// How many turns are remembered.
const MOST_TURNS: usize = 100;

/// What a turn has changed in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCommits {
    /// The prompt of the turn.
    pub prompt: String,
    /// The [digests](headstart_overlay_fs::ChangeSet::digest_with) of what was committed in the turn, oldest first.
    pub commits: Vec<ContentHash>,
    /// The id of the work ahead that was taken in the turn.
    work: Option<String>,
    /// The number of the turn, counted from the beginning of the conversation.
    number: usize,
}

/// The turns of a conversation, and where their commits begin.
#[derive(Default)]
pub(super) struct CommitHistory {
    turns: Vec<TurnRecord>,
    /// How many turns came before those that are remembered.
    forgotten: usize,
}

struct TurnRecord {
    prompt: String,
    /// How many commits were made before the turn.
    from: usize,
    work: Option<String>,
    is_undone: bool,
}

impl CommitHistory {
    pub(super) fn begin(&mut self, prompt: &str, watch: &Arc<UndoWatch>) {
        if self.turns.len() == MOST_TURNS {
            self.turns.remove(0);
            self.forgotten += 1;
        }
        let from = watch.commits().len();
        self.turns.push(TurnRecord { prompt: prompt.to_owned(), from, work: None, is_undone: false });
    }

    /// Notes that this work was taken in the last turn.
    pub(super) fn note_work(&mut self, work: &str) {
        if let Some(turn) = self.turns.last_mut() {
            turn.work = Some(work.to_owned());
        }
    }

    fn last(&self, watch: &UndoWatch) -> Option<TurnCommits> {
        let commits = watch.commits();
        let mut end = commits.len();
        for (place, turn) in self.turns.iter().enumerate().rev() {
            let of_turn = commits.get(turn.from..end).unwrap_or_default();
            end = turn.from;
            if !turn.is_undone && !of_turn.is_empty() {
                return Some(TurnCommits {
                    prompt: turn.prompt.clone(),
                    commits: of_turn.to_vec(),
                    work: turn.work.clone(),
                    number: self.forgotten + place,
                });
            }
        }
        None
    }
}

impl Core {
    /// The commits of the last turn that changed something and was not taken back.
    pub(crate) fn last_commits(&self) -> Option<TurnCommits> {
        self.commit_history.last(&self.conversation.workspace())
    }

    /// Notes that the host has taken back the commits of a turn.
    pub(crate) fn note_commits_undone(&mut self, turn: &TurnCommits) {
        let place = turn.number.checked_sub(self.commit_history.forgotten);
        let Some(known) = place.and_then(|place| self.commit_history.turns.get_mut(place)) else { return };
        known.is_undone = true;
        if let Some(work) = &turn.work {
            self.options.metering.record_undo(self.now.unix_ms, work);
        }
        self.files_changed();
    }
}
