use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::{FilterReason, filter};

/// A prompt that the user may want to send next. Only [`filter`] makes one, so a value of
/// this type has passed every rule of the filter; deserialising one runs the filter too. A clone shares the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Suggestion(Arc<str>);

impl Suggestion {
    /// The text as it is shown and sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many characters (Unicode scalar values) the text has.
    pub fn char_count(&self) -> usize {
        self.0.chars().count()
    }

    /// Whether a text that the user sends is this suggestion: it may differ in white space around it and a full stop
    /// at its end.
    pub fn is_same_as(&self, text: &str) -> bool {
        without_full_stop(text) == without_full_stop(&self.0)
    }

    /// The rest of the suggestion behind `typed`, if it begins with that; otherwise `None`. Case is ignored, as in
    /// fish: for `Run` the rest of `run the tests` is ` the tests`. Blanks count.
    pub fn rest_after(&self, typed: &str) -> Option<&str> {
        let mut rest = self.0.chars();
        for c in typed.chars() {
            let own = rest.next()?;
            if c != own && !c.to_lowercase().eq(own.to_lowercase()) {
                return None;
            }
        }
        Some(rest.as_str())
    }

    /// Makes a suggestion of a text that passed. Only the filter may call this.
    pub(crate) fn from_filtered(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

fn without_full_stop(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix(['.', '。']).unwrap_or(text).trim_end()
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Suggestion {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Suggestion {
    type Error = FilterReason;

    fn try_from(text: &str) -> Result<Self, FilterReason> {
        filter(text)
    }
}

impl std::str::FromStr for Suggestion {
    type Err = FilterReason;

    fn from_str(text: &str) -> Result<Self, FilterReason> {
        filter(text)
    }
}

impl<'de> Deserialize<'de> for Suggestion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        filter(&text)
            .map_err(|reason| D::Error::custom(format!("suggestion refused ({}): {reason}", reason.as_str())))
    }
}
