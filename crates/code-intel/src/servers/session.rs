//! One server that runs: what it was told, what it has said, and questions to it.

mod documents;
mod handshake;
mod incoming;
mod questions;
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
pub(crate) use self::questions::Found;
use crate::servers::connection::{Broken, Connection};
use crate::servers::spawn::{LanguageView, Program};
use crate::{Adapter, Diagnostic, IntelError, PositionEncoding, Spawn, SpawnError, uri_of};

/// Codes of errors that only say: ask again.
const ASK_AGAIN: [i64; 2] = [-32801, -32802];
/// How long the last words of a server that ended are waited for, where another program holds its standard error open.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(50);

/// A server that runs.
pub(crate) struct Session {
    adapter: Arc<Adapter>,
    host: Arc<dyn Spawn>,
    view: Box<dyn LanguageView>,
    connection: Connection,
    /// The root of its project.
    folder: WorkspacePath,
    pub(crate) encoding: PositionEncoding,
    capabilities: Value,
    /// The request that starts it, until it was answered.
    starting: Option<i64>,
    next_id: i64,
    waiting: HashSet<i64>,
    answers: HashMap<i64, Result<Value, Value>>,
    documents: BTreeMap<WorkspacePath, Document>,
    /// Counts uses of documents, to find those that were not used for long.
    uses: u64,
    said: Said,
    /// What it was told is on disk.
    told: Arc<ChangeSet>,
    /// Paths of which it may have been told, or not.
    unsure: BTreeSet<WorkspacePath>,
    /// Whether files changed since it was last told that one was saved.
    unsaved: bool,
    /// Documents that were sent since it last settled.
    unsettled: BTreeMap<WorkspacePath, Sent>,
    /// How often it had begun to look for errors when it was told of the first change since it last settled; `None`: nothing changed.
    changed: Option<u64>,
    /// Whether files came or went since it last settled.
    moved: bool,
    /// How often it had taken back its answers when it settled.
    settled_refreshes: u64,
    /// How many checks of the disk had begun when one was asked for; `None`: none is awaited.
    awaited_check: Option<u64>,
}

/// How a document was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// With another text.
    Changed,
    /// With the text that it had, of which a server may find nothing to say.
    Again,
}

struct Document {
    version: i32,
    text: Arc<str>,
    used: u64,
}

/// What a server has said by itself.
#[derive(Default)]
struct Said {
    /// What it published for each path, and what it answered when asked for a path.
    published: BTreeMap<WorkspacePath, Published>,
    pulled: BTreeMap<WorkspacePath, Vec<Diagnostic>>,
    /// The same of open documents as it wrote them: it wants them back with a question for code actions.
    raw: BTreeMap<WorkspacePath, Vec<Value>>,
    /// Counts publications.
    publications: u64,
    last_publication: Option<Duration>,
    /// Whether it says that it rests; `None`: it says nothing of the kind.
    quiescent: Option<bool>,
    /// What it is doing, by token.
    progress: BTreeMap<String, String>,
    /// Its checks of the disk that are under way, and how many have begun.
    checks: BTreeSet<String>,
    checks_begun: u64,
    last_check: Option<Duration>,
    /// How often it began to look for errors, of those that tell it.
    searches_begun: u64,
    /// Whether it offered, later, to be asked for diagnostics.
    offers_pull: bool,
    /// Documents with which it says it is done, since its last word about each of them.
    at_rest: BTreeSet<WorkspacePath>,
    /// Whether it ever said so of one.
    tells_rest: bool,
    /// How often it said that what it answered before does not hold any more.
    refreshes: u64,
    /// Edits that it wanted to make by itself, and was refused.
    refused_edits: u64,
}

struct Published {
    version: Option<i32>,
    serial: u64,
    diagnostics: Vec<Diagnostic>,
}

/// Until when to wait for an answer, and what is said when it does not come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) at: Duration,
    pub(crate) limit: Duration,
}

impl Session {
    /// Starts a server in a view of its own. It is usable when it is [`ready`](Self::ready).
    pub(crate) async fn start(
        adapter: Arc<Adapter>,
        host: Arc<dyn Spawn>,
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
            uses: 0,
            said: Said::default(),
            told: Arc::default(),
            unsure: BTreeSet::new(),
            unsaved: false,
            unsettled: BTreeMap::new(),
            changed: None,
            moved: false,
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

    /// Whether it says that it has such a function.
    pub(crate) fn offers(&self, capability: &str) -> bool {
        !matches!(self.capabilities.get(capability), None | Some(Value::Null | Value::Bool(false)))
    }

    /// What changed on the user's disk.
    pub(crate) async fn refresh(&mut self) -> Result<Vec<WorkspacePath>, IntelError> {
        Ok(self.view.refresh().await?)
    }

    pub(crate) async fn resident(&mut self) -> Option<u64> {
        self.view.resident().await
    }

    /// What to say of a server that ended, or had to be.
    async fn broken(&mut self, broken: Broken) -> IntelError {
        let server = self.adapter.name.clone();
        match broken {
            Broken::Ended => {
                if let Some(detail) = self.view.why_ended().await {
                    return IntelError::Protocol { server, detail };
                }
                self.connection.hear_out(self.host.sleep(LAST_WORDS)).await;
                IntelError::Ended { server, detail: self.connection.complaint() }
            }
            Broken::Frame(error) => IntelError::Protocol { server, detail: error.to_string() },
            Broken::Flood(what) => IntelError::Protocol { server, detail: what.to_owned() },
        }
    }

    /// Nobody waits any more for what was asked before.
    pub(crate) fn forget(&mut self) {
        self.answers.retain(|id, _| Some(*id) == self.starting);
        let given_up: Vec<i64> =
            self.waiting.iter().copied().filter(|id| Some(*id) != self.starting).collect();
        for id in given_up {
            self.waiting.remove(&id);
            self.notify("$/cancelRequest", &json!({ "id": id }));
        }
    }

    /// Asks, and waits for the answer. A server that says "ask again" is asked again until the time is over.
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
        self.connection.asked();
        self.connection.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.connection.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Takes in what the server says until a moment.
    pub(crate) async fn listen(&mut self, until: Duration) -> Result<(), IntelError> {
        while self.listen_once(until).await? {}
        Ok(())
    }

    /// Takes in one message; `false`: the moment came first.
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
                self.take(&message);
                Ok(true)
            }
            Some(Err(broken)) => Err(self.broken(broken).await),
            None => Ok(false),
        }
    }

    /// Takes in what the server says, for as long as nobody stops this.
    pub(crate) async fn idle(&mut self) -> IntelError {
        loop {
            match self.connection.next().await {
                Ok(message) => self.take(&message),
                Err(broken) => return self.broken(broken).await,
            }
        }
    }
}
