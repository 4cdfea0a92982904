use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::CliError;

/// Letters and digits that are not easily confused.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 10;

/// The name of a speculation: ten random letters and digits, which are safe in a path, a URL and a shell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SpeculationId(String);

/// The beginning of an id, as a person types it.
#[derive(Debug)]
pub(super) struct Prefix<'a>(&'a str);

impl SpeculationId {
    /// A random id of 50 bits, so that no other speculation is likely to have it.
    pub fn random() -> Result<Self, CliError> {
        Ok(Self(random_name(LENGTH)?))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let valid = text.len() == LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte));
        valid.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> Prefix<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, CliError> {
        let valid = !text.is_empty()
            && text.len() <= LENGTH
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !valid {
            return Err(CliError::InvalidId { id: text.to_owned() });
        }
        Ok(Self(text))
    }

    pub(super) fn fits(&self, id: &SpeculationId) -> bool {
        id.0.starts_with(self.0)
    }
}

/// A random name for a folder that no other process uses.
pub(super) fn random_name(length: usize) -> Result<String, CliError> {
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes)
        .map_err(|error| CliError::Unavailable(format!("the system gives no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

impl fmt::Display for SpeculationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SpeculationId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not the id of a speculation"))
    }
}

impl From<SpeculationId> for String {
    fn from(id: SpeculationId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_a_path_is_no_id() {
        for text in ["", ".", "..", "../../x", "a/b", "A", "ä", "-", "a b", "a\0", "0123456789a", "a.json"] {
            assert!(Prefix::parse(text).is_err(), "{text:?}");
            assert!(SpeculationId::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn ids_are_valid_and_differ() {
        let ids: std::collections::BTreeSet<_> = (0..100).map(|_| SpeculationId::random().unwrap()).collect();
        assert_eq!(ids.len(), 100);
        assert!(ids.iter().all(|id| SpeculationId::parse(id.as_str()).is_some()));
    }
}
