use headstart_workspace_path::GlobError;

#[cfg(feature = "shell")]
use crate::PolicyOrigin;

/// What can be wrong with the rules, policies or arguments that the gate is given.
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
        /// Why it is not a valid glob, if that is the reason.
        source: Option<GlobError>,
    },
    /// A policy is not enforceable, or one of its examples comes out differently.
    #[cfg(feature = "shell")]
    #[error("policy {} of the {origin}: {field}: {problem}", .index + 1)]
    Policy {
        /// Whose policy it is.
        origin: PolicyOrigin,
        /// Its index among the policies of its origin, from 0.
        index: usize,
        /// The field that is wrong, by its name in a configuration file.
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
    /// An argument of a declared tool that should name a path is not a path.
    #[error("argument {name:?} must be a path or a list of paths")]
    InvalidPath {
        /// Its name.
        name: String,
    },
}

impl GateError {
    pub(crate) fn deny_rule(pattern: &str, why: impl Into<String>) -> Self {
        Self::DenyRule { pattern: pattern.to_owned(), why: why.into(), source: None }
    }

    pub(crate) fn deny_glob(pattern: &str, error: GlobError) -> Self {
        Self::DenyRule { pattern: pattern.to_owned(), why: error.to_string(), source: Some(error) }
    }
}
