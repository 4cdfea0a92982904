//! The record of what a conversation has staged and not written, so that it outlives the process.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{Change, ChangeKind, ChangeSet};
use headstart_speculation::Finished;

use super::words::counts_with;
use crate::config::Config;
use crate::error::CliError;
use crate::parts::ConversationParts;
use crate::store::{Draft, LockedSpeculation, SpeculationState, Store};
use crate::system::{path_in, path_of_bytes};

/// How many conversations a user is told of that have left something unwritten.
const MOST_LEFT: usize = 3;

/// Where one conversation keeps what is not written. While this value lives, no other process can accept or remove it.
pub struct UnwrittenRecord {
    store: Store,
    draft: Draft,
    current: Mutex<Option<LockedSpeculation>>,
    /// Whether the record lacks what was staged last, because there was no room for it.
    is_behind: AtomicBool,
}

impl UnwrittenRecord {
    /// The record of this conversation, and for one that goes on, what an earlier process has left in it. `None` if there
    /// is no place for records.
    pub(super) fn of(
        parts: &ConversationParts,
        config: &Config,
        conversation: &str,
        is_continued: bool,
    ) -> Option<(Self, Option<Finished>)> {
        let store = Store::in_state_folder(parts.state.as_deref()?);
        let model = config.model.as_ref().map_or_else(|| parts.model_name.clone(), ToString::to_string);
        let draft = Draft {
            conversation: Some(conversation.to_owned()),
            workspace: parts.workspace.display().to_string(),
            mode: config.mode,
            mode_by_flag: false,
            model,
            fast_model: None,
            prompt: String::new(),
        };
        let left = is_continued.then(|| left_by(&store, conversation)).flatten();
        let kept = left.as_ref().and_then(|locked| locked.record().finished.clone());
        let (left, kept) = match (left, kept) {
            // The process died after the write, and before the record was removed.
            (Some(locked), Some(finished)) if is_written(parts, &finished) => {
                // What stays is offered once more, and a second write of the same changes nothing.
                let _ = locked.remove();
                (None, None)
            }
            left_and_kept => left_and_kept,
        };
        let current = Mutex::new(left);
        Some((Self { store, draft, current, is_behind: AtomicBool::new(false) }, kept))
    }

    /// Keeps this in place of what was kept before.
    pub fn keep(&self, work: Option<&Finished>) -> Result<(), CliError> {
        let kept = self.replace(work);
        self.is_behind.store(kept.is_err(), Ordering::Relaxed);
        kept
    }

    fn replace(&self, work: Option<&Finished>) -> Result<(), CliError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match (work, current.as_mut()) {
            (Some(work), Some(locked)) => locked.keep_staged(work.clone()),
            (Some(work), None) => {
                let draft = Draft { prompt: work.prompt.clone(), ..self.draft.clone() };
                *current = Some(self.store.create(draft)?.finish_and_hold(work.clone())?);
                Ok(())
            }
            (None, _) => current.take().map_or(Ok(()), LockedSpeculation::remove),
        }
    }

    /// The id of the record, if all that is staged is in it.
    pub fn id(&self) -> Option<String> {
        if self.is_behind.load(Ordering::Relaxed) {
            return None;
        }
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().map(|locked| locked.record().id.to_string())
    }
}

/// What earlier conversations of this workspace have left unwritten and no process has open, in words for the user.
pub(super) fn left_by_others(parts: &ConversationParts) -> Option<String> {
    let store = Store::in_state_folder(parts.state.as_deref()?);
    let workspace = parts.workspace.display().to_string();
    let ids = store.ids().ok()?;
    let left = ids.iter().rev().filter_map(|id| {
        let record = store.read(id).ok()?;
        let is_left = record.state == SpeculationState::Finished && record.workspace == workspace;
        let conversation = record.conversation.as_ref().filter(|_| is_left && store.lock(id).is_ok())?;
        // What could only be kept besides is shown by its own conversation.
        let changes_something = |work: &&Finished| !work.changes.is_empty() || work.git.is_some();
        let finished = record.finished.as_ref().filter(changes_something);
        let finished = finished.filter(|finished| !is_written(parts, finished))?;
        let counts = counts_with(&finished.changes.summary(), finished.git.as_ref());
        Some(format!(
            "an earlier conversation has not written {counts}: headstart chat --resume {conversation} shows it, headstart accept {id} writes it, headstart abort {id} drops it"
        ))
    });
    let left: Vec<_> = left.take(MOST_LEFT).collect();
    (!left.is_empty()).then(|| left.join("\n"))
}

/// Whether a commit in this workspace was of just this, or of this with what can be kept besides, and the files are as it
/// left them.
fn is_written(parts: &ConversationParts, finished: &Finished) -> bool {
    let turns = parts.tree.kept_turns().unwrap_or_default();
    let is_made = |changes: &ChangeSet| {
        let is_committed = match &finished.git {
            None => turns.iter().any(|turn| turn.commits.contains(&changes.digest())),
            Some(git) => turns.iter().flat_map(|turn| &turn.beside).any(|beside| is_same(git, beside)),
        };
        is_committed && changes.changes.iter().all(|change| is_made_at(&parts.workspace, change))
    };
    is_made(&finished.changes) || !finished.keepable.is_empty() && is_made(&finished.with_kept().changes)
}

/// Whether this is the same change of a repository. Where its objects are kept differs: a record has its own copy.
fn is_same(git: &GitChange, beside: &str) -> bool {
    let without_objects = |git: &GitChange| GitChange { objects: None, ..git.clone() };
    GitChange::try_from(beside).is_ok_and(|made| without_objects(&made) == without_objects(git))
}

/// Whether every file is as these changes leave it, and they change nothing but files.
pub fn is_as_left(workspace: &Path, changes: &ChangeSet) -> bool {
    let is_of_file = |change: &&Change| matches!(change.kind, ChangeKind::Write { .. } | ChangeKind::Delete);
    changes.changes.iter().all(|change| is_of_file(&change) && is_made_at(workspace, change))
}

/// Whether a path is as a change leaves it.
fn is_made_at(workspace: &Path, change: &Change) -> bool {
    let Ok(at) = path_in(workspace, &change.path) else { return false };
    match &change.kind {
        ChangeKind::Write { content, .. } => fs::read(at).is_ok_and(|now| now == content[..]),
        ChangeKind::Link { target, .. } => {
            fs::read_link(at).is_ok_and(|now| path_of_bytes(target).is_ok_and(|target| target == now))
        }
        ChangeKind::CreateDirectory => at.is_dir(),
        ChangeKind::Delete => at.symlink_metadata().is_err(),
    }
}

/// What an earlier process has left of this conversation; `None` as well if another process has it open.
fn left_by(store: &Store, conversation: &str) -> Option<LockedSpeculation> {
    let is_it = |id: &_| {
        let record = store.read(id).ok()?;
        let is_of_it = record.conversation.as_deref() == Some(conversation);
        (is_of_it && record.state == SpeculationState::Finished).then_some(())
    };
    let ids = store.ids().unwrap_or_default();
    ids.iter().rev().filter(|id| is_it(id).is_some()).find_map(|id| store.lock(id).ok())
}
