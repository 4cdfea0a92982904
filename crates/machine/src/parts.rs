use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt;
use headstart_forked_query::Model;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{Conflict, OsTree, WorkspacePath};
use headstart_providers::ToolRefusals;
use headstart_speculation::{Engine, Host};
use headstart_tool_gate::{ApprovalMode, GateContext};
use headstart_toolbox::Toolbox;

use crate::conflicting_commits::ConflictingCommits;
use crate::host::NativeHost;
use crate::index::Upkeep;
use crate::models;
use crate::remote::ViewHosts;
use crate::tool_servers::ServerTools;

/// The parts of a conversation about a workspace on this machine.
pub struct ConversationParts {
    pub engine: Engine,
    /// The workspace itself, whose last commits can be undone.
    pub(crate) tree: Arc<OsTree>,
    pub host: Arc<NativeHost>,
    pub model: Arc<dyn Model>,
    /// Which models refused tools.
    pub(crate) tool_refusals: Arc<ToolRefusals>,
    /// The provider's name of the model.
    pub model_name: String,
    /// Whether a fast model may be asked for a title.
    pub(crate) titles: bool,
    /// The system instruction.
    pub system: String,
    /// The index, which is kept current from the first turn on.
    pub(crate) index: Option<Arc<Upkeep>>,
    /// The tools of tool servers and of addresses.
    pub server_tools: Arc<ServerTools>,
    /// The views in which work ahead runs commands.
    pub views: ViewHosts,
    pub workspace: PathBuf,
    /// The state folder.
    pub state: Option<PathBuf>,
}

impl ConversationParts {
    /// The commits of work that could not be accepted, because git was used meanwhile.
    pub fn commits(
        &self,
        id: &str,
        git: Option<&GitChange>,
        conflicts: &[Conflict],
    ) -> Option<ConflictingCommits> {
        ConflictingCommits::of(&self.workspace, self.state.as_deref(), (id, git), conflicts)
    }

    /// Starts to keep the index current. Called at the beginning of each turn, so that the beginning of a chat need not
    /// wait for the index.
    pub fn begin_index(&self) {
        if let Some(index) = &self.index {
            index.begin();
        }
    }

    /// What the index, the tool servers, the models and new rules have to tell the user, each only once.
    pub fn notices(&self) -> Vec<String> {
        let of_index = self.index.as_ref().map(|index| index.notices()).unwrap_or_default();
        let of_models = models::refused_tools(&self.tool_refusals);
        let of_rules = self.host.rule_file_notices();
        of_index.into_iter().chain(self.server_tools.notices()).chain(of_models).chain(of_rules).collect()
    }

    /// The toolbox with the servers' current tools. From now on the gate knows these tools.
    pub fn with_tools_of_servers(&self) -> Toolbox {
        let context = self.host.gate_context();
        let mut tools = context.tools.clone();
        tools.retain(|tool| !tool.sees_real_files());
        tools.extend(self.server_tools.declarations());
        let policies = context.tool_policies.clone();
        self.host.set_rules(GateContext { tools, ..context });
        self.server_tools.join(self.engine.toolbox.clone()).keeping(|name| !policies.excludes(name))
    }

    /// What the user must be told about the project's rules, each only once.
    pub fn rules_notices(&self) -> Vec<String> {
        self.host.rules_notices()
    }

    /// Prepares views after an accept, because the next ones begin with other files.
    pub fn warm_views(&self) {
        self.views.warm_when_idle(self.host.gate_context().deny);
    }

    /// The content of a file in the workspace; `None` if there is no file, or if it cannot be read.
    pub fn read(&self, path: &WorkspacePath) -> Option<Vec<u8>> {
        // A tree on disk answers at once.
        self.engine.workspace.read(path).now_or_never()?.ok()
    }

    /// The gate's current context.
    pub fn gate_context(&self) -> GateContext {
        self.host.gate_context()
    }

    /// Sets another approval mode.
    pub fn set_mode(&self, mode: ApprovalMode) {
        self.host.set_rules(GateContext { mode, ..self.host.gate_context() });
    }
}
