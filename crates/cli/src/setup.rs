use std::path::Path;
use std::sync::Arc;

use headstart_forked_query::{BackgroundModel, Message, Recording};
use headstart_overlay_fs::OsTree;
use headstart_speculation::{Engine, Host, Limits};
use headstart_tool_gate::{ApprovalMode, Gate};
use headstart_toolbox::Toolbox;
use tokio::sync::mpsc;

use crate::config::Config;
use crate::error::CliError;
use crate::host::{Ask, NativeHost};
use crate::models::Models;
use crate::runner::BashRunner;
use crate::session::Session;

/// The engine over a real workspace.
pub(crate) fn engine(
    workspace: &str,
    background: BackgroundModel,
    host: Arc<NativeHost>,
    limits: Limits,
) -> Result<Engine, CliError> {
    let path = Path::new(workspace);
    let tree = OsTree::open(path)
        .map_err(|error| CliError::Workspace { path: path.to_owned(), message: error.to_string() })?;
    Ok(Engine {
        background,
        toolbox: toolbox(path),
        workspace: Arc::new(tree),
        gate: Arc::new(Gate::new()),
        host: host as Arc<dyn Host>,
        limits,
    })
}

/// The built-in tools, commands in the real shell.
pub(crate) fn toolbox(workspace: &Path) -> Toolbox {
    Toolbox::standard(Some(Arc::new(BashRunner::new(workspace.to_owned()))))
}

/// A conversation with the person at the terminal.
pub(crate) fn session(
    config: &Config,
    workspace: &str,
    models: &Models,
    history: Vec<Message>,
) -> Result<(Session, mpsc::UnboundedReceiver<Ask>), CliError> {
    let (host, asks) = NativeHost::attended(config.gate_context(workspace.to_owned())?);
    let host = Arc::new(host);
    let engine = engine(workspace, models.background.clone(), Arc::clone(&host), config.limits)?;
    Ok((Session::new(engine, host, Arc::clone(&models.main), models.main_name.clone(), history), asks))
}

/// The demo's conversation: a recording for a model, edits without questions.
pub(crate) fn demo_session(
    workspace: &Path,
    recording: Recording,
    speed: f64,
) -> Result<(Session, mpsc::UnboundedReceiver<Ask>), CliError> {
    let models = Models::of_recording(recording, speed);
    let config = Config { mode: ApprovalMode::AutoEdit, ..Config::default() };
    let workspace = crate::workspace::resolve(Some(workspace))?;
    session(&config, &workspace, &models, Vec::new())
}
