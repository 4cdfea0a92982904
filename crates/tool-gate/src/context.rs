use headstart_workspace_path::{PathError, WorkspacePath};
use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::Decision;
#[cfg(feature = "shell")]
use crate::Policies;
use crate::{Declaration, DenyRules};

/// How much the user lets an agent do without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Reads run; every write asks.
    #[default]
    Default,
    /// Reads run; nothing is written.
    Plan,
    /// The model is offered no tools. Where something is judged all the same (what a prompt mentions, work that is
    /// accepted), the rules of `Plan` hold.
    Chat,
    /// Edits of files run too.
    AutoEdit,
    /// The user's own turns ask nothing; a speculation treats it as `AutoEdit`.
    Yolo,
}

impl ApprovalMode {
    /// Whether nothing may be written, in turns and ahead.
    pub const fn writes_nothing(self) -> bool {
        matches!(self, Self::Plan | Self::Chat)
    }

    /// Whether a model is offered tools.
    pub const fn offers_tools(self) -> bool {
        !matches!(self, Self::Chat)
    }

    /// Whether edits of files run without a question.
    pub const fn edits_files(self) -> bool {
        matches!(self, Self::AutoEdit | Self::Yolo)
    }
}

/// What becomes of an edit of work that runs ahead in [`ApprovalMode::Default`], where nobody can be asked at that
/// moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AheadWrites {
    /// The work stops there.
    #[default]
    Boundary,
    /// The edit is staged, and the user is asked before any of it is applied. Only for a host that does ask: see
    /// [`Gate::judge_ahead`](crate::Gate::judge_ahead).
    Ask,
}

/// What a verdict depends on besides the call.
#[derive(Debug, Clone, Default)]
pub struct GateContext {
    /// The approval mode in force now.
    pub mode: ApprovalMode,
    /// What becomes of an edit of work that runs ahead, in a mode that asks.
    pub ahead_writes: AheadWrites,
    /// Whether a command of work that runs ahead may run in a copy-on-write view of the workspace
    /// ([`Decision::Shadow`]). Only a host that has such views may set this.
    pub views: bool,
    /// The workspace root: an absolute path without `.` or `..`.
    pub workspace: String,
    /// Paths that no tool may touch. By default these are files whose names say that they hold a secret.
    pub deny: DenyRules,
    /// The host's own tools. The gate judges a call of one by what the host declares: a tool that only reads runs
    /// ahead. A call of a tool that is not here is a boundary.
    pub tools: Vec<Declaration>,
    /// What the user and the project add to the gate's table of programs.
    #[cfg(feature = "shell")]
    pub policies: Policies,
    /// What the user and the project say about the calls of each tool.
    #[cfg(feature = "tool-policies")]
    pub tool_policies: crate::ToolPolicies,
}

impl GateContext {
    /// The path of a call as one inside the workspace. If the workspace is not known, no absolute path is inside it.
    pub(crate) fn resolve(&self, path: &str) -> Result<WorkspacePath, PathError> {
        if path.starts_with('/') && !self.workspace.starts_with('/') {
            return Err(PathError::Outside { path: path.to_owned() });
        }
        WorkspacePath::resolve(path, &self.workspace)
    }

    /// Whether the policies exclude a tool. Without the feature `tool-policies` there are none.
    pub fn excludes(&self, tool: &str) -> bool {
        #[cfg(feature = "tool-policies")]
        return self.tool_policies.excludes(tool);
        #[cfg(not(feature = "tool-policies"))]
        {
            let _ = tool;
            false
        }
    }

    /// The same context without the user's policies for tools: for calls of the host itself, to which they do not
    /// apply.
    #[must_use]
    pub fn without_tool_policies(&self) -> Self {
        Self {
            #[cfg(feature = "tool-policies")]
            tool_policies: crate::ToolPolicies::default(),
            ..self.clone()
        }
    }

    /// The declaration of a tool: the gate's own for a built-in tool, whatever the host declares, else the host's.
    pub fn declaration(&self, name: &str) -> Option<&Declaration> {
        Declaration::of(name, &self.tools)
    }

    /// Whether the user is shown, and asked about, each change that work ahead staged when they accept that work.
    pub fn asks_on_accept(&self) -> bool {
        self.mode == ApprovalMode::Default && self.ahead_writes == AheadWrites::Ask
    }

    /// Whether work that runs ahead may stage changes at all.
    pub fn stages_ahead(&self) -> bool {
        self.mode.edits_files() || self.asks_on_accept()
    }

    /// Whether a deny rule matches `path` or a folder that holds it, or its name says that it holds a secret.
    /// Searches and listings leave such paths out.
    pub fn denies(&self, path: &WorkspacePath) -> bool {
        self.deny.closes(path, false)
    }
}
