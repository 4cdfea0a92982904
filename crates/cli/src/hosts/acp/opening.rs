//! Opens a session, new or continued.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{Error, McpServer};
use headstart_budget::policy::Mode;
use headstart_machine::config::{Config, Flags};
use headstart_machine::context::Context;
use headstart_machine::conversation::{
    Conversation, ConversationSetup, FrontEndCapabilities, ModelChoice, ServersStart, SessionSelector,
};
use headstart_machine::error::CliError;
use headstart_machine::models::Models;
use headstart_machine::workspace;

use super::client::Client;
use super::options::SessionOptions;
use super::session::{AcpSession, SessionHandle};
use super::{rpc, servers};

/// A new session that no task serves yet, and its id.
pub(super) struct OpenedSession {
    pub(super) id: String,
    pub(super) session: AcpSession,
    pub(super) handle: SessionHandle,
}

/// Opens a conversation in a folder that the client names.
pub(super) async fn begin(
    context: &Context,
    flags: &Flags,
    client: &Client,
    cwd: &Path,
    which: SessionSelector,
    servers: &[McpServer],
) -> Result<OpenedSession, Error> {
    let workspace = folder(cwd)?;
    let mut config = context.config(flags, Path::new(&workspace)).map_err(|error| refused(&error))?;
    servers::add(servers, &mut config)?;
    let models = Models::open(&config, &context.environment, None).map_err(|error| refused(&error))?;
    let choice = ModelChoice::new(&models, &config, &context.environment, None);
    let servers = ServersStart::InBackground;
    let opened = ConversationSetup::open(context, &config, &workspace, &models, which, servers).await;
    let ConversationSetup { parts, accounts, storage, .. } = opened.map_err(|error| refused(&error))?;
    let settings = SessionOptions {
        mode: config.mode,
        model: config.main_model(),
        models: models_of(&config),
        ahead: config.suggestions && config.background.mode != Mode::Off,
    };
    let shown_to = FrontEndCapabilities { suggestions: true, questions: true, events: false, staging: true };
    let conversation = Conversation::begin(parts, config, accounts, storage, shown_to);
    let id = conversation.id.clone();
    let (session, handle) = AcpSession::new(client.clone(), conversation, models, choice, settings);
    Ok(OpenedSession { id, session, handle })
}

/// The models in the user's configuration; the one that answers comes first.
fn models_of(config: &Config) -> Vec<String> {
    let mut models = vec![config.main_model()];
    let named = config.fast_model.iter().map(ToString::to_string).chain(config.per_model.specs());
    for model in named {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    models
}

/// The folder of a session, with links resolved.
pub(super) fn folder(cwd: &Path) -> Result<String, Error> {
    if !cwd.is_absolute() {
        return Err(rpc::wrong("params.cwd", &format!("{} is not an absolute path", cwd.display())));
    }
    workspace::resolve(Some(cwd)).map_err(|error| rpc::wrong("params.cwd", &text(&error)))
}

/// The folder in which all sessions are stored.
pub(super) fn state(context: &Context) -> Result<PathBuf, Error> {
    context.store().map(|store| store.state_folder().to_owned()).map_err(|error| refused(&error))
}

/// The error if a session cannot be opened. Without a model or its key the code says that the user has to act first.
pub(super) fn refused(error: &CliError) -> Error {
    let code = match error {
        CliError::NoModel { .. } | CliError::NoKey { .. } => -32000,
        CliError::NoSession { .. } | CliError::AmbiguousId { .. } => -32602,
        _ => -32603,
    };
    Error::new(code, text(error))
}

/// The text of an error for the user of an editor, who cannot add a flag of another command to this one.
fn text(error: &CliError) -> String {
    match error {
        CliError::NoWorkspace { path } => {
            format!("{} does not exist; open a folder that does", path.display())
        }
        CliError::WorkspaceNotADirectory { path } => {
            format!("{} is not a directory; open a folder", path.display())
        }
        CliError::SessionOpen { id } => {
            format!("session {id} is open in another program; close it there, or begin a new session")
        }
        CliError::Session { file, source } => {
            format!("{}: {source}; the file was left as it is; begin a new session", file.display())
        }
        _ => error.to_string(),
    }
}
