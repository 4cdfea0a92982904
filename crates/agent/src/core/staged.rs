//! What turns have staged, from the end of a turn to files: one question about all of it.

use std::sync::Arc;

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{Conflict, WorkspacePath};
use headstart_speculation::{
    AcceptAnswers, Acceptance, ApprovalRequest, Ending, Finished, Staged, TakenBack, Transcript,
};

use super::questions::is_about_git;
use super::turn::{list_paths, undone_note};
use super::{Activity, Core, Effect};
use crate::item::{AppliedWork, Item, JudgedCall, NotAppliedReason};
use crate::view::{ActionError, Subject};

/// What turns have staged, and what the user was shown of it.
pub(super) struct StagedWork {
    staged: Staged,
    shown: Option<Arc<ApprovalRequest>>,
}

/// A write of what turns have staged.
pub(super) struct StagedWrite {
    /// What the user has answered so far.
    pub(super) answers: AcceptAnswers,
    /// The turn that ends with the write, in a mode in which nobody is asked.
    pub(super) turn: Option<(String, Transcript, Ending)>,
}

impl StagedWork {
    pub(super) fn new(staged: Staged) -> Self {
        Self { staged, shown: None }
    }

    /// Looks again at what is staged. What the user is shown is what a yes writes.
    pub(super) fn refresh(&mut self) {
        self.shown = self.staged.approval().map(Arc::new);
    }

    pub(super) fn asks(&self) -> Option<Arc<ApprovalRequest>> {
        self.shown.clone()
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.staged.is_dirty()
    }

    pub(super) fn has_cut(&self, call: &str) -> bool {
        self.staged.has_cut(call)
    }
}

impl Core {
    /// Whether a turn that ends now writes what is staged without a question.
    pub(super) fn writes_at_end(&self) -> bool {
        !self.is_over && self.staged.is_dirty() && self.mode().edits_files()
    }

    pub(super) fn write_then_end(&mut self, prompt: String, transcript: Transcript, ending: Ending) {
        self.begin_write(StagedWrite {
            answers: AcceptAnswers::default(),
            turn: Some((prompt, transcript, ending)),
        });
    }

    /// Writes what the user was shown.
    pub(crate) fn write_staged(&mut self, keeps: bool) -> Result<(), ActionError> {
        self.is_open()?;
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        let shown = self.staged.asks().ok_or(ActionError::Stale)?;
        let answers = if keeps { shown.approve_and_keep() } else { shown.approve() };
        self.begin_write(StagedWrite { answers, turn: None });
        Ok(())
    }

    /// Drops what is staged.
    pub(crate) fn drop_staged(&mut self) -> Result<(), ActionError> {
        self.is_open()?;
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        let shown = self.staged.asks().ok_or(ActionError::Stale)?;
        let paths: Vec<WorkspacePath> =
            shown.changes().summary().into_iter().map(|change| change.path).collect();
        let mut dropped = Vec::new();
        if !paths.is_empty() {
            dropped.push(format!(
                "the user dropped your changes of these files before they were written, so the files are as they were before: {}",
                list_paths(&paths)
            ));
        }
        if let Some(git) = shown.git() {
            dropped.push(format!("what you did with git is dropped as well: {}", git.summary()));
        }
        self.forget_staged();
        if !dropped.is_empty() {
            self.add_note(&dropped.join("\n"));
        }
        Ok(())
    }

    /// Takes back what the last turn has staged.
    pub(crate) fn take_back_staged(&mut self) -> Result<TakenBack, ActionError> {
        self.is_open()?;
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        let taken = self.staged.staged.take_back_turn(&self.engine.toolbox, &self.engine.limits);
        let taken = taken.ok_or(ActionError::Stale)?;
        // What runs ahead stood on it.
        self.forget_suggestion();
        self.staged.refresh();
        self.effects.push_back(Effect::KeepStaged);
        let git: Vec<_> = taken.git.iter().map(GitChange::summary).collect();
        let note = undone_note(&taken.paths, &git);
        if !note.is_empty() {
            self.add_note(&note);
        }
        Ok(taken)
    }

    pub(super) fn begin_staged_turn(&self) {
        self.staged.staged.begin_turn();
    }

    pub(super) fn forget_staged(&mut self) {
        // What runs ahead stands on it.
        self.forget_suggestion();
        self.staged.staged.forget();
        self.staged.refresh();
        self.effects.push_back(Effect::KeepStaged);
    }

    pub(crate) fn unwritten(&self) -> Option<Finished> {
        self.staged.staged.finished().filter(|_| self.staged.is_dirty())
    }

    pub(crate) fn restore_staged(&mut self, kept: &Finished) -> Result<(), String> {
        let restored = self.staged.staged.restore(kept, &self.engine.toolbox, &self.engine.limits);
        restored.map_err(|error| error.to_string())?;
        self.staged.refresh();
        // A write belongs to the last turn, so that an undo of that finds it.
        if let Some(turn) = self.turns.back() {
            self.conversation.workspace().begin_turn(turn.id);
        }
        self.effects.push_back(Effect::KeepStaged);
        Ok(())
    }

    fn begin_write(&mut self, write: StagedWrite) {
        self.keep_accepting();
        self.effects.push_back(Effect::WriteStaged { answers: write.answers.clone() });
        self.activity = Activity::Writing(Box::new(write));
    }

    /// Writes with what the user has answered meanwhile.
    pub(super) fn write_again(&mut self, answers: AcceptAnswers) {
        if let Activity::AwaitingChoices(write) = std::mem::take(&mut self.activity) {
            self.begin_write(StagedWrite { answers, ..*write });
        }
    }

    pub(super) fn staged_written(&mut self, written: Result<Acceptance, String>) {
        self.staged.refresh();
        let why = match written {
            Ok(Acceptance::Accepted(accepted)) => {
                let note = accepted.note();
                let (changes, git, merged) = (accepted.changes, accepted.git, accepted.merged);
                let applied = AppliedWork::of_turns(changes, git, merged, accepted.not_kept);
                let stale = accepted.changed_since_view;
                self.log.push(Item::Applied(Box::new(AppliedWork { stale, ..applied })));
                if let Some(note) = note {
                    self.conversation.add_note(&note);
                }
                None
            }
            Ok(Acceptance::Conflict(conflicts)) if self.options.attended && !self.is_over => {
                return self.ask_about_staged(conflicts);
            }
            Ok(Acceptance::Conflict(conflicts)) => Some(NotAppliedReason::Conflict(conflicts)),
            Ok(Acceptance::Withdrawn { call, verdict }) => {
                let judged = JudgedCall { call, verdict, changes: None, staged: None };
                Some(NotAppliedReason::Withdrawn(Box::new(judged)))
            }
            // It is not what the user was shown, who sees the question again.
            Ok(_) => None,
            Err(error) => Some(NotAppliedReason::Failed { error }),
        };
        if let Some(why) = why {
            self.log.push(Item::NotApplied { id: String::new(), why, anew: false });
        }
        self.end_write();
    }

    fn ask_about_staged(&mut self, conflicts: Vec<Conflict>) {
        let Activity::Writing(write) = std::mem::take(&mut self.activity) else { return };
        let Some(work) = self.unwritten() else { return self.end_write() };
        let about = if conflicts.iter().any(is_about_git) {
            Subject::Commits { work: work.id, conflicts, git: work.git }
        } else {
            Subject::Conflicts { conflicts, changes: work.changes, tokens: None }
        };
        self.ask(None, about, None);
        self.activity = Activity::AwaitingChoices(write);
    }

    /// Goes on after a write, whether or not it was made.
    pub(super) fn end_write(&mut self) {
        self.pending_question = None;
        let activity = std::mem::take(&mut self.activity);
        let (Activity::Writing(write) | Activity::AwaitingChoices(write)) = activity else { return };
        if let Some((prompt, transcript, ending)) = write.turn {
            self.conclude_turn(prompt, transcript, ending);
        } else {
            self.keep_note();
            self.send_queued();
        }
    }
}
