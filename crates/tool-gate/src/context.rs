use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::DenyRules;

/// How much the user lets an agent do without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Reads run; every write asks.
    #[default]
    Default,
    /// Reads run; nothing is written.
    Plan,
    /// Edits of files run too.
    AutoEdit,
    /// The user's own turns ask nothing; a speculation treats it as `AutoEdit`.
    Yolo,
}

impl ApprovalMode {
    /// Whether edits of files run without being asked for.
    pub const fn edits_files(self) -> bool {
        matches!(self, Self::AutoEdit | Self::Yolo)
    }
}

/// What a verdict depends on besides the call.
#[derive(Debug, Clone, Default)]
pub struct GateContext {
    /// The approval mode in force now.
    pub mode: ApprovalMode,
    /// The workspace root: an absolute path without `.` or `..`.
    pub workspace: String,
    /// Paths that no tool may touch.
    pub deny: DenyRules,
}

impl GateContext {
    /// Whether a deny rule matches `path` or a folder that holds it. Searches and listings leave such paths out.
    pub fn denies(&self, path: &WorkspacePath) -> bool {
        self.deny.matching(path).is_some()
    }
}
