use std::ops::Deref;

use arrayvec::ArrayVec;

use crate::{MAX_CANDIDATES, Suggestion};

/// The suggestions of one answer, best first: at least one, all different, at most [`MAX_CANDIDATES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestions(ArrayVec<Suggestion, MAX_CANDIDATES>);

impl Suggestions {
    /// Leaves out repetitions, and whatever is beyond [`MAX_CANDIDATES`]; `None` if nothing is left.
    pub fn new(suggestions: impl IntoIterator<Item = Suggestion>) -> Option<Self> {
        let mut all = ArrayVec::<Suggestion, MAX_CANDIDATES>::new();
        for suggestion in suggestions {
            if !all.is_full() && !all.iter().any(|other| other.is_same_as(suggestion.as_str())) {
                all.push(suggestion);
            }
        }
        (!all.is_empty()).then_some(Self(all))
    }

    /// The best one.
    pub fn best(&self) -> &Suggestion {
        &self.0[0]
    }

    /// The index of the suggestion that `text` is ([`Suggestion::is_same_as`]), from 0.
    pub fn position(&self, text: &str) -> Option<usize> {
        self.0.iter().position(|suggestion| suggestion.is_same_as(text))
    }

    /// All but the best one.
    pub fn others(&self) -> &[Suggestion] {
        &self.0[1..]
    }
}

impl From<Suggestion> for Suggestions {
    fn from(only: Suggestion) -> Self {
        Self(ArrayVec::from_iter([only]))
    }
}

impl Deref for Suggestions {
    type Target = [Suggestion];

    fn deref(&self) -> &[Suggestion] {
        &self.0
    }
}

impl IntoIterator for Suggestions {
    type Item = Suggestion;
    type IntoIter = arrayvec::IntoIter<Suggestion, MAX_CANDIDATES>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Serialises the suggestions as two fields of the value that holds them: `suggestion`, the best one or `null`, and
/// `others`, absent if there are none.
pub(crate) mod fields {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Suggestions;
    use crate::Suggestion;

    #[derive(Serialize)]
    struct Written<'a> {
        suggestion: Option<&'a Suggestion>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        others: &'a [Suggestion],
    }

    #[derive(Deserialize)]
    struct Read {
        suggestion: Option<Suggestion>,
        #[serde(default)]
        others: Vec<Suggestion>,
    }

    #[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(
        suggestions: &Option<Suggestions>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let suggestion = suggestions.as_ref().map(Suggestions::best);
        let others = suggestions.as_ref().map(Suggestions::others).unwrap_or_default();
        Written { suggestion, others }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Suggestions>, D::Error> {
        let Read { suggestion, others } = Read::deserialize(deserializer)?;
        Ok(Suggestions::new(suggestion.into_iter().chain(others)))
    }

    /// As [`serialize`], for a field that always has a value.
    pub(crate) fn serialize_some<S: Serializer>(
        suggestions: &Suggestions,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Written { suggestion: Some(suggestions.best()), others: suggestions.others() }.serialize(serializer)
    }

    /// As [`deserialize`], for a field that always has a value.
    pub(crate) fn deserialize_some<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Suggestions, D::Error> {
        deserialize(deserializer)?.ok_or_else(|| D::Error::missing_field("suggestion"))
    }
}
