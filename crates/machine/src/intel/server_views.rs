//! The view of one server: `headstart-shadow` as the port of `headstart-code-intel` for starting servers.
//!
//! A server runs code of the project, so it must run in a view. Paths that rules close are removed from the view before
//! the server starts and before each question, and staged files at such paths are never shown. While the server runs,
//! its view also follows the disk: the kernel does not define what an overlay shows of a file that was replaced below
//! it, so such a file is written into the view.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use headstart_code_intel::{LanguageHost, LanguageView, Process, Program, SpawnError};
use headstart_overlay_fs::{Change, ChangeKind, ChangeSet, WorkspacePath};
use headstart_shadow::{Command, Options, ShadowError, View};
use headstart_tool_gate::DenyRules;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use super::disk::FileStamps;
use super::program::Programs;
use crate::clock;
use crate::system::{OutputPipe, input_pipe};
use crate::views::{BuildOutput, ViewFiles, Views};

/// A view ends its server at once, without a check by headstart, if the server exceeds its memory limit by so much, in
/// per cent of the limit.
const AT_ONCE: u64 = 150;
/// How often other processes are told how much a server wrote. Measuring takes at most the part of the time below,
/// which is a divisor.
const MEASURE_EVERY: Duration = Duration::from_secs(5);
const PART: u32 = 100;

/// Why the view of a server was ended.
const TOO_MUCH: &str =
    "it built too much on the disk, of which [shadow] build_bytes and 2 % of the disk are the limit";
const ENDED: &str = "its view was ended, for too much memory or by somebody else";

/// Makes views for servers.
pub(crate) struct Servers {
    shared: Arc<SharedViews>,
    started: Instant,
}

struct SharedViews {
    views: Arc<Views>,
    programs: Programs,
    deny: DenyRules,
    memory: Option<u64>,
}

impl Servers {
    /// Runs servers in views like these, without what the rules close. `memory` is the most bytes that a server may
    /// use.
    pub(crate) fn new(views: Arc<Views>, programs: Programs, deny: DenyRules, memory: Option<u64>) -> Self {
        Self { shared: Arc::new(SharedViews { views, programs, deny, memory }), started: Instant::now() }
    }

    pub(super) fn programs(&self) -> &Programs {
        &self.shared.programs
    }
}

#[async_trait]
impl LanguageHost for Servers {
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

/// A view that is made when it is first needed, because most adapters have no program on this machine.
struct ServerView {
    shared: Arc<SharedViews>,
    root: String,
    open: Arc<Mutex<ViewState>>,
}

#[derive(Default)]
struct ViewState {
    open: Option<OpenView>,
    /// The changes to show. A new view shows them from its start.
    shown: ChangeSet,
    /// The number of programs so far, so that the end of one is not taken for the end of the next.
    programs: u64,
}

struct OpenView {
    view: View,
    /// The view's files on disk, which must be dropped after the view.
    files: ViewFiles,
    /// When the view's files are measured next.
    measured_next: Instant,
    disk: FileStamps,
    /// The changes on disk since the view was made.
    since: BTreeMap<WorkspacePath, Change>,
}

impl ServerView {
    /// Runs work that blocks in a thread for such work. It is completed even if the future is dropped.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SharedViews, &mut ViewState) -> Result<T, SpawnError> + Send + 'static,
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
        self.run_blocking(move |shared, state| {
            state.open.take_if(|open| open.view.has_ended());
            state.shown = changes;
            state.open.as_mut().map_or(Ok(()), |open| open.show(shared, &state.shown))
        })
        .await
    }

    async fn refresh(&mut self) -> Result<Vec<WorkspacePath>, SpawnError> {
        self.run_blocking(|shared, state| match &mut state.open {
            Some(open) => {
                open.files.update_info(|about| about.used = clock::unix_ms());
                open.refresh(shared, &state.shown)
            }
            None => Ok(Vec::new()),
        })
        .await
    }

    async fn start(&mut self, program: &Program) -> Result<Process, SpawnError> {
        let program = program.clone();
        let (pipes, number) = self
            .run_blocking(move |shared, state| {
                let Some(file) = shared.programs.find(&program.name) else {
                    return Err(SpawnError::NoProgram { name: program.name });
                };
                tracing::info!(program = program.name, "a language server starts");
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let command = shared.command(&file, program);
                state.programs += 1;
                let number = state.programs;
                let open = shared.open(state, &file)?;
                let pipes = open.view.start_program(&command).map_err(failed)?;
                open.files.update_info(|about| {
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
        let stdin = input_pipe(pipes.stdin).map_err(pipe)?;
        let stdout = OutputPipe::new(pipes.stdout).map_err(pipe)?;
        let stderr = OutputPipe::new(pipes.stderr).map_err(pipe)?;
        Ok(Process {
            stdin: Box::new(stdin.compat_write()),
            stdout: Box::new(stdout.compat()),
            stderr: Some(Box::new(stderr.compat())),
            guard: Box::new(ProgramGuard { open: Arc::clone(&self.open), number }),
        })
    }

    async fn resident(&mut self) -> Option<u64> {
        let looked = self.run_blocking(|_, state| {
            let open = state
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
        let looked = self.run_blocking(|_, state| {
            Ok(state.open.as_mut().and_then(|open| match open.view.running() {
                Err(ShadowError::Disk) => Some(TOO_MUCH.to_owned()),
                Err(ShadowError::Ended) => Some(ENDED.to_owned()),
                _ => None,
            }))
        });
        looked.await.ok().flatten()
    }
}

/// Ending a view takes a moment, until its processes have ended.
impl Drop for ServerView {
    fn drop(&mut self) {
        let open = Arc::clone(&self.open);
        std::thread::spawn(move || lock(&open).open.take());
    }
}

/// Ends the program that it was made for, and the processes that the program started.
struct ProgramGuard {
    open: Arc<Mutex<ViewState>>,
    number: u64,
}

impl Drop for ProgramGuard {
    fn drop(&mut self) {
        let (open, number) = (Arc::clone(&self.open), self.number);
        std::thread::spawn(move || {
            let mut state = lock(&open);
            if state.programs == number
                && let Some(open) = &mut state.open
            {
                tracing::info!(number, "a language server is ended");
                // If the view has ended, the program has ended too.
                let _ = open.view.stop_program();
                open.files.measure(&open.view);
                open.files.update_info(|about| about.is_running = false);
            }
        });
    }
}

impl SharedViews {
    fn workspace(&self) -> &Path {
        &self.views.options().workspace
    }

    /// The view, which is made if necessary, together with the package that the program belongs to.
    fn open<'a>(&self, state: &'a mut ViewState, program: &Path) -> Result<&'a mut OpenView, SpawnError> {
        state.open.take_if(|open| open.view.has_ended());
        if state.open.is_none() {
            let mut made = self.make(program)?;
            made.show(self, &state.shown)?;
            state.open = Some(made);
        }
        state
            .open
            .as_mut()
            .ok_or_else(|| SpawnError::Failed { message: "the view has ended".to_owned(), source: None })
    }

    fn make(&self, program: &Path) -> Result<OpenView, SpawnError> {
        let mut options: Options = self.views.options().clone();
        options.show.extend(self.programs.package(program));
        if let Some(memory) = self.memory {
            options.limits.memory = memory.saturating_mul(AT_ONCE) / 100;
        }
        // The files are read before the view is made, so that changes during that time are found later.
        let disk = FileStamps::read(&options.workspace).map_err(SpawnError::no_view_of)?;
        let (view, files) = self
            .views
            .start("servers", &options, &self.deny, BuildOutput::OnDisk)
            .map_err(SpawnError::no_view_of)?;
        let mut open = OpenView { view, files, measured_next: Instant::now(), disk, since: BTreeMap::new() };
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

impl OpenView {
    fn measure(&mut self) {
        let began = Instant::now();
        if self.measured_next <= began {
            self.files.measure(&self.view);
            self.measured_next = Instant::now() + MEASURE_EVERY.max(began.elapsed() * PART);
        }
    }

    /// Removes the paths that rules close, because new files among them may appear while a server runs.
    fn hide(&mut self, shared: &SharedViews) -> Result<(), SpawnError> {
        let closed = shared.views.closed(&shared.deny).map_err(SpawnError::of)?;
        self.view.hide(&closed.paths).map_err(failed)
    }

    fn show(&mut self, shared: &SharedViews, changes: &ChangeSet) -> Result<(), SpawnError> {
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

    fn refresh(&mut self, shared: &SharedViews, shown: &ChangeSet) -> Result<Vec<WorkspacePath>, SpawnError> {
        self.hide(shared)?;
        let changed = self.disk.changed().map_err(SpawnError::of)?;
        let changed: Vec<_> = changed.into_iter().filter(|path| !shared.is_closed(path)).collect();
        if !changed.is_empty() {
            for path in &changed {
                self.since.extend(self.disk.current_change(path).map(|change| (path.clone(), change)));
            }
            self.show(shared, shown)?;
        }
        Ok(changed)
    }
}

fn failed(error: ShadowError) -> SpawnError {
    SpawnError::of(error)
}

fn lock(state: &Mutex<ViewState>) -> MutexGuard<'_, ViewState> {
    // A panic can only have left a view open here, and that is dropped or ended like any other.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
