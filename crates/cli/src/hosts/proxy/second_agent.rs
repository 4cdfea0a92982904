//! The process of the second agent in a view of the project, and what its view holds in the end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headstart_machine::environment::Environment;
use headstart_machine::views::{AgentNeeds, BuildOutput, OpenedView, RepositoryRead, Views};
use headstart_overlay_fs::{ChangeSet, OsTree};
use headstart_shadow::{Command, End, KillHandle, Network, NotStagedReason, ShadowError, Streams, View};
use headstart_tool_gate::DenyRules;
use headstart_toolbox::ViewSupport;
use headstart_workspace_path::WorkspacePath;
use tokio::sync::mpsc::UnboundedSender;

use super::profiles::{AgentProfile, AskMethod};
use super::relay::FrozenView;
use super::stand_in::{PendingCommand, StandIn};
use crate::hosts::hooks::execution_context;

/// How long an agent has time to write its conversation to disk after its input was closed.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit for an agent that prints its settings, because some look for their packages first.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(60);
/// The most address space of a process, in bytes. It is so large because runtimes reserve far more than they use.
const ADDRESS_SPACE: u64 = 1 << 46;

/// An event of the second agent with a certain number.
#[derive(Debug)]
pub(super) enum SecondEvent {
    Started,
    Line(Vec<u8>),
    /// The agent waits to run a command.
    CommandRequested(PendingCommand),
    /// The agent could not be started, or has ended. `for_good` means that a further one would fail in the same way.
    Ended {
        why: String,
        for_good: bool,
    },
    Frozen(Result<FrozenView, String>),
}

impl std::fmt::Debug for FrozenView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrozenView").field("refusal", &self.refusal).finish_non_exhaustive()
    }
}

/// What is needed to start a second agent.
#[derive(Clone)]
pub(super) struct SecondPlan {
    pub(super) profile: &'static AgentProfile,
    pub(super) command: Vec<String>,
    pub(super) views: Arc<Views>,
    pub(super) deny: DenyRules,
    pub(super) folder: PathBuf,
    pub(super) environment: Environment,
    pub(super) tree: Arc<OsTree>,
    pub(super) stand_in: Option<Arc<StandIn>>,
}

enum SecondInput {
    Line(Vec<u8>),
    Freeze,
}

/// A second agent. When this is dropped, it ends and everything that it did is discarded.
pub(super) struct SecondAgent {
    stand_in: Option<Arc<StandIn>>,
    inputs: Sender<SecondInput>,
    kill_handle: Arc<Mutex<Option<KillHandle>>>,
    holder: Option<std::thread::JoinHandle<()>>,
}

impl SecondAgent {
    /// Starts a second agent, whose events have this number.
    pub(super) fn start(
        plan: SecondPlan,
        number: u64,
        events: UnboundedSender<(u64, SecondEvent)>,
    ) -> std::io::Result<Self> {
        let (inputs, wanted) = channel();
        let kill_handle = Arc::<Mutex<Option<KillHandle>>>::default();
        let thread_kill_handle = Arc::clone(&kill_handle);
        let stand_in = plan.stand_in.clone();
        let holder = std::thread::Builder::new().name("second-agent".to_owned()).spawn(move || {
            // The receiver may no longer exist.
            let report = |event| drop(events.send((number, event)));
            if let Err((why, for_good)) =
                run_agent(&plan, &wanted, &thread_kill_handle, &report, &events, number)
            {
                report(SecondEvent::Ended { why, for_good });
            }
        })?;
        Ok(Self { stand_in, inputs, kill_handle, holder: Some(holder) })
    }

    pub(super) fn send(&self, line: Vec<u8>) {
        // The agent may have ended.
        let _ = self.inputs.send(SecondInput::Line(line));
    }

    /// Allows or refuses a command that waits.
    pub(super) fn answer(&self, name: &str, may_run: bool) {
        if let Some(stand_in) = &self.stand_in {
            stand_in.answer(name, may_run);
        }
    }

    /// The work is done: the view is read once the agent has ended.
    pub(super) fn freeze(&self) {
        let _ = self.inputs.send(SecondInput::Freeze);
    }

    /// Ends the agent. Returns the thread to wait for until nothing of it is left.
    pub(super) fn end(mut self) -> Option<std::thread::JoinHandle<()>> {
        self.end_now();
        self.holder.take()
    }

    fn end_now(&mut self) {
        let (gone, _) = channel();
        self.inputs = gone;
        if let Some(kill_handle) = self.kill_handle.lock().unwrap_or_else(PoisonError::into_inner).take() {
            kill_handle.kill();
        }
    }
}

impl Drop for SecondAgent {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// Makes the view, runs the agent in it, and keeps both as long as they are wanted.
fn run_agent(
    plan: &SecondPlan,
    inputs: &Receiver<SecondInput>,
    kill_handle: &Mutex<Option<KillHandle>>,
    report: &dyn Fn(SecondEvent),
    events: &UnboundedSender<(u64, SecondEvent)>,
    number: u64,
) -> Result<(), (String, bool)> {
    let for_good = |why: String| (why, true);
    let passing = |error: ShadowError| (error.to_string(), false);
    if let ViewSupport::None { why } = plan.views.support() {
        return Err(for_good(format!("there is no view here: {why}")));
    }
    let began = Instant::now();
    // This often begins right after an accept, whose files the agent's work may then change.
    headstart_shadow::wait_for_later_times();
    let opened = plan.views.open_over(&plan.deny, &ChangeSet::default(), None, BuildOutput::InMemory);
    let mut opened = opened.map_err(|why| (why, false))?;
    let view = &mut opened.view;
    *kill_handle.lock().unwrap_or_else(PoisonError::into_inner) = Some(view.kill_handle().map_err(passing)?);
    match check_settings(plan, view).map_err(passing)? {
        SettingsReport::Asks => {}
        SettingsReport::Acts(why) => {
            return Err(for_good(format!("the agent may act without a question: {why}")));
        }
        // The machine may only be busy, so this is not permanent.
        SettingsReport::Late => {
            return Err((
                format!("the agent did not tell its settings within {} s", SETTINGS_TIMEOUT.as_secs()),
                false,
            ));
        }
    }
    let command_events = events.clone();
    let _listening = plan.stand_in.as_ref().map(|stand_in| {
        // The receiver may no longer exist.
        stand_in.listen(move |command| {
            drop(command_events.send((number, SecondEvent::CommandRequested(command))));
        })
    });
    let program = view
        .start_program(&command(plan))
        .map_err(|error| for_good(format!("the agent cannot be started in a view: {error}")))?;
    tracing::info!(
        number,
        millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "a second agent is started"
    );
    let (input, output, errors) = (program.stdin, program.stdout, program.stderr);
    let out = events.clone();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            match lines.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            if out.send((number, SecondEvent::Line(line))).is_err() {
                return;
            }
        }
        let why = "the second agent has ended".to_owned();
        let _ = out.send((number, SecondEvent::Ended { why, for_good: false }));
    });
    std::thread::spawn(move || {
        let mut errors = errors;
        let mut piece = [0; 4096];
        while let Ok(read) = errors.read(&mut piece)
            && 0 < read
        {
            tracing::debug!(target: headstart_forked_query::CONTENT, said = %String::from_utf8_lossy(&piece[..read]), "the second agent says");
        }
    });
    report(SecondEvent::Started);
    let mut input = Some(input);
    loop {
        match inputs.recv() {
            Ok(SecondInput::Line(line)) => {
                let Some(input) = &mut input else { continue };
                // If the agent has ended, the end of its output says so.
                let _ =
                    input.write_all(&line).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush());
            }
            Ok(SecondInput::Freeze) => {
                drop(input.take());
                let frozen = freeze(&mut opened, plan, inputs);
                report(SecondEvent::Frozen(frozen));
                return Ok(());
            }
            Err(_) => return Ok(()),
        }
    }
}

/// Waits until the agent has ended, and reads the changes in its view.
fn freeze(
    opened: &mut OpenedView,
    plan: &SecondPlan,
    inputs: &Receiver<SecondInput>,
) -> Result<FrozenView, String> {
    let deadline = Instant::now() + END_TIMEOUT;
    let failed = |error: ShadowError| error.to_string();
    let view = &mut opened.view;
    while view.running().map_err(failed)?.ended.is_none() && Instant::now() < deadline {
        if let Err(RecvTimeoutError::Disconnected) = inputs.recv_timeout(Duration::from_millis(10)) {
            return Err("it is not wanted any more".to_owned());
        }
    }
    view.stop_program().map_err(failed)?;
    let back = plan.views.read_back(view, &plan.tree, Vec::new())?;
    let lost = back.not_staged.iter().find(|left| {
        !matches!(
            left.why,
            NotStagedReason::BuildOutput | NotStagedReason::SpecialBits | NotStagedReason::FolderBits
        )
    });
    let refusal = if let Some(path) = back.changed_meanwhile.first() {
        Some(format!("{path} was changed on disk meanwhile"))
    } else if let Some(torn) = &back.torn {
        Some(format!("it {}", torn.words()))
    } else if let Some(why) =
        back.git.then(|| repository_refusal(plan.views.read_repository(opened, &back.taken_away))).flatten()
    {
        Some(why)
    } else if let Some(path) = back.ignored.iter().find(|path| holds_dependencies(path)) {
        Some(format!("what it installed in {path} is no part of what can be taken"))
    } else {
        lost.map(|left| format!("{} cannot be kept: {:?}", left.path, left.why))
    };
    Ok(FrozenView { changes: back.changes, refusal })
}

/// Whether an ignored folder holds dependencies, which the agent believes to be there and on which later work depends.
fn holds_dependencies(path: &WorkspacePath) -> bool {
    const FOLDERS: [&str; 4] = ["node_modules", ".venv", "venv", "vendor"];
    path.to_string().split('/').any(|part| FOLDERS.contains(&part))
}

/// Why the changes to the repository cannot be taken. Reading the repository is no reason.
fn repository_refusal(read: RepositoryRead) -> Option<String> {
    match read {
        RepositoryRead::Change(None) => None,
        RepositoryRead::Change(Some(_)) => {
            Some("it changed the repository, which only the first agent can do".to_owned())
        }
        RepositoryRead::Disturbed => Some("the repository was changed meanwhile".to_owned()),
        RepositoryRead::Refused(why) => Some(why),
    }
}

/// The command line and the variables of the second agent. Variables that make programs do something else are left out,
/// and those that make the agent ask are added.
fn command(plan: &SecondPlan) -> Command {
    let mut command = in_variables(plan, &plan.command, Duration::MAX);
    let of_settings = match &plan.profile.ask_method {
        AskMethod::BySettings(settings) => settings.variables,
        AskMethod::InMode(_) => &[],
    };
    let of_runs = plan.profile.sandbox.as_ref().map_or(&[][..], |sandbox| sandbox.variables);
    let more = of_settings.iter().chain(of_runs);
    command.environment.extend(more.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    if let Some(stand_in) = &plan.stand_in {
        let path = command.environment.iter_mut().find(|(name, _)| name == "PATH");
        let folders = path.as_ref().map(|(_, path)| std::env::split_paths(path).collect::<Vec<_>>());
        let folders = std::iter::once(stand_in.programs()).chain(folders.unwrap_or_default());
        if let (Some((_, path)), Ok(folders)) = (path, std::env::join_paths(folders)) {
            *path = folders;
        }
    }
    command
}

fn in_variables(plan: &SecondPlan, words: &[String], time: Duration) -> Command {
    let environment = variables(&plan.environment, &plan.folder).into_iter().collect();
    let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
    Command { environment, ..Command::new(arguments, time) }
}

/// What an agent's settings say about those that this program adds to make it ask.
enum SettingsReport {
    /// Nothing in them prevents the agent from asking.
    Asks,
    /// Something in them does, for this reason.
    Acts(String),
    /// The agent did not print its settings in time.
    Late,
}

/// Has the agent print its settings, as they apply in its view.
fn check_settings(plan: &SecondPlan, view: &mut View) -> Result<SettingsReport, ShadowError> {
    let (AskMethod::BySettings(settings), Some(words)) =
        (&plan.profile.ask_method, plan.profile.settings_command(&plan.command))
    else {
        return Ok(SettingsReport::Asks);
    };
    let output =
        view.run(&Command { streams: Streams::Apart, ..in_variables(plan, &words, SETTINGS_TIMEOUT) })?;
    if output.end == End::TimeUp {
        return Ok(SettingsReport::Late);
    }
    let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Ok((settings.against)(&report).map_or(SettingsReport::Asks, SettingsReport::Acts))
}

/// The variables of the second agent.
pub(super) fn variables(users: &Environment, folder: &Path) -> BTreeMap<OsString, OsString> {
    // These variables name sockets, and a folder for temporary files that may not exist in the view.
    const LEFT_OUT: [&str; 6] = [
        "TMPDIR",
        "SSH_AUTH_SOCK",
        "XDG_RUNTIME_DIR",
        "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY",
        "WAYLAND_DISPLAY",
    ];
    let mut variables = users.all();
    variables.retain(|name, _| {
        name.to_str()
            .is_some_and(|name| !LEFT_OUT.contains(&name) && !execution_context::changes_commands(name))
    });
    if let Some(path) = users.get("PATH") {
        let root = execution_context::project_root(folder, users);
        let folders = std::env::split_paths(path).filter(|part| !execution_context::is_filled_by(part, root));
        if let Ok(path) = std::env::join_paths(folders) {
            variables.insert("PATH".into(), path);
        }
    }
    variables
}

/// What the agent needs of the machine besides a view, or why it cannot have it.
pub(super) fn needs(
    profile: &AgentProfile,
    command: &[String],
    users: &Environment,
    folder: &Path,
    stand_in: Option<&StandIn>,
) -> Result<AgentNeeds, String> {
    let home = users.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.ok_or("HOME is not set, so it is not known where the agent keeps its conversations")?;
    if let Some(name) = profile.unless_set.iter().find(|name| users.get(name).is_some()) {
        return Err(format!(
            "{name} is set, which moves what the agent keeps or says what it may do without a question"
        ));
    }
    if let Some(path) = profile.unless_there.iter().find(|path| Path::new(path).exists()) {
        return Err(format!("{path} says what the agent may do without a question"));
    }
    let at = |paths: &[&str]| -> Vec<PathBuf> { paths.iter().map(|path| home.join(path)).collect() };
    let mut shared = at(profile.keeps);
    for kept in &shared {
        let real = kept.canonicalize().map_err(|error| format!("{}: {error}", kept.display()))?;
        if real != *kept {
            return Err(format!("{} is reached through a link", kept.display()));
        }
        if real.starts_with(folder) || folder.starts_with(&real) {
            return Err(format!(
                "the project and {}, where the agent keeps its conversations, lie in each other",
                kept.display()
            ));
        }
    }
    let mut show = programs(command, users);
    if let Some(stand_in) = stand_in {
        shared.push(stand_in.questions());
        show.extend([stand_in.programs(), stand_in.answers()]);
    }
    Ok(AgentNeeds {
        tools: at(profile.reads),
        shared,
        copied: at(profile.copies),
        emptied: at(profile.empties),
        show,
        network: Network::Machine,
        address_space: ADDRESS_SPACE,
    })
}

/// The folders of the programs that the command line starts. For a package, all packages installed beside it belong to
/// them.
fn programs(command: &[String], users: &Environment) -> Vec<PathBuf> {
    let path = users.get("PATH").unwrap_or_default();
    let found = |word: &String| {
        let file = PathBuf::from(word);
        if word.contains('/') {
            return file.canonicalize().ok();
        }
        std::env::split_paths(path)
            .map(|folder| folder.join(word))
            .find(|file| file.is_file())?
            .canonicalize()
            .ok()
    };
    let folder = |file: PathBuf| {
        let modules =
            file.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "node_modules"));
        modules.last().or(file.parent()).map(Path::to_owned)
    };
    command.iter().filter_map(found).filter(|file| file.is_file()).filter_map(folder).collect()
}
