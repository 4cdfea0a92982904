use std::fmt;

use headstart_forked_query::Cause;
use headstart_toolbox::ToolError;

/// Why there is no answer from an address: in words for the model, with the underlying error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestFailure {
    message: String,
    cause: Option<Cause>,
}

impl RequestFailure {
    pub(crate) fn new(message: String, cause: impl Into<Cause>) -> Self {
        Self { message, cause: Some(cause.into()) }
    }

    /// The same error with other words.
    pub(crate) fn map_message(self, map: impl FnOnce(String) -> String) -> Self {
        Self { message: map(self.message), cause: self.cause }
    }

    pub(crate) fn into_error(self) -> ToolError {
        ToolError::Failed { message: self.message, source: self.cause }
    }
}

impl From<String> for RequestFailure {
    fn from(message: String) -> Self {
        Self { message, cause: None }
    }
}

impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
