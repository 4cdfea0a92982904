//! The tools `multi_edit`, `create_file`, `view_diff` and those for background commands. They are declared to the
//! gate as a host's own are.

mod background;
mod create_file;
mod multi_edit;
mod view_diff;

use std::sync::Arc;

use headstart_tool_gate::{Declaration, ours};

pub use self::background::{BackgroundOutput, BackgroundRunner, BackgroundState};
pub use self::view_diff::{CommittedFile, Repository, RepositoryStatus};
use crate::Tool;

/// `multi_edit` and `create_file`, for [`Toolbox::with`](crate::Toolbox::with). The gate needs their declarations:
/// [`more_declarations`].
pub fn more_tools() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(multi_edit::MultiEdit), Arc::new(create_file::CreateFile)]
}

/// `view_diff`, over the repository of the workspace.
pub fn view_diff_tool(repository: Arc<dyn Repository>) -> Arc<dyn Tool> {
    Arc::new(view_diff::ViewDiff::new(repository))
}

/// `run_in_background`, `command_output` and `stop_command`, for a host whose commands can go on after their call.
pub fn background_tools(runner: &Arc<dyn BackgroundRunner>) -> Vec<Arc<dyn Tool>> {
    background::tools(runner)
}

/// The declarations of all of them, for [`GateContext::tools`](headstart_tool_gate::GateContext::tools).
pub fn more_declarations() -> Vec<Declaration> {
    let all = [
        &ours::MULTI_EDIT,
        &ours::CREATE_FILE,
        &ours::VIEW_DIFF,
        &ours::RUN_IN_BACKGROUND,
        &ours::COMMAND_OUTPUT,
        &ours::STOP_COMMAND,
    ];
    all.map(Declaration::clone).into()
}
