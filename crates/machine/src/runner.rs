//! Commands of the shell tool, run by the system's bash.

mod background;
mod clean_environment;
mod machine;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_agent::native::real_path;
use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::Confinement;
use headstart_tool_gate::{ConditionalCommand, DenyRules};
use headstart_toolbox::{
    CommandEnvironment, CommandOutput, CommandRequest, CommandRunner, PARTIAL_OUTPUT_BYTES, PartialOutput,
    SecretAccess, ToolError, ViewId, ViewOutput, ViewRequest, ViewSupport,
};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::{Instant, sleep_until};

pub(crate) use background::BackgroundCommands;
pub(crate) use clean_environment::{clean_environment, users_path_first};

use crate::bounded_output::{BoundedOutput, TOLD_EVERY};
use crate::git::{fresh_index, holds_token, is_git_setting};
use crate::remote::ViewHosts;
use crate::system::signals::Signals;
use crate::system::{Group, GroupLeader, Lifeline, OutputPipe, find_bash, own_program, path_in, variables};
use crate::views::ClosedPathCache;
use machine::{InstalledGit, Place};

/// How long to wait after the end of a command for output of processes that left its group.
const DRAIN: Duration = Duration::from_millis(100);
/// How long a command has time to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(3);

/// There is no terminal, even if a person approved the command, so no program may start a pager or ask a question.
const WITHOUT_TERMINAL: [(&str, &str); 4] =
    [("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Runs commands with bash in the workspace on disk.
///
/// A command that nobody was asked about is confined by the kernel ([`Confinement`]). If that is not possible, it does
/// not run.
///
/// Each command is a session without a terminal and a process group, which is ended as a whole when the command has
/// ended, when its time is up, when the future is dropped, or when this process ends in whatever way. A process that
/// starts another session (`setsid`) is not ended by that.
pub struct BashRunner {
    root: PathBuf,
    users: BTreeMap<OsString, OsString>,
    clean: BTreeMap<OsString, OsString>,
    /// The program that confines a command and ends it with this process, which is this executable.
    confiner: Option<PathBuf>,
    git: InstalledGit,
    /// The views in which commands that write run.
    views: ViewHosts,
    closed_paths: Arc<ClosedPathCache>,
}

impl BashRunner {
    /// A runner for the workspace `root`, an absolute path, with the current environment of this process.
    pub fn new(root: PathBuf) -> Self {
        Self {
            confiner: Some(own_program().unwrap_or_default()),
            ..Self::with_environment(root, variables().collect())
        }
    }

    /// This runner with views for commands that write.
    pub(crate) fn with_views(self, views: ViewHosts) -> Self {
        Self { views, ..self }
    }

    /// Like [`new`](Self::new), but with the given environment of the user, and without a program that could confine
    /// commands or end them with this process.
    pub(crate) fn with_environment(root: PathBuf, users: BTreeMap<OsString, OsString>) -> Self {
        let root = real_path(&root).unwrap_or(root);
        let clean = clean_environment(&users, &root);
        let (git, views) = (InstalledGit::default(), ViewHosts::default());
        Self { root, users, clean, confiner: None, git, views, closed_paths: Arc::default() }
    }

    fn place(&self, is_confined: bool) -> Place<'_> {
        let home = self.users.get(OsStr::new("HOME")).map(Path::new);
        Place { root: &self.root, home, git: &self.git, environment: &self.clean, is_confined }
    }

    /// The folder on disk. Neither a link nor a change made meanwhile can lead out of the workspace.
    fn directory(&self, path: &WorkspacePath) -> Result<PathBuf, ToolError> {
        let failed = |message: String| ToolError::failed(message);
        let named = path_in(&self.root, path);
        let real = named.and_then(|named| real_path(&named)).map_err(|error| {
            ToolError::caused(format!("{path} is not on disk, and a command cannot run in it"), error)
        })?;
        if !real.starts_with(&self.root) {
            return Err(failed(format!("{path} leads out of the workspace, and a command cannot run in it")));
        }
        if !real.is_dir() {
            return Err(failed(format!("{path} is not a directory, and a command cannot run in it")));
        }
        Ok(real)
    }

    fn bash(&self, environment: &BTreeMap<OsString, OsString>) -> io::Result<PathBuf> {
        let path = environment.get(OsStr::new("PATH")).map_or(OsStr::new(""), OsString::as_os_str);
        find_bash(path, &self.root).map_err(|why| io::Error::new(io::ErrorKind::NotFound, why))
    }

    fn environment(&self, environment: CommandEnvironment) -> BTreeMap<OsString, OsString> {
        match environment {
            CommandEnvironment::Clean => self.clean.clone(),
            CommandEnvironment::User => {
                let mut environment = self.users.clone();
                environment.extend(WITHOUT_TERMINAL.map(|(name, value)| (name.into(), value.into())));
                environment
            }
        }
    }
}

/// A command that is ready to be started.
struct PreparedCommand {
    process: Command,
    /// Whether the kernel confines it, so that it may say why it cannot be.
    is_confined: bool,
    /// A temporary folder, which is removed when the command has ended.
    scratch: TempDir,
}

impl BashRunner {
    /// The process for a request, after everything that its verdict depends on was checked.
    async fn prepare(&self, request: &CommandRequest) -> Result<PreparedCommand, ToolError> {
        let directory = self.directory(&request.directory)?;
        let mut environment = self.environment(request.environment);
        let unasked = request.environment == CommandEnvironment::Clean;
        let is_confined = self.confines(request);
        let proven = machine::prove(&request.command, &self.place(is_confined)).await;
        let (proven, family) = proven.map_err(ToolError::of)?;
        environment.extend(proven.environment.iter().map(|(name, value)| (name.into(), value.into())));
        let scratch = tempfile::Builder::new().prefix("headstart-").tempdir().map_err(not_started)?;
        let bash = self.bash(&environment).map_err(not_started)?;
        let mut process = match &self.confiner {
            Some(confiner) if unasked => {
                let closes = request.secrets == SecretAccess::Closed;
                let starts_git = request.command.starts_git();
                let rules: Vec<String> = request.deny.rules().iter().map(|rule| rule.0.clone()).collect();
                // What lies beside is the repository that a linked worktree is of.
                let beside = if rules.is_empty() || starts_git { family.folders } else { Vec::new() };
                let confinement = Confinement {
                    closes,
                    rules,
                    starts_git,
                    beside,
                    around: family.top,
                    ..Confinement::new(&self.root, scratch.path())
                };
                environment.extend(confinement.environment());
                environment.extend(self.fresh_index(request, scratch.path()).await);
                let mut process = Command::new(confiner);
                process.args(confinement.arguments(bash, line(proven.line)));
                process
            }
            _ => {
                let mut process = Command::new(bash);
                process.args(line(proven.line)).stdin(Stdio::null());
                process
            }
        };
        process.current_dir(directory).env_clear().envs(environment);
        Ok(PreparedCommand { process, is_confined, scratch })
    }

    /// The variable that has git use an index by which it need not read files that hold a secret. Only for the repository
    /// of the workspace: the variable would count for any other one as well.
    async fn fresh_index(&self, request: &CommandRequest, scratch: &Path) -> Option<(OsString, OsString)> {
        let folders = request.command.git_folders();
        let is_other = |folder: &String| {
            let inner = Path::new(folder).ancestors().filter(|above| *above != Path::new("."));
            inner
                .filter(|above| !above.as_os_str().is_empty())
                .any(|above| self.root.join(above).join(".git").exists())
        };
        let closes_secrets = request.secrets == SecretAccess::Closed;
        let is_closing = closes_secrets || !request.deny.is_empty();
        if !is_closing || folders.is_empty() || folders.iter().any(is_other) {
            return None;
        }
        let (root, scratch) = (self.root.clone(), scratch.to_owned());
        let deny = request.deny.clone();
        let is_closed = move |path: &WorkspacePath| {
            closes_secrets && holds_a_secret(path) || deny.matching(path).is_some()
        };
        let made = tokio::task::spawn_blocking(move || fresh_index(&root, is_closed, &scratch));
        Some(("GIT_INDEX_FILE".into(), made.await.ok()??.into()))
    }

    /// Why a command that nobody is asked about would not run on this machine; `None` if nothing speaks against it.
    pub async fn objection(&self, command: &ConditionalCommand) -> Option<String> {
        let proven = machine::prove(command, &self.place(self.confiner.is_some())).await;
        proven.err().map(|objection| objection.reason())
    }

    /// Runs a command. A signal that asks this process to end is passed on to all processes of the command; those that
    /// are left a moment later, or when the command itself has ended because of the signal, are killed. So are they when
    /// this process is killed, and when the time of the request is up; its limit of output does not apply. An error says
    /// that the command did not run, or was lost.
    pub async fn run_attached(
        &self,
        request: &CommandRequest,
        output: AttachedOutput,
    ) -> Result<AttachedEnd, ToolError> {
        let (mut ready, before) = match output {
            AttachedOutput::Inherited => (self.prepare(request).await?, None),
            AttachedOutput::Kept { .. } => self.prepare_compared(request).await?,
        };
        let mut signals = Signals::new().map_err(not_started)?;
        let lifeline = self.attach(&mut ready)?;
        let mut process = ready.process;
        let mut limit = 0;
        if let AttachedOutput::Kept { most } = output {
            limit = most;
            process.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let (group, mut leader) = Group::start_without_terminal(process).map_err(not_started)?;
        let mut group = Some(group);
        let (_, stdout, stderr) = leader.pipes();
        let reading = async {
            tokio::join!(read_refusal(lifeline), read_ends(stdout, limit), read_ends(stderr, limit))
        };
        let mut reading = pin!(reading);
        let (mut status, mut read, mut until) = (None, None, None);
        let mut deadline = Instant::now().checked_add(request.time_limit);
        let mut timed_out = false;
        loop {
            if let (Some(status), Some((refusal, output, errors))) =
                (status, read.take_if(|_| status.is_some()))
            {
                // As after a command of a shell, processes in the background go on.
                if let Some(group) = group.take_if(|_| until.is_none()) {
                    group.release();
                }
                if let Some(why) = refusal? {
                    return Err(ToolError::failed(why));
                }
                self.refuse_what_came(request, before).await?;
                return Ok(AttachedEnd { status, timed_out, output, errors });
            }
            tokio::select! {
                exited = leader.wait(), if status.is_none() => status = Some(exited.map_err(lost)?),
                streams = &mut reading, if read.is_none() => read = Some(streams),
                signal = signals.next() => {
                    if let Some(group) = &group {
                        group.pass_on(signal);
                    }
                    until = until.or_else(|| Some(Instant::now() + GRACE));
                }
                // Beyond the end of the command itself, because its output is only whole when nobody can write any more.
                () = wait_until(deadline) => {
                    timed_out = true;
                    deadline = None;
                    // The next turn of the loop ends the command and all that it began.
                    until = Some(Instant::now());
                }
                () = wait_until(until) => {
                    if let Some(group) = &group {
                        group.end();
                    }
                    until = Some(Instant::now() + GRACE);
                }
            }
        }
    }

    /// Whether the kernel confines a command, because nobody was asked about it.
    fn confines(&self, request: &CommandRequest) -> bool {
        self.confiner.is_some() && request.environment == CommandEnvironment::Clean
    }

    /// Has a command end with this process.
    fn attach(&self, command: &mut PreparedCommand) -> Result<Option<Lifeline>, ToolError> {
        let Some(own) = self.confiner.as_deref() else { return Ok(None) };
        let process = &mut command.process;
        let attached = if command.is_confined {
            Lifeline::attach_confined(own, process)
        } else {
            Lifeline::attach(own, process)
        };
        attached.map(Some).map_err(not_started)
    }
}

/// Where the output of an attached command goes.
#[derive(Debug, Clone, Copy)]
pub enum AttachedOutput {
    /// To the output of this process.
    Inherited,
    /// To the caller, who gets at most so many bytes of each stream: its beginning and its end.
    Kept { most: usize },
}

/// How an attached command ended, and what of its output is kept.
pub struct AttachedEnd {
    pub status: ExitStatus,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    pub output: KeptOutput,
    pub errors: KeptOutput,
}

/// The beginning and the end of an output stream.
pub struct KeptOutput {
    pub text: String,
    /// Whether something between them is missing, which the text says.
    pub is_cut: bool,
}

/// Reads a stream to its end, and keeps at most so many bytes, half from its beginning and half from its end.
pub async fn read_ends(stream: Option<impl AsyncRead + Unpin>, most: usize) -> KeptOutput {
    let mut kept = BoundedOutput::new(most);
    if let Some(mut stream) = stream {
        let mut buffer = vec![0; 64 * 1024];
        // An error ends the reading; what was read before it is kept.
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            kept.push(&buffer[..length]);
        }
    }
    let (text, is_cut) = kept.finish();
    KeptOutput { text, is_cut }
}

/// Why a command could not be confined; `None` if it ran. The answer comes when the command has ended.
async fn read_refusal(lifeline: Option<Lifeline>) -> Result<Option<String>, ToolError> {
    let Some(lifeline) = lifeline else { return Ok(None) };
    let why = lifeline.refusal().await.map_err(lost)?;
    Ok((!why.is_empty()).then(|| format!("it cannot be confined here: {why}")))
}

/// The arguments with which bash runs a line without reading start-up files.
fn line(command: &str) -> [&str; 5] {
    ["--noprofile", "--norc", "-c", "--", command]
}

/// Whether a path holds a secret. Commands that nobody was asked about do not read such paths.
pub(crate) fn holds_a_secret(path: &WorkspacePath) -> bool {
    DenyRules::default().secret(path).is_some()
}

/// Says of each file and folder on disk whether a confined command may not read it. Git's settings only hold a secret if
/// there is a token in them, because much else is read of them.
///
/// # Errors
///
/// A rule that is no pattern.
pub fn closed_by(
    confinement: &Confinement,
) -> Result<impl Fn(&Path, &WorkspacePath) -> bool + use<>, String> {
    let rules =
        DenyRules::from_patterns(confinement.rules.iter().cloned()).map_err(|error| error.to_string())?;
    let closes_secrets = confinement.closes;
    let is_secret = |file: &Path, path: &WorkspacePath| {
        let is_inside_git = path.names().any(|name| name == b".git");
        if is_inside_git && file.file_name().is_some_and(is_git_setting) {
            holds_token(file)
        } else {
            holds_a_secret(path)
        }
    };
    Ok(move |file: &Path, path: &WorkspacePath| {
        closes_secrets && is_secret(file, path) || rules.matching(path).is_some()
    })
}

fn not_started(error: io::Error) -> ToolError {
    ToolError::caused(format!("the command cannot be started: {error}"), error)
}

fn lost(error: io::Error) -> ToolError {
    ToolError::caused(format!("the command was lost: {error}"), error)
}

#[async_trait]
impl CommandRunner for BashRunner {
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
        self.run_with_listener(request, None).await
    }

    async fn run_streaming(
        &self,
        request: CommandRequest,
        output_sink: &dyn PartialOutput,
    ) -> Result<CommandOutput, ToolError> {
        self.run_with_listener(request, Some(output_sink)).await
    }

    fn views(&self) -> ViewSupport {
        self.views.support()
    }

    async fn run_in_view(&self, request: ViewRequest) -> Result<ViewOutput, ToolError> {
        self.views.run(request).await
    }

    fn end_view(&self, view: &ViewId) {
        self.views.end(view);
    }
}

impl BashRunner {
    async fn run_with_listener(
        &self,
        request: CommandRequest,
        output_sink: Option<&dyn PartialOutput>,
    ) -> Result<CommandOutput, ToolError> {
        let deadline = Instant::now().checked_add(request.time_limit);
        let (mut ready, before) = self.prepare_compared(&request).await?;
        let lifeline = self.attach(&mut ready)?;
        let mut running = start(ready.process).map_err(not_started)?;
        let done = running
            .finish(deadline, BoundedOutput::new(request.output_limit), OutputListener::to(output_sink))
            .await?;
        if let Some(why) = read_refusal(lifeline).await? {
            return Err(ToolError::failed(format!("the command was not run: {why}")));
        }
        self.refuse_what_came(&request, before).await?;
        Ok(done)
    }

    /// As [`prepare`](Self::prepare), with what is closed on disk at this moment if the command is confined.
    async fn prepare_compared(
        &self,
        request: &CommandRequest,
    ) -> Result<(PreparedCommand, Option<BTreeSet<WorkspacePath>>), ToolError> {
        let closed = self.confines(request).then(|| self.closed_now(request));
        let ready = self.prepare(request).await?;
        let closed = match closed {
            Some(closed) => Some(closed.await?),
            None => None,
        };
        Ok((ready, closed))
    }

    /// Fails if a closed file came while a confined command ran, before which these were there.
    async fn refuse_what_came(
        &self,
        request: &CommandRequest,
        before: Option<BTreeSet<WorkspacePath>>,
    ) -> Result<(), ToolError> {
        let Some(before) = before else { return Ok(()) };
        match self.closed_now(request).await?.difference(&before).next() {
            None => Ok(()),
            Some(path) => Err(ToolError::failed(format!(
                "{path}, which is closed, came while the command ran, so nobody is told what it printed; run it again"
            ))),
        }
    }

    /// What is closed on disk now. A confined command is kept from what was closed when it began.
    fn closed_now(
        &self,
        request: &CommandRequest,
    ) -> impl Future<Output = Result<BTreeSet<WorkspacePath>, ToolError>> + use<> {
        let (closed_paths, root) = (Arc::clone(&self.closed_paths), self.root.clone());
        let (deny, secrets) = (request.deny.clone(), request.secrets);
        let looked = tokio::task::spawn_blocking(move || closed_paths.paths(&root, &deny, secrets));
        async move {
            let found = looked.await.map_err(io::Error::other).and_then(|found| found);
            found.map(BTreeSet::from_iter).map_err(|error| ToolError::caused(error.to_string(), error))
        }
    }
}

/// A running command. Dropping this ends its whole process group.
struct RunningCommand {
    // This comes first, so that the group is ended while no other process can have its leader's id.
    group: Group,
    leader: GroupLeader,
    output: OutputPipe,
}

/// Takes the builder by value, because it holds this process's write ends of the pipe. They must be closed, or the pipe
/// would never end.
fn start(mut process: Command) -> io::Result<RunningCommand> {
    let (reader, writer) = io::pipe()?;
    // Standard output and standard error share a pipe, so that the output stays in order.
    process.stdout(writer.try_clone()?).stderr(writer).kill_on_drop(true);
    let (group, leader) = Group::start_without_terminal(process)?;
    Ok(RunningCommand { group, leader, output: OutputPipe::new(reader)? })
}

impl RunningCommand {
    async fn finish(
        &mut self,
        deadline: Option<Instant>,
        mut kept: BoundedOutput,
        mut told: OutputListener<'_>,
    ) -> Result<CommandOutput, ToolError> {
        let Self { group, leader, output } = self;
        let mut buffer = vec![0; 64 * 1024];
        let mut status: Option<ExitStatus> = None;
        let mut timed_out = false;
        let mut open = true;
        // A time limit beyond the range of the clock counts as none.
        let mut until = deadline;
        while open || status.is_none() {
            let mut alarm = pin!(wait_until(until));
            tokio::select! {
                exited = leader.wait(), if status.is_none() => {
                    status = Some(exited.map_err(lost)?);
                    // Background processes of the command end with it.
                    group.end();
                    until = Some(Instant::now() + DRAIN);
                }
                read = output.read(&mut buffer), if open => match read.map_err(lost)? {
                    0 => open = false,
                    length => {
                        kept.push(&buffer[..length]);
                        told.note_output();
                    }
                },
                () = told.until_due() => told.notify(&kept),
                () = &mut alarm => {
                    if status.is_some() {
                        break;
                    }
                    timed_out = true;
                    group.end();
                    until = None;
                }
            }
        }
        let exit_code = if timed_out { None } else { status.and_then(|status| status.code()) };
        let (output, truncated) = kept.finish();
        Ok(CommandOutput { output, exit_code, timed_out, truncated })
    }
}

/// A listener that is told of the output while the command runs.
struct OutputListener<'a> {
    output_sink: Option<&'a dyn PartialOutput>,
    /// When the listener is told next, if there is new output.
    due: Option<Instant>,
    last: Option<Instant>,
}

impl<'a> OutputListener<'a> {
    fn to(output_sink: Option<&'a dyn PartialOutput>) -> Self {
        Self { output_sink, due: None, last: None }
    }

    fn note_output(&mut self) {
        if self.output_sink.is_some() && self.due.is_none() {
            let now = Instant::now();
            self.due = Some(self.last.map_or(now, |last| now.max(last + TOLD_EVERY)));
        }
    }

    fn until_due(&self) -> impl Future<Output = ()> + use<> {
        wait_until(self.due)
    }

    fn notify(&mut self, kept: &BoundedOutput) {
        (self.due, self.last) = (None, Some(Instant::now()));
        if let Some(output_sink) = self.output_sink {
            output_sink.on_output(&kept.end(PARTIAL_OUTPUT_BYTES));
        }
    }
}

async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
