//! Diagnostics without servers: runs a compiler over the unchanged tree and over a state, and compares the output.

use std::sync::{Arc, PoisonError};

use futures::StreamExt as _;
use futures::channel::mpsc;
use futures::future::{Either, join, select};
use futures::io::{AsyncRead, AsyncReadExt as _};
use headstart_workspace_path::WorkspacePath;

use crate::servers::file_texts::on_disk;
use crate::servers::request::{Job, Request, Response, ServerKey};
use crate::servers::server::{StatusBoard, compare_states};
use crate::servers::spawn::{LanguageView, Program};
use crate::{
    Adapter, CheckCommand, Delta, Diagnostic, IntelError, LanguageHost, Settings, Severity, Snapshot,
    SpawnError,
};

/// The most bytes of output that are read.
const OUTPUT_BYTES: u64 = 32 << 20;

/// The actor that runs one checker.
pub(crate) struct Checker {
    key: ServerKey,
    adapter: Adapter,
    settings: Arc<Settings>,
    host: Arc<dyn LanguageHost>,
    board: StatusBoard,
    view: Option<Box<dyn LanguageView>>,
    /// The diagnostics of the unchanged tree; `None` if it may have changed since.
    before: Option<Vec<Diagnostic>>,
}

impl Checker {
    pub(crate) fn new(
        key: ServerKey,
        settings: Arc<Settings>,
        host: Arc<dyn LanguageHost>,
        board: StatusBoard,
    ) -> Self {
        let adapter = settings.adapters[key.adapter].clone();
        Self { key, adapter, settings, host, board, view: None, before: None }
    }

    pub(crate) async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        while let Some(job) = jobs.next().await {
            let Job { snapshot, question, mut answer, .. } = job;
            self.mark_used();
            let outcome = {
                let work = std::pin::pin!(self.answer(&snapshot, &question));
                match select(work, answer.cancellation()).await {
                    Either::Left((outcome, _)) => outcome,
                    Either::Right(_) => continue,
                }
            };
            let _nobody_waits = answer.send(outcome);
        }
    }

    async fn answer(&mut self, snapshot: &Snapshot, question: &Request) -> Result<Response, IntelError> {
        match question {
            Request::Diagnostics { paths, least } => {
                self.diagnostics(snapshot, paths, *least).await.map(Response::Delta)
            }
            Request::Changed(_) => {
                self.before = None;
                Ok(Response::Done)
            }
            Request::Warm(_) | Request::End => Ok(Response::Done),
            other => Err(IntelError::ChecksOnly { question: other.name().to_owned() }),
        }
    }

    /// Registers the checker, so that it is told of files that changed.
    fn mark_used(&self) {
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.entry(self.key.clone()).or_default().last_used = self.host.now();
    }

    /// Takes changes on disk into the view, so that both runs see the same. If a view cannot do that it is dropped,
    /// and the next one is made of the current files.
    async fn refresh(&mut self) {
        let Some(view) = &mut self.view else { return };
        match view.refresh().await {
            Ok(changed) if changed.is_empty() => {}
            Ok(_) => self.before = None,
            Err(_) => {
                self.view = None;
                self.before = None;
            }
        }
    }

    async fn diagnostics(
        &mut self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
        least: Severity,
    ) -> Result<Delta, IntelError> {
        let Some(check) = self.adapter.check.clone() else { return Ok(Delta::default()) };
        self.refresh().await;
        if self.before.is_none() {
            self.before = Some(self.check(&check, &on_disk(snapshot)).await?);
        }
        let before = self.before.clone().unwrap_or_default();
        let after =
            if snapshot.changes.is_empty() { before.clone() } else { self.check(&check, snapshot).await? };
        Ok(compare_states(snapshot, paths, least, &before, &after))
    }

    async fn check(
        &mut self,
        check: &CheckCommand,
        snapshot: &Snapshot,
    ) -> Result<Vec<Diagnostic>, IntelError> {
        let view = match &mut self.view {
            Some(view) => view,
            none => none.insert(self.host.view().await?),
        };
        view.show(&snapshot.changes).await?;
        let program = Program {
            name: check.command.clone(),
            args: check.args.clone(),
            environment: self.adapter.environment.clone(),
            folder: self.key.folder.clone(),
        };
        let server = check.command.clone();
        let mut process = view.start(&program).await.map_err(|error| match error {
            SpawnError::NoProgram { .. } => {
                IntelError::Missing { server: server.clone(), install: self.adapter.install.clone() }
            }
            error => error.into(),
        })?;
        // A program that asks something gets no answer.
        process.stdin = Box::new(futures::io::sink());
        let root = view.root().to_owned();
        let (stdout, stderr) = (&mut process.stdout, process.stderr.as_mut());
        let output = join(read(Some(stdout)), read(stderr));
        let time = self.host.sleep(self.settings.check_timeout);
        let (stdout, stderr) = match select(std::pin::pin!(output), time).await {
            Either::Left((output, _)) => output,
            Either::Right(_) => {
                let seconds = self.settings.check_timeout.as_secs();
                return Err(IntelError::TimedOut { server, question: "the check".to_owned(), seconds });
            }
        };
        // If the view ended it, what was printed until then is not complete.
        if let Some(detail) = view.why_ended().await {
            self.view = None;
            self.before = None;
            return Err(IntelError::Protocol { server, detail, source: None });
        }
        let read = check.format.read(&stdout, &stderr, &root, &self.key.folder);
        read.map_err(|error| IntelError::Check { server, error })
    }
}

/// Reads a pipe until it ends, up to the limit.
async fn read(pipe: Option<&mut Box<dyn AsyncRead + Send + Unpin>>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What came before an error is kept; parsing shows whether something is missing.
        let _error = pipe.take(OUTPUT_BYTES).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
