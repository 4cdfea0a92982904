//! Views on another machine, reached through a program that the user's own file names. This is the side that has the
//! workspace.
//!
//! The other machine is only used because this user's own file names it, and its answers are trusted as little as what
//! a command writes: see [`headstart_toolbox::exchange`]. If it cannot be reached, or answers something that no view
//! would, the command does not run on this machine instead, because the user has decided where commands run ahead.

mod connection;
mod scan;
mod stored_scan;
mod view_hosts;

use std::collections::BTreeMap;
use std::fs::{OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headstart_overlay_fs::{ChangeKind, Content, ContentHash, Quota};
use headstart_tool_gate::DenyRules;
use headstart_toolbox::exchange::{
    AnswerError, AnswerReceiver, ClientHello, ClientMessage, Failure, MAX_LINE_BYTES, Manifest,
    ManifestEntry, RunRequest, ServerMessage, TreeEdit, VERSION, ViewLimits, WarmRequest, WarmResult,
    content_pieces, encode_line,
};
use headstart_toolbox::{Tier, ToolError, ViewId, ViewOutput, ViewRequest};

use crate::clock;
use crate::config::ShadowConfig;
use crate::environment::Environment;
use crate::file_lock::FileLock;
use crate::program::program;
use crate::views::says_no_repository;
use connection::{Connection, RemoteCall};
use scan::{ScanRules, WorkspaceScan};
pub use view_hosts::{ViewHosts, names_git};

/// The file in the state folder that is locked while a connection is made.
const TURN: &str = "connecting.lock";
/// The time limit for the connections of other processes.
const TURN_PATIENCE: Duration = Duration::from_secs(60);
/// How long no connection is tried after one has failed.
const PAUSE: Duration = Duration::from_secs(30);
/// How much longer than the time of its command an answer may take.
const GRACE: Duration = Duration::from_secs(60);
/// The time limit for a message that the other side can send at once.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time limit for building in advance.
const BUILD: Duration = Duration::from_secs(31 * 60);
/// How often a command is tried if the workspace changes before it can run.
const MAX_TRIES: usize = 3;
/// The most bytes of edits in one message.
const MAX_EDITS: usize = MAX_LINE_BYTES / 16;

/// The views of one workspace on another machine. Nothing is started before the first command.
pub struct Remote {
    command: Vec<String>,
    workspace: PathBuf,
    environment: Environment,
    state: Option<PathBuf>,
    hello: ClientHello,
    quota: Quota,
    most_time: Duration,
    warm: Vec<String>,
    connection: tokio::sync::Mutex<ConnectionState>,
    /// The state of the copy on the other side. Locked while the copy is updated.
    tree: tokio::sync::Mutex<SentTree>,
}

#[derive(Default)]
struct ConnectionState {
    connection: Option<Arc<Connection>>,
    failed: Option<(Instant, String)>,
}

/// What was sent to the other side.
#[derive(Default)]
struct SentTree {
    /// Whether the scan was read from disk, where an earlier process stored it.
    is_read: bool,
    scan: WorkspaceScan,
    /// The connection's number, and the content of the copy on the other side.
    remote_tree: Option<(u64, Manifest, ContentHash)>,
    /// When the scan began after which everything was sent, and the rules for it.
    began: Option<(Instant, ScanRules)>,
}

/// The result of trying the connection.
pub struct ConnectionCheck {
    pub program: String,
    pub tier: Tier,
    pub notes: Vec<String>,
    /// The files and bytes on the other machine now; below them the paths that are not sent.
    pub files: usize,
    pub bytes: u64,
    pub left_out: Vec<String>,
}

impl Remote {
    /// The views on the machine that the user's file names; `None` if it names none.
    pub fn new(
        workspace: &Path,
        settings: &ShadowConfig,
        quota: Quota,
        environment: &Environment,
        state: Option<&Path>,
    ) -> Option<Self> {
        // Another machine shows a workspace at its own path, and a path of Windows is none there.
        if settings.remote.is_empty() || cfg!(windows) {
            return None;
        }
        let limits = ViewLimits {
            bytes: Some(settings.bytes),
            files: Some(settings.files),
            processes: Some(settings.processes),
            memory: Some(settings.memory),
        };
        let hello = ClientHello {
            version: VERSION,
            program: program(),
            client: stored_scan::client(state),
            workspace: workspace.display().to_string(),
            limits,
            build: settings.build.clone(),
        };
        Some(Self {
            command: settings.remote.clone(),
            workspace: workspace.to_owned(),
            environment: environment.clone(),
            state: state.map(Path::to_owned),
            hello,
            quota,
            most_time: settings.time,
            warm: settings.warm.clone(),
            connection: tokio::sync::Mutex::default(),
            tree: tokio::sync::Mutex::default(),
        })
    }

    /// The beginning of the command line that reaches the other machine.
    pub fn name(&self) -> String {
        self.command.join(" ").chars().take(80).collect()
    }

    /// The command lines that build in advance.
    pub fn warm_lines(&self) -> &[String] {
        &self.warm
    }

    /// Implements the port's method for running a command.
    pub async fn run(&self, request: ViewRequest) -> Result<ViewOutput, ToolError> {
        let began_ms = clock::since_now_ms();
        if let Some(change) = request
            .below
            .changes
            .iter()
            .chain(&request.staged.changes)
            .find(|change| ScanRules::new(&request.deny).close(&change.path))
        {
            return Err(self.no_view(&format!("{} is staged, and does not leave this machine", change.path)));
        }
        for _ in 0..MAX_TRIES {
            if let Some(mut ran) = self.try_run(&request).await? {
                ran.began_ms = began_ms;
                if says_no_repository(&ran.output.output)
                    && self.workspace.ancestors().any(|at| at.join(".git").exists())
                {
                    ran.git_refused = Some("the repository is not sent to the other machine".to_owned());
                }
                return Ok(ran);
            }
        }
        Err(self.no_view("the workspace changes faster than it can be sent"))
    }

    /// Tries to run a command; `None` if the workspace changed meanwhile.
    async fn try_run(&self, request: &ViewRequest) -> Result<Option<ViewOutput>, ToolError> {
        let connection = self.connect().await.map_err(|why| self.no_view(&why))?;
        let Some(tree) =
            self.update_copy(&connection, &request.deny).await.map_err(|why| self.no_view(&why))?
        else {
            return Ok(None);
        };
        let mut call = connection.call();
        let limited = ViewRequest { time_limit: request.time_limit.min(self.most_time), ..request.clone() };
        let run = RunRequest::of(call.id(), tree, &limited);
        let line = encode_line(&ClientMessage::Run(Box::new(run)));
        if MAX_LINE_BYTES < line.len() {
            return Err(self.no_view("so many paths are staged that they are no message"));
        }
        let ends = EndViewGuard { connection: &connection, view: Some(&request.view) };
        let started = Instant::now();
        let taken = self.finish(&mut call, line, &limited).await;
        ends.disarm();
        let mut ran = match taken {
            Ok(Some(ran)) => ran,
            Ok(None) => return Ok(None),
            Err(CommandFailure::ServerMessage(error)) => return Err(error),
            Err(CommandFailure::Wrong(why)) => {
                let why = format!("it said what no view gives: {why}");
                connection.end(&why);
                return Err(self.no_view(&why));
            }
        };
        ran.cost.time = ran.cost.time.min(started.elapsed());
        Ok(Some(ran))
    }

    async fn finish(
        &self,
        call: &mut RemoteCall,
        line: Vec<u8>,
        request: &ViewRequest,
    ) -> Result<Option<ViewOutput>, CommandFailure> {
        call.send(line).await.map_err(|why| self.failure(&why))?;
        let mut answer = AnswerReceiver::new(self.quota);
        loop {
            let message = call.next(request.time_limit + GRACE).await.map_err(|why| self.failure(&why))?;
            match message {
                ServerMessage::Missing { hashes, .. } => {
                    let contents: BTreeMap<ContentHash, &Content> = request
                        .below
                        .changes
                        .iter()
                        .chain(&request.staged.changes)
                        .filter_map(|change| match &change.kind {
                            ChangeKind::Write { content, .. } => Some((content.hash(), content)),
                            _ => None,
                        })
                        .collect();
                    for hash in hashes {
                        let unknown =
                            || CommandFailure::Wrong(format!("it asks for {hash}, which no staged file has"));
                        let content = contents.get(&hash).ok_or_else(unknown)?;
                        call.content(content).await.map_err(|why| self.failure(&why))?;
                    }
                }
                ServerMessage::Content { hash, bytes, more, .. } => {
                    answer.push_content(hash, &bytes, more).map_err(CommandFailure::Wrong)?;
                }
                ServerMessage::Ran(ran) => {
                    if request.output_limit.saturating_add(1_000) < ran.output.len() {
                        return Err(CommandFailure::Wrong(
                            "it printed more than it was asked to keep".to_owned(),
                        ));
                    }
                    return match answer.into_output(*ran, request).await {
                        Ok(ran) => Ok(Some(ran)),
                        Err(AnswerError::Quota(error) | AnswerError::Tree(error)) => {
                            Err(CommandFailure::ServerMessage(error.into()))
                        }
                        Err(error) => Err(CommandFailure::Wrong(error.to_string())),
                    };
                }
                ServerMessage::Failed { failure, why, .. } => return self.failed(failure, &why),
                _ => {
                    return Err(CommandFailure::Wrong("a message that is no answer to a command".to_owned()));
                }
            }
        }
    }

    fn failed<T>(&self, failure: Failure, why: &str) -> Result<Option<T>, CommandFailure> {
        let why: String =
            why.chars().take(1_000).map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
        Err(CommandFailure::ServerMessage(match failure {
            Failure::TreeChanged => return Ok(None),
            Failure::NoView => self.no_view(&why),
            Failure::Call => ToolError::failed(why),
            Failure::Quota => ToolError::Quota { message: why },
        }))
    }

    fn failure(&self, why: &str) -> CommandFailure {
        CommandFailure::ServerMessage(self.no_view(why))
    }

    fn no_view(&self, why: &str) -> ToolError {
        ToolError::no_view(format!("{}: {why}", self.name()))
    }

    /// Ends a view that is not needed any more.
    pub(crate) fn end(&self, view: &ViewId) {
        // If the lock is held, a connection is just being made, and it has no view yet.
        if let Ok(known) = self.connection.try_lock()
            && let Some(connection) = &known.connection
        {
            connection.notify(ClientMessage::End { view: view.as_str().to_owned() });
        }
    }

    /// Builds in advance on the other machine.
    pub async fn build(&self, deny: &DenyRules, lines: &[String]) -> Result<WarmResult, String> {
        for _ in 0..MAX_TRIES {
            let connection = self.connect().await?;
            let Some(tree) = self.update_copy(&connection, deny).await? else { continue };
            let mut call = connection.call();
            let warm = WarmRequest { id: call.id(), tree, lines: lines.to_vec() };
            call.send(encode_line(&ClientMessage::Warm(warm))).await?;
            match call.next(BUILD).await? {
                ServerMessage::Warmed(warmed) => return Ok(warmed),
                ServerMessage::Failed { failure: Failure::TreeChanged, .. } => {}
                ServerMessage::Failed { why, .. } => return Err(why),
                _ => return Err("it said what is no answer to a build".to_owned()),
            }
        }
        Err("the workspace changes faster than it can be sent".to_owned())
    }

    /// Connects, and updates the copy on the other machine.
    pub async fn check(&self, deny: &DenyRules) -> Result<ConnectionCheck, String> {
        let connection = self.connect().await?;
        for _ in 0..MAX_TRIES {
            if self.update_copy(&connection, deny).await?.is_some() {
                let sent = self.tree.lock().await;
                let is_file =
                    |(_, standing): &(_, &ManifestEntry)| matches!(standing, ManifestEntry::File { .. });
                return Ok(ConnectionCheck {
                    program: connection.program().to_owned(),
                    tier: connection.tier(),
                    notes: connection.notes().to_vec(),
                    files: sent.scan.manifest.iter().filter(is_file).count(),
                    bytes: sent.scan.manifest.bytes(),
                    left_out: sent.scan.left_out.clone(),
                });
            }
        }
        Err("the workspace changes faster than it can be sent".to_owned())
    }

    async fn connect(&self) -> Result<Arc<Connection>, String> {
        let mut known = self.connection.lock().await;
        if let Some(connection) = &known.connection {
            if connection.is_open() {
                return Ok(Arc::clone(connection));
            }
            known.connection = None;
        }
        if let Some((at, why)) = &known.failed
            && at.elapsed() < PAUSE
        {
            return Err(why.clone());
        }
        let turn = self.turn().await;
        let opened = Connection::open(&self.command, &self.workspace, &self.environment, &self.hello).await;
        drop(turn);
        match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *known = ConnectionState { connection: Some(Arc::clone(&connection)), failed: None };
                Ok(connection)
            }
            Err(why) => {
                known.failed = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    /// Waits until no other process of this user is making a connection: an SSH server refuses some of those that come
    /// at the same time. Whoever waits too long goes ahead.
    async fn turn(&self) -> Option<FileLock> {
        let folder = self.state.as_ref()?;
        crate::store::create_private_folder(folder).ok()?;
        let file = OpenOptions::new().create(true).append(true).open(folder.join(TURN)).ok()?;
        let started = Instant::now();
        loop {
            match FileLock::exclusive(file.try_clone().ok()?) {
                Ok(turn) => return Some(turn),
                Err(TryLockError::WouldBlock) if started.elapsed() < TURN_PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(_) => return None,
            }
        }
    }

    /// Updates the copy on the other side to the files on disk here. Returns its hash, or `None` if a file changed
    /// meanwhile.
    async fn update_copy(
        &self,
        connection: &Connection,
        deny: &DenyRules,
    ) -> Result<Option<ContentHash>, String> {
        let requested_at = Instant::now();
        let rules = ScanRules::new(deny);
        let mut sent = self.tree.lock().await;
        if let (Some((began, by)), Some((number, _, digest))) = (&sent.began, &sent.remote_tree)
            && requested_at <= *began
            && *by == rules
            && *number == connection.number()
        {
            // Another call that got the lock first has scanned since.
            return Ok(Some(*digest));
        }
        if !std::mem::replace(&mut sent.is_read, true) {
            sent.scan = stored_scan::read(self.state.as_deref(), &self.workspace);
        }
        let before = std::mem::take(&mut sent.scan);
        let there = match sent.remote_tree.take() {
            Some((number, manifest, digest)) if number == connection.number() => Some((manifest, digest)),
            _ => {
                let digest = before.manifest.digest();
                (connection.tree() == Some(digest)).then(|| (before.manifest.clone(), digest))
            }
        };
        let began = Instant::now();
        let (workspace, by) = (self.workspace.clone(), rules.clone());
        let scanned = tokio::task::spawn_blocking(move || {
            let scan = scan::scan(&workspace, &by, &before)?;
            let digest = scan.manifest.digest();
            Ok::<_, String>((scan, digest, before))
        });
        let (scan, digest, before) = scanned.await.map_err(|error| error.to_string())??;
        sent.scan = scan;
        let is_there = there.as_ref().is_some_and(|(_, known)| *known == digest);
        if !is_there && !self.send(connection, &mut sent.scan, digest, there).await? {
            return Ok(None);
        }
        if sent.scan.manifest != before.manifest {
            let (state, workspace, scan) = (self.state.clone(), self.workspace.clone(), sent.scan.clone());
            tokio::task::spawn_blocking(move || stored_scan::write(state.as_deref(), &workspace, &scan));
        }
        sent.remote_tree = Some((connection.number(), sent.scan.manifest.clone(), digest));
        sent.began = Some((began, rules));
        Ok(Some(digest))
    }

    /// Sends the differences. Returns whether all of them could be sent.
    async fn send(
        &self,
        connection: &Connection,
        scan: &mut WorkspaceScan,
        digest: ContentHash,
        remote_tree: Option<(Manifest, ContentHash)>,
    ) -> Result<bool, String> {
        let mut call = connection.call();
        let since = remote_tree.as_ref().map(|(_, digest)| *digest);
        let edits = scan.manifest.edits_since(&remote_tree.map(|(manifest, _)| manifest).unwrap_or_default());
        for line in lines_of(call.id(), since, digest, edits) {
            call.send(line).await?;
        }
        loop {
            match call.next(PATIENCE).await? {
                ServerMessage::Ready { .. } => return Ok(true),
                ServerMessage::Unknown { .. } if since.is_some() => {
                    call = connection.call();
                    let edits = scan.manifest.edits_since(&Manifest::default());
                    for line in lines_of(call.id(), None, digest, edits) {
                        call.send(line).await?;
                    }
                }
                ServerMessage::Missing { hashes, .. } => {
                    let files = scan.files(&hashes).ok_or("it asks for a content that was not offered")?;
                    for (hash, path) in files {
                        let at = self.workspace.clone();
                        let file = path.clone();
                        let read = tokio::task::spawn_blocking(move || scan::read(&at, &file)).await;
                        let content = read.ok().and_then(Result::ok).map(Content::from);
                        let Some(content) = content.filter(|content| content.hash() == hash) else {
                            scan.forget(&path);
                            call.send(encode_line(&ClientMessage::Gone { id: call.id() })).await?;
                            return Ok(false);
                        };
                        call.content(&content).await?;
                    }
                }
                ServerMessage::Failed { failure: Failure::TreeChanged, .. } => return Ok(false),
                ServerMessage::Failed { why, .. } => return Err(why),
                _ => return Err("it said what is no answer to a workspace".to_owned()),
            }
        }
    }
}

/// Why a command had no result.
enum CommandFailure {
    /// An error for the user or the model.
    ServerMessage(ToolError),
    /// The other side broke the protocol, so it is no longer trusted.
    Wrong(String),
}

fn lines_of(
    id: u64,
    since: Option<ContentHash>,
    digest: ContentHash,
    edits: Vec<TreeEdit>,
) -> impl Iterator<Item = Vec<u8>> {
    let mut batches = vec![Vec::new()];
    let mut bytes = 0;
    for edit in edits {
        let target = match &edit.now {
            Some(ManifestEntry::Link { target }) => target.len(),
            _ => 0,
        };
        let size = 200 + 4 * (edit.path.as_bytes().len() + target);
        if MAX_EDITS < bytes + size {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        batches.last_mut().expect("works because there is one from the start").push(edit);
    }
    let count = batches.len();
    batches.into_iter().enumerate().map(move |(number, edits)| {
        encode_line(&ClientMessage::Tree { id, since, digest, edits, more: number + 1 < count })
    })
}

/// Ends the view if the future that waits for its command is dropped.
struct EndViewGuard<'a> {
    connection: &'a Connection,
    view: Option<&'a ViewId>,
}

impl EndViewGuard<'_> {
    fn disarm(mut self) {
        self.view = None;
    }
}

impl Drop for EndViewGuard<'_> {
    fn drop(&mut self) {
        if let Some(view) = self.view {
            self.connection.notify(ClientMessage::End { view: view.as_str().to_owned() });
        }
    }
}

impl RemoteCall {
    async fn content(&self, content: &Content) -> Result<(), String> {
        for (bytes, more) in content_pieces(content) {
            self.send(encode_line(&ClientMessage::Content {
                id: self.id(),
                hash: content.hash(),
                bytes,
                more,
            }))
            .await?;
        }
        Ok(())
    }
}
