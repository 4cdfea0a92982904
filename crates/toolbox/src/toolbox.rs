use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use headstart_forked_query::{ToolCall, ToolSchema};
use headstart_overlay_fs::{ChangeSet, WorkspacePath};
use headstart_tool_gate::{Behaviour, Declaration};
use tracing::debug;

use crate::arguments::malformed_arguments;
use crate::output::{truncate_error, truncate_output};
use crate::tools::{Edit, Glob, Grep, Ls, ReadFile, Shell, WriteFile};
use crate::{
    CommandRunner, EditObserver, FinalLook, PartialOutput, PriorGitChanges, Tool, ToolContext, ToolError,
    ToolOutput, ViewId, ViewOutput, ViewSupport, Wording,
};

/// The tools of one agent.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<RegisteredTool>,
    /// The built-in shell, if it is the one that is offered.
    shell: Option<Arc<Shell>>,
    /// Is told of edits.
    observer: Option<Arc<dyn EditObserver>>,
}

/// The result of a call that ran in a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewCallOutput {
    /// What the model reads, if it is told this, and how the command ended.
    pub output: ToolOutput,
    /// The runner's answer.
    pub ran: ViewOutput,
}

/// A tool with its schema, which is read once.
#[derive(Clone)]
struct RegisteredTool {
    schema: ToolSchema,
    tool: Arc<dyn Tool>,
    /// Whether it is a tool of the host, which need not know the limits.
    is_host_tool: bool,
}

impl Toolbox {
    /// `read_file`, `grep`, `glob`, `ls`, `edit`, `write_file`, and `shell` if there is a runner.
    pub fn standard(runner: Option<Arc<dyn CommandRunner>>) -> Self {
        let toolbox = Self::default()
            .built_in(ReadFile)
            .built_in(Grep)
            .built_in(Glob)
            .built_in(Ls)
            .built_in(Edit)
            .built_in(WriteFile);
        match runner {
            Some(runner) => {
                let shell = Arc::new(Shell::new(runner));
                let registered = RegisteredTool {
                    schema: shell.schema(),
                    tool: Arc::clone(&shell) as _,
                    is_host_tool: false,
                };
                Self { shell: Some(shell), ..toolbox.register(registered) }
            }
            None => toolbox,
        }
    }

    /// Adds a tool of the host, which replaces one that answers to the same name. Its output, including that of an
    /// error, is cut at [`ToolLimits::output_bytes`](crate::ToolLimits::output_bytes).
    #[must_use]
    pub fn with(self, tool: Arc<dyn Tool>) -> Self {
        let schema = tool.schema();
        let shell = self.shell.clone().filter(|shell| !same_name(&shell.schema().name, &schema.name));
        Self { shell, ..self.register(RegisteredTool { schema, tool, is_host_tool: true }) }
    }

    /// Keeps only the tools for whose names `keep` is true; calls of others fail.
    #[must_use]
    pub fn keeping(mut self, keep: impl Fn(&str) -> bool) -> Self {
        self.tools.retain(|registered| keep(&registered.schema.name));
        self.shell = self.shell.filter(|shell| keep(&shell.schema().name));
        self
    }

    /// Has `observer` told of each file that `edit` or `write_file` staged, so that the model learns at once what
    /// that broke.
    #[must_use]
    pub fn with_edit_observer(self, observer: Arc<dyn EditObserver>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    fn built_in(self, tool: impl Tool + 'static) -> Self {
        self.register(RegisteredTool { schema: tool.schema(), tool: Arc::new(tool), is_host_tool: false })
    }

    fn register(mut self, registered: RegisteredTool) -> Self {
        match self.tools.iter_mut().find(|known| same_name(&known.schema.name, &registered.schema.name)) {
            Some(known) => *known = registered,
            None => self.tools.push(registered),
        }
        self
    }

    /// The schemas of the tools for a model, in a fixed order.
    pub fn schemas(&self) -> Vec<ToolSchema> {
        self.tools.iter().map(|registered| registered.schema.clone()).collect()
    }

    /// Whether a call of this name reaches a tool.
    pub fn offers(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The error for a call of a name that is not offered.
    pub fn unknown_tool(&self, name: &str) -> ToolError {
        let known: Vec<&str> = self.tools.iter().map(|registered| registered.schema.name.as_str()).collect();
        ToolError::UnknownTool { name: name.to_owned(), known: known.join(", ") }
    }

    /// Whether a call can run at all, by its arguments alone. A call for which this fails needs no question.
    pub fn check_arguments(&self, call: &ToolCall) -> Result<(), ToolError> {
        match self.find(&call.name) {
            Some(registered) if call.is_malformed() => Err(malformed_arguments(&registered.schema)),
            Some(registered) => registered.tool.check_arguments(&call.args),
            None => Ok(()),
        }
    }

    /// How the user is told of the tool of this name and its calls. It need not be offered any more.
    pub fn wording(&self, name: &str) -> Wording {
        self.find(name).map_or_else(|| Wording::of(name), |registered| registered.tool.wording())
    }

    /// The same tools without the observer of edits.
    #[must_use]
    pub fn without_edit_observer(&self) -> Self {
        Self { observer: None, ..self.clone() }
    }

    /// Whether a call of this name is one of our editing tools: it stages what it changes, does nothing else, and may
    /// run just to show what it would change.
    pub fn is_edit(&self, name: &str) -> bool {
        let edits = Declaration::of_ours(name).filter(|tool| tool.behaviour == Behaviour::Edits);
        let is_ours = || self.find(name).is_some_and(|registered| !registered.replaces_built_in());
        edits.is_some() && is_ours()
    }

    /// As [`run`](Self::run), and passes on what a command of the built-in `shell` prints.
    pub async fn run_streaming(
        &self,
        call: &ToolCall,
        context: ToolContext<'_>,
        output_sink: &dyn PartialOutput,
    ) -> Result<ToolOutput, ToolError> {
        match &self.shell {
            Some(shell) if same_name(&shell.schema().name, &call.name) => {
                shell.run_streaming(&call.args, context, Some(output_sink)).await
            }
            _ => self.run(call, context).await,
        }
    }

    /// Runs one call. The name may be an alias (`Read`, `run_shell_command`, …), as for the gate.
    pub async fn run(&self, call: &ToolCall, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        match self.find(&call.name) {
            Some(registered) => {
                let outcome = registered.tool.run(&call.args, context).await;
                debug!(
                    tool = registered.schema.name,
                    own = registered.is_host_tool,
                    failed = outcome.is_err(),
                    "a tool ran"
                );
                let limit = context.limits.output_bytes;
                // A host's tool with a built-in name has its own arguments for files.
                match edited_file(call).filter(|_| !registered.replaces_built_in()) {
                    None if registered.is_host_tool => outcome
                        .map(|output| output.truncated(limit))
                        .map_err(|error| truncate_error(error, limit)),
                    path => self.with_observer_note(path, context, outcome?).await,
                }
            }
            None => Err(self.unknown_tool(&call.name)),
        }
    }

    /// The answer of one of our tools, with what the observer of edits says about the staged file.
    async fn with_observer_note(
        &self,
        path: Option<&str>,
        context: ToolContext<'_>,
        answer: ToolOutput,
    ) -> Result<ToolOutput, ToolError> {
        let (Some(observer), Some(path)) = (&self.observer, path) else { return Ok(answer) };
        let Ok(path) = context.locate(path).await else { return Ok(answer) };
        match observer.on_edit(&path, context).await {
            Some(note) => {
                let note = truncate_output(note, context.limits.output_bytes);
                Ok(ToolOutput::Text(format!("{}\n{note}", answer.into_text())))
            }
            None => Ok(answer),
        }
    }

    /// What the observer of edits says of all that is staged, for which it may wait up to `time`; `None` if there is no
    /// observer, or none for files of these kinds.
    pub async fn look_at_all(
        &self,
        staged: &[WorkspacePath],
        time: Duration,
        context: ToolContext<'_>,
    ) -> Option<FinalLook> {
        self.observer.as_ref()?.look_at_all(staged, time, context).await
    }

    /// Whether commands of the built-in `shell` can run in views. Those of a host's tool in its place cannot.
    pub fn views(&self) -> ViewSupport {
        self.shell.as_ref().map(|shell| shell.views()).unwrap_or_default()
    }

    /// Runs a command of the built-in `shell` in a view, over what the context's overlay stages and, below that, the
    /// work `below`; `git` is what both did to the repository. This stages nothing: what the command wrote is part of
    /// the answer. What comes with the view's name is told what the command prints
    /// ([`ViewRequest::printed`](crate::ViewRequest::printed)).
    pub async fn run_in_view(
        &self,
        call: &ToolCall,
        context: ToolContext<'_>,
        view: (&ViewId, Option<Arc<dyn PartialOutput>>),
        below: Arc<ChangeSet>,
        git: PriorGitChanges,
    ) -> Result<ViewCallOutput, ToolError> {
        match &self.shell {
            Some(shell) if same_name(&shell.schema().name, &call.name) => {
                shell.run_in_view(&call.args, context, view, below, git).await
            }
            _ => Err(ToolError::no_view(format!("{} is no command of the built-in shell", call.name))),
        }
    }

    /// As [`run_in_view`](Self::run_in_view), for a line that no model wrote, in the workspace's own folder.
    pub async fn run_line_in_view(
        &self,
        line: &str,
        context: ToolContext<'_>,
        view: &ViewId,
        below: Arc<ChangeSet>,
        git: PriorGitChanges,
    ) -> Result<ViewCallOutput, ToolError> {
        let Some(shell) = &self.shell else {
            return Err(ToolError::no_view("there is no shell among the tools"));
        };
        shell.run_line_in_view(line, WorkspacePath::root(), context, (view, None), below, git).await
    }

    /// The view is not needed any more.
    pub fn end_view(&self, view: &ViewId) {
        if let Some(shell) = &self.shell {
            shell.end_view(view);
        }
    }

    fn find(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.iter().find(|registered| same_name(&registered.schema.name, name))
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|registered| &registered.schema.name)).finish()
    }
}

impl RegisteredTool {
    /// Whether it is a host's tool with the name of a built-in one.
    fn replaces_built_in(&self) -> bool {
        self.is_host_tool && Declaration::built_in(&self.schema.name).is_some()
    }
}

/// Whether two names mean the same built-in tool, so that the tool which runs is the one that was judged.
fn same_name(one: &str, other: &str) -> bool {
    one == other || Declaration::built_in(one).is_some_and(|tool| Declaration::built_in(other) == Some(tool))
}

/// The file that a call of a tool of this crate stages, as the call names it.
pub fn edited_file(call: &ToolCall) -> Option<&str> {
    let edits = Declaration::of_ours(&call.name).filter(|tool| tool.behaviour == Behaviour::Edits)?;
    edits.path_argument(&call.args).ok().flatten()
}
