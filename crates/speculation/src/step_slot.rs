use std::sync::Mutex;

use crate::Speculation;
use crate::lock::lock;

/// Where a speculation keeps the step that builds on it, so that an abort can include that step.
#[derive(Default)]
pub(crate) struct StepSlot(Mutex<SlotState>);

#[derive(Default)]
enum SlotState {
    #[default]
    Empty,
    Occupied(Speculation),
    /// The speculation was aborted: nothing can build on it any more.
    Closed,
}

impl StepSlot {
    /// Keeps the step that `start` makes. The lock is held meanwhile, so an abort comes either before or after it.
    pub(crate) fn start<T>(&self, start: impl FnOnce() -> Option<(Speculation, T)>) -> Option<T> {
        let mut state = lock(&self.0);
        if matches!(*state, SlotState::Closed) {
            return None;
        }
        let (speculation, rest) = start()?;
        *state = SlotState::Occupied(speculation);
        Some(rest)
    }

    pub(crate) fn get(&self) -> Option<Speculation> {
        match &*lock(&self.0) {
            SlotState::Occupied(speculation) => Some(speculation.clone()),
            SlotState::Empty | SlotState::Closed => None,
        }
    }

    pub(crate) fn abort(&self) {
        let state = std::mem::replace(&mut *lock(&self.0), SlotState::Closed);
        if let SlotState::Occupied(speculation) = state {
            speculation.abort();
        }
    }
}
