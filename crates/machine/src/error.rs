use std::io;
use std::path::{Path, PathBuf};

use headstart_agent::SessionError;
use headstart_agent::native::SessionsError;
use headstart_forked_query::{HistoryError, ModelError};
use headstart_overlay_fs::WorkspacePath;
use headstart_providers::RecordingError;

use crate::exit::ExitStatus;
use crate::shell_words::shell_word;
use crate::system::signals;

/// Why a command failed. The text names what is concerned, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
    #[error("cannot read standard input: {0}")]
    Input(#[source] io::Error),
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// A verb: `read`, `create`, …
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error("--path: {why}")]
    WrongPath { why: String },

    #[error("workspace {path} does not exist; name a folder with --workspace", path = path.display())]
    NoWorkspace { path: PathBuf },
    /// No flag can help, because the record names the workspace.
    #[error(
        "the workspace of speculation {id}, {path}, is gone; put it back, or headstart abort {id} leaves nothing of it",
        path = path.display()
    )]
    WorkspaceGone { id: String, path: PathBuf },
    #[error(
        "the workspace of speculation {id}, {path}, leads through a link to {now} by now, so nothing was changed; put \
         the folder back, or headstart abort {id} leaves nothing of it",
        path = path.display()
    )]
    WorkspaceMoved { id: String, path: PathBuf, now: String },
    #[error("workspace {path} is not a directory; name a folder with --workspace", path = path.display())]
    WorkspaceNotADirectory { path: PathBuf },
    #[error("workspace {path} is not UTF-8; headstart needs a workspace whose path is", path = path.display())]
    WorkspaceNotUtf8 { path: PathBuf },

    #[error("{variable}: {message}")]
    Environment { variable: String, message: String },
    #[error("{file}:{line}: {message}", file = file.display())]
    Configuration { file: PathBuf, line: usize, message: String },
    #[error("{file}: {message}", file = file.display())]
    ConfigurationFile { file: PathBuf, message: String },

    #[error("{message}; {MODEL_FORMS}")]
    ModelSpec { message: String },
    /// The text is longer than others, because a user who begins a chat may not know yet which models there are.
    #[error(
        "no model is chosen yet. {here}\nTo keep a choice: HEADSTART_MODEL{}.\n`headstart help chat` has all forms of a model.",
        or_in_user_file(user_file.as_deref())
    )]
    NoModelForChat { here: String, user_file: Option<PathBuf> },
    #[error("there is no command to run: write a program and its arguments, or one command line in quotes")]
    NoCommand,
    #[error("replay:demo {problem}")]
    DemoModel { problem: &'static str },
    #[error("no model is chosen: set --model or HEADSTART_MODEL{}; {MODEL_FORMS}. Without a key: `headstart chat --model replay:demo`", or_in_user_file(user_file.as_deref()))]
    NoModel { user_file: Option<PathBuf> },
    #[error("{model} needs a key: set {variable}")]
    NoKey { model: String, variable: String },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{file}: {source}", file = file.display())]
    Recording { file: PathBuf, source: RecordingError },
    #[error("cannot record to {file}: {problem}", file = file.display())]
    RecordingPlace { file: PathBuf, problem: String },
    #[error("{file}: {source}", file = file.display())]
    History { file: PathBuf, source: HistoryError },

    #[error(
        "there is no place for the state; name a folder with --state-dir or HEADSTART_STATE_DIR, or set HOME"
    )]
    NoStateDir,
    #[error(
        "the state cannot be kept in {path}: {source}; see to it that you can read and write there, or name another \
         folder with --state-dir or HEADSTART_STATE_DIR",
        path = path.display()
    )]
    StateDir { path: PathBuf, source: io::Error },
    #[error("{path} {problem}", path = path.display())]
    UnsafeStateDir { path: PathBuf, problem: String },
    #[error("{id:?} is not the id of a speculation: ids are letters and digits; `headstart list` shows them")]
    InvalidId { id: String },
    #[error("there is no speculation {id:?} in {folder}; `headstart list` shows those there are", folder = folder.display())]
    UnknownId { id: String, folder: PathBuf },
    #[error(
        "speculation {id} is of another workspace, {workspace}; to mean it, name that: --workspace {}",
        shell_word(workspace)
    )]
    Elsewhere { id: String, workspace: String },
    #[error("{prefix:?} is the start of several ids: {}; write more of it", candidates.join(", "))]
    AmbiguousId { prefix: String, candidates: Vec<String> },
    #[error("{file}: {reason}; the file was left as it is", file = file.display())]
    Record { file: PathBuf, reason: String },
    /// The record is lost.
    #[error("{file}: {reason}; the file was left as it is, and `headstart abort {id}` removes it", file = file.display())]
    DamagedRecord { id: String, file: PathBuf, reason: String },
    #[error("speculation {id} is in use by another process; try again when that has ended")]
    Busy { id: String },
    #[error("there is no session {id:?} in {folder}; `headstart sessions` shows those there are", folder = folder.display())]
    NoSession { id: String, folder: PathBuf },
    #[error(
        "session {id} is open in another chat; leave that first, or begin a new one without --resume and --continue"
    )]
    SessionOpen { id: String },
    #[error("{file}: {source}; the file was left as it is, and `headstart chat` begins a new session", file = file.display())]
    Session { file: PathBuf, source: SessionError },
    #[error(transparent)]
    Sessions(SessionsError),
    #[error(
        "--resume without an id lets you choose in a terminal; here write the id behind it (`headstart sessions` shows them), or --continue for the last"
    )]
    NobodyChooses,
    #[error("sessions are off: `sessions = false` in a configuration file, or HEADSTART_SESSIONS=off")]
    SessionsOff,
    #[error("speculation {id} {problem}")]
    WrongState { id: String, problem: String },

    #[error(
        "nothing was changed in {workspace}: {path}: {message}; see to it that you can write there, then \
         headstart accept {id} applies it",
        workspace = workspace.display()
    )]
    NotAccepted { id: String, workspace: PathBuf, path: WorkspacePath, message: String },
    /// What was begun was taken back at once.
    #[error(
        "nothing was {what} in {workspace}: {message}; see to it that there is room and that you can write there and in \
         {state}, then run it again",
        workspace = workspace.display(),
        state = state.display()
    )]
    NothingDone { what: &'static str, workspace: PathBuf, state: PathBuf, message: String },
    /// What was begun could not be ended or taken back yet.
    #[error(
        "not all of it was {what} in {workspace}: {message}; see to it that there is room and that you can write there and \
         in {state}, then run it again",
        workspace = workspace.display(),
        state = state.display()
    )]
    HalfDone { what: &'static str, workspace: PathBuf, state: PathBuf, message: String },
    #[error("cannot open the workspace {path}: {message}", path = path.display())]
    Workspace { path: PathBuf, message: String },
    /// A signal asked the process to end. Everything that was running has been ended.
    #[error("ended by {signal}: {what}")]
    Signalled { signal: signals::Ending, what: String },
    #[error("speculation {id} was given up; nothing of it is left")]
    GivenUp { id: String },
    #[error(transparent)]
    Start(#[from] headstart_speculation::StartError),
    #[error(transparent)]
    Accept(#[from] headstart_speculation::AcceptError),
    /// The demonstration must work, so a failure is reported as such.
    #[error("the demo went wrong: {0}")]
    Demo(String),

    #[error(transparent)]
    Index(#[from] headstart_code_index::IndexError),

    /// A feature that this build does not have.
    #[error("{0}")]
    Unavailable(String),
}

/// The forms of a model specification.
#[cfg(not(feature = "bedrock"))]
pub(crate) const MODEL_FORMS: &str = "use replay:FILE, anthropic:NAME, gemini:NAME, openai:NAME, responses:NAME, dashscope:NAME or ollama:NAME \
     (openai:NAME with --base-url for any compatible server)";
/// The forms of a model specification in a build with Amazon's models.
#[cfg(feature = "bedrock")]
pub(crate) const MODEL_FORMS: &str = "use replay:FILE, anthropic:NAME, gemini:NAME, openai:NAME, responses:NAME, dashscope:NAME, bedrock:NAME or ollama:NAME \
     (openai:NAME with --base-url for any compatible server)";

fn or_in_user_file(user_file: Option<&Path>) -> String {
    user_file.map(|file| format!(", or `model` in {}", file.display())).unwrap_or_default()
}

impl CliError {
    /// For `map_err`: an error of the system while doing `action` to `path`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// For `map_err`: an error of the system in a folder of the state.
    pub fn state(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::StateDir { path, source }
    }

    /// The exit code for the error.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Environment { .. }
            | Self::ModelSpec { .. }
            | Self::NoModel { .. }
            | Self::NoModelForChat { .. }
            | Self::NoCommand
            | Self::DemoModel { .. }
            | Self::NoStateDir
            | Self::NobodyChooses
            | Self::InvalidId { .. }
            | Self::NoWorkspace { .. }
            | Self::WrongPath { .. }
            | Self::WorkspaceNotADirectory { .. }
            | Self::WorkspaceNotUtf8 { .. } => ExitStatus::Usage,
            _ => ExitStatus::Failed,
        }
    }

    /// The signal by which the process is to end, if there is one.
    pub fn signal(&self) -> Option<signals::Ending> {
        match self {
            Self::Signalled { signal, .. } => Some(*signal),
            _ => None,
        }
    }

    /// Whether the reader of the output has gone, which is not reported.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
