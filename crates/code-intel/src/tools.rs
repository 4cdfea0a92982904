//! The tools for a model.

mod arguments;
mod edit_diagnostics;
mod run;
mod schema;

use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::Tree as _;
use headstart_tool_gate::Declaration;
use headstart_toolbox::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::{Map, Value};

pub use self::edit_diagnostics::{EditDiagnostics, edit_diagnostics_summary};
use crate::{CodeIntel, IntelError, Snapshot};

/// `diagnostics`, `definition`, `references`, `hover`, `symbols`, `rename` and `code_actions`, for
/// [`Toolbox::with`](headstart_toolbox::Toolbox::with). For stacked steps, each sees what all below it staged.
pub fn tools(intel: &CodeIntel) -> Vec<Arc<dyn Tool>> {
    let tool = |kind| Arc::new(IntelTool { kind, intel: intel.clone() }) as Arc<dyn Tool>;
    ToolKind::ALL.map(tool).into()
}

/// The declarations of these tools, for [`GateContext::tools`](headstart_tool_gate::GateContext::tools). Which files
/// a rename changes is known only once the server has answered; each is judged again when the work is accepted.
pub fn declarations() -> Vec<Declaration> {
    let of = |kind: ToolKind| match kind {
        ToolKind::Diagnostics => Declaration::reads(kind.name(), &["paths"]),
        ToolKind::Rename => Declaration::stages(kind.name(), &["path"]),
        ToolKind::CodeActions => Declaration::stages_with(kind.name(), "apply", &["path"]),
        ToolKind::Definition | ToolKind::References | ToolKind::Hover | ToolKind::Symbols => {
            Declaration::reads(kind.name(), &["path"])
        }
    };
    ToolKind::ALL.map(of).into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolKind {
    Diagnostics,
    Definition,
    References,
    Hover,
    Symbols,
    Rename,
    CodeActions,
}

impl ToolKind {
    const ALL: [Self; 7] = [
        Self::Diagnostics,
        Self::Definition,
        Self::References,
        Self::Hover,
        Self::Symbols,
        Self::Rename,
        Self::CodeActions,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Diagnostics => "diagnostics",
            Self::Definition => "definition",
            Self::References => "references",
            Self::Hover => "hover",
            Self::Symbols => "symbols",
            Self::Rename => "rename",
            Self::CodeActions => "code_actions",
        }
    }
}

struct IntelTool {
    kind: ToolKind,
    intel: CodeIntel,
}

#[async_trait]
impl Tool for IntelTool {
    fn schema(&self) -> ToolSchema {
        schema::schema(self.kind)
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        run::run(self.kind, &self.intel, args, context).await.map(ToolOutput::Text)
    }
}

/// The state that a call sees, with the paths that are closed to it.
fn snapshot_of(context: ToolContext<'_>) -> Snapshot {
    let (deny, consented) = (context.gate.deny.clone(), context.consented);
    Snapshot {
        changes: Arc::new(context.view.staged_changes()),
        closed: Arc::new(move |path| deny.closes(path, consented)),
    }
}

impl From<IntelError> for ToolError {
    fn from(error: IntelError) -> Self {
        match error {
            IntelError::Tree(error) => error.into(),
            error => Self::of(error),
        }
    }
}
