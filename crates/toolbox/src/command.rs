use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::GitNeeds;

use crate::ToolError;

/// A command for the system's shell.
///
/// Whoever runs it has to obey [`surroundings`](Self::surroundings), [`environment`](Self::environment) and
/// [`git`](Self::git): the gate allowed the command in this form only; see [`CommandRunner`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRequest {
    /// The command line, for `bash -c`.
    pub command: String,
    /// Where it runs.
    pub directory: WorkspacePath,
    /// The environment it starts from.
    pub surroundings: Surroundings,
    /// Variables that have to be set for it, over the environment it starts from: the gate's proof rests on them.
    pub environment: BTreeMap<String, String>,
    /// What has to hold of git and its repositories, or the runner answers with an error instead.
    pub git: Option<GitNeeds>,
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
/// * [`CommandRequest::environment`] is set over that, in both cases: its variables switch off what a repository's
///   configuration would start.
/// * [`CommandRequest::git`] is looked at right before the command starts: the version of git, and the files that must not
///   be there ([`GitNeeds`] says which). Where something does not hold, or cannot be found out, the command does not run,
///   and the answer is an error.
/// * With [`Secrets::Closed`] the command cannot open a file for which [`DenyRules::secret`](headstart_tool_gate::DenyRules::secret) has
///   a pattern, by whichever name: `grep -r` and `cat *` come by all of them. Without a sandbox that can hide single files, the
///   command does not run where the folder holds one.
///
/// A runner that cannot do this answers every request with [`Surroundings::Clean`] with an error. A second wall (a sandbox
/// without a network and without writes) is advisable all the same.
///
/// # Not guaranteed
///
/// What the command does: the runner contains nothing. Whether it may run is the gate's question, asked before.
#[async_trait]
pub trait CommandRunner: Send + Sync {
    /// Runs a command to its end.
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError>;
}
