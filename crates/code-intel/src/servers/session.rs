//! One running server: what it was told, what it has published, and questions to it.

mod documents;
mod handshake;
mod incoming;
mod requests;
mod settle;
mod tsserver;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use headstart_overlay_fs::ChangeSet;
use headstart_workspace_path::WorkspacePath;
use serde_json::{Value, json};

pub(crate) use self::documents::OpenText;
pub(crate) use self::requests::TargetPosition;
use crate::servers::connection::{Connection, ConnectionError};
use crate::servers::spawn::{LanguageView, Program};
use crate::{Adapter, Diagnostic, IntelError, LanguageHost, PositionEncoding, SpawnError, uri_of};

/// Error codes that ask the client to try again.
const ASK_AGAIN: [i64; 2] = [-32801, -32802];
/// How long to wait for the last output of a server that ended, in case another program holds its standard error
/// open.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The pause before trying again.
const PAUSE: Duration = Duration::from_millis(50);

/// A server that runs.
pub(crate) struct Session {
    adapter: Arc<Adapter>,
    host: Arc<dyn LanguageHost>,
    view: Box<dyn LanguageView>,
    connection: Connection,
    /// The root of its project.
    folder: WorkspacePath,
    pub(crate) encoding: PositionEncoding,
    capabilities: Value,
    /// The `initialize` request, until it is answered.
    starting: Option<i64>,
    next_id: i64,
    waiting: HashSet<i64>,
    answers: HashMap<i64, Result<Value, Value>>,
    documents: BTreeMap<WorkspacePath, Document>,
    /// Counts uses of documents, to find those that were not used for longest.
    use_count: u64,
    reports: ServerReports,
    /// The changes that it was told are on disk.
    synced: Arc<ChangeSet>,
    /// Paths about which it may or may not have been told.
    uncertain: BTreeSet<WorkspacePath>,
    /// Whether files changed since it was last told that one was saved.
    unsaved: bool,
    /// Documents that were sent since it last settled.
    unsettled: BTreeMap<WorkspacePath, SendReason>,
    /// How many searches for errors had begun when it was told of the first change since it last settled; `None` if
    /// nothing changed.
    changed: Option<u64>,
    /// Whether files appeared or vanished since it last settled.
    file_set_changed: bool,
    /// How often it had invalidated its answers when it settled.
    settled_refreshes: u64,
    /// How many checks of the disk had begun when one was asked for; `None` if none is awaited.
    awaited_check: Option<u64>,
}

/// How a document was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendReason {
    /// With another text.
    Changed,
    /// With the same text, about which a server may publish nothing.
    Again,
}

struct Document {
    version: i32,
    text: Arc<str>,
    used: u64,
}

/// What a server has published by itself.
#[derive(Default)]
struct ServerReports {
    /// The diagnostics of each path: published ones, and answers for a path.
    published: BTreeMap<WorkspacePath, Published>,
    pulled: BTreeMap<WorkspacePath, Vec<Diagnostic>>,
    /// The diagnostics of open documents as the server wrote them, because a question for code actions has to contain
    /// them.
    raw: BTreeMap<WorkspacePath, Vec<Value>>,
    /// The number of publications.
    publications: u64,
    last_publication: Option<Duration>,
    /// Whether it reports to be idle; `None` if it does not report this.
    quiescent: Option<bool>,
    /// What it reports to be doing, by token.
    progress: BTreeMap<String, String>,
    /// Its checks of the disk that are running.
    checks: BTreeSet<String>,
    checks_begun: u64,
    last_check: Option<Duration>,
    /// How many searches for errors have begun, for servers that report this.
    searches_begun: u64,
    /// Whether it registered later that it can be asked for diagnostics.
    offers_pull: bool,
    /// Documents that it reports to be done with, since it last reported something else about them.
    finished_documents: BTreeSet<WorkspacePath>,
    /// Whether it ever reported this.
    reports_finished: bool,
    /// How often it has invalidated its earlier answers.
    refreshes: u64,
    /// Edits that it tried to make by itself, and that were refused.
    refused_edits: u64,
}

struct Published {
    version: Option<i32>,
    serial: u64,
    diagnostics: Vec<Diagnostic>,
}

/// Until when to wait for an answer, and the error if it does not come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) at: Duration,
    pub(crate) limit: Duration,
}

impl Session {
    /// Starts a server in a view of its own. It can be used once it is [`ready`](Self::ready).
    pub(crate) async fn start(
        adapter: Arc<Adapter>,
        host: Arc<dyn LanguageHost>,
        folder: WorkspacePath,
    ) -> Result<Self, IntelError> {
        let mut view = host.view().await?;
        let program = Program {
            name: adapter.command.clone(),
            args: adapter.args.clone(),
            environment: adapter.environment.clone(),
            folder: folder.clone(),
        };
        let process = view.start(&program).await.map_err(|error| match error {
            SpawnError::NoProgram { .. } => {
                IntelError::Missing { server: adapter.name.clone(), install: adapter.install.clone() }
            }
            error => error.into(),
        })?;
        let mut session = Self {
            connection: Connection::new(process),
            view,
            folder,
            encoding: PositionEncoding::default(),
            capabilities: Value::Null,
            starting: None,
            next_id: 0,
            waiting: HashSet::new(),
            answers: HashMap::new(),
            documents: BTreeMap::new(),
            use_count: 0,
            reports: ServerReports::default(),
            synced: Arc::default(),
            uncertain: BTreeSet::new(),
            unsaved: false,
            unsettled: BTreeMap::new(),
            changed: None,
            file_set_changed: false,
            settled_refreshes: 0,
            awaited_check: None,
            adapter,
            host,
        };
        session.begin_handshake();
        Ok(session)
    }

    /// The absolute path of the workspace, as the server sees it.
    pub(crate) fn root(&self) -> &str {
        self.view.root()
    }

    pub(crate) fn uri(&self, path: &WorkspacePath) -> String {
        uri_of(self.view.root(), path)
    }

    /// Whether it supports a capability.
    pub(crate) fn offers(&self, capability: &str) -> bool {
        !matches!(self.capabilities.get(capability), None | Some(Value::Null | Value::Bool(false)))
    }

    /// Takes changes on the user's disk into the view.
    pub(crate) async fn refresh(&mut self) -> Result<Vec<WorkspacePath>, IntelError> {
        Ok(self.view.refresh().await?)
    }

    pub(crate) async fn resident(&mut self) -> Option<u64> {
        self.view.resident().await
    }

    /// The error for a server that ended, or had to be ended.
    async fn broken(&mut self, broken: ConnectionError) -> IntelError {
        let server = self.adapter.name.clone();
        match broken {
            ConnectionError::Ended => {
                if let Some(detail) = self.view.why_ended().await {
                    return IntelError::Protocol { server, detail, source: None };
                }
                self.connection.drain_stderr(self.host.sleep(LAST_WORDS)).await;
                IntelError::Ended { server, detail: self.connection.stderr_tail() }
            }
            ConnectionError::Frame(error) => {
                IntelError::Protocol { server, detail: error.to_string(), source: Some(error.into()) }
            }
            ConnectionError::Flood(what) => {
                IntelError::Protocol { server, detail: what.to_owned(), source: None }
            }
        }
    }

    /// Drops what was asked before, because nobody waits for it any more.
    pub(crate) fn forget(&mut self) {
        self.answers.retain(|id, _| Some(*id) == self.starting);
        let given_up: Vec<i64> =
            self.waiting.iter().copied().filter(|id| Some(*id) != self.starting).collect();
        for id in given_up {
            self.waiting.remove(&id);
            self.notify("$/cancelRequest", &json!({ "id": id }));
        }
    }

    /// Asks, and waits for the answer. If a server asks the client to try again, this does until the time is over.
    pub(crate) async fn ask(
        &mut self,
        method: &str,
        params: &Value,
        deadline: Deadline,
    ) -> Result<Value, IntelError> {
        loop {
            match self.ask_once(method, params, deadline).await? {
                Ok(answer) => return Ok(answer),
                Err(error) if error["code"].as_i64().is_some_and(|code| ASK_AGAIN.contains(&code)) => {
                    self.listen(self.host.now() + PAUSE).await?;
                    if deadline.at <= self.host.now() {
                        return Err(self.timed_out(method, deadline));
                    }
                }
                Err(error) => {
                    let message =
                        crate::diagnostic::message_of(error["message"].as_str().unwrap_or("no reason given"));
                    return Err(IntelError::Refused { server: self.adapter.name.clone(), message });
                }
            }
        }
    }

    async fn ask_once(
        &mut self,
        method: &str,
        params: &Value,
        deadline: Deadline,
    ) -> Result<Result<Value, Value>, IntelError> {
        let id = self.send_request(method, params);
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return Ok(answer);
            }
            if !self.listen_once(deadline.at).await? {
                self.waiting.remove(&id);
                self.notify("$/cancelRequest", &json!({ "id": id }));
                return Err(self.timed_out(method, deadline));
            }
        }
    }

    fn timed_out(&self, method: &str, deadline: Deadline) -> IntelError {
        IntelError::TimedOut {
            server: self.adapter.name.clone(),
            question: method.rsplit('/').next().unwrap_or(method).to_owned(),
            seconds: deadline.limit.as_secs(),
        }
    }

    fn send_request(&mut self, method: &str, params: &Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.waiting.insert(id);
        self.connection.reset_unsolicited();
        self.connection.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.connection.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Reads what the server sends, until this time.
    pub(crate) async fn listen(&mut self, until: Duration) -> Result<(), IntelError> {
        while self.listen_once(until).await? {}
        Ok(())
    }

    /// Reads one message; `false` if the time came first.
    pub(crate) async fn listen_once(&mut self, until: Duration) -> Result<bool, IntelError> {
        let now = self.host.now();
        if until <= now {
            return Ok(false);
        }
        let host = self.host.clone();
        let heard = {
            let (message, time) =
                (std::pin::pin!(self.connection.next()), host.sleep(until.saturating_sub(now)));
            match select(message, time).await {
                Either::Left((heard, _)) => Some(heard),
                Either::Right(_) => None,
            }
        };
        match heard {
            Some(Ok(message)) => {
                self.handle_message(&message);
                Ok(true)
            }
            Some(Err(broken)) => Err(self.broken(broken).await),
            None => Ok(false),
        }
    }

    /// Reads what the server sends, until this future is dropped.
    pub(crate) async fn idle(&mut self) -> IntelError {
        loop {
            match self.connection.next().await {
                Ok(message) => self.handle_message(&message),
                Err(broken) => return self.broken(broken).await,
            }
        }
    }
}
