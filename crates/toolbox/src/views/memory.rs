use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use headstart_overlay_fs::{ChangeSet, Overlay, Quota, WorkspacePath};

use headstart_tool_gate::no_repository;

use super::{Tier, ViewId, ViewOutput, ViewRequest, ViewSupport};
use crate::{CommandOutput, CommandRequest, CommandRunner, ToolError};

/// Views in memory for tests, in which commands replay what a test prepared.
///
/// What a command writes is put over what is staged by a real overlay, so the result is that of a real view. It does
/// not model processes, and so time, limits and forced ends; the network; folders that git ignores, which are treated
/// like any other; what a command reads; and [`ViewRequest::deny`], because nothing here reads a file. A command
/// without prepared replies fails with exit code 127.
#[derive(Default)]
pub struct MemoryViews {
    state: Mutex<MemoryState>,
}

/// What one run of a command does.
#[derive(Debug, Clone)]
pub struct ScriptedRun {
    /// Files it writes, whole, and paths that it removes (`None`).
    pub edits: Vec<(WorkspacePath, Option<Vec<u8>>)>,
    /// The rest of its answer; the changes come from `edits`.
    pub answer: ViewOutput,
}

#[derive(Default)]
struct MemoryState {
    commands: BTreeMap<String, VecDeque<ScriptedRun>>,
    open_views: BTreeSet<ViewId>,
    requests: Vec<ViewRequest>,
    real_runs: Vec<String>,
    unsupported_reason: Option<String>,
}

impl ScriptedRun {
    /// A command that prints `output` and ends with this exit code.
    pub fn new(output: &str, exit_code: i32) -> Self {
        let output = CommandOutput {
            output: output.to_owned(),
            exit_code: Some(exit_code),
            timed_out: false,
            truncated: false,
        };
        Self { edits: Vec::new(), answer: ViewOutput::of(output, ChangeSet::default()) }
    }

    /// Also writes a file.
    #[must_use]
    pub fn writing(mut self, path: WorkspacePath, content: &str) -> Self {
        self.edits.push((path, Some(content.as_bytes().to_vec())));
        self
    }

    /// Also removes a path.
    #[must_use]
    pub fn removing(mut self, path: WorkspacePath) -> Self {
        self.edits.push((path, None));
        self
    }

    /// Also changes the rest of the answer.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ViewOutput)) -> Self {
        change(&mut self.answer);
        self
    }
}

impl MemoryViews {
    /// Adds what a later run of `command` does.
    pub fn play(&self, command: &str, played: ScriptedRun) {
        self.lock().commands.entry(command.to_owned()).or_default().push_back(played);
    }

    /// From now on there are no views.
    pub fn end_support(&self, why: &str) {
        self.lock().unsupported_reason = Some(why.to_owned());
    }

    /// The views that have not ended.
    pub fn held(&self) -> Vec<ViewId> {
        self.lock().open_views.iter().cloned().collect()
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<ViewRequest> {
        self.lock().requests.clone()
    }

    /// The commands that were run on the real tree.
    pub fn real_runs(&self) -> Vec<String> {
        self.lock().real_runs.clone()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        // Every change under the lock is a single step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl CommandRunner for MemoryViews {
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
        let proven = request.command.prove_by(no_repository);
        let line = proven.map_err(ToolError::of)?.line.to_owned();
        let output = format!("ran {line}\n");
        self.lock().real_runs.push(line);
        Ok(CommandOutput { output, exit_code: Some(0), timed_out: false, truncated: false })
    }

    fn views(&self) -> ViewSupport {
        match &self.lock().unsupported_reason {
            Some(why) => ViewSupport::None { why: why.clone() },
            None => ViewSupport::Views { tier: Tier::Memory },
        }
    }

    async fn run_in_view(&self, request: ViewRequest) -> Result<ViewOutput, ToolError> {
        let played = {
            let mut state = self.lock();
            if let Some(why) = &state.unsupported_reason {
                return Err(ToolError::no_view(why));
            }
            state.open_views.insert(request.view.clone());
            state.requests.push(request.clone());
            state.commands.get_mut(&request.command).and_then(VecDeque::pop_front)
        };
        let unknown = || ScriptedRun::new(&format!("{}: command not found\n", request.command), 127);
        let ScriptedRun { edits, answer } = played.unwrap_or_else(unknown);
        let view = Overlay::from_change_set(Arc::clone(&request.base), Quota::default(), &request.staged)?;
        for (path, content) in edits {
            match content {
                Some(content) => view.write(&path, content).await?,
                None => view.remove(&path).await?,
            }
        }
        let mut changes = view.change_set();
        changes.reads.clear();
        Ok(ViewOutput { changes, ..answer })
    }

    fn end_view(&self, view: &ViewId) {
        self.lock().open_views.remove(view);
    }
}
