use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Wire;

/// The parameters that a server has refused, for each model. All clones of a client share this.
///
/// A refusal may be misread, so a parameter is only remembered once the server has accepted a request without it.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusedParameters(Arc<Mutex<HashMap<String, Vec<&'static str>>>>);

/// The attempts at one request, which is repeated without a parameter as long as the server refuses one.
#[derive(Debug)]
pub(super) struct RequestAttempt {
    refused: Vec<&'static str>,
}

impl RefusedParameters {
    /// Begins a request to this model without the parameters that were refused before.
    pub(super) fn attempt(&self, model: &str) -> RequestAttempt {
        RequestAttempt { refused: self.lock().get(model).cloned().unwrap_or_default() }
    }

    /// Remembers what was left out, because the server has accepted the request.
    pub(super) fn remember(&self, model: &str, attempt: RequestAttempt) {
        let mut known = self.lock();
        if known.get(model).map_or(0, Vec::len) < attempt.refused.len() {
            known.insert(model.to_owned(), attempt.refused);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<&'static str>>> {
        // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestAttempt {
    /// The format with the options of this attempt.
    pub(super) fn wire(&self, wire: &Wire) -> Wire {
        wire.without_parameters(&self.refused)
    }

    /// Whether to repeat the request, without what this answer refuses.
    pub(super) fn retry_without_refused(&mut self, wire: &Wire, status: u16, body: &str) -> bool {
        wire.add_refused_parameter(&mut self.refused, status, body)
    }
}
