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
use super::{SessionsError, TokioHost, TokioRuntime};
use crate::handle::{AgentHandle, Updates, agent};
use crate::item::Item;
use crate::options::{AfterDecline, AgentOptions, Ports};
use crate::ports::{LedgerStore, NoLedger, SessionStore};
use crate::session::Session;
use crate::view::{Phase, Refused};

const SYSTEM: &str = "You are a coding agent. You work in the user's project through tools.";
/// A suggestion is on screen so long behind its answer at the latest.
const SHOWN_WITHIN: Duration = Duration::from_secs(1);

/// What an agent on this machine is to be like. See [`NativeAgent`].
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

/// An agent in a folder of this machine: a conversation with the built-in tools, the gate, and the folder on disk as its workspace, whose next
/// prompt is suggested and runs ahead. It is begun within a runtime of tokio.
///
/// Without more words edits and commands are declined, for there is nobody to ask: [`NativeOptions::mode`] says what may run. A front end of its own
/// takes it apart ([`NativeAgent::into_parts`]).
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
    /// What work that had run ahead changed in the workspace.
    pub applied: Vec<ChangeSummary>,
    /// How long that work took, for which nobody waited.
    pub saved: Option<Duration>,
    /// How the turn ended, once it has; work that had run ahead to its end has none.
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
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The conversation that is to go on cannot be opened.
    #[error("the conversation cannot be gone on with")]
    Session(#[from] SessionsError),
    /// A conversation is to go on, and none is kept anywhere.
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
    /// An agent in this folder, whose model has this name for its provider.
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

    /// With this system instruction.
    #[must_use]
    pub fn system(self, system: &str) -> Self {
        Self { system: system.to_owned(), ..self }
    }

    /// What may run without a question.
    #[must_use]
    pub fn mode(mut self, mode: ApprovalMode) -> Self {
        self.rules.mode = mode;
        self
    }

    /// All rules of the gate. The workspace in them is the folder, whatever they say.
    #[must_use]
    pub fn rules(self, rules: GateContext) -> Self {
        Self { rules, ..self }
    }

    /// How much is done ahead of the user. Without a word it is [`Mode::Auto`]: what has been worth it.
    #[must_use]
    pub fn background(self, background: Mode) -> Self {
        Self { background, ..self }
    }

    /// What the model costs, for the ledger and the policy.
    #[must_use]
    pub fn prices(self, prices: Prices) -> Self {
        Self { prices, ..self }
    }

    /// With a tool beside the built-in ones.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// With the tool `shell`, whose commands run there.
    #[must_use]
    pub fn commands(self, runner: impl CommandRunner + 'static) -> Self {
        Self { runner: Some(Arc::new(runner)), ..self }
    }

    /// Conversations and what they cost are kept in this folder, which is not to be in the workspace.
    #[must_use]
    pub fn kept_in(self, folder: impl Into<PathBuf>) -> Self {
        Self { kept_in: Some(folder.into()), ..self }
    }

    /// Goes on with the conversation of this id ([`NativeAgent::sessions`] lists them).
    #[must_use]
    pub fn resume(self, id: &str) -> Self {
        Self { resume: Some(id.to_owned()), ..self }
    }

    /// Somebody answers questions: whoever looks at [`View::question`](crate::View::question).
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
        let folder = self.folder.canonicalize().map_err(NativeError::file(&self.folder))?;
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
            parallel: 1,
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
    /// One as [`NativeOptions`] has it without more words.
    pub fn open(
        folder: impl Into<PathBuf>,
        name: &str,
        model: impl Model + 'static,
    ) -> Result<Self, NativeError> {
        NativeOptions::new(folder, name, model).begin()
    }

    /// The conversations that are kept in a folder and can be read, the one that was talked in last first.
    pub fn sessions(kept_in: impl AsRef<Path>) -> Result<Vec<Session>, NativeError> {
        let listed = Files::open(kept_in.as_ref())?.sessions().list()?;
        Ok(listed.into_iter().filter_map(|listed| listed.session.ok()).collect())
    }

    /// The conversation itself.
    pub fn handle(&self) -> &AgentHandle {
        &self.agent
    }

    /// Handle, changes, the task that does the work, and who has the rules: for a front end.
    pub fn into_parts(self) -> (AgentHandle, Updates, JoinHandle<()>, Arc<TokioHost>) {
        (self.agent, self.updates, self.driver, self.host)
    }

    /// Sends a prompt, and waits for the end of its turn.
    pub async fn say(&mut self, prompt: &str) -> Result<Reply, Refused> {
        let before = self.agent.view().items.len();
        self.agent.submit(prompt)?;
        Ok(self.reply(before).await)
    }

    /// The next prompt, once it is suggested; `None` where it is not, as before the model's second answer. What it would do runs meanwhile.
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

    /// Takes a suggestion with the work that ran ahead for it, and waits until that is done and applied. One that does not stand any more is
    /// [`Refused::Stale`].
    pub async fn take(&mut self, suggestion: &str) -> Result<Reply, Refused> {
        let view = self.agent.view();
        let offered = view.suggestion.iter().flat_map(|suggested| &suggested.all);
        if !offered.into_iter().any(|offered| offered.is_same_as(suggestion)) {
            return Err(Refused::Stale);
        }
        // To send it is to take it; a program needs none of the time in which a key would be too early.
        self.say(suggestion).await
    }

    /// Ends the conversation; what it cost, and what was said, is written then.
    pub async fn close(self) {
        self.agent.close().await;
        // It has nothing left to do.
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
