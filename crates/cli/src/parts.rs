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

use crate::host::NativeHost;
use crate::index::Upkeep;
use crate::models;
use crate::offered::Commits;
use crate::remote::Places;
use crate::tool_servers::ServerTools;

/// What a conversation about a workspace of this machine is made of.
pub(crate) struct Parts {
    pub(crate) engine: Engine,
    /// The workspace itself, whose last commits can be taken back.
    pub(crate) tree: Arc<OsTree>,
    pub(crate) host: Arc<NativeHost>,
    pub(crate) model: Arc<dyn Model>,
    /// Which models refused tools.
    pub(crate) tool_refusals: Arc<ToolRefusals>,
    /// What the provider calls it.
    pub(crate) model_name: String,
    /// Whether a fast model may be asked for a title.
    pub(crate) titles: bool,
    /// The system instruction.
    pub(crate) system: String,
    /// Kept from the first turn on.
    pub(crate) index: Option<Arc<Upkeep>>,
    /// Tools of others.
    pub(crate) server_tools: Arc<ServerTools>,
    /// Where work ahead runs commands.
    pub(crate) views: Places,
    pub(crate) workspace: PathBuf,
    /// The folder of all state.
    pub(crate) state: Option<PathBuf>,
}

impl Parts {
    /// The commits of work that could not be taken, because git was used meanwhile.
    pub(crate) fn commits(
        &self,
        id: &str,
        git: Option<&GitChange>,
        conflicts: &[Conflict],
    ) -> Option<Commits> {
        Commits::of(&self.workspace, self.state.as_deref(), (id, git), conflicts)
    }

    /// A turn begins: from the first one on the index is kept, so that the beginning of a chat waits for nothing.
    pub(crate) fn begin_index(&self) {
        if let Some(index) = &self.index {
            index.begin();
        }
    }

    /// What the index, the tool servers and the models have to tell the user, each once.
    pub(crate) fn notices(&self) -> Vec<String> {
        let of_index = self.index.as_ref().map(|index| index.notices()).unwrap_or_default();
        let of_models = models::refused_tools(&self.tool_refusals);
        of_index.into_iter().chain(self.server_tools.notices()).chain(of_models).collect()
    }

    /// The toolbox with the tools that the servers have by now. The gate knows them from now on.
    pub(crate) fn with_tools_of_servers(&self) -> Toolbox {
        let context = self.host.gate_context();
        let mut tools = context.tools.clone();
        tools.retain(|tool| !tool.sees_real_files());
        tools.extend(self.server_tools.declarations());
        let policies = context.tool_policies.clone();
        self.host.set_rules(GateContext { tools, ..context });
        self.server_tools.join(self.engine.toolbox.clone()).keeping(|name| !policies.excludes(name))
    }

    /// What the user has to be told of the project's rules, each once.
    pub(crate) fn rules_notices(&self) -> Vec<String> {
        self.host.rules_notices()
    }

    /// Work ahead was accepted: the next views begin with other files.
    pub(crate) fn warm_views(&self) {
        self.views.warm_when_idle(self.host.gate_context().deny);
    }

    /// What is at a path of the workspace; nothing where that is no file, or cannot be read.
    pub(crate) fn read(&self, path: &WorkspacePath) -> Option<Vec<u8>> {
        // A tree on a disk answers at once.
        self.engine.workspace.read(path).now_or_never()?.ok()
    }

    /// What the gate goes by now.
    pub(crate) fn gate_context(&self) -> GateContext {
        self.host.gate_context()
    }

    /// Another approval mode from now on.
    pub(crate) fn set_mode(&self, mode: ApprovalMode) {
        self.host.set_rules(GateContext { mode, ..self.host.gate_context() });
    }
}
