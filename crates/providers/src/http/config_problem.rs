use std::fmt;

use crate::Provider;
use headstart_forked_query::{Cause, ModelError};

/// Why the host's configuration makes requests impossible, in words without a key.
#[derive(Debug)]
pub(super) struct ConfigProblem {
    message: String,
    source: Option<Cause>,
}

impl ConfigProblem {
    pub(super) fn new(message: impl Into<String>, found: impl Into<Cause>) -> Self {
        Self { message: message.into(), source: Some(found.into()) }
    }

    pub(super) fn into_error(self, provider: &Provider) -> ModelError {
        let Self { message, source } = self;
        ModelError::Misconfigured { provider: provider.name.clone(), message, source }
    }
}

impl<T: Into<String>> From<T> for ConfigProblem {
    fn from(message: T) -> Self {
        Self { message: message.into(), source: None }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
