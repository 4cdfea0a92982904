use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::task::AtomicWaker;

/// Work that may be dropped at any time, even by code that it calls itself: whoever waits for it then gets nothing.
pub(crate) struct Cancellable<W: ?Sized> {
    work: RefCell<WorkState<W>>,
    waker: AtomicWaker,
}

enum WorkState<W: ?Sized> {
    Waits(Pin<Box<W>>),
    /// The work is being polled at this moment, and will be put back.
    Polled,
    Gone,
}

impl<W: ?Sized> Cancellable<W> {
    pub(crate) fn new(work: Pin<Box<W>>) -> Rc<Self> {
        Rc::new(Self { work: RefCell::new(WorkState::Waits(work)), waker: AtomicWaker::new() })
    }

    /// Drops the work at once, or, if this is called during a poll of the work, when that poll is over.
    pub(crate) fn cancel(&self) {
        let work = self.work.replace(WorkState::Gone);
        drop(work);
        self.waker.wake();
    }

    /// The result of the work as `poll` polls it; `None` if the work was cancelled.
    pub(crate) async fn wait<T>(
        &self,
        mut poll: impl FnMut(Pin<&mut W>, &mut Context<'_>) -> Poll<T>,
    ) -> Option<T> {
        poll_fn(|context| {
            self.waker.register(context.waker());
            let mut work = match self.work.replace(WorkState::Polled) {
                WorkState::Waits(work) => work,
                WorkState::Polled | WorkState::Gone => {
                    self.work.replace(WorkState::Gone);
                    return Poll::Ready(None);
                }
            };
            let polled = poll(work.as_mut(), context);
            if matches!(*self.work.borrow(), WorkState::Gone) {
                return Poll::Ready(None);
            }
            self.work.replace(WorkState::Waits(work));
            polled.map(Some)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use futures::future::BoxFuture;
    use futures::stream::{BoxStream, StreamExt};
    use futures::{FutureExt, Stream, poll, stream};

    use super::*;

    #[test]
    fn work_is_done_unless_it_is_cancelled() {
        let work: Rc<Cancellable<BoxFuture<'static, u8>>> = Cancellable::new(Box::pin(async { 7 }.boxed()));
        assert_eq!(block_on(work.wait(Future::poll)), Some(7));

        let work: Rc<Cancellable<BoxFuture<'static, u8>>> =
            Cancellable::new(Box::pin(std::future::pending().boxed()));
        block_on(async {
            let mut waiting = Box::pin(work.wait(Future::poll));
            assert!(poll!(&mut waiting).is_pending());
            work.cancel();
            assert_eq!(waiting.await, None);
        });
        assert_eq!(block_on(work.wait(Future::poll)), None);
    }

    #[test]
    fn work_may_cancel_itself() {
        type Work = Rc<Cancellable<dyn Future<Output = u8>>>;
        let slot: Rc<RefCell<Option<Work>>> = Rc::default();
        let own = Rc::clone(&slot);
        let work: Work = Cancellable::new(Box::pin(async move {
            own.borrow().as_ref().unwrap().cancel();
            7
        }));
        slot.replace(Some(Rc::clone(&work)));
        assert_eq!(block_on(work.wait(Future::poll)), None);
        slot.take();
    }

    #[test]
    fn a_stream_goes_on_until_it_is_cancelled() {
        let numbers: BoxStream<'static, u8> = stream::iter([1, 2, 3]).boxed();
        let work = Cancellable::new(Box::pin(numbers));
        let next = || block_on(work.wait(Stream::poll_next));
        assert_eq!((next(), next()), (Some(Some(1)), Some(Some(2))));
        work.cancel();
        assert_eq!(block_on(work.wait(Stream::poll_next)), None);
    }
}
