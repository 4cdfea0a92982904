use std::sync::Mutex;

use crate::Speculation;
use crate::lock::lock;

/// Where a speculation keeps the step that builds on it, so that an abort can include that step.
#[derive(Default)]
pub(crate) struct NextStep(Mutex<Place>);

#[derive(Default)]
enum Place {
    #[default]
    Empty,
    Taken(Speculation),
    /// The speculation was aborted: nothing can build on it any more.
    Closed,
}

impl NextStep {
    /// Keeps the step that `start` makes. The lock is held meanwhile, so an abort comes either before or after it.
    pub(crate) fn start<T>(&self, start: impl FnOnce() -> Option<(Speculation, T)>) -> Option<T> {
        let mut place = lock(&self.0);
        if matches!(*place, Place::Closed) {
            return None;
        }
        let (speculation, rest) = start()?;
        *place = Place::Taken(speculation);
        Some(rest)
    }

    pub(crate) fn get(&self) -> Option<Speculation> {
        match &*lock(&self.0) {
            Place::Taken(speculation) => Some(speculation.clone()),
            Place::Empty | Place::Closed => None,
        }
    }

    pub(crate) fn abort(&self) {
        let place = std::mem::replace(&mut *lock(&self.0), Place::Closed);
        if let Place::Taken(speculation) = place {
            speculation.abort();
        }
    }
}
