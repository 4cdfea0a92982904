//! The view of one server: `headstart-shadow` behind the port of `headstart-code-intel`.
//!
//! A server runs code of the project, so it gets a view and no less. What rules close is taken out of the view before the server starts and before
//! each question, and what is staged at such a path is never shown. While the server runs, its view also follows what changes on disk: an overlay
//! does not say what it shows of a file that was replaced below it, so such a file is written into the view.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use headstart_code_intel::{LanguageView, Process, Program, Spawn, SpawnError};
use headstart_overlay_fs::{Change, ChangeKind, ChangeSet, WorkspacePath};
use headstart_shadow::{Command, Options, ShadowError, View};
use headstart_tool_gate::DenyRules;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use super::disk::Disk;
use super::program::Programs;
use crate::clock;
use crate::views::{BuildOutput, Kept, Views};

/// Beyond the limit of a server's memory the view ends it at once, before anybody has looked: so many per cent.
const AT_ONCE: u64 = 150;
/// How often other processes are told how much a server wrote; to look takes at most this part of the time.
const MEASURE_EVERY: Duration = Duration::from_secs(5);
const PART: u32 = 100;

/// Why a view of a server was ended.
const TOO_MUCH: &str =
    "it built too much on the disk, of which [shadow] build_bytes and 2 % of the disk are the limit";
const ENDED: &str = "its view was ended, for too much memory or by somebody else";

/// Makes views for servers.
pub(crate) struct Servers {
    shared: Arc<Shared>,
    started: Instant,
}

struct Shared {
    views: Arc<Views>,
    programs: Programs,
    deny: DenyRules,
    memory: Option<u64>,
}

impl Servers {
    /// In views like these, without what the rules close. `memory` is what a server may take.
    pub(crate) fn new(views: Arc<Views>, programs: Programs, deny: DenyRules, memory: Option<u64>) -> Self {
        Self { shared: Arc::new(Shared { views, programs, deny, memory }), started: Instant::now() }
    }

    pub(super) fn programs(&self) -> &Programs {
        &self.shared.programs
    }
}

#[async_trait]
impl Spawn for Servers {
    async fn view(&self) -> Result<Box<dyn LanguageView>, SpawnError> {
        let root = self.shared.workspace().to_str().map(str::to_owned);
        let root = root.ok_or_else(|| SpawnError::NoView {
            why: "the path of the workspace is not UTF-8, and servers take no other".to_owned(),
            source: None,
        })?;
        Ok(Box::new(ServerView { shared: Arc::clone(&self.shared), root, open: Arc::default() }))
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// A view that is made when it is needed first: most adapters have no program here.
struct ServerView {
    shared: Arc<Shared>,
    root: String,
    open: Arc<Mutex<Place>>,
}

#[derive(Default)]
struct Place {
    open: Option<Open>,
    /// What is to be shown. A view that is not there yet shows it from its start on.
    shown: ChangeSet,
    /// Counts programs, so that the end of one is not taken for that of the next.
    programs: u64,
}

struct Open {
    view: View,
    /// What it has on the disk, which goes after it.
    kept: Kept,
    /// When what is there is to be looked at next.
    measured_next: Instant,
    disk: Disk,
    /// What changed on disk since the view was made.
    since: BTreeMap<WorkspacePath, Change>,
}

impl ServerView {
    /// Does what blocks on a thread for that. Where nobody waits for it any more it still comes to its end.
    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared, &mut Place) -> Result<T, SpawnError> + Send + 'static,
    ) -> Result<T, SpawnError> {
        let (shared, open) = (Arc::clone(&self.shared), Arc::clone(&self.open));
        let done = tokio::task::spawn_blocking(move || work(&shared, &mut lock(&open))).await;
        done.unwrap_or_else(|error| Err(SpawnError::of(error)))
    }
}

#[async_trait]
impl LanguageView for ServerView {
    fn root(&self) -> &str {
        &self.root
    }

    async fn show(&mut self, changes: &ChangeSet) -> Result<(), SpawnError> {
        let changes = changes.clone();
        self.beside(move |shared, place| {
            place.open.take_if(|open| open.view.has_ended());
            place.shown = changes;
            place.open.as_mut().map_or(Ok(()), |open| open.show(shared, &place.shown))
        })
        .await
    }

    async fn refresh(&mut self) -> Result<Vec<WorkspacePath>, SpawnError> {
        self.beside(|shared, place| match &mut place.open {
            Some(open) => {
                open.kept.tell(|about| about.used = clock::unix_ms());
                open.refresh(shared, &place.shown)
            }
            None => Ok(Vec::new()),
        })
        .await
    }

    async fn start(&mut self, program: &Program) -> Result<Process, SpawnError> {
        let program = program.clone();
        let (pipes, number) = self
            .beside(move |shared, place| {
                let Some(file) = shared.programs.find(&program.name) else {
                    return Err(SpawnError::NoProgram { name: program.name });
                };
                tracing::info!(program = program.name, "a language server starts");
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let command = shared.command(&file, program);
                place.programs += 1;
                let number = place.programs;
                let open = shared.open(place, &file)?;
                let pipes = open.view.start_program(&command).map_err(failed)?;
                open.kept.tell(|about| {
                    about.id = name;
                    about.is_running = true;
                    about.used = clock::unix_ms();
                });
                Ok((pipes, number))
            })
            .await?;
        let pipe = |error: std::io::Error| SpawnError::Failed {
            message: format!("a pipe to it: {error}"),
            source: Some(error.into()),
        };
        let stdin = Sender::from_owned_fd(pipes.stdin.into()).map_err(pipe)?;
        let stdout = Receiver::from_owned_fd(pipes.stdout.into()).map_err(pipe)?;
        let stderr = Receiver::from_owned_fd(pipes.stderr.into()).map_err(pipe)?;
        Ok(Process {
            stdin: Box::new(stdin.compat_write()),
            stdout: Box::new(stdout.compat()),
            stderr: Some(Box::new(stderr.compat())),
            guard: Box::new(StopOnDrop { open: Arc::clone(&self.open), number }),
        })
    }

    async fn resident(&mut self) -> Option<u64> {
        let looked = self.beside(|_, place| {
            let open = place
                .open
                .as_mut()
                .ok_or(SpawnError::NoView { why: "it has ended".to_owned(), source: None })?;
            let running = open.view.running().map_err(failed)?;
            open.measure();
            Ok(running.resident)
        });
        looked.await.ok()
    }

    async fn why_ended(&mut self) -> Option<String> {
        let looked = self.beside(|_, place| {
            Ok(place.open.as_mut().and_then(|open| match open.view.running() {
                Err(ShadowError::Disk) => Some(TOO_MUCH.to_owned()),
                Err(ShadowError::Ended) => Some(ENDED.to_owned()),
                _ => None,
            }))
        });
        looked.await.ok().flatten()
    }
}

/// To end a view takes a moment, in which its processes go.
impl Drop for ServerView {
    fn drop(&mut self) {
        let open = Arc::clone(&self.open);
        std::thread::spawn(move || lock(&open).open.take());
    }
}

/// Ends the program that it was made for, and what that started.
struct StopOnDrop {
    open: Arc<Mutex<Place>>,
    number: u64,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let (open, number) = (Arc::clone(&self.open), self.number);
        std::thread::spawn(move || {
            let mut place = lock(&open);
            if place.programs == number
                && let Some(open) = &mut place.open
            {
                tracing::info!(number, "a language server is ended");
                // One whose view has ended has ended as well.
                let _ = open.view.stop_program();
                open.kept.measure(&open.view);
                open.kept.tell(|about| about.is_running = false);
            }
        });
    }
}

impl Shared {
    fn workspace(&self) -> &Path {
        &self.views.options().workspace
    }

    /// The view, made if it has to be, with the package that the program is part of.
    fn open<'a>(&self, place: &'a mut Place, program: &Path) -> Result<&'a mut Open, SpawnError> {
        place.open.take_if(|open| open.view.has_ended());
        if place.open.is_none() {
            let mut made = self.make(program)?;
            made.show(self, &place.shown)?;
            place.open = Some(made);
        }
        place
            .open
            .as_mut()
            .ok_or_else(|| SpawnError::Failed { message: "the view has ended".to_owned(), source: None })
    }

    fn make(&self, program: &Path) -> Result<Open, SpawnError> {
        let mut options: Options = self.views.options().clone();
        options.show.extend(self.programs.package(program));
        if let Some(memory) = self.memory {
            options.limits.memory = memory.saturating_mul(AT_ONCE) / 100;
        }
        // Looked at first: what changes while the view is made is found to have changed.
        let disk = Disk::look(&options.workspace).map_err(SpawnError::no_view_of)?;
        let (view, kept) = self
            .views
            .start("servers", &options, &self.deny, BuildOutput::OnDisk)
            .map_err(SpawnError::no_view_of)?;
        let mut open = Open { view, kept, measured_next: Instant::now(), disk, since: BTreeMap::new() };
        open.hide(self)?;
        Ok(open)
    }

    fn is_closed(&self, path: &WorkspacePath) -> bool {
        self.deny.closes(path, false)
    }

    fn command(&self, file: &Path, program: Program) -> Command {
        let arguments = std::iter::once(OsString::from(file)).chain(program.args.into_iter().map(Into::into));
        let command = Command {
            directory: program.folder,
            environment: self.views.variables().to_vec(),
            ..Command::new(arguments, Duration::MAX)
        };
        let command = command.with_variable("PATH", self.programs.path());
        program
            .environment
            .into_iter()
            .fold(command, |command, (name, value)| command.with_variable(name, value))
    }
}

impl Open {
    fn measure(&mut self) {
        let began = Instant::now();
        if self.measured_next <= began {
            self.kept.measure(&self.view);
            self.measured_next = Instant::now() + MEASURE_EVERY.max(began.elapsed() * PART);
        }
    }

    /// Takes out what rules close; new files among them come to be while a server runs.
    fn hide(&mut self, shared: &Shared) -> Result<(), SpawnError> {
        let closed = shared.views.closed(&shared.deny).map_err(SpawnError::of)?;
        self.view.hide(&closed).map_err(failed)
    }

    fn show(&mut self, shared: &Shared, changes: &ChangeSet) -> Result<(), SpawnError> {
        let mut all: BTreeMap<&WorkspacePath, &Change> =
            self.since.values().map(|change| (&change.path, change)).collect();
        for change in changes.changes.iter().filter(|change| !shared.is_closed(&change.path)) {
            if change.kind == ChangeKind::Delete {
                all.retain(|path, _| !path.starts_with(&change.path));
            }
            all.insert(&change.path, change);
        }
        let shown = ChangeSet { changes: all.into_values().cloned().collect(), ..ChangeSet::default() };
        self.view.show(&shown).map_err(failed)
    }

    fn refresh(&mut self, shared: &Shared, shown: &ChangeSet) -> Result<Vec<WorkspacePath>, SpawnError> {
        self.hide(shared)?;
        let changed = self.disk.changed().map_err(SpawnError::of)?;
        let changed: Vec<_> = changed.into_iter().filter(|path| !shared.is_closed(path)).collect();
        if !changed.is_empty() {
            for path in &changed {
                self.since.extend(self.disk.as_it_is(path).map(|change| (path.clone(), change)));
            }
            self.show(shared, shown)?;
        }
        Ok(changed)
    }
}

fn failed(error: ShadowError) -> SpawnError {
    SpawnError::of(error)
}

fn lock(place: &Mutex<Place>) -> MutexGuard<'_, Place> {
    // What a panic left half done is a view, which is dropped or ended as any other.
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
