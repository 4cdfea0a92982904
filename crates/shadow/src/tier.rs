use serde::{Deserialize, Serialize};

/// How the workspace of a view is kept apart from the one on disk; the best way comes first.
///
/// The restrictions on a command are the same in each: namespaces, the root from an allow-list, the filters and the
/// limits. If the system does not provide those, there is no view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tier {
    /// An overlay of the kernel: nothing is copied.
    #[default]
    Kernel,
    /// A copy on the disk whose files share their blocks with the workspace's until they are written (btrfs, xfs, bcachefs).
    Clone,
    /// A copy in memory of what git does not ignore.
    Copy,
}

impl Tier {
    /// All, the best first.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Clone, Self::Copy];

    /// Whether a view begins with a copy of the workspace.
    pub fn copies(self) -> bool {
        self != Self::Kernel
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Clone => "clone",
            Self::Copy => "copy",
        }
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
