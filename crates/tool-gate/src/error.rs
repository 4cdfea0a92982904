#[cfg(feature = "shell")]
use crate::PolicyOrigin;

/// What can be wrong with what the gate is given; never with what it judges.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// A deny rule is not a pattern.
    #[error("deny rule {pattern:?}: {why}; write it as in .gitignore")]
    DenyRule {
        /// The pattern as it was given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A policy cannot be held to, or one of its examples comes out differently.
    #[cfg(feature = "shell")]
    #[error("policy {} of the {origin}: {field}: {problem}", .index + 1)]
    Policy {
        /// Whose policy it is.
        origin: PolicyOrigin,
        /// Its place among those of its origin, from 0.
        index: usize,
        /// The field that is wrong, as it is written in a configuration file.
        field: &'static str,
        /// What is wrong with it, or what the gate said of an example.
        problem: String,
    },
    /// Several arguments name the path of one call.
    #[error("arguments {first:?} and {second:?} both name a path; give one of them")]
    AmbiguousPath {
        /// One of them.
        first: String,
        /// Another.
        second: String,
    },
    /// An argument has the wrong type or is missing.
    #[error("argument {name:?} must be {expected}")]
    InvalidArgument {
        /// Its name.
        name: String,
        /// What it must be.
        expected: &'static str,
    },
    /// An argument of a declared tool that names paths is none.
    #[error("argument {name:?} must be a path or a list of paths")]
    InvalidPath {
        /// Its name.
        name: String,
    },
}

impl GateError {
    pub(crate) fn deny_rule(pattern: &str, why: impl Into<String>) -> Self {
        Self::DenyRule { pattern: pattern.to_owned(), why: why.into() }
    }
}
