use std::fmt;

use serde::{Deserialize, Serialize};

/// Who wrote a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PolicyOrigin {
    /// The user, who may also allow.
    User,
    /// The project. It comes with a repository that may be hostile, so it can only add boundaries.
    Project,
}

impl fmt::Display for PolicyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Project => "project",
        })
    }
}
