use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use headstart_speculation::{Events, Finished, Speculation, Status};

use crate::core::Report;

/// Listens to work that runs ahead.
pub(super) struct WorkListener {
    speculation: Speculation,
    events: Option<Events>,
    finished: Option<BoxFuture<'static, Arc<Finished>>>,
}

impl WorkListener {
    pub(super) fn new(speculation: Speculation, events: Events) -> Self {
        Self { speculation, events: Some(events), finished: None }
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Report> {
        let id = || self.speculation.id().to_owned();
        if let Some(events) = &mut self.events
            && let Poll::Ready(event) = events.poll_next_unpin(context)
        {
            if let Some(event) = event {
                return Poll::Ready(Report::WorkEvent { id: id(), event });
            }
            self.events = None;
            let ended = self.speculation.clone();
            self.finished = Some(async move { ended.finished().await }.boxed());
        }
        if let Some(finished) = &mut self.finished
            && let Poll::Ready(finished) = finished.poll_unpin(context)
        {
            self.finished = None;
            return Poll::Ready(Report::WorkEnded { id: id(), finished });
        }
        Poll::Pending
    }

    /// Whether the work has told everything.
    pub(super) fn is_over(&self) -> bool {
        self.events.is_none() && self.finished.is_none()
    }

    /// Whether the user may still take the work.
    pub(super) fn is_wanted(&self) -> bool {
        self.speculation.status() != Status::Aborted
    }

    pub(super) fn give_up(&self) {
        self.speculation.abort();
    }
}
