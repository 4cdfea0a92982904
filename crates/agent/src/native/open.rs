use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use headstart_budget::ledger::Source;
use headstart_budget::policy::{Habits, Mode, Policy, Tariff};
use headstart_budget::{EntryBuilder, Metering};
use headstart_forked_query::{BackgroundModel, Model, Prices};
use headstart_overlay_fs::{ChangeSummary, OsTree, TreeError};
use headstart_speculation::{Ending, Engine, Limits};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext};
use headstart_toolbox::{CommandRunner, Tool, Toolbox};
use tokio::task::JoinHandle;

use super::files::Files;
use super::{SessionsError, TokioHost, TokioRuntime, real_path};
use crate::handle::{AgentHandle, Updates, agent};
use crate::item::Item;
use crate::options::{AfterDecline, AgentOptions, Matching, Ports};
use crate::ports::{LedgerStore, NoLedger, SessionStore};
use crate::session::Session;
use crate::view::{ActionError, Phase};

const SYSTEM: &str = "You are a coding agent. You work in the user's project through tools.";
/// The longest time from an answer to its suggestion on screen.
const SHOWN_WITHIN: Duration = Duration::from_secs(1);

/// The settings of an agent on this machine. See [`NativeAgent`].
pub struct NativeOptions {
    folder: PathBuf,
    name: String,
    model: Arc<dyn Model>,
    system: String,
    rules: GateContext,
    background: Mode,
    prices: Prices,
    tools: Vec<Arc<dyn Tool>>,
    runner: Option<Arc<dyn CommandRunner>>,
    kept_in: Option<PathBuf>,
    resume: Option<String>,
    attended: bool,
}

/// An agent in a folder of this machine: a conversation with the built-in tools, the gate, and the folder on disk as
/// its workspace. The next prompt is suggested and runs ahead. It must begin within a runtime of tokio.
///
/// By default edits and commands are declined, because nobody is there to ask; [`NativeOptions::mode`] says what may
/// run. A program with its own front end takes the agent apart with [`NativeAgent::into_parts`].
pub struct NativeAgent {
    agent: AgentHandle,
    updates: Updates,
    driver: JoinHandle<()>,
    host: Arc<TokioHost>,
}

/// What came of a prompt, or of a suggestion that was taken.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Reply {
    /// What the model said.
    pub text: String,
    /// What was changed in the workspace by work that had run ahead.
    pub applied: Vec<ChangeSummary>,
    /// How long that work took, for which nobody waited.
    pub saved: Option<Duration>,
    /// How the turn ended, once it has; `None` for work that had run ahead to its end.
    pub ending: Option<Ending>,
}

/// Why an agent cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NativeError {
    /// The folder cannot be opened.
    #[error("the workspace cannot be opened")]
    Workspace(#[from] TreeError),
    /// A file or folder cannot be read or written.
    #[error("{} cannot be read or written", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The conversation that is to be continued cannot be opened.
    #[error("the conversation cannot be gone on with")]
    Session(#[from] SessionsError),
    /// A conversation is to be continued, but no folder is set in which conversations are kept.
    #[error("a conversation goes on only where it is kept; say so with `kept_in`")]
    NotKept,
}

impl NativeError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

impl NativeOptions {
    /// An agent in this folder; `name` is the name of the model for its provider.
    pub fn new(folder: impl Into<PathBuf>, name: &str, model: impl Model + 'static) -> Self {
        Self {
            folder: folder.into(),
            name: name.to_owned(),
            model: Arc::new(model),
            system: SYSTEM.to_owned(),
            rules: GateContext::default(),
            background: Mode::default(),
            prices: Prices::default(),
            tools: Vec::new(),
            runner: None,
            kept_in: None,
            resume: None,
            attended: false,
        }
    }

    /// Sets the system instruction.
    #[must_use]
    pub fn system(self, system: &str) -> Self {
        Self { system: system.to_owned(), ..self }
    }

    /// Sets what may run without a question.
    #[must_use]
    pub fn mode(mut self, mode: ApprovalMode) -> Self {
        self.rules.mode = mode;
        self
    }

    /// Sets all rules of the gate. The workspace in them is always the folder of the agent.
    #[must_use]
    pub fn rules(self, rules: GateContext) -> Self {
        Self { rules, ..self }
    }

    /// Sets how much is done ahead of the user. The default is [`Mode::Auto`]: what has been worth it.
    #[must_use]
    pub fn background(self, background: Mode) -> Self {
        Self { background, ..self }
    }

    /// Sets what the model costs, for the ledger and the policy.
    #[must_use]
    pub fn prices(self, prices: Prices) -> Self {
        Self { prices, ..self }
    }

    /// Adds a tool to the built-in ones.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds the tool `shell`, whose commands go to this runner.
    #[must_use]
    pub fn commands(self, runner: impl CommandRunner + 'static) -> Self {
        Self { runner: Some(Arc::new(runner)), ..self }
    }

    /// Keeps conversations and their costs in this folder, which must not be in the workspace.
    #[must_use]
    pub fn kept_in(self, folder: impl Into<PathBuf>) -> Self {
        Self { kept_in: Some(folder.into()), ..self }
    }

    /// Continues the conversation with this id ([`NativeAgent::sessions`] lists them).
    #[must_use]
    pub fn resume(self, id: &str) -> Self {
        Self { resume: Some(id.to_owned()), ..self }
    }

    /// Says that somebody looks at [`View::question`](crate::View::question) and answers questions.
    #[must_use]
    pub fn attended(self) -> Self {
        Self { attended: true, ..self }
    }

    /// Begins the conversation.
    ///
    /// # Panics
    ///
    /// Outside of a runtime of tokio.
    pub fn begin(self) -> Result<NativeAgent, NativeError> {
        let folder = real_path(&self.folder).map_err(NativeError::file(&self.folder))?;
        let rules = GateContext { workspace: folder.display().to_string(), ..self.rules };
        let host = Arc::new(TokioHost::new(rules));
        let id = self.resume.clone().unwrap_or_else(random_id);
        let (mut past, mut restore, mut session) = (Vec::new(), None, None);
        let mut ledger: Arc<dyn LedgerStore> = Arc::new(NoLedger);
        if let Some(kept_in) = &self.kept_in {
            let files = Files::open(kept_in)?;
            let (entries, store) = files.ledger()?;
            (past, ledger) = (entries, Arc::new(store));
            let sessions = files.sessions();
            let store = match &self.resume {
                None => sessions.begin(&id),
                Some(id) if !sessions.has(id) => {
                    let folder = sessions.folder().to_owned();
                    return Err(SessionsError::Unknown { id: id.clone(), folder }.into());
                }
                Some(id) => {
                    let (kept, store) = sessions.resume(id)?;
                    restore = Some(kept);
                    store
                }
            };
            session = Some(Arc::new(store) as Arc<dyn SessionStore>);
        } else if self.resume.is_some() {
            return Err(NativeError::NotKept);
        }
        let toolbox = self.tools.into_iter().fold(Toolbox::standard(self.runner), Toolbox::with);
        let engine = Engine {
            background: BackgroundModel::main(Arc::clone(&self.model), &self.name),
            toolbox,
            workspace: Arc::new(OsTree::open(&folder)?),
            gate: Arc::new(Gate::new()),
            host: Arc::clone(&host) as _,
            limits: Limits::default(),
        };
        let entries = EntryBuilder::new(Source::Chat, Tariff::new(&self.name, self.prices));
        let policy = Policy { mode: self.background, ..Policy::default() };
        let options = AgentOptions {
            system: self.system,
            model: self.name,
            restore,
            window: None,
            metering: Metering::new(entries, policy, Habits::default(), &past),
            suggestions: true,
            speculation: true,
            candidates: 1,
            matching: Matching::default(),
            titles: true,
            attended: self.attended,
            after_decline: AfterDecline::default(),
            events: false,
            id,
        };
        let ports = Ports { engine, model: self.model, runtime: Arc::new(TokioRuntime), ledger, session };
        let (agent, driver, updates) = agent(options, ports);
        Ok(NativeAgent { agent, updates, driver: tokio::spawn(driver.run()), host })
    }
}

impl NativeAgent {
    /// An agent with the defaults of [`NativeOptions`].
    pub fn open(
        folder: impl Into<PathBuf>,
        name: &str,
        model: impl Model + 'static,
    ) -> Result<Self, NativeError> {
        NativeOptions::new(folder, name, model).begin()
    }

    /// The conversations that are kept in a folder and can be read, the last written first.
    pub fn sessions(kept_in: impl AsRef<Path>) -> Result<Vec<Session>, NativeError> {
        let listed = Files::open(kept_in.as_ref())?.sessions().list()?;
        Ok(listed.into_iter().filter_map(|listed| listed.session.ok()).collect())
    }

    /// The handle of the conversation.
    pub fn handle(&self) -> &AgentHandle {
        &self.agent
    }

    /// The parts for a front end: the handle, the changes, the task that does the work, and the host, which has the
    /// rules.
    pub fn into_parts(self) -> (AgentHandle, Updates, JoinHandle<()>, Arc<TokioHost>) {
        (self.agent, self.updates, self.driver, self.host)
    }

    /// Sends a prompt, and waits for the end of its turn.
    pub async fn say(&mut self, prompt: &str) -> Result<Reply, ActionError> {
        let before = self.agent.view().items.len();
        self.agent.submit(prompt)?;
        Ok(self.reply(before).await)
    }

    /// The next prompt, once it is suggested; `None` if it is not, for example before the model's second answer. The
    /// work for it runs ahead meanwhile.
    pub async fn suggestion(&mut self) -> Option<String> {
        self.agent.idle().await;
        loop {
            let view = self.agent.view();
            if let Some(suggested) = &view.suggestion {
                return Some(suggested.text.clone());
            }
            if view.phase != Phase::Idle || view.unsuggested.is_some() {
                return None;
            }
            let next = self.updates.next();
            if view.is_asking {
                next.await?;
            } else {
                tokio::time::timeout(SHOWN_WITHIN, next).await.ok()??;
            }
        }
    }

    /// Takes a suggestion with the work that ran ahead for it, and waits until that is done and applied. The error is
    /// [`ActionError::Stale`] if the suggestion is not offered any more.
    pub async fn take(&mut self, suggestion: &str) -> Result<Reply, ActionError> {
        let view = self.agent.view();
        let offered = view.suggestion.iter().flat_map(|suggested| &suggested.all);
        if !offered.into_iter().any(|offered| offered.is_same_as(suggestion)) {
            return Err(ActionError::Stale);
        }
        // To send a suggestion is to take it. The time in which a key would come too early is not needed by a program.
        self.say(suggestion).await
    }

    /// Ends the conversation, and waits until its costs and what was said are written.
    pub async fn close(self) {
        self.agent.close().await;
        // The driver has nothing left to do.
        let _ = self.driver.await;
    }

    async fn reply(&self, before: usize) -> Reply {
        self.agent.idle().await;
        let mut reply = Reply::default();
        for item in self.agent.view().items.iter().skip(before) {
            match &**item {
                Item::Answer { text } => reply.text.push_str(text),
                Item::Applied(applied) => {
                    reply.applied.extend(applied.changes.iter().cloned());
                    reply.saved = applied.saved;
                }
                Item::End { ending } => reply.ending = Some(ending.clone()),
                _ => {}
            }
        }
        reply
    }
}

/// An id that no other conversation has: the keys of a hash table are as random as the system makes them.
fn random_id() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
