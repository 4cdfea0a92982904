//! What the gate is told about tools that are not its own.

use headstart_tool_gate::{Declaration, ours};

/// The declarations of these tools.
pub(crate) fn declarations() -> Vec<Declaration> {
    [
        headstart_toolbox::more_declarations(),
        headstart_context::rule_declarations(),
        // The tools of an index only read, and never name a path that a rule closes.
        vec![ours::CODEBASE.clone(), ours::REPO_MAP.clone()],
        headstart_code_intel::declarations(),
        #[cfg(feature = "mcp")]
        headstart_tool_servers::web_declarations(),
        vec![headstart_speculation::task_declaration()],
    ]
    .concat()
}
