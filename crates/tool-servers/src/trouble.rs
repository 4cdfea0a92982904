use std::fmt;

use headstart_forked_query::Cause;
use headstart_toolbox::ToolError;

/// Why there is no answer from an address: in words for the model, with the underlying error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    words: String,
    cause: Option<Cause>,
}

impl Trouble {
    pub(crate) fn new(words: String, cause: impl Into<Cause>) -> Self {
        Self { words, cause: Some(cause.into()) }
    }

    /// The same error with other words.
    pub(crate) fn told(self, words: impl FnOnce(String) -> String) -> Self {
        Self { words: words(self.words), cause: self.cause }
    }

    pub(crate) fn into_error(self) -> ToolError {
        ToolError::Failed { message: self.words, source: self.cause }
    }
}

impl From<String> for Trouble {
    fn from(words: String) -> Self {
        Self { words, cause: None }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}
