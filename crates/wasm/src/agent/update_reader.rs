use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use futures::StreamExt;
use headstart_agent::{ItemChange, Update, Updates, View};
use serde::Serialize;

use crate::failure::json;

/// The changes of a conversation. One caller may wait for them, while another takes them without waiting.
pub(crate) struct UpdateReader {
    updates: RefCell<Updates>,
    /// The waker of the caller that waits. The updates know only one waker, so a look in between has to use this one.
    waiting_waker: RefCell<Waker>,
    /// What was found while a caller waited.
    pending: RefCell<Option<Update>>,
    /// Whether something was taken of which the waiting caller has not been told.
    taken_unreported: Cell<bool>,
    has_ended: Cell<bool>,
}

#[derive(Serialize)]
struct UpdateFields<'a> {
    view: &'a View,
    items: &'a [ItemChange],
}

impl UpdateReader {
    pub(crate) fn new(updates: Updates) -> Self {
        Self {
            updates: RefCell::new(updates),
            waiting_waker: RefCell::new(Waker::noop().clone()),
            pending: RefCell::default(),
            taken_unreported: Cell::new(false),
            has_ended: Cell::new(false),
        }
    }

    /// Takes what has changed, as JSON.
    pub(crate) fn take(&self) -> Option<String> {
        let waker = self.waiting_waker.borrow().clone();
        let update = self.pending.take().or_else(|| match self.poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(update) => update,
            Poll::Pending => None,
        })?;
        self.taken_unreported.set(true);
        Some(json(&UpdateFields { view: &update.view, items: &update.items }))
    }

    /// Waits until something has changed; `false` if nothing will change any more.
    pub(crate) async fn changed(&self) -> bool {
        poll_fn(|context| {
            self.waiting_waker.replace(context.waker().clone());
            if self.taken_unreported.take() || self.pending.borrow().is_some() {
                return Poll::Ready(true);
            }
            self.poll(context).map(|update| {
                let is_there = update.is_some();
                self.pending.replace(update);
                is_there
            })
        })
        .await
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Update>> {
        if self.has_ended.get() {
            return Poll::Ready(None);
        }
        let polled = self.updates.borrow_mut().poll_next_unpin(context);
        self.has_ended.set(matches!(polled, Poll::Ready(None)));
        polled
    }
}
