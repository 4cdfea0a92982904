use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{Either, select};
use futures::{FutureExt, StreamExt, stream};
use headstart_forked_query::{EventStream, Model, ModelError, ModelRequest};
use headstart_providers::Priority;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

/// How long to wait after a request was dropped until its connection is closed. Another task closes it at once, so this
/// is more than enough.
const CLOSING: Duration = Duration::from_millis(10);

/// Lets a server on this machine, whose processor has to be shared, answer one request at a time. Background work waits
/// for its turn. It is given up when the user's own request comes, which is sent once the other's connection is closed.
pub(super) struct QueuedModel {
    model: Arc<dyn Model>,
    priority: Priority,
    queue: Arc<RequestQueue>,
}

/// The one place at the server.
#[derive(Debug)]
pub(super) struct RequestQueue {
    place: Arc<Semaphore>,
    /// The number of the user's requests that wait or run.
    users: watch::Sender<usize>,
    /// When the last answer was dropped before its end.
    dropped: Mutex<Option<Instant>>,
}

impl RequestQueue {
    pub(super) fn new() -> Arc<Self> {
        let place = Arc::new(Semaphore::new(1));
        Arc::new(Self { place, users: watch::Sender::new(0), dropped: Mutex::new(None) })
    }

    async fn acquire_slot(self: &Arc<Self>) -> SlotGuard {
        let permit = Arc::clone(&self.place).acquire_owned().await;
        let permit = permit.expect("works because the semaphore is never closed");
        let dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(dropped) = dropped {
            tokio::time::sleep_until(dropped + CLOSING).await;
        }
        SlotGuard { queue: Arc::clone(self), _permit: permit, is_done: false }
    }

    /// Notes that the user waits, until the returned value is dropped.
    fn note_user_request(self: &Arc<Self>) -> UserRequestGuard {
        self.users.send_modify(|users| *users += 1);
        UserRequestGuard(Arc::clone(self))
    }

    /// Completes when the user waits, or when the user does not wait, as `waits` says.
    async fn until_user_requests(self: Arc<Self>, waits: bool) {
        let mut users = self.users.subscribe();
        // The sender lives as long as this value.
        let _ = users.wait_for(|users| (*users != 0) == waits).await;
    }
}

/// The holder of the place.
struct SlotGuard {
    queue: Arc<RequestQueue>,
    _permit: OwnedSemaphorePermit,
    /// Whether the answer was received completely.
    is_done: bool,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if !self.is_done {
            *self.queue.dropped.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }
}

struct UserRequestGuard(Arc<RequestQueue>);

impl Drop for UserRequestGuard {
    fn drop(&mut self) {
        self.0.users.send_modify(|users| *users -= 1);
    }
}

impl QueuedModel {
    pub(super) fn new(model: Arc<dyn Model>, priority: Priority, queue: &Arc<RequestQueue>) -> Self {
        Self { model, priority, queue: Arc::clone(queue) }
    }

    async fn of_user(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let user = self.queue.note_user_request();
        let place = self.queue.acquire_slot().await;
        let events = self.model.stream(request).await?;
        Ok(stream::unfold((events, place, user), |(mut events, mut place, user)| async {
            let event = events.next().await;
            place.is_done = event.is_none();
            Some((event?, (events, place, user)))
        })
        .boxed())
    }

    async fn in_background(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let queue = &self.queue;
        let place = loop {
            Arc::clone(queue).until_user_requests(false).await;
            let place = queue.acquire_slot().await;
            if *queue.users.borrow() == 0 {
                break place;
            }
        };
        let user = Arc::clone(queue).until_user_requests(true);
        let begun = match select(pin!(self.model.stream(request)), pin!(user)).await {
            Either::Left((begun, _)) => Some(begun),
            Either::Right(_) => None,
        };
        let events = begun.ok_or(ModelError::Yielded)??;
        let user = Arc::clone(queue).until_user_requests(true).boxed();
        Ok(stream::unfold(Some((events, place, user)), |state| async {
            let (mut events, mut place, user) = state?;
            match select(events.next(), user).await {
                Either::Left((event, user)) => {
                    place.is_done = event.is_none();
                    Some((event?, Some((events, place, user))))
                }
                Either::Right(_) => Some((Err(ModelError::Yielded), None)),
            }
        })
        .boxed())
    }
}

#[async_trait]
impl Model for QueuedModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        match self.priority {
            Priority::Foreground => self.of_user(request).await,
            Priority::Background => self.in_background(request).await,
        }
    }
}
