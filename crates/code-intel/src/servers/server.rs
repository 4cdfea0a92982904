//! One server and its queue: questions are answered one after the other, each about its own state.

mod diagnostics;
mod symbol_requests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::mpsc;
use futures::future::{Either, pending, select};
use headstart_overlay_fs::ContentHash;
use headstart_workspace_path::WorkspacePath;

pub(crate) use self::diagnostics::compare_states;
use crate::servers::file_texts::FileTexts;
use crate::servers::request::{Job, Request, Response, ServerKey};
use crate::servers::session::{Deadline, Session};
use crate::{Adapter, Diagnostic, IntelError, LanguageHost, Settings, Snapshot, SpawnError};

/// How often a server is restarted within [`CRASH_WINDOW`].
const RESTARTS: usize = 3;
/// Older crashes do not count.
const CRASH_WINDOW: Duration = Duration::from_secs(10 * 60);
/// A server that leaves this many questions in a row unanswered is ended.
const MAX_UNANSWERED: usize = 3;
/// How often its memory is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The most files that are checked again with each question for diagnostics, because an edit of another file may have
/// changed theirs.
const WATCHED: usize = 24;

/// The status of a server.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// The root of its project.
    pub folder: WorkspacePath,
    /// Whether it runs.
    pub running: bool,
    /// The seconds since it was last used.
    pub idle: u64,
    /// Its memory in bytes at the last check.
    pub resident: Option<u64>,
    /// How often it ended unexpectedly in the last ten minutes.
    pub crashes: usize,
}

/// The status of all servers, for [`CodeIntel::servers`](crate::CodeIntel::servers) and for the decision which one
/// has to make room.
pub(crate) type StatusBoard = Arc<Mutex<BTreeMap<ServerKey, StatusEntry>>>;

#[derive(Debug, Clone, Default)]
pub(crate) struct StatusEntry {
    pub(crate) running: bool,
    pub(crate) last_used: Duration,
    pub(crate) resident: Option<u64>,
    pub(crate) crashes: usize,
}

/// The actor that owns a server.
pub(crate) struct Server {
    key: ServerKey,
    adapter: Arc<Adapter>,
    settings: Arc<Settings>,
    host: Arc<dyn LanguageHost>,
    texts: FileTexts,
    board: StatusBoard,
    session: Option<Session>,
    started: Duration,
    crashes: VecDeque<(Duration, String)>,
    unanswered: usize,
    last_used: Duration,
    baseline: Option<Baseline>,
    /// The last diagnostics of a state that is not on disk. Once that state is accepted, they are those of the
    /// unchanged tree.
    latest: Option<Baseline>,
    /// Files that were asked about or touched, the last one last.
    watched: VecDeque<WorkspacePath>,
}

/// The diagnostics of the unchanged tree.
struct Baseline {
    /// The files that were open then, with their contents.
    files: BTreeMap<WorkspacePath, ContentHash>,
    /// The files that were looked for and do not exist.
    absent: BTreeSet<WorkspacePath>,
    diagnostics: Vec<Diagnostic>,
}

enum ServerEvent {
    Job(Option<Job>),
    ConnectionError(IntelError),
    Tick,
}

impl Server {
    pub(crate) fn new(
        key: ServerKey,
        settings: Arc<Settings>,
        host: Arc<dyn LanguageHost>,
        texts: FileTexts,
        board: StatusBoard,
    ) -> Self {
        Self {
            adapter: Arc::new(settings.adapters[key.adapter].clone()),
            started: host.now(),
            last_used: host.now(),
            key,
            settings,
            host,
            texts,
            board,
            session: None,
            crashes: VecDeque::new(),
            unanswered: 0,
            baseline: None,
            latest: None,
            watched: VecDeque::new(),
        }
    }

    /// Answers questions until every sender is gone.
    pub(crate) async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        loop {
            let event = self.next_event(&mut jobs).await;
            match event {
                ServerEvent::Job(None) => break,
                ServerEvent::Job(Some(job)) => self.handle(job).await,
                ServerEvent::ConnectionError(error) => self.crashed(&error),
                ServerEvent::Tick => {}
            }
            self.check_limits().await;
        }
        self.session = None;
        self.update_status();
    }

    async fn next_event(&mut self, jobs: &mut mpsc::UnboundedReceiver<Job>) -> ServerEvent {
        let looks = self.session.is_some();
        let host = self.host.clone();
        let reports = async {
            match &mut self.session {
                Some(session) => session.idle().await,
                None => pending().await,
            }
        };
        let time = async { if looks { host.sleep(CHECK_INTERVAL).await } else { pending().await } };
        let (reports, time) = (std::pin::pin!(reports), std::pin::pin!(time));
        let other = select(reports, time);
        match select(jobs.next(), other).await {
            Either::Left((job, _)) => ServerEvent::Job(job),
            Either::Right((Either::Left((error, _)), _)) => ServerEvent::ConnectionError(error),
            Either::Right((Either::Right(_), _)) => ServerEvent::Tick,
        }
    }

    async fn handle(&mut self, job: Job) {
        let Job { snapshot, question, mut answer, .. } = job;
        self.last_used = self.host.now();
        if matches!(question, Request::End) {
            self.session = None;
            self.update_status();
            let _nobody_waits = answer.send(Ok(Response::Done));
            return;
        }
        // A caller that warms a server does not wait for it.
        let is_detached = matches!(question, Request::Warm(_) | Request::Changed(_));
        if answer.is_canceled() && !is_detached {
            return;
        }
        if let Some(session) = &mut self.session {
            session.forget();
        }
        let outcome = {
            let work = std::pin::pin!(self.answer(&snapshot, &question));
            let given_up = async { if is_detached { pending().await } else { answer.cancellation().await } };
            match select(work, std::pin::pin!(given_up)).await {
                Either::Left((outcome, _)) => outcome,
                // Nobody waits any more. What the server was told stays valid, and what it sends later is still read.
                Either::Right(_) => return,
            }
        };
        match &outcome {
            // A view that failed half-way may show anything.
            Err(
                error @ (IntelError::Ended { .. }
                | IntelError::Protocol { .. }
                | IntelError::Spawn(SpawnError::Failed { .. })),
            ) => {
                self.crashed(&error.clone());
            }
            Err(error @ IntelError::TimedOut { .. }) => {
                self.unanswered += 1;
                if MAX_UNANSWERED <= self.unanswered {
                    self.crashed(&error.clone());
                }
            }
            Err(_) => {}
            Ok(_) => self.unanswered = 0,
        }
        self.last_used = self.host.now();
        self.update_status();
        let _nobody_waits = answer.send(outcome);
    }

    async fn answer(&mut self, snapshot: &Snapshot, question: &Request) -> Result<Response, IntelError> {
        let limit = self.settings.request_timeout;
        let deadline = Deadline { at: self.host.now() + limit, limit };
        if let Request::Changed(paths) = question {
            self.baseline = None;
            if let Some(session) = &mut self.session {
                session.files_changed(paths);
            }
            return Ok(Response::Done);
        }
        self.start(deadline).await?;
        self.refresh().await?;
        match question {
            Request::Diagnostics { paths, least } => {
                self.diagnostics(snapshot, paths, *least, deadline).await.map(Response::Delta)
            }
            Request::Warm(paths) => {
                self.warm(snapshot, paths, deadline).await?;
                Ok(Response::Done)
            }
            other => self.answer_symbol_request(snapshot, other, deadline).await,
        }
    }

    /// Starts the server unless it runs, and waits for the end of the handshake.
    async fn start(&mut self, deadline: Deadline) -> Result<(), IntelError> {
        if self.session.is_none() {
            self.forget_old_crashes();
            if let Some((_, detail)) = self.crashes.back().filter(|_| RESTARTS < self.crashes.len()) {
                return Err(IntelError::CrashLoop {
                    server: self.adapter.name.clone(),
                    crashes: self.crashes.len(),
                    minutes: CRASH_WINDOW.as_secs() / 60,
                    detail: detail.clone(),
                });
            }
            self.baseline = None;
            self.latest = None;
            self.unanswered = 0;
            let folder = self.key.folder.clone();
            self.session = Some(Session::start(self.adapter.clone(), self.host.clone(), folder).await?);
            self.started = self.host.now();
            self.update_status();
        }
        let late = self.started + self.settings.start_timeout <= self.host.now();
        match self.session()?.ready(deadline).await {
            Err(IntelError::Loading { server, .. }) if late => {
                let detail =
                    format!("it did not introduce itself within {} s", self.settings.start_timeout.as_secs());
                Err(IntelError::Protocol { server, detail, source: None })
            }
            outcome => outcome,
        }
    }

    /// Tells the server what changed on disk. Work that it saw as staged and that was accepted meanwhile is not new
    /// to it.
    async fn refresh(&mut self) -> Result<(), IntelError> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let changed = session.refresh().await?;
        if changed.is_empty() {
            return Ok(());
        }
        let mut news = Vec::new();
        for path in changed {
            let on_disk = self.texts.base.read(&path).await.ok();
            if !session.was_accepted(&path, on_disk.as_deref()) {
                news.push(path);
            }
        }
        let latest = self.latest.take();
        self.baseline = latest.filter(|_| news.is_empty() && session.has_nothing_staged());
        if !news.is_empty() {
            session.files_changed(&news);
        }
        Ok(())
    }

    fn session(&mut self) -> Result<&mut Session, IntelError> {
        let ended = || IntelError::Ended { server: self.adapter.name.clone(), detail: String::new() };
        self.session.as_mut().ok_or_else(ended)
    }

    fn crashed(&mut self, error: &IntelError) {
        self.session = None;
        self.forget_old_crashes();
        self.crashes.push_back((self.host.now(), error.to_string()));
        self.update_status();
    }

    fn forget_old_crashes(&mut self) {
        let now = self.host.now();
        self.crashes.retain(|(at, _)| now < *at + CRASH_WINDOW);
    }

    /// Ends a server that was not used for long, or that uses too much memory.
    async fn check_limits(&mut self) {
        let Some(session) = &mut self.session else { return };
        if self.last_used + self.settings.idle_timeout <= self.host.now() {
            self.session = None;
            self.update_status();
            return;
        }
        let resident = session.resident().await;
        if let (Some(resident), Some(limit)) = (resident, self.settings.memory_limit)
            && limit < resident
        {
            let server = self.adapter.name.clone();
            self.crashed(&IntelError::Memory { server, mebibytes: resident >> 20, limit: limit >> 20 });
        }
        self.update_status();
        self.board().entry(self.key.clone()).or_default().resident = resident;
    }

    fn update_status(&self) {
        let mut board = self.board();
        let entry = board.entry(self.key.clone()).or_default();
        entry.running = self.session.is_some();
        entry.last_used = self.last_used;
        entry.crashes = self.crashes.len();
        if !entry.running {
            entry.resident = None;
        }
    }

    fn board(&self) -> std::sync::MutexGuard<'_, BTreeMap<ServerKey, StatusEntry>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
