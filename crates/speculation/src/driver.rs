use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::task::AtomicWaker;

use crate::lock::lock;

/// The future that does the work of a speculation; the host spawns or polls it. It resolves when the work is done,
/// including the next suggestion, or when it is aborted.
#[must_use = "nothing happens until the driver is polled"]
pub struct Driver {
    slot: Arc<WorkSlot>,
}

/// Holds the work while it is not done, so that an abort can drop it at once, whichever task polls it.
pub(crate) struct WorkSlot {
    work: Mutex<Option<BoxFuture<'static, ()>>>,
    aborted: AtomicBool,
    waker: AtomicWaker,
}

impl WorkSlot {
    pub(crate) fn new(work: BoxFuture<'static, ()>) -> Self {
        Self { work: Mutex::new(Some(work)), aborted: AtomicBool::new(false), waker: AtomicWaker::new() }
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::SeqCst)
    }

    /// Drops the work: the model's request is cancelled before this returns, unless another thread is polling the work
    /// at this moment; then the work is dropped when that poll returns.
    pub(crate) fn abort(&self) {
        // This store and the handover of the work have one order.
        self.aborted.store(true, Ordering::SeqCst);
        let work = match self.work.try_lock() {
            Ok(mut work) => work.take(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
            Err(TryLockError::WouldBlock) => None,
        };
        drop(work);
        self.waker.wake();
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        self.waker.register(context.waker());
        let mut work = lock(&self.work);
        let Some(future) = work.as_mut() else {
            return Poll::Ready(());
        };
        let polled = if self.is_aborted() { Poll::Ready(()) } else { future.poll_unpin(context) };
        if polled.is_ready() || self.is_aborted() {
            *work = None;
        }
        if self.is_aborted() { Poll::Ready(()) } else { polled }
    }
}

impl Driver {
    pub(crate) fn new(slot: Arc<WorkSlot>) -> Self {
        Self { slot }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.slot.poll(context)
    }
}
