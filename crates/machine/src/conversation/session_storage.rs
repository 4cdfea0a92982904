use std::path::Path;
use std::sync::Arc;

use headstart_agent::{Session, SessionStore};

use super::accounts::conversation_id;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::CliError;
use crate::output;
use crate::secrets;
use crate::sessions::Sessions;

/// The conversation that a chat begins or resumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionSelector {
    New,
    /// The latest one of this workspace.
    Last,
    /// The one whose id begins with this text.
    Named(String),
    /// The one that the user chooses from a list.
    Chosen,
}

/// Where and how a chat is kept.
pub struct SessionStorage {
    pub(crate) id: String,
    pub(crate) restore: Option<Session>,
    pub(crate) store: Option<Arc<dyn SessionStore>>,
    /// The prompts of earlier chats, the oldest first.
    pub prompts: Vec<String>,
}

impl SessionSelector {
    /// `named` is the argument of `--resume`, which is empty if there is none.
    pub fn of(named: Option<String>, last: bool) -> Self {
        match named {
            Some(id) if id.is_empty() => Self::Chosen,
            Some(id) => Self::Named(id),
            None if last => Self::Last,
            None => Self::New,
        }
    }
}

impl SessionStorage {
    /// Opens what is kept of a conversation. A new one is kept if there is a place for it.
    pub(crate) fn open(
        config: &Config,
        workspace: &str,
        state: Option<&Path>,
        which: SessionSelector,
        environment: &Environment,
    ) -> Result<Self, CliError> {
        let new = Self { id: conversation_id(), restore: None, store: None, prompts: Vec::new() };
        let Some(state) = state.filter(|_| config.sessions) else {
            return match which {
                SessionSelector::New => Ok(new),
                _ if config.sessions => Err(CliError::NoStateDir),
                _ => Err(CliError::SessionsOff),
            };
        };
        let sessions = Sessions::of(state, workspace);
        let scrubber = secrets::scrubber(environment);
        let id = match which {
            SessionSelector::New => None,
            SessionSelector::Last => sessions.newest()?,
            SessionSelector::Named(id) => Some(sessions.find(&id)?),
            SessionSelector::Chosen => return Err(CliError::NobodyChooses),
        };
        let Some(id) = id else {
            let store = Arc::new(sessions.begin(&new.id, scrubber));
            return Ok(Self { store: Some(store), ..new });
        };
        let (session, store) = sessions.resume(&id, scrubber)?;
        if 0 < session.torn {
            output::note(
                "the end of this conversation was not whole and is left out: headstart was killed while it was written",
            );
        }
        Ok(Self { id, restore: Some(session), store: Some(Arc::new(store)), prompts: Vec::new() })
    }

    /// Reads the prompts of earlier chats, so that a user with keys can recall them.
    pub fn recall(&mut self, config: &Config, workspace: &str, state: Option<&Path>) {
        if let Some(state) = state.filter(|_| config.sessions) {
            self.prompts = Sessions::of(state, workspace).prompts();
        }
    }
}
