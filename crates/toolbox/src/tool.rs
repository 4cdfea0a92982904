use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Overlay, WorkspacePath};
use headstart_tool_gate::{GateContext, Hardened};
use serde_json::{Map, Value};

use crate::location::{locate, locate_for_write};
use crate::{ToolError, ToolLimits, ToolOutput, Wording};

/// What a tool works with, and the rules for it.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The merged view: every read sees what is staged, every write is staged. If a call fails or is dropped, what it
    /// staged is taken back. A tool must not stage anything after its end, because that may be lost or be attributed
    /// to another call.
    pub view: &'a Arc<Overlay>,
    /// The rules by which the call was judged: the workspace, and the paths that no tool reads, writes or lists.
    /// Links are resolved before a rule is checked, so that a second name of a path opens nothing.
    pub gate: &'a GateContext,
    /// The limits of the call.
    pub limits: &'a ToolLimits,
    /// How the gate wants a command to run, if its plain form is not enough.
    pub hardened: Option<&'a Hardened>,
    /// Whether the user approved exactly this call: then a command runs in the user's own environment.
    pub consented: bool,
    /// Whether the user's own turn runs it. Only then may a tool send something to another machine, because work
    /// ahead has no network.
    pub attended: bool,
}

impl ToolContext<'_> {
    /// Whether listings and searches leave out a path: because of a deny rule, or because its name says that it holds
    /// a secret, unless the user was asked about this call.
    pub(crate) fn closes(&self, path: &WorkspacePath) -> bool {
        self.gate.deny.closes(path, self.consented)
    }
}

impl ToolContext<'_> {
    /// The path that an argument of a host's own tool names: inside the workspace, links resolved, not closed by a
    /// deny rule.
    pub async fn locate(self, path: &str) -> Result<WorkspacePath, ToolError> {
        locate(path, self).await
    }

    /// As [`locate`](Self::locate), for a path that is written: no link may lead into a folder that decides what
    /// other programs do.
    pub async fn locate_for_write(self, path: &str) -> Result<WorkspacePath, ToolError> {
        locate_for_write(path, self).await
    }
}

/// Is told of each file for which an edit was staged.
///
/// The edit stays, whatever this returns. The model waits for the answer meanwhile, so an implementation should limit
/// its time.
#[async_trait]
pub trait EditObserver: Send + Sync {
    /// `edit` or `write_file` staged this file. The returned text is added to their answer; `None` for nothing.
    async fn on_edit(&self, path: &WorkspacePath, context: ToolContext<'_>) -> Option<String>;

    /// The model calls its work done, and these files are staged. Unlike an edit, this may wait up to `time` for whoever is
    /// still loading the project. `None` if nobody looks at files of these kinds.
    async fn look_at_all(
        &self,
        _staged: &[WorkspacePath],
        _time: Duration,
        _context: ToolContext<'_>,
    ) -> Option<FinalLook> {
        None
    }
}

/// What an observer says of all that is staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalLook {
    /// Who looked: the name of a language server.
    pub by: String,
    /// The new errors, a line for each, or why nobody looked.
    pub new_errors: Result<Vec<String>, String>,
}

/// A tool that an agent can call.
///
/// The gate knows what the built-in tools do. A host's own tool runs ahead if the host declares what it does
/// ([`GateContext::tools`]). Otherwise it is a boundary there, and a turn asks (in `yolo` it runs, in `plan` it is
/// refused).
#[async_trait]
pub trait Tool: Send + Sync {
    /// How it is offered to the model.
    fn schema(&self) -> ToolSchema;

    /// How the user is told of the tool and its calls.
    fn wording(&self) -> Wording {
        Wording::of(&self.schema().name)
    }

    /// Whether a call with these arguments can run at all. This reads nothing but the arguments. If it fails, the model
    /// gets the error, and nobody is asked about a call that would fail whatever the answer.
    fn check_arguments(&self, _args: &Map<String, Value>) -> Result<(), ToolError> {
        Ok(())
    }

    /// Runs it. Everything it writes goes to `context.view`. A tool that only has a text returns `text.into()`; one
    /// whose answer consists of things with names and places returns them as items.
    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>)
    -> Result<ToolOutput, ToolError>;
}
