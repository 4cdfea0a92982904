use std::fmt;

use serde::{Deserialize, Serialize};

use crate::GitError;

/// The name of a ref as git allows it, such as `refs/heads/main`, or `HEAD`. It cannot lead out of the repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RefName(String);

/// The name of an object: a SHA-1 or SHA-256 in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectName(String);

/// The hash by which a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ObjectFormat {
    /// 40 digits.
    #[default]
    Sha1,
    /// 64 digits.
    Sha256,
}

impl RefName {
    /// Reads a name; an error if git would not accept it.
    pub fn parse(name: &str) -> Result<Self, GitError> {
        let refused = || GitError::RefName { name: name.escape_debug().to_string() };
        let is_odd = |byte: u8| byte <= b' ' || byte == 0x7f || b"~^:?*[\\".contains(&byte);
        let is_part = |part: &str| {
            let is_lock = part.as_bytes().ends_with(b".lock");
            !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !is_lock
        };
        let is_whole = name.len() <= 1_024
            && name.strip_prefix("refs/").is_some_and(|rest| rest.split('/').all(is_part))
            && !name.bytes().any(is_odd)
            && !name.contains("..")
            && !name.contains("@{");
        if is_whole || name == "HEAD" { Ok(Self(name.to_owned())) } else { Err(refused()) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as people use it: `main` for `refs/heads/main`.
    pub fn short(&self) -> &str {
        let kinds = ["refs/heads/", "refs/tags/", "refs/"];
        kinds.iter().find_map(|kind| self.0.strip_prefix(kind)).unwrap_or(&self.0)
    }
}

impl ObjectName {
    /// Reads a name.
    pub fn parse(name: &str) -> Result<Self, GitError> {
        let is_hex = name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && (name.len() == 40 || name.len() == 64) {
            Ok(Self(name.to_owned()))
        } else {
            Err(GitError::ObjectName {
                name: name.chars().take(100).collect::<String>().escape_debug().to_string(),
            })
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the name that stands for no object.
    pub fn is_none(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'0')
    }
}

impl ObjectFormat {
    /// The name that stands for no object.
    pub fn none(self) -> ObjectName {
        ObjectName("0".repeat(self.digits()))
    }

    /// The name of the folder that holds nothing.
    pub(crate) fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }

    /// The length of a name.
    pub fn digits(self) -> usize {
        match self {
            Self::Sha1 => 40,
            Self::Sha256 => 64,
        }
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RefName {
    type Error = GitError;

    fn try_from(name: String) -> Result<Self, GitError> {
        Self::parse(&name)
    }
}

impl TryFrom<String> for ObjectName {
    type Error = GitError;

    fn try_from(name: String) -> Result<Self, GitError> {
        Self::parse(&name)
    }
}

impl From<RefName> for String {
    fn from(name: RefName) -> Self {
        name.0
    }
}

impl From<ObjectName> for String {
    fn from(name: ObjectName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of refs that git refuses, which may lead out of the folder of refs, cannot be made.
    #[test]
    fn names_that_git_refuses_are_none() {
        for name in ["HEAD", "refs/heads/main", "refs/heads/a/b-c_d.e", "refs/stash", "refs/heads/ä"] {
            assert_eq!(RefName::parse(name).unwrap().as_str(), name);
        }
        let odd = [
            "",
            "main",
            "refs/",
            "refs/heads/",
            "refs/heads/../../config",
            "refs/heads/.hidden",
            "refs/heads/a.lock",
            "refs/heads/a.lock/b",
            "refs/heads/a b",
            "refs/heads/a\nb",
            "refs/heads/a\0b",
            "refs/heads/@{1}",
            "refs/heads/a:b",
            "refs//heads/a",
            "/refs/heads/a",
            "refs/heads/a.",
            "refs/heads/a*",
            "ORIG_HEAD",
        ];
        for name in odd {
            assert!(RefName::parse(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn names_of_objects_are_hexadecimal_and_whole() {
        for length in [40, 64] {
            assert!(ObjectName::parse(&"a".repeat(length)).is_ok());
            assert!(ObjectName::parse(&"A".repeat(length)).is_err());
            assert!(ObjectName::parse(&"0".repeat(length)).unwrap().is_none());
        }
        for name in ["", "abc", "../../../../../../../../../../../../etc/pa"] {
            assert!(ObjectName::parse(name).is_err(), "{name}");
        }
        assert!(ObjectFormat::Sha256.none().is_none());
    }
}
