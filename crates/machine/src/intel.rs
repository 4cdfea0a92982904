//! Language servers over staged files: `headstart-code-intel`, with a view for each server.
//!
//! When a conversation begins, only a few folders are read to find out which servers are installed. No server is
//! started before it is needed.

mod detection;
mod disk;
mod program;
mod server_views;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headstart_code_intel::{Adapter, CodeIntel, EditDiagnostics, Role, Settings, tools};
use headstart_overlay_fs::{OsTree, WorkspacePath};
use headstart_speculation::Engine;
use headstart_tool_gate::DenyRules;
use headstart_toolbox::Toolbox;

use crate::config::{Config, IntelConfig, IntelMode};
use crate::environment::Environment;
use crate::error::CliError;
use crate::machine::Machine;
use crate::views::Views;
pub use detection::LanguageServer;
pub use program::Programs;
use server_views::Servers;

/// The least memory of a machine, in bytes, on which servers are started without the user asking for that.
const MIN_MEMORY: u64 = 8 << 30;

/// Code intelligence for one workspace.
pub struct Intel {
    intel: CodeIntel,
    after_edit: Duration,
}

impl Intel {
    /// Code intelligence, if it is switched on, a server for a language of the workspace is installed, and there are
    /// views to run it in. Must be called in the runtime that is to drive the servers.
    pub fn open(
        config: &Config,
        workspace: &str,
        environment: &Environment,
        views: Option<&Arc<Views>>,
    ) -> Result<Option<Self>, CliError> {
        let settings = &config.intel;
        let Some(views) = views.filter(|_| is_wanted(settings, environment)) else { return Ok(None) };
        let programs = Programs::new(Path::new(workspace), views.path());
        let found =
            detection::in_workspace(&settings.adapters, settings.mode(), &programs, Path::new(workspace));
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
                tokio::spawn(async move { intel.warm_in_background(&path).await });
            }
        }
        Ok(Some(intel))
    }

    /// The engine with the tools that ask servers, and with new errors reported after an edit.
    pub fn join(intel: Option<Self>, engine: Engine) -> Engine {
        let Some(Self { intel, after_edit }) = intel else { return engine };
        let toolbox = tools(&intel).into_iter().fold(engine.toolbox, Toolbox::with);
        let toolbox = match after_edit {
            Duration::ZERO => toolbox,
            time => toolbox.with_edit_observer(Arc::new(EditDiagnostics::new(intel, time))),
        };
        Engine { toolbox, ..engine }
    }
}

/// The time limit for a model's question to a server.
const QUESTION: Duration = Duration::from_secs(10);

/// The handle to the servers. A task of the runtime drives them, and they end with the runtime.
pub fn start(
    config: &Config,
    workspace: &str,
    environment: &Environment,
    views: &Arc<Views>,
    deny: &DenyRules,
    request_timeout: Duration,
) -> Result<CodeIntel, CliError> {
    let settings = &config.intel;
    let root = Path::new(workspace);
    let tree = OsTree::open(root)
        .map_err(|error| CliError::Workspace { path: root.to_owned(), message: error.to_string() })?;
    let programs = Programs::new(root, views.path());
    let memory = settings.memory.bytes(Machine::of(environment).memory());
    let servers = Servers::new(Arc::clone(views), programs, deny.clone(), memory);
    let settings = Settings {
        adapters: detection::usable(&settings.adapters, settings.mode(), servers.programs()),
        mode: settings.mode().for_servers(),
        max_servers: settings.servers,
        memory_limit: memory,
        idle_timeout: settings.idle,
        request_timeout,
        ..Settings::default()
    };
    let (intel, driver) = CodeIntel::new(Arc::new(servers), Arc::new(tree), settings);
    tokio::spawn(driver);
    Ok(intel)
}

/// Whether code intelligence is switched on for this machine.
fn is_wanted(settings: &IntelConfig, environment: &Environment) -> bool {
    let is_small = || Machine::of(environment).memory().is_some_and(|bytes| bytes < MIN_MEMORY);
    match settings.mode {
        Some(mode) => mode != IntelMode::Off,
        None => !is_small(),
    }
}

/// The servers that the user may have, and which of them are installed.
pub fn detect(config: &Config, workspace: &Path, views: &Views) -> Vec<LanguageServer> {
    let programs = Programs::new(workspace, views.path());
    detection::all(&config.intel.adapters, config.intel.mode(), &programs, workspace)
}

/// The paths in the workspace that a command line names.
pub fn paths(files: &[String], workspace: &str) -> Result<Vec<WorkspacePath>, CliError> {
    let of = |file: &String| {
        WorkspacePath::resolve(file, workspace).map_err(|error| CliError::Unavailable(error.to_string()))
    };
    files.iter().map(of).collect()
}

/// The program of an adapter in this mode.
fn command(adapter: &Adapter, mode: IntelMode) -> Option<&str> {
    match mode {
        IntelMode::Servers => Some(&adapter.command),
        IntelMode::Check => adapter.check.as_ref().map(|check| check.command.as_str()),
        IntelMode::Off => None,
    }
}
