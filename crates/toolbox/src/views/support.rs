use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether commands can run in views here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// They can.
    Views {
        /// By what.
        tier: Tier,
    },
    /// They cannot.
    None {
        /// Why, in words for the user.
        why: String,
    },
}

/// What keeps a view apart from the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Tier {
    /// Mounts and namespaces of the kernel, an overlay among them.
    Kernel,
    /// The same without an overlay: the workspace is a copy on the disk that shares blocks with it.
    Clone,
    /// The same, and the copy is in memory.
    Copy,
    /// Another machine, and what keeps them apart there.
    Remote,
    /// Nothing: a view in memory, for tests.
    Memory,
}

impl Support {
    /// Whether there are views.
    pub fn has_views(&self) -> bool {
        matches!(self, Self::Views { .. })
    }

    /// What keeps them apart.
    pub fn tier(&self) -> Option<Tier> {
        match self {
            Self::Views { tier } => Some(*tier),
            Self::None { .. } => None,
        }
    }
}

impl Default for Support {
    fn default() -> Self {
        Self::None { why: "no program that could make a view is part of this agent".to_owned() }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::Clone => "clone",
            Self::Copy => "copy",
            Self::Remote => "remote",
            Self::Memory => "memory",
        })
    }
}
