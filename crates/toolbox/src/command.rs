use std::time::Duration;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::{ConditionalCommand, DenyRules};

use crate::{Support, ToolError, ViewId, ViewOutput, ViewRequest};

/// A command for the system's shell.
///
/// Whoever runs it has to obey [`surroundings`](Self::surroundings) and [`secrets`](Self::secrets): the gate allowed the command in this
/// form only; see [`CommandRunner`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRequest {
    /// The command: its line for `bash -c`, and the variables that have to be set for it, come out of
    /// [`prove`](ConditionalCommand::prove) only.
    pub command: ConditionalCommand,
    /// Where it runs.
    pub directory: WorkspacePath,
    /// The environment it starts from.
    pub surroundings: Surroundings,
    /// Whether it may read files that hold a secret by their name
    /// ([`DenyRules::secret`](headstart_tool_gate::DenyRules::secret)): the gate stops a command that names one, and cannot know which
    /// ones a command comes by that reads all that is below a folder.
    pub secrets: Secrets,
    /// It is ended after this time.
    pub time_limit: Duration,
    /// At most so many bytes of output are kept.
    pub output_limit: usize,
}

/// The environment that a command starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Surroundings {
    /// Nothing that could choose a program or an option: for a command that nobody was asked about.
    Clean,
    /// The user's own: for a command that the user approved.
    Users,
}

/// Whether a command may read files that hold a secret by their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Secrets {
    /// It must not: nobody was asked about the command.
    Closed,
    /// It may: the user approved the command, or has such files open.
    Open,
}

impl Secrets {
    /// What these rules say of a command that nobody was asked about.
    pub fn of(rules: &DenyRules) -> Self {
        if rules.closes_secrets() { Self::Closed } else { Self::Open }
    }
}

/// Hears what a command prints while it runs.
pub trait PartialOutput: Send + Sync {
    /// The end of what was printed so far, 4 KiB at most. It returns at once.
    fn printed(&self, end: &str);
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Standard output and standard error, in the order they came.
    pub output: String,
    /// The exit code; `None` where a signal ended it.
    pub exit_code: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// Whether output was cut.
    pub truncated: bool,
}

/// The port to the system's shell, which sees the real tree, not the staged one.
///
/// # Guarantees
///
/// Dropping the future ends the command and what it started. Standard input is empty. A directory that is not in the
/// real tree is an error.
///
/// # What an implementation has to obey
///
/// The gate proves of a command that nobody was asked about that it only reads, if it runs as the request says. A plain
/// `bash -c` in the agent's own environment runs code of the repository instead: `git status` starts the program that
/// `core.fsmonitor` in `.git/config` names, `PAGER` or `LD_PRELOAD` another one. So, before anything runs:
///
/// * With [`Surroundings::Clean`] the environment is emptied first, and gets the variables of
///   [`clean_environment`](headstart_tool_gate::clean_environment) and no others; with [`Surroundings::Users`] it is the
///   user's own.
/// * [`CommandRequest::command`] asks, right before the command starts, what the gate cannot know of this machine: the version of git,
///   and what its repositories hold. The runner answers each [`Probe`](headstart_tool_gate::Probe), with
///   [`Probed::Unknown`](headstart_tool_gate::Probed::Unknown) where it cannot tell; only then does it get the line. Where something
///   does not hold, the command does not run, and the answer is the error that came instead of the line.
/// * The variables that come with the line ([`ProvenCommand`](headstart_tool_gate::ProvenCommand)) are set over the environment, in both
///   cases: they switch off what a repository's configuration would start.
/// * With [`Secrets::Closed`] the command cannot open a file for which [`DenyRules::secret`](headstart_tool_gate::DenyRules::secret) has
///   a pattern, by whichever name: `grep -r` and `cat *` come by all of them. Without a sandbox that can hide single files, the
///   command does not run where the folder holds one.
///
/// A runner that cannot do this answers every request with [`Surroundings::Clean`] with an error. A second wall (a sandbox
/// without a network and without writes) is advisable all the same.
///
/// ```
/// use async_trait::async_trait;
/// use headstart_tool_gate::{Probe, Probed, clean_environment};
/// use headstart_toolbox::{CommandOutput, CommandRequest, CommandRunner, Secrets, Surroundings, ToolError};
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
///         if request.surroundings == Surroundings::Users || request.secrets == Secrets::Closed {
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
/// What the command does: the runner contains nothing. Whether it may run is the gate's question, asked before.
///
/// # Views
///
/// A runner that can make copy-on-write views of the workspace says so in [`views`](Self::views), and runs commands there that
/// write. Of those it guarantees more, for the gate proves nothing of them:
///
/// * Nothing outside the view changes, whatever the command does. No connection, socket, process or secret of the user's is within its reach.
/// * Where there is no view, or it cannot be made whole, nothing runs: [`ToolError::NoView`]. Never on the real tree.
/// * When the answer comes, every process of the command has ended. Dropping the future ends them, and the view.
/// * What is in [`ViewOutput::changes`] can be staged as it is; what cannot be is told, or is an error and nothing comes back.
#[async_trait]
pub trait CommandRunner: Send + Sync {
    /// Runs a command to its end.
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError>;

    /// The same for somebody who sees what it prints meanwhile: told no more often than every 100 ms, and never after its end. By default nothing is told.
    async fn run_telling(
        &self,
        request: CommandRequest,
        _hears: &dyn PartialOutput,
    ) -> Result<CommandOutput, ToolError> {
        self.run(request).await
    }

    /// Whether [`run_in_view`](Self::run_in_view) runs anything. By default it does not.
    fn views(&self) -> Support {
        Support::default()
    }

    /// Runs a command to its end in a view, and gives what it wrote there.
    async fn run_in_view(&self, _request: ViewRequest) -> Result<ViewOutput, ToolError> {
        match self.views() {
            Support::None { why } => Err(ToolError::no_view(why)),
            Support::Views { .. } => Err(ToolError::no_view("this runner makes no view")),
        }
    }

    /// The view is not needed any more. It returns at once, and may be called for one that never was.
    fn end_view(&self, _view: &ViewId) {}
}
