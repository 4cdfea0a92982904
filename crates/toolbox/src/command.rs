use std::time::Duration;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::{ConditionalCommand, DenyRules};

use crate::{ToolError, ViewId, ViewOutput, ViewRequest, ViewSupport};

/// A command for the system's shell.
///
/// Whoever runs it has to respect [`environment`](Self::environment) and [`secrets`](Self::secrets), because the
/// gate allowed the command only in this form; see [`CommandRunner`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRequest {
    /// The command. Only [`prove`](ConditionalCommand::prove) gives out its line for `bash -c`, and the variables
    /// that have to be set for it.
    pub command: ConditionalCommand,
    /// The folder in which it runs.
    pub directory: WorkspacePath,
    /// The environment with which it starts.
    pub environment: CommandEnvironment,
    /// Whether it may read files that hold a secret by their name
    /// ([`DenyRules::secret`](headstart_tool_gate::DenyRules::secret)). The gate stops a command that names one, but
    /// cannot know which ones a command reads that reads a whole folder.
    pub secrets: SecretAccess,
    /// The rules of its user for what it must not read; none if the user was asked. What repositories keep of such files
    /// (`.git/objects`) is closed with them, unless the command starts git, which the gate lets tell nothing of them.
    pub deny: DenyRules,
    /// The time limit, after which it is ended.
    pub time_limit: Duration,
    /// The most bytes of output that are kept.
    pub output_limit: usize,
}

/// The environment with which a command starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandEnvironment {
    /// Without anything that could choose a program or an option, for a command without a question to the user.
    Clean,
    /// The user's own, for a command that the user approved.
    User,
}

/// Whether a command may read files that hold a secret by their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretAccess {
    /// It must not, because the user was not asked about the command.
    Closed,
    /// It may, because the user approved the command, or keeps such files open.
    Open,
}

impl SecretAccess {
    /// What these rules say for a command without a question to the user.
    pub fn of(rules: &DenyRules) -> Self {
        if rules.closes_secrets() { Self::Closed } else { Self::Open }
    }
}

/// The most bytes of the end of an output that a [`PartialOutput`] is told.
pub const PARTIAL_OUTPUT_BYTES: usize = 4 * 1024;

/// Receives what a command prints while it runs.
pub trait PartialOutput: Send + Sync {
    /// The end of the output so far, at most [`PARTIAL_OUTPUT_BYTES`]. It must return at once.
    fn on_output(&self, end: &str);
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Standard output and standard error, in the order in which they came.
    pub output: String,
    /// The exit code; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// Whether output was cut.
    pub truncated: bool,
}

/// The port to the system's shell, which sees the real tree and not the staged one.
///
/// # Guarantees
///
/// Dropping the future ends the command and what it started. Standard input is empty. A directory that is not in the
/// real tree is an error.
///
/// # What an implementation must do
///
/// The gate proves that a command only reads, if it runs as the request says. A plain `bash -c` in the agent's own
/// environment may run code of the repository instead: `git status` starts the program that `core.fsmonitor` in
/// `.git/config` names, `PAGER` or `LD_PRELOAD` another one. So, before anything runs:
///
/// * With [`CommandEnvironment::Clean`] the environment is emptied first, and gets the variables of
///   [`clean_environment`](headstart_tool_gate::clean_environment) and no others; with [`CommandEnvironment::User`] it
///   is the user's own.
/// * [`CommandRequest::command`] asks, right before the command starts, what the gate cannot know about this machine:
///   the version of git, and what its repositories hold. The runner answers each
///   [`Probe`](headstart_tool_gate::Probe), with [`Probed::Unknown`](headstart_tool_gate::Probed::Unknown) if it
///   cannot tell; only then does it get the line. If a condition is not met, the command does not run, and the answer
///   is the error that came instead of the line.
/// * The variables that come with the line ([`ProvenCommand`](headstart_tool_gate::ProvenCommand)) are added to the
///   environment in both cases, because they switch off what a repository's configuration would start.
/// * With [`SecretAccess::Closed`] the command cannot open a file for which
///   [`DenyRules::secret`](headstart_tool_gate::DenyRules::secret) has a pattern, under any name, because `grep -r`
///   and `cat *` would read all of them. Without a sandbox that can hide single files, the command does not run if
///   the folder holds one.
/// * The same goes for what [`deny`](CommandRequest::deny) covers, and, where there is a rule, for the objects of
///   repositories, unless the command starts git. The gate stops a command that names such a path, but a link may lead
///   there.
///
/// A runner that cannot do this answers every request with [`CommandEnvironment::Clean`] with an error. A second
/// barrier (a sandbox without a network and without writes) is advisable all the same.
///
/// ```
/// use async_trait::async_trait;
/// use headstart_tool_gate::{Probe, Probed, clean_environment};
/// use headstart_toolbox::{CommandOutput, CommandRequest, CommandRunner, SecretAccess, CommandEnvironment, ToolError};
///
/// /// Runs what nobody was asked about in a virtual machine that holds a copy of the workspace, and nothing else.
/// struct MachineRunner;
///
/// # fn failed(message: String) -> ToolError { ToolError::failed(message) }
/// # fn in_machine(_: &str, _: std::collections::BTreeMap<String, String>) -> CommandOutput {
/// #     CommandOutput { output: String::new(), exit_code: Some(0), timed_out: false, truncated: false }
/// # }
/// #[async_trait]
/// impl CommandRunner for MachineRunner {
///     async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
///         if request.environment == CommandEnvironment::User || request.secrets == SecretAccess::Closed || !request.deny.is_empty() {
///             return Err(failed("only commands of work ahead run here, and nothing hides secrets".to_owned()));
///         }
///         let mut environment = clean_environment("/nonexistent");
///         // The example of `ConditionalCommand` shows the answers of a machine that has repositories.
///         let look = |probe: &Probe| match probe {
///             Probe::GitVersion => Probed::Version(2, 47),
///             _ => Probed::Unknown,
///         };
///         let proven = request.command.prove_by(look).map_err(|need| failed(need.to_string()))?;
///         environment.extend(proven.environment.clone());
///         Ok(in_machine(proven.line, environment))
///     }
/// }
/// ```
///
/// # Not guaranteed
///
/// What the command does: the runner does not confine it. Whether it may run was decided by the gate before.
///
/// # Views
///
/// A runner that can make copy-on-write views of the workspace says so in [`views`](Self::views), and runs commands
/// there that write. It guarantees more for those, because the gate proves nothing about them:
///
/// * Nothing outside the view changes, whatever the command does. It can reach no connection, socket, process or
///   secret of the user.
/// * If there is no view, or it cannot be completed, nothing runs: [`ToolError::NoView`]. It never runs on the real
///   tree.
/// * When the answer comes, every process of the command has ended. Dropping the future ends them, and the view.
/// * What is in [`ViewOutput::changes`] can be staged as it is. What cannot be is reported, or is an error without
///   any changes.
#[async_trait]
pub trait CommandRunner: Send + Sync {
    /// Runs a command to its end.
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError>;

    /// As [`run`](Self::run), and passes on what the command prints: at most every 100 ms, and never after its end.
    /// By default nothing is passed on.
    async fn run_streaming(
        &self,
        request: CommandRequest,
        _output_sink: &dyn PartialOutput,
    ) -> Result<CommandOutput, ToolError> {
        self.run(request).await
    }

    /// Whether [`run_in_view`](Self::run_in_view) is supported. By default it is not.
    fn views(&self) -> ViewSupport {
        ViewSupport::default()
    }

    /// Runs a command to its end in a view, and returns what it wrote there.
    async fn run_in_view(&self, _request: ViewRequest) -> Result<ViewOutput, ToolError> {
        match self.views() {
            ViewSupport::None { why } => Err(ToolError::no_view(why)),
            ViewSupport::Views { .. } => Err(ToolError::no_view("this runner makes no view")),
        }
    }

    /// The view is not needed any more. This returns at once, and may be called for a view that never existed.
    fn end_view(&self, _view: &ViewId) {}
}
