//! What is done with what turns have staged.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use headstart_forked_query::{Model, ModelRequest};
use headstart_speculation::{
    AcceptAnswers, AcceptError, Acceptance, Engine, Events, Host, Limits, Speculation, Staged, Transcript,
    Turn,
};
use headstart_tool_gate::ApprovalMode;

use super::task::Task;
use crate::core::Report;

type Written = Result<Acceptance, AcceptError>;

pub(super) struct StagedTasks {
    staged: Staged,
    write: Option<Task<Written>>,
    kept: Option<BoxFuture<'static, Result<(), String>>>,
}

impl StagedTasks {
    pub(super) fn new(staged: Staged) -> Self {
        Self { staged, write: None, kept: None }
    }

    pub(super) fn layer(&self) -> &Staged {
        &self.staged
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.write.is_none() && self.kept.is_none()
    }

    /// A turn that is staged, unless it need not be: the mode writes each call, or there are no views.
    pub(super) fn turn(
        &self,
        engine: &Engine,
        (model, request): (Arc<dyn Model>, ModelRequest),
        transcript: Transcript,
        limits: &Limits,
    ) -> (Turn, Events) {
        let is_wanted = || engine.stages_turns() && engine.host.gate_context().mode != ApprovalMode::Yolo;
        if self.staged.is_dirty() || is_wanted() {
            engine.staged_turn(model, request, transcript, *limits, &self.staged)
        } else {
            engine.turn(model, request, transcript, *limits)
        }
    }

    pub(super) fn write(
        &self,
        engine: &Engine,
        answers: AcceptAnswers,
    ) -> impl Future<Output = Written> + Send + use<> {
        let (engine, staged) = (engine.clone(), self.staged.clone());
        async move {
            let written = engine.write_staged(&staged, &answers).await;
            if matches!(written, Ok(Acceptance::Accepted(_))) {
                // Where it stays kept although it is written, that is found when it is restored.
                let _ = engine.host.keep_staged(None).await;
            }
            written
        }
    }

    /// Accepts work once it is kept that this begins. Work that stands on what is staged is staged, too.
    pub(super) fn accept(
        &self,
        work: Speculation,
        answers: AcceptAnswers,
        is_kept: oneshot::Receiver<()>,
    ) -> impl Future<Output = Written> + Send + use<> {
        let staged = self.staged.clone();
        async move {
            // An error means that nobody keeps the conversation any more.
            let _ = is_kept.await;
            if staged.is_dirty() { work.stage_on(&staged).await } else { work.accept_with(&answers).await }
        }
    }

    pub(super) fn writing(&mut self, write: Task<Written>) {
        self.write = Some(write);
    }

    pub(super) fn keep(&mut self, host: &Arc<dyn Host>) {
        let (host, staged) = (Arc::clone(host), self.staged.clone());
        self.kept = Some(async move { host.keep_staged(staged.asked_about().as_ref()).await }.boxed());
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Report>> {
        if let Some(write) = &mut self.write
            && let Poll::Ready(written) = write.poll(context)
        {
            self.write = None;
            let written = match written {
                Ok(written) => written.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            return Poll::Ready(Some(Report::StagedWritten(Box::new(written))));
        }
        if let Some(kept) = &mut self.kept
            && let Poll::Ready(kept) = kept.poll_unpin(context)
        {
            self.kept = None;
            return Poll::Ready(kept.err().map(Report::Trouble));
        }
        Poll::Pending
    }
}
