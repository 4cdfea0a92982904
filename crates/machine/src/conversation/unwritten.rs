//! The record of what a conversation has staged and not written, so that it outlives the process.

use std::sync::{Mutex, PoisonError};

use headstart_speculation::Finished;

use super::words::counts_with;
use crate::config::Config;
use crate::error::CliError;
use crate::parts::ConversationParts;
use crate::store::{Draft, LockedSpeculation, SpeculationState, Store};

/// How many conversations a user is told of that have left something unwritten.
const MOST_LEFT: usize = 3;

/// Where one conversation keeps what is not written. While this value lives, no other process can accept or remove it.
pub struct UnwrittenRecord {
    store: Store,
    draft: Draft,
    current: Mutex<Option<LockedSpeculation>>,
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
        Some((Self { store, draft, current: Mutex::new(left) }, kept))
    }

    /// Keeps this in place of what was kept before.
    pub fn keep(&self, work: Option<&Finished>) -> Result<(), CliError> {
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

    /// The id of the record, if there is something in it.
    pub fn id(&self) -> Option<String> {
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
        let finished = record.finished.as_ref()?;
        let counts = counts_with(&finished.changes.summary(), finished.git.as_ref());
        Some(format!(
            "an earlier conversation has not written {counts}: headstart chat --resume {conversation} shows it, headstart accept {id} writes it, headstart abort {id} drops it"
        ))
    });
    let left: Vec<_> = left.take(MOST_LEFT).collect();
    (!left.is_empty()).then(|| left.join("\n"))
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
