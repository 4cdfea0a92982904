use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{AbortHandle, Aborted, BoxFuture, abortable};
use headstart_forked_query::{ModelError, QueryError, Usage};

/// Work beside the driver, which can be stopped.
pub(super) struct Task<T> {
    end: oneshot::Receiver<Result<T, TaskError>>,
    stop: AbortHandle,
}

/// Why a task did not come to its own end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TaskError {
    /// It was stopped.
    Stopped,
    /// A port panicked, with these words.
    Panicked(String),
}

impl<T: Send + 'static> Task<T> {
    /// The task, and a job that has to be polled for it.
    pub(super) fn new(work: impl Future<Output = T> + Send + 'static) -> (Self, BoxFuture<'static, ()>) {
        let (sender, end) = oneshot::channel();
        let (work, stop) = abortable(AssertUnwindSafe(work).catch_unwind());
        let job = async move {
            let end = match work.await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(panic)) => Err(TaskError::of(&*panic)),
                Err(Aborted) => Err(TaskError::Stopped),
            };
            // The receiver is gone if the answer is not wanted any more.
            let _ = sender.send(end);
        };
        (Self { end, stop }, job.boxed())
    }

    /// Drops the work at the next point where it waits.
    pub(super) fn stop(&self) {
        self.stop.abort();
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<T, TaskError>> {
        // If the job was dropped, it has been stopped.
        self.end.poll_unpin(context).map(|end| end.unwrap_or(Err(TaskError::Stopped)))
    }
}

impl TaskError {
    /// The error for a call that panicked with this.
    pub(super) fn of(panic: &(dyn Any + Send)) -> Self {
        Self::Panicked(panic_message(panic))
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => formatter.write_str("it was stopped"),
            Self::Panicked(words) => write!(formatter, "a part of the program panicked: {words}"),
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a word".to_owned())
}

/// A summary whose task broke counts as a failed query.
impl From<TaskError> for QueryError {
    fn from(error: TaskError) -> Self {
        let error = ModelError::Other {
            code: "internal".into(),
            message: error.to_string(),
            retry_after: None,
            source: None,
        };
        Self { error, usage: Usage::NOTHING }
    }
}
