//! The handle to all servers, and the future that drives them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use futures::StreamExt as _;
use futures::channel::{mpsc, oneshot};
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::FuturesUnordered;
use headstart_overlay_fs::Tree;
use headstart_workspace_path::WorkspacePath;

use crate::servers::checker::Checker;
use crate::servers::file_texts::FileTexts;
use crate::servers::request::{Job, Request, Response, ServerKey};
use crate::servers::results::{Action, Locations, SymbolPosition, Symbols};
use crate::servers::server::{Server, ServerStatus, StatusBoard};
use crate::{
    Adapter, Delta, DiagnosticsSource, EditPlan, IntelError, LanguageHost, Role, Settings, Severity, Snapshot,
};

/// Answers questions about staged files with language servers. Clones share the servers.
#[derive(Clone)]
pub struct CodeIntel {
    jobs: mpsc::UnboundedSender<Job>,
    settings: Arc<Settings>,
    texts: FileTexts,
    host: Arc<dyn LanguageHost>,
    board: StatusBoard,
}

impl std::fmt::Debug for CodeIntel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeIntel").field("servers", &self.servers()).finish_non_exhaustive()
    }
}

impl CodeIntel {
    /// Code intelligence over a workspace, and the future that does the work, which the caller has to spawn. The
    /// future ends when the last clone of the handle is dropped; when the future itself is dropped, all servers end
    /// and every question is answered with [`IntelError::Stopped`]. `workspace` is the tree as it is on disk.
    pub fn new(
        host: Arc<dyn LanguageHost>,
        workspace: Arc<dyn Tree>,
        settings: Settings,
    ) -> (Self, BoxFuture<'static, ()>) {
        let (sender, receiver) = mpsc::unbounded();
        let (settings, board, texts) =
            (Arc::new(settings), StatusBoard::default(), FileTexts { base: workspace });
        let driver = Driver {
            settings: settings.clone(),
            host: host.clone(),
            texts: texts.clone(),
            board: board.clone(),
            queues: BTreeMap::new(),
        };
        let driver = driver.run(receiver).boxed();
        (Self { jobs: sender, settings, texts, host, board }, driver)
    }

    /// The diagnostics that are new or gone in a state compared with the workspace on disk, of severity `least` or
    /// worse: for these files, or for all that the servers report on. All servers for a file are asked, including
    /// linters.
    pub async fn diagnostics(
        &self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
        least: Severity,
    ) -> Result<Delta, IntelError> {
        let touched = snapshot.changes.changes.iter().map(|change| change.path.clone());
        let about: BTreeSet<WorkspacePath> =
            if paths.is_empty() { touched.collect() } else { paths.iter().cloned().collect() };
        let mut asked: BTreeMap<Vec<ServerKey>, Vec<WorkspacePath>> = BTreeMap::new();
        for path in &about {
            for keys in self.server_keys(path, snapshot).await {
                asked.entry(keys).or_default().push(path.clone());
            }
        }
        if asked.is_empty() {
            return match about.iter().next() {
                Some(path) if !paths.is_empty() => Err(self.no_server(path)),
                _ => Ok(Delta::default()),
            };
        }
        let questions = asked.into_iter().map(|(keys, of)| async move {
            let of = if paths.is_empty() { Vec::new() } else { of };
            let is_linter = keys.iter().all(|key| self.adapter(key).role == Role::Linter);
            let answer =
                self.first_installed(keys, snapshot, &Request::Diagnostics { paths: of, least }).await;
            (is_linter, answer)
        });
        let mut whole: Option<Delta> = None;
        let mut failed = None;
        for (is_linter, answer) in futures::future::join_all(questions).await {
            match answer {
                Ok(Response::Delta(delta)) => {
                    whole = Some(whole.map_or(delta.clone(), |whole| whole.and(delta)));
                }
                Ok(_) => {}
                // A linter may be missing.
                Err(IntelError::Missing { .. }) if is_linter => {}
                Err(error) => failed = Some(error),
            }
        }
        match (whole, failed) {
            (Some(mut whole), failed) => {
                if let Some(failed) = failed {
                    whole.partial.get_or_insert(failed.to_string());
                }
                Ok(whole)
            }
            (None, Some(failed)) => Err(failed),
            (None, None) => Ok(Delta::default()),
        }
    }

    /// Where a name is defined.
    pub async fn definition(
        &self,
        snapshot: &Snapshot,
        place: SymbolPosition,
    ) -> Result<Locations, IntelError> {
        self.locations(snapshot, Request::Definition(place.clone()), &place.path).await
    }

    /// Where a name is used, its definition included.
    pub async fn references(
        &self,
        snapshot: &Snapshot,
        place: SymbolPosition,
    ) -> Result<Locations, IntelError> {
        self.locations(snapshot, Request::References(place.clone()), &place.path).await
    }

    /// What the server explains about a name: its type, its documentation; `None` if it has nothing.
    pub async fn hover(
        &self,
        snapshot: &Snapshot,
        place: SymbolPosition,
    ) -> Result<Option<String>, IntelError> {
        let path = place.path.clone();
        match self.ask(snapshot, &path, &Request::Hover(place)).await? {
            Response::Text(text) => Ok(text),
            _ => Err(IntelError::Stopped),
        }
    }

    /// The names that a file defines.
    pub async fn symbols_of(&self, snapshot: &Snapshot, path: &WorkspacePath) -> Result<Symbols, IntelError> {
        match self.ask(snapshot, path, &Request::SymbolsOf(path.clone())).await? {
            Response::Symbols(symbols) => Ok(symbols),
            _ => Err(IntelError::Stopped),
        }
    }

    /// Names of the project that match a query, from the servers that run and from those for staged files.
    pub(crate) async fn search_symbols(
        &self,
        snapshot: &Snapshot,
        query: &str,
    ) -> Result<Symbols, IntelError> {
        let mut keys: BTreeSet<Vec<ServerKey>> = BTreeSet::new();
        for change in &snapshot.changes.changes {
            keys.extend(self.server_keys(&change.path, snapshot).await.into_iter().take(1));
        }
        let running = self.running().into_iter().filter(|key| self.adapter(key).role == Role::Language);
        keys.extend(running.map(|key| vec![key]));
        if keys.is_empty() {
            keys.extend(self.at_root().await);
        }
        let mut all = Symbols::default();
        let mut failed = None;
        for keys in keys {
            match self.first_installed(keys, snapshot, &Request::SymbolsLike(query.to_owned())).await {
                Ok(Response::Symbols(symbols)) => {
                    all.count += symbols.count;
                    all.symbols.extend(symbols.symbols);
                }
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if all.symbols.is_empty() => Err(error),
            _ => Ok(all),
        }
    }

    /// The edit that renames a symbol wherever it is used. Nothing is staged: [`EditPlan::apply`] does that.
    pub async fn rename(
        &self,
        snapshot: &Snapshot,
        place: SymbolPosition,
        to: &str,
    ) -> Result<EditPlan, IntelError> {
        let path = place.path.clone();
        self.plan(snapshot, &path, Request::Rename { place, to: to.to_owned() }).await
    }

    /// The code actions at a place, only of this `kind` (`quickfix`, `refactor`, …) if one is given.
    pub async fn code_actions(
        &self,
        snapshot: &Snapshot,
        place: SymbolPosition,
        kind: Option<String>,
    ) -> Result<Vec<Action>, IntelError> {
        let path = place.path.clone();
        match self.ask(snapshot, &path, &Request::Actions { place, kind }).await? {
            Response::Actions(actions) => Ok(actions),
            _ => Err(IntelError::Stopped),
        }
    }

    /// The edit of the code action with this title. Nothing is staged, and no command of the server is executed.
    pub async fn code_action(
        &self,
        snapshot: &Snapshot,
        place: SymbolPosition,
        kind: Option<String>,
        title: &str,
    ) -> Result<EditPlan, IntelError> {
        let path = place.path.clone();
        self.plan(snapshot, &path, Request::Apply { place, kind, title: title.to_owned() }).await
    }

    /// Starts the server for a file and has it check the unchanged state, so that the first question is answered
    /// quickly. That takes seconds; the result only says whether it was done within the time of one question.
    pub async fn warm(&self, path: &WorkspacePath) -> Result<(), IntelError> {
        let paths = vec![path.clone()];
        self.ask(&Snapshot::unchanged(), path, &Request::Warm(paths)).await.map(|_| ())
    }

    /// As [`warm`](Self::warm), without waiting for it.
    pub async fn warm_in_background(&self, path: &WorkspacePath) {
        let snapshot = Snapshot::unchanged();
        for keys in self.server_keys(path, &snapshot).await {
            for key in keys.into_iter().take(1) {
                let (answer, _nobody_waits) = oneshot::channel();
                let job = Job {
                    key,
                    snapshot: snapshot.clone(),
                    question: Request::Warm(vec![path.clone()]),
                    answer,
                };
                let _stopped = self.jobs.unbounded_send(job);
            }
        }
    }

    /// Whether a server for a file runs.
    pub async fn is_running(&self, path: &WorkspacePath) -> bool {
        let running = self.running();
        self.server_keys(path, &Snapshot::unchanged()).await.iter().flatten().any(|key| running.contains(key))
    }

    /// The name of the server that runs for a file.
    pub(crate) async fn server_of(&self, path: &WorkspacePath) -> Option<String> {
        let running = self.running();
        let keys = self.server_keys(path, &Snapshot::unchanged()).await.into_iter().flatten();
        keys.filter(|key| running.contains(key)).map(|key| self.adapter(&key).name.clone()).next()
    }

    /// The name of the first server for one of these files, whether it runs or not. Linters do not count.
    #[cfg(feature = "tools")]
    pub(crate) async fn first_server_of(&self, paths: &[WorkspacePath]) -> Option<String> {
        for path in paths {
            let keys = self.server_keys(path, &Snapshot::unchanged()).await.into_iter().flatten();
            let mut servers =
                keys.map(|key| self.adapter(&key)).filter(|server| server.role == Role::Language);
            if let Some(server) = servers.next() {
                return Some(server.name.clone());
            }
        }
        None
    }

    /// Resolves after `time`, by the host's clock.
    #[cfg(feature = "tools")]
    pub(crate) async fn sleep(&self, time: std::time::Duration) {
        self.host.sleep(time).await;
    }

    /// Tells all servers that files changed on the user's disk.
    pub async fn files_changed(&self, paths: &[WorkspacePath]) {
        for key in self.known_keys() {
            let _not_running =
                self.send(key, &Snapshot::unchanged(), &Request::Changed(paths.to_vec())).await;
        }
    }

    /// The servers that were used so far.
    pub fn servers(&self) -> Vec<ServerStatus> {
        let now = self.host.now();
        let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let status = board.iter().map(|(key, entry)| ServerStatus {
            name: self.adapter(key).name.clone(),
            folder: key.folder.clone(),
            running: entry.running,
            idle: now.saturating_sub(entry.last_used).as_secs(),
            resident: entry.resident,
            crashes: entry.crashes,
        });
        status.collect()
    }

    async fn locations(
        &self,
        snapshot: &Snapshot,
        question: Request,
        path: &WorkspacePath,
    ) -> Result<Locations, IntelError> {
        match self.ask(snapshot, path, &question).await? {
            Response::Locations(locations) => Ok(locations),
            _ => Err(IntelError::Stopped),
        }
    }

    async fn plan(
        &self,
        snapshot: &Snapshot,
        path: &WorkspacePath,
        question: Request,
    ) -> Result<EditPlan, IntelError> {
        match self.ask(snapshot, path, &question).await? {
            Response::Plan(plan) => Ok(plan),
            _ => Err(IntelError::Stopped),
        }
    }

    /// Asks the server for the language of a file.
    async fn ask(
        &self,
        snapshot: &Snapshot,
        path: &WorkspacePath,
        question: &Request,
    ) -> Result<Response, IntelError> {
        if (snapshot.closed)(path) {
            return Err(IntelError::ClosedPath { path: path.clone() });
        }
        let mut keys = self.server_keys(path, snapshot).await.into_iter();
        let language = keys.find(|keys| keys.iter().any(|key| self.adapter(key).role == Role::Language));
        let keys = language.ok_or_else(|| self.no_server(path))?;
        self.first_installed(keys, snapshot, question).await
    }

    /// The answer of the first of these servers that is installed.
    async fn first_installed(
        &self,
        keys: Vec<ServerKey>,
        snapshot: &Snapshot,
        question: &Request,
    ) -> Result<Response, IntelError> {
        let mut missing = None;
        for key in keys {
            match self.send(key, snapshot, question).await {
                Err(error @ IntelError::Missing { .. }) => missing = Some(error),
                answer => return answer,
            }
        }
        Err(missing.unwrap_or(IntelError::Stopped))
    }

    async fn send(
        &self,
        key: ServerKey,
        snapshot: &Snapshot,
        question: &Request,
    ) -> Result<Response, IntelError> {
        let (sender, receiver) = oneshot::channel();
        let job = Job { key, snapshot: snapshot.clone(), question: question.clone(), answer: sender };
        self.jobs.unbounded_send(job).map_err(|_| IntelError::Stopped)?;
        receiver.await.unwrap_or(Err(IntelError::Stopped))
    }

    /// The servers for a file: a list of alternatives for its language, and one for each linter.
    async fn server_keys(&self, path: &WorkspacePath, snapshot: &Snapshot) -> Vec<Vec<ServerKey>> {
        let (mut languages, mut all) = (Vec::new(), Vec::new());
        for (index, adapter) in self.settings.adapters.iter().enumerate() {
            if adapter.language(path).is_none() || (snapshot.closed)(path) {
                continue;
            }
            let key = ServerKey { adapter: index, folder: self.root_of(adapter, path).await };
            match adapter.role {
                Role::Language => languages.push(key),
                Role::Linter => all.push(vec![key]),
            }
        }
        if !languages.is_empty() {
            all.insert(0, languages);
        }
        all
    }

    /// The topmost folder above a file that has one of the markers; otherwise the workspace.
    async fn root_of(&self, adapter: &Adapter, path: &WorkspacePath) -> WorkspacePath {
        let mut folders: Vec<WorkspacePath> =
            std::iter::successors(path.parent(), WorkspacePath::parent).collect();
        folders.reverse();
        for folder in folders {
            if self.has_marker(adapter, &folder).await {
                return folder;
            }
        }
        WorkspacePath::root()
    }

    async fn has_marker(&self, adapter: &Adapter, folder: &WorkspacePath) -> bool {
        for marker in &adapter.root_markers {
            if let Ok(path) = folder.join(marker)
                && self.texts.base.metadata(&path).await.is_ok()
            {
                return true;
            }
        }
        false
    }

    /// The servers that have a marker in the workspace's own folder.
    async fn at_root(&self) -> Vec<Vec<ServerKey>> {
        let mut keys = Vec::new();
        for (index, adapter) in self.settings.adapters.iter().enumerate() {
            if adapter.role == Role::Language && self.has_marker(adapter, &WorkspacePath::root()).await {
                keys.push(vec![ServerKey { adapter: index, folder: WorkspacePath::root() }]);
            }
        }
        keys
    }

    fn known_keys(&self) -> Vec<ServerKey> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn running(&self) -> Vec<ServerKey> {
        let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.iter().filter(|(_, entry)| entry.running).map(|(key, _)| key.clone()).collect()
    }

    fn adapter(&self, key: &ServerKey) -> &Adapter {
        &self.settings.adapters[key.adapter]
    }

    fn no_server(&self, path: &WorkspacePath) -> IntelError {
        let known: BTreeSet<&str> = self
            .settings
            .adapters
            .iter()
            .flat_map(|adapter| adapter.languages.keys().map(String::as_str))
            .collect();
        let known = known.into_iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(", ");
        IntelError::NoServer { path: path.clone(), known }
    }
}

/// Passes each question on to the queue of its server.
struct Driver {
    settings: Arc<Settings>,
    host: Arc<dyn LanguageHost>,
    texts: FileTexts,
    board: StatusBoard,
    queues: BTreeMap<ServerKey, mpsc::UnboundedSender<Job>>,
}

impl Driver {
    async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut servers: FuturesUnordered<BoxFuture<'static, ()>> = FuturesUnordered::new();
        loop {
            futures::select_biased! {
                job = jobs.next() => match job {
                    Some(job) => servers.extend(self.route(job)),
                    None => return,
                },
                _ended = servers.select_next_some() => {}
            }
        }
    }

    /// Queues a job. If its queue is new, returns the future of its server.
    fn route(&mut self, job: Job) -> Option<BoxFuture<'static, ()>> {
        let key = job.key.clone();
        let room = self.make_room(&key);
        if let Some(queue) = self.queues.get(&key) {
            let _ended = queue.unbounded_send(job);
            return None;
        }
        let (sender, receiver) = mpsc::unbounded();
        let _first = sender.unbounded_send(job);
        self.queues.insert(key.clone(), sender);
        let (settings, host, texts) = (self.settings.clone(), self.host.clone(), self.texts.clone());
        let board = self.board.clone();
        let server = async move {
            // The other server ends first, so that both do not use memory at the same time.
            if let Some(room) = room {
                let _ended = room.await;
            }
            match settings.mode {
                DiagnosticsSource::Servers => {
                    Server::new(key, settings, host, texts, board).run(receiver).await;
                }
                DiagnosticsSource::Checks => Checker::new(key, settings, host, board).run(receiver).await,
            }
        };
        Some(server.boxed())
    }

    /// If the limit of servers is reached, ends the one that was not used for longest.
    fn make_room(&self, key: &ServerKey) -> Option<oneshot::Receiver<Result<Response, IntelError>>> {
        let oldest = {
            let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
            let running = board.iter().filter(|(other, entry)| entry.running && *other != key);
            let own = board.get(key).is_some_and(|entry| entry.running);
            if own || running.clone().count() < self.settings.max_servers {
                return None;
            }
            running.min_by_key(|(_, entry)| entry.last_used).map(|(key, _)| key.clone())?
        };
        let (answer, ended) = oneshot::channel();
        let job =
            Job { key: oldest.clone(), snapshot: Snapshot::unchanged(), question: Request::End, answer };
        self.queues.get(&oldest)?.unbounded_send(job).ok()?;
        Some(ended)
    }
}
