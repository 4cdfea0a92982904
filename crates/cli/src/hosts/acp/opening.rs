//! Opens a session, new or continued.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{Error, McpServer};
use headstart_budget::policy::Mode;

use super::client::Client;
use super::options::Settings;
use super::session::{Handle, Session};
use super::{rpc, servers};
use crate::config::{Config, Flags};
use crate::context::Context;
use crate::conversation::{Conversation, ModelChoice, Opened, ShownTo, Which};
use crate::error::CliError;
use crate::models::Models;
use crate::workspace;

/// A new session that no task serves yet, and its id.
pub(super) struct Begun {
    pub(super) id: String,
    pub(super) session: Session,
    pub(super) handle: Handle,
}

/// Opens a conversation in a folder that the client names.
pub(super) async fn begin(
    context: &Context,
    flags: &Flags,
    client: &Client,
    cwd: &Path,
    which: Which,
    servers: &[McpServer],
) -> Result<Begun, Error> {
    let workspace = folder(cwd)?;
    let mut config = context.config(flags, Path::new(&workspace)).map_err(|error| refused(&error))?;
    servers::add(servers, &mut config)?;
    let models = Models::open(&config, &context.environment, None).map_err(|error| refused(&error))?;
    let choice = ModelChoice::new(&models, &config, &context.environment, None);
    let opened = Opened::open(context, &config, &workspace, &models, which, false).await;
    let Opened { parts, accounts, kept, .. } = opened.map_err(|error| refused(&error))?;
    let settings = Settings {
        mode: config.mode,
        model: config.main_model(),
        models: models_of(&config),
        ahead: config.suggestions && config.background.mode != Mode::Off,
    };
    let shown_to = ShownTo { suggestions: true, questions: true, events: false };
    let conversation = Conversation::begin(parts, config, accounts, kept, shown_to);
    let id = conversation.id.clone();
    let (session, handle) = Session::new(client.clone(), conversation, models, choice, settings);
    Ok(Begun { id, session, handle })
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
    workspace::resolve(Some(cwd)).map_err(|error| rpc::wrong("params.cwd", &error.to_string()))
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
    Error::new(code, error.to_string())
}
