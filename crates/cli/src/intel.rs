//! Language servers over staged files: `headstart-code-intel`, each server in a view of its own.
//!
//! Whether a server is there is looked up when a conversation begins, which takes a few looks at folders; none is started before somebody needs it.

mod disk;
mod found;
mod place;
mod program;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headstart_code_intel::{Adapter, AfterEdit, CodeIntel, Role, Settings, tools};
use headstart_overlay_fs::{OsTree, WorkspacePath};
use headstart_speculation::Engine;
use headstart_tool_gate::DenyRules;
use headstart_toolbox::Toolbox;

use crate::config::{Config, IntelConfig, IntelMode};
use crate::environment::Environment;
use crate::error::CliError;
use crate::machine::Machine;
use crate::views::Views;
pub(crate) use found::Found;
use place::Servers;
pub(crate) use program::Programs;

/// On a machine with less memory no server is started, unless its user says so.
const LEAST_MEMORY: u64 = 8 << 30;

/// Code intelligence for one workspace.
pub(crate) struct Intel {
    intel: CodeIntel,
    after_edit: Duration,
}

impl Intel {
    /// Where it is switched on, a server for a language of the workspace is installed, and there are views to run it in. Has to be called in
    /// the runtime that is to drive the servers.
    pub(crate) fn open(
        config: &Config,
        workspace: &str,
        environment: &Environment,
        views: Option<&Arc<Views>>,
    ) -> Result<Option<Self>, CliError> {
        let settings = &config.intel;
        let Some(views) = views.filter(|_| is_wanted(settings, environment)) else { return Ok(None) };
        let programs = Programs::new(Path::new(workspace), views.path());
        let found = found::in_workspace(&settings.adapters, settings.mode(), &programs, Path::new(workspace));
        if !found.iter().any(|found| found.adapter.role == Role::Language && found.program.is_some()) {
            return Ok(None);
        }
        let rules = config.gate_context(workspace.to_owned())?;
        let intel = start(config, workspace, environment, views, &rules.deny, QUESTION)?;
        let intel = Self { intel, after_edit: settings.after_edit };
        if settings.in_session {
            for path in
                found.into_iter().filter(|found| found.program.is_some()).filter_map(|found| found.file)
            {
                let intel = intel.intel.clone();
                tokio::spawn(async move { intel.begin_warm(&path).await });
            }
        }
        Ok(Some(intel))
    }

    /// An engine with the tools that ask servers, and with what new errors an edit brought.
    pub(crate) fn join(intel: Option<Self>, engine: Engine) -> Engine {
        let Some(Self { intel, after_edit }) = intel else { return engine };
        let toolbox = tools(&intel).into_iter().fold(engine.toolbox, Toolbox::with);
        let toolbox = match after_edit {
            Duration::ZERO => toolbox,
            time => toolbox.observed_by(Arc::new(AfterEdit::new(intel, time))),
        };
        Engine { toolbox, ..engine }
    }
}

/// A question of a model's has so long.
const QUESTION: Duration = Duration::from_secs(10);

/// The handle to the servers; what drives them is a task of the runtime, and ends with it.
pub(crate) fn start(
    config: &Config,
    workspace: &str,
    environment: &Environment,
    views: &Arc<Views>,
    deny: &DenyRules,
    question: Duration,
) -> Result<CodeIntel, CliError> {
    let settings = &config.intel;
    let root = Path::new(workspace);
    let tree = OsTree::open(root)
        .map_err(|error| CliError::Workspace { path: root.to_owned(), message: error.to_string() })?;
    let programs = Programs::new(root, views.path());
    let memory = settings.memory.bytes(Machine::of(environment).memory());
    let servers = Servers::new(Arc::clone(views), programs, deny.clone(), memory);
    let settings = Settings {
        adapters: found::usable(&settings.adapters, settings.mode(), servers.programs()),
        mode: settings.mode().for_servers(),
        servers: settings.servers,
        memory,
        idle: settings.idle,
        question,
        ..Settings::default()
    };
    let (intel, driver) = CodeIntel::new(Arc::new(servers), Arc::new(tree), settings);
    tokio::spawn(driver);
    Ok(intel)
}

/// Whether it is switched on here.
fn is_wanted(settings: &IntelConfig, environment: &Environment) -> bool {
    let is_small = || Machine::of(environment).memory().is_some_and(|bytes| bytes < LEAST_MEMORY);
    match settings.mode {
        Some(mode) => mode != IntelMode::Off,
        None => !is_small(),
    }
}

/// The servers that a user may have, and which of them are there.
pub(crate) fn look(config: &Config, workspace: &Path, views: &Views) -> Vec<Found> {
    let programs = Programs::new(workspace, views.path());
    found::all(&config.intel.adapters, config.intel.mode(), &programs, workspace)
}

/// The paths that a command line names, in the workspace.
pub(crate) fn paths(files: &[String], workspace: &str) -> Result<Vec<WorkspacePath>, CliError> {
    let of = |file: &String| {
        WorkspacePath::resolve(file, workspace).map_err(|error| CliError::Unavailable(error.to_string()))
    };
    files.iter().map(of).collect()
}

/// What a mode runs of an adapter.
fn command(adapter: &Adapter, mode: IntelMode) -> Option<&str> {
    match mode {
        IntelMode::Servers => Some(&adapter.command),
        IntelMode::Check => adapter.check.as_ref().map(|check| check.command.as_str()),
        IntelMode::Off => None,
    }
}
