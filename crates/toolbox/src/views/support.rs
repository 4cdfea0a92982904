use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether commands can run in views.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewSupport {
    /// They can.
    Views {
        /// In views of this tier.
        tier: Tier,
    },
    /// They cannot.
    None {
        /// Why, in words for the user.
        why: String,
    },
}

/// How a view is kept apart from the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Tier {
    /// By the kernel's mounts and namespaces, including an overlay.
    Kernel,
    /// Without an overlay: the workspace is a copy on the disk that shares its blocks.
    Clone,
    /// Without an overlay: the workspace is a copy in memory.
    Copy,
    /// On another machine, by its tier.
    Remote,
    /// Not at all: a view in memory, for tests.
    Memory,
}

impl ViewSupport {
    /// Whether there are views.
    pub fn has_views(&self) -> bool {
        matches!(self, Self::Views { .. })
    }

    /// How they are kept apart, if there are views.
    pub fn tier(&self) -> Option<Tier> {
        match self {
            Self::Views { tier } => Some(*tier),
            Self::None { .. } => None,
        }
    }
}

impl Default for ViewSupport {
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
