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
pub(super) struct OneAtATime {
    model: Arc<dyn Model>,
    priority: Priority,
    lane: Arc<Lane>,
}

/// The one place at the server.
#[derive(Debug)]
pub(super) struct Lane {
    place: Arc<Semaphore>,
    /// The number of the user's requests that wait or run.
    users: watch::Sender<usize>,
    /// When the last answer was dropped before its end.
    dropped: Mutex<Option<Instant>>,
}

impl Lane {
    pub(super) fn new() -> Arc<Self> {
        let place = Arc::new(Semaphore::new(1));
        Arc::new(Self { place, users: watch::Sender::new(0), dropped: Mutex::new(None) })
    }

    async fn enter(self: &Arc<Self>) -> Place {
        let permit = Arc::clone(&self.place).acquire_owned().await;
        let permit = permit.expect("works because the semaphore is never closed");
        let dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(dropped) = dropped {
            tokio::time::sleep_until(dropped + CLOSING).await;
        }
        Place { lane: Arc::clone(self), _permit: permit, is_done: false }
    }

    /// Notes that the user waits, until the returned value is dropped.
    fn user(self: &Arc<Self>) -> User {
        self.users.send_modify(|users| *users += 1);
        User(Arc::clone(self))
    }

    /// Completes when the user waits, or when the user does not wait, as `waits` says.
    async fn until_user(self: Arc<Self>, waits: bool) {
        let mut users = self.users.subscribe();
        // The sender lives as long as this value.
        let _ = users.wait_for(|users| (*users != 0) == waits).await;
    }
}

/// The holder of the place.
struct Place {
    lane: Arc<Lane>,
    _permit: OwnedSemaphorePermit,
    /// Whether the answer was received completely.
    is_done: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_done {
            *self.lane.dropped.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }
}

struct User(Arc<Lane>);

impl Drop for User {
    fn drop(&mut self) {
        self.0.users.send_modify(|users| *users -= 1);
    }
}

impl OneAtATime {
    pub(super) fn new(model: Arc<dyn Model>, priority: Priority, lane: &Arc<Lane>) -> Self {
        Self { model, priority, lane: Arc::clone(lane) }
    }

    async fn of_user(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let user = self.lane.user();
        let place = self.lane.enter().await;
        let events = self.model.stream(request).await?;
        Ok(stream::unfold((events, place, user), |(mut events, mut place, user)| async {
            let event = events.next().await;
            place.is_done = event.is_none();
            Some((event?, (events, place, user)))
        })
        .boxed())
    }

    async fn in_background(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let lane = &self.lane;
        let place = loop {
            Arc::clone(lane).until_user(false).await;
            let place = lane.enter().await;
            if *lane.users.borrow() == 0 {
                break place;
            }
        };
        let user = Arc::clone(lane).until_user(true);
        let begun = match select(pin!(self.model.stream(request)), pin!(user)).await {
            Either::Left((begun, _)) => Some(begun),
            Either::Right(_) => None,
        };
        let events = begun.ok_or(ModelError::Yielded)??;
        let user = Arc::clone(lane).until_user(true).boxed();
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
impl Model for OneAtATime {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        match self.priority {
            Priority::Foreground => self.of_user(request).await,
            Priority::Background => self.in_background(request).await,
        }
    }
}
