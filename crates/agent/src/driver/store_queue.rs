use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use headstart_speculation::Host;
use tracing::debug;

use super::task::TaskError;
use crate::ports::StoreError;

/// How long a call of a store may take. A slower call is not stopped, but nobody waits for it any more.
const LIMIT: Duration = Duration::from_secs(5);

/// The calls of one store, made one after the other.
pub(super) struct StoreQueue<T> {
    /// The name of the store, for the log.
    store: &'static str,
    /// What is lost if the store fails, in words.
    loss: &'static str,
    waiting: VecDeque<BoxFuture<'static, Result<T, StoreError>>>,
    current: Option<StoreCall<T>>,
}

/// A call of the store that has no answer yet.
struct StoreCall<T> {
    answer: BoxFuture<'static, Result<T, StoreError>>,
    limit: BoxFuture<'static, ()>,
    is_late: bool,
}

impl<T> StoreQueue<T> {
    pub(super) fn new(store: &'static str, loss: &'static str) -> Self {
        Self { store, loss, waiting: VecDeque::new(), current: None }
    }

    pub(super) fn push(&mut self, call: impl Future<Output = Result<T, StoreError>> + Send + 'static) {
        self.waiting.push_back(call.boxed());
    }

    /// Whether nobody has to wait for the store: it has everything, or it is too slow to answer.
    pub(super) fn is_at_rest(&self) -> bool {
        match &self.current {
            Some(call) => call.is_late,
            None => self.waiting.is_empty(),
        }
    }

    /// The result of a call, or in words why there is none. That a call takes too long is told once, and the calls
    /// behind it keep waiting.
    pub(super) fn poll(
        &mut self,
        host: &Arc<dyn Host>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, String>> {
        if self.current.is_none()
            && let Some(answer) = self.waiting.pop_front()
        {
            let host = Arc::clone(host);
            let limit = async move { host.sleep(LIMIT).await }.boxed();
            self.current = Some(StoreCall { answer, limit, is_late: false });
        }
        let Some(call) = &mut self.current else { return Poll::Pending };
        if let Poll::Ready(answer) = AssertUnwindSafe(&mut call.answer).catch_unwind().poll_unpin(context) {
            self.current = None;
            let kept = answer.as_ref().is_ok_and(Result::is_ok);
            debug!(store = self.store, kept, waiting = self.waiting.len(), "a store answered");
            return Poll::Ready(match answer {
                Ok(answer) => answer.map_err(|error| error.to_string()),
                Err(panic) => Err(format!("{}: {}", self.loss, TaskError::of(&*panic))),
            });
        }
        if !call.is_late && call.limit.poll_unpin(context).is_ready() {
            call.is_late = true;
            let (loss, seconds) = (self.loss, LIMIT.as_secs());
            return Poll::Ready(Err(format!("{loss} for now: the store has not answered for {seconds} s")));
        }
        Poll::Pending
    }
}
