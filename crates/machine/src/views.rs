//! The views in which commands of work ahead may write: `headstart-shadow` as the toolbox's port for views.
//!
//! A view is made when a step first needs one, and kept until the step's work is over. A command blocks a thread while
//! it runs. Dropping the future ends the view, and the thread then notices that by itself.

mod beside;
mod change_watch;
mod changed_files;
mod closed_paths;
mod environment;
mod git_settings;
mod idle_build;
mod kept_in_repository;
mod layer_build;
mod missed;
mod notes;
mod opening;
mod other_names;
mod prepared;
mod printed;
mod repository;
mod self_test;
mod step_views;
mod support;
mod test_data;
mod told_secrets;
mod tracked;
mod view_folders;
mod warm_layers;
mod while_running;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, OsTree, Quota, WorkspacePath};
use headstart_shadow::{
    Against, Command, End, Network, Options, Output, ReadBack, ReadRules, ShadowError, Streams, TakenAway,
    View,
};
use headstart_tool_gate::DenyRules;
use headstart_toolbox::{
    CommandOutput, PriorGitChanges, SecretAccess, Tier, ToolError, ViewCost, ViewId, ViewOutput,
    ViewRefusals, ViewRequest, ViewSupport,
};

use crate::config::ShadowConfig;
use crate::environment::Environment;
use crate::machine::Machine;
use change_watch::ChangeWatch;
pub use changed_files::changed_since;
pub(crate) use closed_paths::ClosedPathCache;
use closed_paths::{Closed, hidden_note};
pub use environment::OfflineListener;
use git_settings::GitSettings;
use idle_build::IdleBuild;
use kept_in_repository::KeptInRepository;
use notes::{brought_note, left_out_note, lost_output_note, not_staged};
pub use opening::{BuildOutput, OpenedView, ViewFiles};
use prepared::PreparedProcesses;
use printed::while_told;
use repository::Repository;
pub use repository::{RepositoryRead, commits_output, says_no_repository};
use step_views::{OpenStepView, StepView, StepViews};
use told_secrets::KeptSecrets;
pub use view_folders::{ViewFolders, all as all_stored, processes};
use while_running::Rules;

/// What a user's agent needs in a view besides the workspace.
#[derive(Debug, Clone)]
pub struct AgentNeeds {
    /// Folders that the agent reads. What it writes to them is discarded.
    pub tools: Vec<PathBuf>,
    /// Folders and files that are the machine's own, so that what is written to them stays.
    pub shared: Vec<PathBuf>,
    /// Files that the agent gets a copy of.
    pub copied: Vec<PathBuf>,
    /// Folders that are shown empty.
    pub emptied: Vec<PathBuf>,
    /// Folders that can only be read.
    pub show: Vec<PathBuf>,
    pub network: Network,
    pub address_space: u64,
}

/// Views of one workspace.
pub struct Views {
    options: Options,
    environment: Vec<(OsString, OsString)>,
    home: Option<PathBuf>,
    /// Which changes in a view are read back.
    rules: ReadRules,
    most_held: usize,
    most_time: Duration,
    support: ViewSupport,
    against: Vec<Against>,
    notes: Vec<String>,
    repository: Repository,
    git: GitSettings,
    machine: Machine,
    /// The state folder, which stores what was found out about this system.
    state: Option<PathBuf>,
    /// The folders on disk for build output; `None` without a state folder.
    rooms: Option<ViewFolders>,
    /// The command lines that build ahead in idle time.
    warm: Vec<String>,
    by_step: StepViews,
    idle_build: Mutex<IdleBuild>,
    prepared: PreparedProcesses,
    closed_paths: ClosedPathCache,
    /// Those of the folder around the workspace.
    closed_around: ClosedPathCache,
    /// Whether views show a repository that lies outside.
    shows_outside: bool,
    kept_in_repository: KeptInRepository,
    kept_secrets: KeptSecrets,
    /// Where repositories begin among installed packages and build output.
    packages: ClosedPathCache,
    change_watch: ChangeWatch,
}

impl Views {
    /// The views that the configuration allows. Whether this system can make any is found out by making one.
    pub fn new(
        workspace: &Path,
        settings: &ShadowConfig,
        quota: Quota,
        environment: &Environment,
        state: Option<&Path>,
    ) -> Self {
        let variables = environment::of_views(environment, workspace);
        let home = environment.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        let mut options = Options::new(workspace).of_user(home.as_deref(), path.as_deref());
        options.show.clone_from(&settings.show);
        options.tools.clone_from(&settings.tools);
        let git = GitSettings::new(workspace, environment);
        options.show.extend(git.folder().map(Path::to_owned));
        options.tools.extend(environment::toolchains(environment, workspace, home.as_deref()));
        options.limits.bytes = settings.bytes;
        options.limits.files = settings.files;
        options.limits.processes = settings.processes;
        options.limits.memory = settings.memory;
        options.limits.processors = settings.cpus;
        options.tier = settings.tier;
        let (support, against, notes) = match support::find(&options, state) {
            headstart_shadow::Support::Views { tier, against, notes } => {
                options.tier = tier;
                (ViewSupport::Views { tier: tier_of(tier) }, against, notes)
            }
            headstart_shadow::Support::None { why } => (ViewSupport::None { why }, Vec::new(), Vec::new()),
        };
        let kept_secrets = KeptSecrets::new(home.clone());
        Self {
            options,
            environment: variables,
            home,
            rules: ReadRules { build: settings.build.clone(), ..ReadRules::new(quota) },
            most_held: settings.views,
            most_time: settings.time,
            support,
            against,
            notes,
            repository: Repository::new(workspace, state),
            git,
            machine: Machine::of(environment),
            state: state.map(Path::to_owned),
            rooms: state.and_then(|state| ViewFolders::new(state, workspace, settings)),
            warm: settings.warm.clone(),
            by_step: StepViews::default(),
            idle_build: Mutex::default(),
            prepared: PreparedProcesses::default(),
            closed_paths: ClosedPathCache::default(),
            closed_around: ClosedPathCache::default(),
            shows_outside: true,
            kept_in_repository: KeptInRepository::default(),
            kept_secrets,
            packages: ClosedPathCache::default(),
            change_watch: ChangeWatch::new(state),
        }
    }

    /// These views for a user's agent, which needs more than a command does.
    #[must_use]
    pub fn for_agent(mut self, needs: AgentNeeds) -> Self {
        let AgentNeeds { tools, shared, copied, emptied, show, network, address_space } = needs;
        self.options.tools.extend(tools);
        self.options.show.extend(show);
        (self.options.shared, self.options.copied, self.options.emptied) = (shared, copied, emptied);
        self.options.network = network;
        // What the agent wrote there would be lost, and nobody told.
        self.shows_outside = false;
        self.options.limits.address_space = address_space;
        self
    }

    /// These views with the machine's network, for a command that its user allowed to use it.
    #[must_use]
    pub fn on_network(mut self) -> Self {
        environment::online(&mut self.environment);
        self.options.network = Network::Machine;
        self
    }

    /// These views with the workspace shown at another path, because it is a copy.
    #[cfg(unix)]
    #[must_use]
    pub fn shown_at(mut self, path: PathBuf) -> Self {
        self.options.shown_at = Some(path);
        self
    }

    pub fn support(&self) -> &ViewSupport {
        &self.support
    }

    /// What a view is made of, before rules close paths in it.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The environment variables of programs in a view.
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// The search path of programs in a view.
    pub(crate) fn path(&self) -> Option<&OsStr> {
        self.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str())
    }

    /// What rules close on disk for a command that the user was not asked about.
    pub(crate) fn closed(&self, deny: &DenyRules) -> std::io::Result<Closed> {
        self.closed_paths.closed(&self.options.workspace, deny, SecretAccess::of(deny))
    }

    /// Why each better way to keep views apart does not work here.
    pub fn against(&self) -> &[Against] {
        &self.against
    }

    /// What else works less well here than it could.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A view for a command that the user starts, over staged changes and over changes to the repository.
    pub fn open_over(
        &self,
        deny: &DenyRules,
        staged: &ChangeSet,
        git: Option<&GitChange>,
        output: BuildOutput,
    ) -> Result<OpenedView, String> {
        let mut opened = self.open("command", deny, output).map_err(|error| error.to_string())?;
        self.repository.show(&mut opened, &PriorGitChanges { below: Vec::new(), step: git.cloned() })?;
        let mut closed = self.closed(deny).map_err(|error| error.to_string())?;
        opened.test_data = self.take_test_data(&mut closed, deny);
        let view = &mut opened.view;
        view.hide(&closed.paths).and_then(|()| view.show(staged)).map_err(|error| error.to_string())?;
        self.keep_tracked(&mut opened, &closed.paths);
        opened.hidden = closed.paths;
        opened.set_running(true);
        Ok(opened)
    }

    /// What all commands in a view did to the repository, if one of them wrote to git's folder.
    /// `taken_away` is what they took away from the workspace ([`ReadBack::taken_away`]).
    pub fn read_repository(&self, opened: &mut OpenedView, taken_away: &[TakenAway]) -> RepositoryRead {
        self.repository.read(opened, taken_away)
    }

    /// The changes in a view compared with the workspace, including these ignored paths.
    pub fn read_back(
        &self,
        view: &mut View,
        tree: &OsTree,
        keep: Vec<WorkspacePath>,
    ) -> Result<ReadBack, String> {
        let rules = ReadRules { keep, ..self.rules.clone() };
        view.read_back(tree, &rules).map_err(|error| error.to_string())
    }

    /// A program with its arguments, to be run in a view.
    pub fn program(&self, words: &[String], streams: Streams) -> Command {
        let environment = self.environment();
        Command { environment, streams, ..Command::new(words, self.time(self.most_time)) }
    }

    /// A command line, to be run in a view.
    pub(crate) fn command(&self, line: &str, time: Duration, output: usize) -> Command {
        let words = ["/bin/bash", "--noprofile", "--norc", "-c", "--", line];
        let time = self.time(time.min(self.most_time));
        Command { environment: self.environment(), output, ..Command::new(words, time) }
    }

    /// A limit of time for a command that begins now. A process waits its turn on a busy machine.
    fn time(&self, time: Duration) -> Duration {
        time.mul_f64(self.machine.slowdown())
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        [self.environment.clone(), self.git.variables()].concat()
    }

    /// Implements the port's method for running a command.
    pub async fn run(self: &Arc<Self>, request: ViewRequest) -> Result<ViewOutput, ToolError> {
        if let ViewSupport::None { why } = &self.support {
            return Err(ToolError::no_view(why));
        }
        let id = request.view.clone();
        let held = self.step_view(&id);
        let ends = EndViewGuard { views: self, id: Some(id) };
        let this = Arc::clone(self);
        let ran = tokio::task::spawn_blocking(move || this.run_blocking(&held, &request)).await;
        ends.disarm();
        // The next view may be needed soon, so its processes are prepared.
        self.prepare();
        ran.unwrap_or_else(|error| Err(ToolError::no_view_of(error)))
    }

    fn run_blocking(&self, held: &StepView, request: &ViewRequest) -> Result<ViewOutput, ToolError> {
        let mut place = lock(&held.open);
        let left = place.take_if(|open| !self.still_serves(open, request)).map(|open| open.left);
        let mut is_new_view = false;
        loop {
            if place.is_none() {
                is_new_view = true;
                let output = *lock(&held.output);
                *place = Some(self.open_step_view(held, request, output)?);
            }
            let open = place.as_mut().expect("works because it was put there a moment ago");
            open.opened.set_running(true);
            let mut ran = self.run_in(&mut open.opened, request);
            open.opened.set_running(false);
            if let Ok(ran) = &mut ran {
                ran.is_new_view = is_new_view;
                ran.notes.extend(lost_output_note(left.as_deref().unwrap_or_default()));
                ran.notes.extend(left_out_note(&ran.left_out, &mut open.told));
            }
            let is_busy = ran.as_ref().is_ok_and(|ran| {
                opening::hit_mount_point(&open.opened, ran.output.exit_code, &ran.output.output)
            });
            open.left = ran.as_ref().map(|ran| ran.warm.clone()).unwrap_or_default();
            if ran.is_err() || open.opened.view.has_ended() || held.is_over() || is_busy {
                *place = None;
            }
            let is_parted = ran.as_ref().is_ok_and(|ran| {
                ran.refused.renaming && ran.output.exit_code != Some(0) && ran.outside.is_empty()
            });
            if is_parted && !self.options.tier.copies() && !held.is_over() {
                *place = None;
                return self.run_in_copy(held, request).map_or(ran, Ok);
            }
            if !is_busy || held.is_over() {
                return ran;
            }
            *lock(&held.output) = BuildOutput::InMemory;
        }
    }

    /// Whether a view still shows what the request is based on: no staged changes below it were accepted, the user has
    /// changed nothing on disk, and the view has not ended.
    fn still_serves(&self, open: &mut OpenStepView, request: &ViewRequest) -> bool {
        let OpenStepView { opened, below, .. } = open;
        if opened.view.has_ended() || *below != request.below || opened.git.shown != request.git {
            return false;
        }
        let workspace = opened.view.workspace();
        let Some(until) = self.change_watch.unchanged(workspace, opened.fresh) else { return false };
        opened.fresh = until;
        !request.command.contains("git") || !repository::has_changed_since(workspace, opened.git.since)
    }

    /// Runs the command again in a copy, because it failed where an overlay cannot rename a folder of the workspace as
    /// a whole. The copy is removed afterwards, because it lacks what git ignores. For the same reason a failure in the
    /// copy means nothing and is not reported.
    fn run_in_copy(&self, held: &StepView, request: &ViewRequest) -> Option<ViewOutput> {
        let mut open = self.open_step_view(held, request, BuildOutput::Copied).ok()?;
        let ran = self.run_in(&mut open.opened, request).ok()?;
        let has_succeeded = ran.output.exit_code == Some(0);
        has_succeeded.then_some(ViewOutput { tier: Some(Tier::Copy), is_new_view: true, ..ran })
    }

    fn open_step_view(
        &self,
        held: &StepView,
        request: &ViewRequest,
        output: BuildOutput,
    ) -> Result<OpenStepView, ToolError> {
        let mut opened = self.open(request.view.as_str(), &request.deny, output).map_err(of_view)?;
        *lock(&held.kill_handle) = Some(opened.view.kill_handle().map_err(of_view)?);
        if held.is_over() {
            return Err(of_view(ShadowError::Ended));
        }
        opened.view.show_below(&request.below).map_err(of_view)?;
        self.repository.show(&mut opened, &request.git).map_err(|why| {
            let why = format!("the commits made ahead cannot be shown in it: {why}");
            ToolError::no_view(why)
        })?;
        Ok(OpenStepView { opened, below: Arc::clone(&request.below), left: Vec::new(), told: None })
    }

    fn run_in(&self, opened: &mut OpenedView, request: &ViewRequest) -> Result<ViewOutput, ToolError> {
        let view = &mut opened.view;
        let closed = self.closed_paths.closed(view.workspace(), &request.deny, request.secrets);
        let mut closed = closed.map_err(ToolError::no_view_of)?;
        let tops = &closed.repositories;
        if let Some(why) = self.kept_in_repository.objection(tops, &request.deny, request.secrets) {
            return Err(ToolError::no_view(why));
        }
        let shown = self.take_test_data(&mut closed, &request.deny);
        view.hide(&closed.paths).map_err(of_view)?;
        view.show(&request.staged).map_err(of_view)?;
        if request.command.contains("git") {
            self.keep_tracked(opened, &closed.paths);
        }
        let view = &mut opened.view;
        let line = self.command(&request.command, request.time_limit, request.output_limit);
        let command = Command { directory: request.directory.clone(), ..line };
        let started = Instant::now();
        let rules = Rules { deny: &request.deny, secrets: request.secrets };
        let ((done, time), untold) = self.run_compared(&closed, &shown, &rules, || {
            let ran = while_told(request.printed.as_deref(), |watch| view.run_watched(&command, watch));
            Ok((ran.map_err(of_view)?, started.elapsed()))
        })?;
        let output = output(&done);
        if let Some(missed) = self.missed(view, &request.directory, &output) {
            let missed = self.display_path(&missed);
            return Err(ToolError::no_view(format!(
                "it needs {missed}, which lies outside the workspace and is not shown there"
            )));
        }
        if let Some(path) = missed::refused_write(view.workspace(), &output) {
            let path = self.display_path(&path);
            return Err(ToolError::no_view(format!("it writes {path}, which lies outside the workspace")));
        }
        let mut ran = ViewOutput::of(output, (*request.staged).clone());
        ran.began_ms = u64::try_from(opened.fresh / 1_000_000).unwrap_or_default();
        ran.cost = ViewCost { time, processor: done.spent.processor, peak_bytes: done.spent.peak_bytes };
        ran.refused = self.refused(&done);
        let outside = done.refused.outside.iter().filter(|path| !self.is_cache(path));
        let mut outside: Vec<_> = outside.cloned().collect();
        if self.take_repositorys(&mut outside) {
            ran.git_refused = Some(OUTSIDE_CHANGED.to_owned());
        }
        ran.outside = outside.iter().map(|path| self.display_path(path)).collect();
        if view.has_ended() {
            return untold.refuse(&ran.output, &ChangeSet::default()).map(|()| ran);
        }
        let back = match view.read_back(&*request.base, &self.rules) {
            Err(ShadowError::HardLinks { path }) => {
                ran.hard_links = Some(path);
                return untold.refuse(&ran.output, &ChangeSet::default()).map(|()| ran);
            }
            back => back.map_err(of_view)?,
        };
        ran.changes = back.changes;
        ran.warm = back.ignored;
        (ran.left_out, ran.keepable, ran.torn) = (back.left_out, back.keepable, back.torn);
        ran.changed_meanwhile = back.changed_meanwhile;
        ran.notes = back.not_staged.iter().filter_map(not_staged).collect();
        ran.notes.extend(brought_note(&back.brought));
        ran.notes.extend(hidden_note(&closed.paths, &ran.output));
        untold.refuse(&ran.output, &ran.changes)?;
        let taken_away = back.git.then_some(back.taken_away.as_slice());
        self.report_repository(opened, taken_away, &request.deny, &mut ran);
        Ok(ran)
    }

    fn report_repository(
        &self,
        opened: &mut OpenedView,
        written: Option<&[TakenAway]>,
        deny: &DenyRules,
        ran: &mut ViewOutput,
    ) {
        if says_no_repository(&ran.output.output) {
            ran.git_refused = self.beside(deny).without_git.map(str::to_owned);
        }
        let Some(taken_away) = written else { return };
        match self.read_repository(opened, taken_away) {
            RepositoryRead::Change(change) => {
                let change = change.map(|change| *change);
                ran.git_refused = change.as_ref().and_then(|change| commits_output(change, &ran.warm));
                ran.git = change;
            }
            RepositoryRead::Disturbed => ran.changed_meanwhile.extend(WorkspacePath::parse(".git")),
            RepositoryRead::Refused(why) => ran.git_refused = Some(why),
        }
    }

    fn refused(&self, done: &Output) -> ViewRefusals {
        let limits = &self.options.limits;
        let quota = match done.end {
            End::Memory => Some(format!("{} MiB of memory", limits.memory >> 20)),
            End::Processes => Some(format!("{} processes", limits.processes)),
            End::Disk => Some(
                "build output on the disk, of which [shadow] build_bytes and 2 % of the disk are the limit"
                    .to_owned(),
            ),
            _ if done.refused.quota => {
                Some(format!("{} MiB in at most {} files", limits.bytes >> 20, limits.files))
            }
            _ => None,
        };
        let signature =
            git_settings::could_not_sign(&done.stdout) || git_settings::could_not_sign(&done.stderr);
        let offline = environment::stayed_offline(&done.stdout) || environment::stayed_offline(&done.stderr);
        let network = done.refused.network.max(u64::from(offline));
        ViewRefusals {
            network,
            privileges: done.refused.privileges,
            tracing: done.refused.tracing,
            renaming: done.refused.renaming,
            signature,
            quota,
        }
    }
}

/// What is said of a command that writes to a repository outside of the workspace.
const OUTSIDE_CHANGED: &str =
    "it lies outside the workspace (a linked worktree, a submodule, or a folder above)";

/// Ends the view if the future that waits for its command is dropped.
struct EndViewGuard<'a> {
    views: &'a Views,
    id: Option<ViewId>,
}

impl EndViewGuard<'_> {
    fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for EndViewGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.views.end(&id);
        }
    }
}

fn tier_of(tier: headstart_shadow::Tier) -> Tier {
    match tier {
        headstart_shadow::Tier::Kernel => Tier::Kernel,
        headstart_shadow::Tier::Clone => Tier::Clone,
        headstart_shadow::Tier::Copy => Tier::Copy,
    }
}

/// An error that the model can act on stays an error of the call; any other one means that there is no view.
fn of_view(error: ShadowError) -> ToolError {
    match error {
        ShadowError::Command { .. } | ShadowError::Read { .. } => ToolError::of(error),
        ShadowError::Tree(error) => error.into(),
        error => ToolError::no_view_of(error),
    }
}

fn output(done: &Output) -> CommandOutput {
    CommandOutput {
        output: String::from_utf8_lossy(&done.stdout).into_owned(),
        exit_code: match done.end {
            End::Exited { code } => Some(code),
            _ => None,
        },
        timed_out: done.end == End::TimeUp,
        truncated: done.truncated,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic can only have left a view open here, and that is dropped or ended like any other.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
