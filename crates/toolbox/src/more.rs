//! The tools `multi_edit`, `create_file` and `view_diff`, which are declared to the gate as a host's own are.

mod create_file;
mod multi_edit;
mod view_diff;

use std::sync::Arc;

use headstart_tool_gate::Declaration;

pub use self::view_diff::{Committed, Repository, RepositoryStatus};
use crate::Tool;

/// `multi_edit` and `create_file`, for [`Toolbox::with`](crate::Toolbox::with). The gate has to be told what they do: [`more_declarations`].
pub fn more_tools() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(multi_edit::MultiEdit), Arc::new(create_file::CreateFile)]
}

/// `view_diff`, over the repository of the workspace.
pub fn view_diff_tool(repository: Arc<dyn Repository>) -> Arc<dyn Tool> {
    Arc::new(view_diff::ViewDiff::new(repository))
}

/// What the gate is told of all of them, for [`GateContext::tools`](headstart_tool_gate::GateContext::tools).
pub fn more_declarations() -> Vec<Declaration> {
    vec![
        Declaration::stages(multi_edit::NAME, &["file_path"]),
        Declaration::stages(create_file::NAME, &["file_path"]),
        Declaration::reads_repository(view_diff::NAME, &["path"]),
    ]
}

/// Whether a tool of this name stages the file that its argument `file_path` names.
pub(crate) fn edits(name: &str) -> bool {
    [multi_edit::NAME, create_file::NAME].contains(&name)
}
