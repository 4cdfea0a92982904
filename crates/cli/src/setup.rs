use std::path::Path;
use std::sync::Arc;

use headstart_forked_query::{BackgroundModel, Message, Model, Recording, Replay};
use headstart_overlay_fs::OsTree;
use headstart_speculation::{Engine, Host, Limits};
use headstart_tool_gate::{ApprovalMode, DenyRules, Gate, GateContext};
use headstart_toolbox::Toolbox;
use tokio::sync::mpsc;

use crate::config::Config;
use crate::error::CliError;
use crate::host::{Ask, NativeHost};
use crate::models::{Models, sleep};
use crate::runner::BashRunner;
use crate::session::Session;

/// The rules that the configuration sets for a workspace.
pub(crate) fn rules(config: &Config, workspace: &str) -> Result<GateContext, CliError> {
    let deny = DenyRules::new(config.deny.iter().cloned()).map_err(|error| CliError::Rules(error.to_string()))?;
    Ok(GateContext { mode: config.mode, workspace: workspace.to_owned(), deny })
}

/// The engine over a real workspace.
pub(crate) fn engine(
    workspace: &str,
    background: BackgroundModel,
    host: Arc<NativeHost>,
    limits: Limits,
) -> Result<Engine, CliError> {
    let path = Path::new(workspace);
    let tree = OsTree::open(path).map_err(|error| CliError::Workspace { path: path.to_owned(), message: error.to_string() })?;
    Ok(Engine {
        background,
        toolbox: Toolbox::standard(Some(Arc::new(BashRunner::new(path.to_owned())))),
        workspace: Arc::new(tree),
        gate: Arc::new(Gate::new()),
        host: host as Arc<dyn Host>,
        limits,
    })
}

/// A conversation with the person at the terminal.
pub(crate) fn session(
    config: &Config,
    workspace: &str,
    models: Models,
    history: Vec<Message>,
) -> Result<(Session, mpsc::UnboundedReceiver<Ask>), CliError> {
    let (host, asks) = NativeHost::attended(rules(config, workspace)?);
    let host = Arc::new(host);
    let engine = engine(workspace, models.background, Arc::clone(&host), config.limits)?;
    Ok((Session::new(engine, host, models.main, models.name, history), asks))
}

/// The demo's conversation: a recording for a model, edits without questions.
pub(crate) fn demo_session(
    workspace: &Path,
    recording: &str,
    speed: f64,
) -> Result<(Session, mpsc::UnboundedReceiver<Ask>), CliError> {
    let recording = Recording::parse(recording).expect("works because the recording is bundled and tested");
    let model: Arc<dyn Model> = Arc::new(Replay::new(recording, sleep(speed)));
    let models = Models {
        background: BackgroundModel::main(Arc::clone(&model), "recording"),
        main: model,
        name: "recording".into(),
        recorder: None,
    };
    let config = Config { mode: ApprovalMode::AutoEdit, ..Config::default() };
    let workspace = crate::workspace::resolve(Some(workspace))?;
    session(&config, &workspace, models, Vec::new())
}
