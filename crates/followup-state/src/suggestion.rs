use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{FilterReason, Match, Meaning, filter};

/// A prompt that the user may want to send next. Only [`filter`] makes one, so a value of
/// this type has passed every rule of the filter; deserialising one runs the filter too. A clone shares the text.
///
/// It may know what the model said of it besides the text ([`with_meaning`](Self::with_meaning)). Two suggestions are
/// equal if their texts are, and only the text is serialised.
#[derive(Debug, Clone)]
pub struct Suggestion {
    text: Arc<str>,
    meaning: Option<Arc<Meaning>>,
}

impl Suggestion {
    /// The text as it is shown and sent.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How likely the model called it, in percent, if it said so.
    pub fn chance(&self) -> Option<u8> {
        self.meaning()?.chance
    }

    /// How many characters (Unicode scalar values) the text has.
    pub fn char_count(&self) -> usize {
        self.text.chars().count()
    }

    /// Whether a text that the user sends is this suggestion: it may differ in white space around it and a full stop
    /// at its end.
    pub fn is_same_as(&self, text: &str) -> bool {
        without_full_stop(text) == without_full_stop(&self.text)
    }

    /// The rest of the suggestion behind `typed`, if it begins with that; otherwise `None`. Case is ignored, as in
    /// fish: for `Run` the rest of `run the tests` is ` the tests`. Blanks count.
    pub fn rest_after(&self, typed: &str) -> Option<&str> {
        let mut rest = self.text.chars();
        for c in typed.chars() {
            let own = rest.next()?;
            if c != own && !c.to_lowercase().eq(own.to_lowercase()) {
                return None;
            }
        }
        Some(rest.as_str())
    }

    /// The same suggestion, with what the model said of it.
    #[must_use]
    pub fn with_meaning(self, meaning: Meaning) -> Self {
        Self { meaning: Some(Arc::new(meaning)), ..self }
    }

    /// What the model said of it.
    pub fn meaning(&self) -> Option<&Meaning> {
        self.meaning.as_deref()
    }

    /// What the words that a user sends are to this suggestion ([`Meaning::compare`]).
    pub fn compare(&self, typed: &str) -> Match {
        self.meaning().unwrap_or(&Meaning::default()).compare(&self.text, typed)
    }

    /// Makes a suggestion of a text that passed. Only the filter may call this.
    pub(crate) fn from_filtered(text: &str) -> Self {
        Self { text: Arc::from(text), meaning: None }
    }
}

fn without_full_stop(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix(['.', '。']).unwrap_or(text).trim_end()
}

impl PartialEq for Suggestion {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Suggestion {}

impl Hash for Suggestion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Serialize for Suggestion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<str> for Suggestion {
    fn as_ref(&self) -> &str {
        &self.text
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
