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
    /// The model is offered no tools. What is judged all the same (what a prompt mentions, work that is accepted) is judged as in `Plan`.
    Chat,
    /// Edits of files run too.
    AutoEdit,
    /// The user's own turns ask nothing; a speculation treats it as `AutoEdit`.
    Yolo,
}

impl ApprovalMode {
    /// Whether nothing may be written, whoever asks for it.
    pub const fn writes_nothing(self) -> bool {
        matches!(self, Self::Plan | Self::Chat)
    }

    /// Whether a model is offered tools.
    pub const fn offers_tools(self) -> bool {
        !matches!(self, Self::Chat)
    }

    /// Whether edits of files run without being asked for.
    pub const fn edits_files(self) -> bool {
        matches!(self, Self::AutoEdit | Self::Yolo)
    }
}

/// What becomes of an edit of work that runs ahead in [`ApprovalMode::Default`], where nobody is there to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AheadWrites {
    /// The work stops there.
    #[default]
    Boundary,
    /// It is staged, and the user is asked before any of it is applied. Only for whoever does ask: see
    /// [`Gate::judge_ahead`](crate::Gate::judge_ahead).
    Ask,
}

/// What a verdict depends on besides the call.
#[derive(Debug, Clone, Default)]
pub struct GateContext {
    /// The approval mode in force now.
    pub mode: ApprovalMode,
    /// What becomes of an edit of work that runs ahead where the mode asks.
    pub ahead_writes: AheadWrites,
    /// Whether a command of work that runs ahead may run in a copy-on-write view of the workspace ([`Decision::Shadow`]): only for
    /// whoever has such views.
    pub views: bool,
    /// The workspace root: an absolute path without `.` or `..`.
    pub workspace: String,
    /// Paths that no tool may touch. By default files that hold a secret by their name.
    pub deny: DenyRules,
    /// The host's own tools that the gate may judge by what the host says of them: one that it says only reads runs ahead. A call of any other is a
    /// boundary.
    pub tools: Vec<Declaration>,
    /// What the user and the project add to what the gate knows of programs.
    #[cfg(feature = "shell")]
    pub policies: Policies,
    /// What they say of the calls of each tool.
    #[cfg(feature = "tool-policies")]
    pub tool_policies: crate::ToolPolicies,
}

impl GateContext {
    /// A path of a call as one inside the workspace. Where the workspace is not known, no absolute path is inside it.
    pub(crate) fn resolve(&self, path: &str) -> Result<WorkspacePath, PathError> {
        if path.starts_with('/') && !self.workspace.starts_with('/') {
            return Err(PathError::Outside { path: path.to_owned() });
        }
        WorkspacePath::resolve(path, &self.workspace)
    }

    /// Whether the policies take a tool away. Without the feature `tool-policies` there are none.
    pub fn excludes(&self, tool: &str) -> bool {
        #[cfg(feature = "tool-policies")]
        return self.tool_policies.excludes(tool);
        #[cfg(not(feature = "tool-policies"))]
        {
            let _ = tool;
            false
        }
    }

    /// The same rules without what the user says of single tools: for calls of the host itself, which that is not about.
    #[must_use]
    pub fn without_tool_policies(&self) -> Self {
        Self {
            #[cfg(feature = "tool-policies")]
            tool_policies: crate::ToolPolicies::default(),
            ..self.clone()
        }
    }

    /// What is said of the tool of this name: of a built-in one by the gate, whatever the host declares, of any other by the host.
    pub fn declaration(&self, name: &str) -> Option<&Declaration> {
        Declaration::of(name, &self.tools)
    }

    /// Whether what work that runs ahead stages is shown to the user, and asked about, when it is taken: an edit, or a change of a repository.
    pub fn asks_when_taken(&self) -> bool {
        self.mode == ApprovalMode::Default && self.ahead_writes == AheadWrites::Ask
    }

    /// Whether work that runs ahead may stage a change at all.
    pub fn stages_ahead(&self) -> bool {
        self.mode.edits_files() || self.asks_when_taken()
    }

    /// Whether a deny rule matches `path` or a folder that holds it, or it holds a secret by its name. Searches and listings leave such
    /// paths out.
    pub fn denies(&self, path: &WorkspacePath) -> bool {
        self.deny.closes(path, false)
    }
}
