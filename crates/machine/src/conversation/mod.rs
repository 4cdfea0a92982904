//! A conversation about a workspace on this machine: its parts, where it is kept, and how it begins. The front ends,
//! which are the terminal and the editors, show what `headstart_agent` reports and hold none of this themselves.

mod accounts;
mod committed_edits;
pub mod costs;
mod models;
mod session_storage;
mod undo;
mod unwritten;
pub mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headstart_agent::{AgentHandle, AgentOptions, Ports, Updates, agent};
use headstart_speculation::Staging;
use tokio::task::JoinHandle;

use crate::config::{Config, RuleFiles};
use crate::context::Context;
use crate::error::CliError;
use crate::models::Models;
use crate::parts::ConversationParts;
use crate::{setup, tool_servers};
pub use accounts::Accounts;
pub use accounts::{AccountFiles, conversation_id};
pub use committed_edits::CommittedEdits;
pub use models::{LocalModelFlag, ModelChoice, SelectedModel};
pub use session_storage::{SessionSelector, SessionStorage};
pub use undo::{AskedUndo, UndoResult, take_back_last_turn, take_back_matched};
pub use unwritten::{UnwrittenRecord, is_as_left};
pub use words::mode_name;

/// A conversation that has begun.
pub struct Conversation {
    pub agent: AgentHandle,
    /// When this task ends, what the work left in the state folder is removed.
    pub driver: JoinHandle<()>,
    pub updates: Updates,
    pub parts: ConversationParts,
    pub settings: Config,
    /// What was written and is not shown yet.
    pub written: Arc<CommittedEdits>,
    pub uses_local_model: LocalModelFlag,
    pub id: String,
    /// Whether it can be resumed later.
    pub is_kept: bool,
    /// What is wrong with the files of earlier conversations; empty if nothing is.
    pub trouble: String,
}

/// What the other side of the conversation can do.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub struct FrontEndCapabilities {
    /// Whether suggestions can be taken.
    pub suggestions: bool,
    /// Whether questions can be answered.
    pub questions: bool,
    /// Whether the events of turns are written down.
    pub events: bool,
    /// Whether turns can be staged and written after one question.
    pub staging: bool,
}

/// When tool servers start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServersStart {
    /// Before the conversation begins.
    First,
    /// While the user can already type.
    InBackground,
    /// So, once a person at a terminal was asked about what the project wants to start.
    AfterQuestions,
}

/// Everything that a conversation needs to begin.
pub struct ConversationSetup {
    pub parts: ConversationParts,
    pub accounts: Accounts,
    pub storage: SessionStorage,
    /// The folder of all state, if there is one.
    pub state: Option<PathBuf>,
}

impl ConversationSetup {
    /// Opens what is kept of a conversation, starts its tool servers if they come `First`, and finds out what this machine supports.
    pub async fn open(
        context: &Context,
        config: &Config,
        workspace: &str,
        models: &Models,
        which: SessionSelector,
        servers: ServersStart,
    ) -> Result<Self, CliError> {
        // A store is not required, but without a state folder the conversation's accepts cannot be undone.
        let state = context.store().ok().map(|store| store.state_folder().to_owned());
        let environment = &context.environment;
        let accounts = Accounts::open(context, config, workspace)?;
        let storage = SessionStorage::open(config, workspace, state.as_deref(), which, environment)?;
        let servers = tool_servers::begin(config, workspace, state.as_deref(), environment, servers).await?;
        let parts = setup::parts(config, workspace, state.as_deref(), models, environment, servers).await?;
        parts.host.follow(RuleFiles::new(environment, Path::new(workspace)));
        Ok(Self { parts, accounts, storage, state })
    }
}

impl Conversation {
    /// Begins a conversation on the current runtime.
    pub fn begin(
        mut parts: ConversationParts,
        settings: Config,
        accounts: Accounts,
        storage: SessionStorage,
        shown_to: FrontEndCapabilities,
    ) -> Self {
        let written = Arc::<CommittedEdits>::default();
        parts.engine.workspace = committed_edits::RecordingWorkspace::over(&parts.engine.workspace, &written);
        let Accounts { metering, store, runtime, mut trouble } = accounts;
        let uses_local_model = runtime.uses_local_model();
        let SessionStorage { id, restore, store: session, .. } = storage;
        let is_kept = session.is_some();
        let is_continued = restore.is_some();
        let options = AgentOptions {
            system: parts.system.clone(),
            model: parts.model_name.clone(),
            restore,
            window: models::window_of(parts.engine.background.limits.window_tokens, &settings),
            metering,
            suggestions: settings.suggestions && shown_to.suggestions,
            speculation: settings.speculation,
            candidates: settings.candidates,
            matching: settings.matching,
            attended: shown_to.questions,
            titles: parts.titles,
            after_decline: settings.after_decline,
            events: shown_to.events,
            id: id.clone(),
        };
        let works_with = Ports {
            engine: parts.engine.clone(),
            model: Arc::clone(&parts.model),
            runtime: Arc::new(runtime),
            ledger: Arc::new(store),
            session,
        };
        let staging = shown_to.staging.then_some(settings.staging).filter(|staging| {
            // On another machine each command of a turn would wait for the files.
            *staging != Staging::Auto || parts.views.local.is_some()
        });
        let unwritten = staging.filter(|staging| *staging != Staging::Off);
        let unwritten = unwritten.and_then(|_| UnwrittenRecord::of(&parts, &settings, &id, is_continued));
        let (record, kept) = unwritten.map_or((None, None), |(record, kept)| (Some(record), kept));
        parts.host.set_staging(staging.unwrap_or_default(), record);
        // With staging off even this conversation cannot show what it has left.
        if shown_to.staging && (!is_continued || staging == Some(Staging::Off)) {
            trouble.extend(unwritten::left_by_others(&parts));
        }
        let (agent, driver, updates) = agent(options, works_with);
        if let Some(Err(problem)) = kept.map(|kept| agent.restore_staged(&kept)) {
            let what = "what was not written of this conversation cannot be shown here";
            trouble = format!("{trouble}{what}: {problem}");
        }
        if is_continued {
            undo::tell_undone_before(&agent, &parts);
        }
        let driver = tokio::spawn(driver.run());
        Self { agent, driver, updates, parts, settings, written, uses_local_model, id, is_kept, trouble }
    }
}
