use std::path::Path;
use std::sync::Arc;

use headstart_context::{RULES_FOLDER, create_rule_tool, request_rule_tool};
use headstart_forked_query::BackgroundModel;
use headstart_overlay_fs::{
    Durability, OsOptions, OsTree, Preparing, SweepOutcome, Swept, Tree, TreeError, UndoLimit, Workspace,
};
use headstart_providers::Recording;
use headstart_speculation::{Engine, Host, Limits, Staging, task_tool};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext};
use headstart_toolbox::{
    BackgroundRunner, CommandRunner, ProjectIndex, Toolbox, background_tools, codebase_tools, more_tools,
    view_diff_tool,
};

use crate::checks::Checks;
use crate::config::{Config, IndexConfig, IntelMode};
use crate::environment::Environment;
use crate::error::CliError;
use crate::git;
use crate::host::NativeHost;
use crate::index::{IndexModels, Upkeep};
use crate::intel::Intel;
use crate::mentions::Mentions;
use crate::models::Models;
use crate::output;
use crate::parts::ConversationParts;
use crate::remote::{Remote, ViewHosts};
use crate::repository::GitRepository;
use crate::rules::Rules;
use crate::runner::{BackgroundCommands, BashRunner};
use crate::store;
use crate::tool_servers::ServerTools;
use crate::views::Views;
use crate::web;

/// How many accepts of a workspace can be undone, and how many bytes are kept for that.
const UNDO: UndoLimit = UndoLimit { accepts: 20, bytes: 256 * 1024 * 1024 };

/// Which process accepts what is speculated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptingProcess {
    /// This process. Staged files are on the disk already, so that an accept only has to move them.
    This,
    /// Another process, which finds the staged files on the disk too.
    Another,
}

/// The real workspace. Operations that dead processes left unfinished in it are completed and reported. `state` is the
/// state folder; without it no accept can be undone.
pub fn tree(workspace: &Path, state: Option<&Path>, by: AcceptingProcess) -> Result<OsTree, CliError> {
    let (tree, swept) = tidied(workspace, state, by)?;
    swept.iter().filter(|swept| is_told(swept)).for_each(tell_interrupted);
    Ok(tree)
}

/// Ends and reports what dead processes left unfinished in a workspace, and reports what earlier calls could not put
/// back, as long as it is there. Nothing is written where there is nothing of the kind.
pub fn report_interrupted(workspace: &Path, state: &Path) -> Result<(), CliError> {
    let by = AcceptingProcess::Another;
    let failed = |error: TreeError| cannot_open(workspace, Some(state), &error);
    let found = OsTree::open_with(workspace, options(Some(state), by)).map_err(failed)?;
    if !found.has_interrupted().map_err(failed)? {
        return Ok(());
    }
    let (tree, swept) = tidied(workspace, Some(state), by)?;
    let told: Vec<_> = swept.into_iter().filter(is_told).collect();
    told.iter().for_each(tell_interrupted);
    let kept = tree.not_put_back().map_err(failed)?;
    kept.iter().filter(|kept| told.iter().all(|told| told.name != kept.name)).for_each(tell_interrupted);
    Ok(())
}

fn is_told(swept: &Swept) -> bool {
    use SweepOutcome::{Damaged, RolledBack, UndoRolledBack};
    matches!(swept.outcome, RolledBack | UndoRolledBack | Damaged) || !swept.stayed.is_empty()
}

fn tell_interrupted(swept: &Swept) {
    output::note(&output::interrupted(swept));
}

/// The real workspace, and what became of what dead processes left unfinished in it.
fn tidied(
    workspace: &Path,
    state: Option<&Path>,
    by: AcceptingProcess,
) -> Result<(OsTree, Vec<Swept>), CliError> {
    let options = options(state, by);
    let failed = |error: TreeError| cannot_open(workspace, state, &error);
    let tree = OsTree::open_with(workspace, options).map_err(failed)?;
    let tree = match git::repository(workspace, state) {
        Some(repository) => tree.with_participant(Arc::new(repository)),
        None => tree,
    };
    let swept = tree.tidy().map_err(failed)?;
    for one in &swept {
        tracing::info!(outcome = ?one.outcome, "what a process left half done was ended");
    }
    Ok((tree, swept))
}

/// Why a workspace cannot be opened, or an accept in it not undone. Staged files and the data for undos are in the
/// state folder, so the problem may be there.
pub fn cannot_open(workspace: &Path, state: Option<&Path>, error: &TreeError) -> CliError {
    let of_state = state.and_then(|state| store::trouble_with(&state.join("staging")));
    of_state.unwrap_or_else(|| CliError::Workspace { path: workspace.to_owned(), message: error.to_string() })
}

/// Why what changes a workspace failed, as on a full disk, and what it left there: nothing, unless that failed too or
/// `is_as_before` denies it. `what` says what was not done, as in "nothing was changed".
pub fn not_done(
    tree: &OsTree,
    what: &'static str,
    (workspace, state): (&Path, &Path),
    error: &TreeError,
    is_as_before: impl FnOnce(&OsTree) -> Result<bool, TreeError>,
) -> CliError {
    let (workspace, state, message) = (workspace.to_owned(), state.to_owned(), error.to_string());
    match tree.tidy().and_then(|_| is_as_before(tree)) {
        Ok(true) => CliError::NothingDone { what, workspace, state, message },
        _ => CliError::HalfDone { what, workspace, state, message },
    }
}

pub fn options(state: Option<&Path>, by: AcceptingProcess) -> OsOptions {
    OsOptions {
        state: state.map(Path::to_owned),
        durability: Durability::Full,
        undo: if state.is_some() { UNDO } else { UndoLimit::default() },
        prepare: match by {
            AcceptingProcess::This => Preparing::ForThisTree,
            AcceptingProcess::Another => Preparing::ForAnyProcess,
        },
    }
}

/// The engine for a real workspace.
pub fn engine(
    tree: Arc<OsTree>,
    toolbox: Toolbox,
    background: BackgroundModel,
    host: Arc<NativeHost>,
    limits: &Limits,
    index: Option<&Arc<Upkeep>>,
) -> Engine {
    let tree: Arc<dyn Workspace> = tree;
    Engine {
        background,
        toolbox,
        workspace: index.map_or_else(|| Arc::clone(&tree), |index| index.follow(Arc::clone(&tree))),
        gate: Arc::new(Gate::new()),
        host: host as Arc<dyn Host>,
        limits: *limits,
    }
}

/// The engine without the tools that the user excludes.
pub fn offered(engine: Engine) -> Engine {
    let policies = engine.host.gate_context().tool_policies;
    Engine { toolbox: engine.toolbox.clone().keeping(|name| !policies.excludes(name)), ..engine }
}

/// The built-in tools, commands in the real shell, and the tools of the repository, of rules, of the web and of an
/// index.
pub fn toolbox(
    config: &Config,
    workspace: &Path,
    environment: &Environment,
    views: ViewHosts,
    index: Option<&Arc<Upkeep>>,
) -> Toolbox {
    let bash = Arc::new(BashRunner::new(workspace.to_owned()).with_views(views));
    let background: Arc<dyn BackgroundRunner> = Arc::new(BackgroundCommands::new(Arc::clone(&bash)));
    let runner: Arc<dyn CommandRunner> = bash;
    let of_index = index.map(|index| codebase_tools(Arc::clone(index) as Arc<dyn ProjectIndex>));
    let of_repository = view_diff_tool(Arc::new(GitRepository::new(Arc::clone(&runner))));
    // Without this folder there is no rule to read.
    let has_rules = config.rules && workspace.join(RULES_FOLDER).is_dir();
    let of_rules = has_rules.then(request_rule_tool).into_iter().chain(config.rules.then(create_rule_tool));
    let more =
        more_tools().into_iter().chain(background_tools(&background)).chain([of_repository]).chain(of_rules);
    let more = more.chain(web::tools(&config.web, environment)).chain(of_index.into_iter().flatten());
    let more = more.chain([task_tool()]);
    more.fold(Toolbox::standard(Some(runner)), Toolbox::with)
}

/// The tools that a model is offered if no work runs ahead, for a single question or to list them.
pub fn offered_toolbox(
    config: &Config,
    workspace: &str,
    environment: &Environment,
    state: Option<&Path>,
) -> Result<Toolbox, CliError> {
    let index = index(config, workspace, environment, state)?;
    Ok(toolbox(config, Path::new(workspace), environment, ViewHosts::default(), index.as_ref()))
}

/// The index of a workspace, if it is switched on and there is a state folder. Nothing is opened yet.
pub fn index(
    config: &Config,
    workspace: &str,
    environment: &Environment,
    state: Option<&Path>,
) -> Result<Option<Arc<Upkeep>>, CliError> {
    let Some(state) = state.filter(|_| config.index.enabled) else { return Ok(None) };
    let rules = config.gate_context(workspace.to_owned())?;
    let models = IndexModels::open(config, environment)?;
    Ok(Some(Arc::new(Upkeep::new(state.to_owned(), workspace, rules, config.index.clone(), models)?)))
}

/// Where work ahead may run commands: in views on this machine, or on another one that the user's file names.
pub fn view_hosts(
    config: &Config,
    workspace: &str,
    environment: &Environment,
    state: Option<&Path>,
) -> ViewHosts {
    let local = views(config, workspace, environment, state);
    let is_wanted = config.shadow.enabled && config.speculation;
    let remote =
        || Remote::new(Path::new(workspace), &config.shadow, config.limits.staged, environment, state);
    ViewHosts { local, remote: is_wanted.then(remote).flatten().map(Arc::new) }
}

/// The views on this machine for commands and language servers, if they are switched on. Whether they are possible is
/// found out by making one.
fn views(
    config: &Config,
    workspace: &str,
    environment: &Environment,
    state: Option<&Path>,
) -> Option<Arc<Views>> {
    let is_needed =
        config.speculation || config.staging != Staging::Off || config.intel.mode() != IntelMode::Off;
    let wanted = config.shadow.enabled && is_needed;
    let views = wanted.then(|| Arc::new(any_views(config, workspace, environment, state)));
    views.filter(|views| views.support().has_views())
}

/// The views on this machine, or why there are none.
pub fn any_views(config: &Config, workspace: &str, environment: &Environment, state: Option<&Path>) -> Views {
    Views::new(Path::new(workspace), &config.shadow, config.limits.staged, environment, state)
}

/// The project's rules, if the user wants them to be read.
pub fn rules(config: &Config, workspace: &str, state: Option<&Path>) -> Option<Arc<Rules>> {
    config.rules.then(|| Arc::new(Rules::of(workspace, state)))
}

/// The parts of a conversation with the person at the terminal.
pub(crate) async fn parts(
    config: &Config,
    workspace: &str,
    state: Option<&Path>,
    models: &Models,
    environment: &Environment,
    server_tools: ServerTools,
) -> Result<ConversationParts, CliError> {
    let view_hosts = view_hosts(config, workspace, environment, state);
    let intel = Intel::open(config, workspace, environment, view_hosts.local.as_ref())?;
    let mut rules =
        GateContext { views: view_hosts.are_there(), ..config.gate_context(workspace.to_owned())? };
    rules.tools.extend(server_tools.declarations());
    let project_rules = self::rules(config, workspace, state);
    let host = NativeHost::unattended(rules).with_project_rules(project_rules.clone());
    let host = host.at_boundary(config.at_boundary).for_workspace(workspace, config.shadow.fresh);
    let host = Arc::new(host.checking(Checks::new(workspace, &config.shadow, environment)));
    let os_tree = Arc::new(tree(Path::new(workspace), state, AcceptingProcess::This)?);
    let limits = Limits { candidates: config.candidates, ..config.limits };
    let index = index(config, workspace, environment, state)?;
    let background = models.background.clone();
    let toolbox = toolbox(config, Path::new(workspace), environment, view_hosts.clone(), index.as_ref());
    let engine =
        engine(Arc::clone(&os_tree), toolbox, background, Arc::clone(&host), &limits, index.as_ref());
    let mut engine = Intel::join(intel, engine);
    engine.toolbox = server_tools.join(engine.toolbox);
    let engine = offered(engine);
    let server_tools = Arc::new(server_tools);
    host.set_mentions(Mentions::new(engine.toolbox.clone(), models, Arc::clone(&server_tools)));
    let tree: Arc<dyn Tree> = Arc::clone(&engine.workspace) as _;
    let gate = host.gate_context();
    let system = Rules::system_text(project_rules.as_ref(), &engine.toolbox, &tree, &gate).await;
    let parts = ConversationParts {
        engine,
        tree: os_tree,
        host,
        model: Arc::clone(&models.main),
        tool_refusals: Arc::clone(&models.tool_refusals),
        model_name: models.main_name.clone(),
        titles: models.titles,
        system,
        index,
        server_tools,
        views: view_hosts,
        workspace: workspace.into(),
        state: state.map(Path::to_owned),
    };
    parts.rules_notices().iter().for_each(|notice| output::note(notice));
    Ok(parts)
}

/// The parts of the demo's conversation: a recording in place of a model, and edits without questions.
pub async fn demo_parts(
    workspace: &Path,
    recording: Recording,
    speed: f64,
) -> Result<ConversationParts, CliError> {
    let models = Models::of_recording(recording, speed);
    // A recording does not use an index, and its folder is removed with the demo.
    let index = IndexConfig { enabled: false, ..IndexConfig::default() };
    let environment = Environment::of_process();
    let mut config = Config { mode: ApprovalMode::AutoEdit, index, ..Config::default() };
    config.shadow.enabled = environment.switch("HEADSTART_SHADOW")?.unwrap_or(true);
    let workspace = crate::workspace::resolve(Some(workspace))?;
    // The state is beside the sample project, in the temporary folder that is removed with it.
    let state = Path::new(&workspace).with_file_name("state");
    parts(&config, &workspace, Some(&state), &models, &environment, ServerTools::default()).await
}
