//! The tools `multi_edit` and `create_file`, which are declared to the gate as a host's own are.

mod create_file;
mod multi_edit;

use std::sync::Arc;

use headstart_tool_gate::Declaration;

use crate::Tool;

/// `multi_edit` and `create_file`, for [`Toolbox::with`](crate::Toolbox::with). The gate has to be told what they do: [`more_declarations`].
pub fn more_tools() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(multi_edit::MultiEdit), Arc::new(create_file::CreateFile)]
}

/// What the gate is told of them, for [`GateContext::tools`](headstart_tool_gate::GateContext::tools).
pub fn more_declarations() -> Vec<Declaration> {
    vec![
        Declaration::stages(multi_edit::NAME, &["file_path"]),
        Declaration::stages(create_file::NAME, &["file_path"]),
    ]
}

/// Whether a tool of this name stages the file that its argument `file_path` names.
pub(crate) fn edits(name: &str) -> bool {
    [multi_edit::NAME, create_file::NAME].contains(&name)
}
