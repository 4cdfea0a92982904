use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Wire;

/// The parameters that a server has refused, model by model: all clones of a client remember together.
///
/// A refusal may be misread, so what a request does without is only remembered once the server has taken that request.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals(Arc<Mutex<HashMap<String, Vec<&'static str>>>>);

/// A model whose requests are written anew as long as its server refuses something in them.
#[derive(Debug)]
pub(super) struct Attempt {
    refused: Vec<&'static str>,
}

impl Refusals {
    /// The next request to this model does without what was refused before.
    pub(super) fn attempt(&self, model: &str) -> Attempt {
        Attempt { refused: self.lock().get(model).cloned().unwrap_or_default() }
    }

    /// The server has taken a request.
    pub(super) fn remember(&self, model: &str, attempt: Attempt) {
        let mut known = self.lock();
        if known.get(model).map_or(0, Vec::len) < attempt.refused.len() {
            known.insert(model.to_owned(), attempt.refused);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<&'static str>>> {
        // Every change under the lock is one step, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// The format as it is spoken in this attempt.
    pub(super) fn wire(&self, wire: &Wire) -> Wire {
        wire.without(&self.refused)
    }

    /// Whether the request is worth another try, without what this answer refuses.
    pub(super) fn learns(&mut self, wire: &Wire, status: u16, body: &str) -> bool {
        wire.learn(&mut self.refused, status, body)
    }
}
