use serde::Serialize;

/// A prompt that the user may want to send next. Only [`filter`](crate::filter) makes one, so a value of
/// this type has passed every rule of the filter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Suggestion(String);

impl Suggestion {
    /// The text as it is shown and sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
