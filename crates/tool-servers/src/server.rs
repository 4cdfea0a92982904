//! A server, the connections to it, and what happens when it dies.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use headstart_overlay_fs::Overlay;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::config::ServerConfig;
use crate::connection::{ChangeFlags, Connection};
use crate::offers::Offers;

/// How often to start a server that keeps ending.
const MAX_STARTS: u32 = 5;
/// After this time a start does not count as failed.
const MIN_UPTIME: Duration = Duration::from_secs(60);
/// How long a call waits for the next start. If the start comes later, the call fails.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(2);
/// How many speculations may have connections of their own at the same time.
const MAX_SPECULATIVE: usize = 4;
/// How often to check whether a speculation is gone.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A server that the user configured.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    pub(crate) changes: Arc<ChangeFlags>,
    turn_connection: Mutex<TurnConnection>,
    speculative: Mutex<SpeculativeConnections>,
    /// Its resources and prompts, once they were asked for.
    offers: Mutex<Option<Arc<Offers>>>,
    closed: AtomicBool,
}

/// The connection for the user's turns.
#[derive(Default)]
struct TurnConnection {
    connection: Option<(Arc<Connection>, Instant)>,
    backoff: StartBackoff,
}

/// The connections for work ahead. Each is identified by the overlay of the work, and ends with it.
#[derive(Default)]
struct SpeculativeConnections {
    connections: Vec<(Weak<Overlay>, Arc<Connection>)>,
    is_watched: bool,
    backoff: StartBackoff,
}

/// How many starts failed in a row.
#[derive(Default)]
struct StartBackoff {
    failed: u32,
    next: Option<Instant>,
}

impl StartBackoff {
    fn record_failure(&mut self) {
        self.failed += 1;
        let seconds = 1_u64 << self.failed.saturating_sub(1).min(6);
        self.next = Some(Instant::now() + Duration::from_secs(seconds.min(60)));
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    /// Waits until it may be started. The error says that it may not, or not soon.
    async fn wait_until_allowed(&self) -> Result<(), String> {
        if MAX_STARTS <= self.failed {
            return Err(format!(
                "it was started {MAX_STARTS} times and did not stay; /mcp reload starts it once more"
            ));
        }
        let left = self.next.map(|next| next.saturating_duration_since(Instant::now())).unwrap_or_default();
        if MAX_RETRY_WAIT < left {
            return Err(format!("it is down, and is started again in {} s", left.as_secs() + 1));
        }
        sleep(left).await;
        Ok(())
    }
}

impl Server {
    pub(crate) fn new(config: ServerConfig) -> Arc<Self> {
        let (turn_connection, speculative, offers) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self {
            config,
            changes: Arc::default(),
            turn_connection,
            speculative,
            offers,
            closed: AtomicBool::new(false),
        })
    }

    /// What it offers besides tools. It is asked once, and again when it reports a change.
    pub(crate) async fn offers(&self) -> Result<Arc<Offers>, String> {
        let mut offers = self.offers.lock().await;
        if self.changes.take_offers() {
            *offers = None;
        }
        if let Some(known) = &*offers {
            return Ok(Arc::clone(known));
        }
        let connection = self.turn_connection().await?;
        let name = self.config.name.as_str();
        let (resources, prompts) = (connection.resources().await?, connection.prompts().await?);
        let found = Arc::new(Offers::of(name, resources, prompts));
        *offers = Some(Arc::clone(&found));
        Ok(found)
    }

    /// The connection for the user's turns, which is opened if there is none.
    pub(crate) async fn turn_connection(&self) -> Result<Arc<Connection>, String> {
        let mut turn = self.turn_connection.lock().await;
        if let Some((connection, since)) = turn.connection.take() {
            if connection.is_open() {
                turn.connection = Some((Arc::clone(&connection), since));
                return Ok(connection);
            }
            connection.close().await;
            if since.elapsed() < MIN_UPTIME { turn.backoff.record_failure() } else { turn.backoff.reset() }
        }
        let connection = self.open(&mut turn.backoff).await?;
        turn.connection = Some((Arc::clone(&connection), Instant::now()));
        Ok(connection)
    }

    /// A connection for work ahead, which shares nothing with those of turns and of other work.
    pub(crate) async fn speculative_connection(
        self: &Arc<Self>,
        view: &Arc<Overlay>,
    ) -> Result<Arc<Connection>, String> {
        let mut speculative = self.speculative.lock().await;
        let work = Arc::downgrade(view);
        let (mut known, mut is_down) = (None, false);
        for (of, connection) in std::mem::take(&mut speculative.connections) {
            if of.strong_count() == 0 || !connection.is_open() {
                is_down |= Weak::ptr_eq(&of, &work);
                connection.close().await;
                continue;
            }
            if Weak::ptr_eq(&of, &work) {
                known = Some(Arc::clone(&connection));
            }
            speculative.connections.push((of, connection));
        }
        if is_down {
            speculative.backoff.record_failure();
        }
        if let Some(connection) = known {
            return Ok(connection);
        }
        if MAX_SPECULATIVE <= speculative.connections.len() {
            return Err("too much work ahead asks it at the same time".to_owned());
        }
        let connection = self.open(&mut speculative.backoff).await?;
        speculative.connections.push((work, Arc::clone(&connection)));
        if !std::mem::replace(&mut speculative.is_watched, true) {
            tokio::spawn(close_with_work(Arc::downgrade(self)));
        }
        Ok(connection)
    }

    async fn open(&self, backoff: &mut StartBackoff) -> Result<Arc<Connection>, String> {
        backoff.wait_until_allowed().await?;
        if self.closed.load(Ordering::Acquire) {
            return Err("it is closed".to_owned());
        }
        match Connection::open(&self.config, &self.changes).await {
            Ok(connection) => Ok(Arc::new(connection)),
            Err(cause) => {
                backoff.record_failure();
                Err(cause)
            }
        }
    }

    /// Ends all connections; nothing is started any more.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let turn = self.turn_connection.lock().await.connection.take().map(|(connection, _)| connection);
        let speculative = std::mem::take(&mut self.speculative.lock().await.connections);
        let all = turn.into_iter().chain(speculative.into_iter().map(|(_, connection)| connection));
        futures::future::join_all(all.map(|connection| async move { connection.close().await })).await;
    }
}

/// Closes connections whose work ahead is gone, until there are none.
async fn close_with_work(server: Weak<Server>) {
    loop {
        sleep(POLL_INTERVAL).await;
        let Some(server) = server.upgrade() else { return };
        let mut speculative = server.speculative.lock().await;
        let (here, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut speculative.connections)
            .into_iter()
            .partition(|(of, _)| 0 < of.strong_count());
        speculative.connections = here;
        speculative.is_watched = !speculative.connections.is_empty();
        let is_done = !speculative.is_watched;
        drop(speculative);
        for (_, connection) in gone {
            connection.close().await;
        }
        if is_done {
            return;
        }
    }
}
