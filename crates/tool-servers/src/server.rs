//! A server, the connections to it, and what happens when it dies.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use headstart_overlay_fs::Overlay;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::config::ServerConfig;
use crate::connection::{Changes, Connection};
use crate::offers::Offers;

/// How often to start a server that keeps ending.
const MAX_STARTS: u32 = 5;
/// After this time a start does not count as failed.
const STAYED: Duration = Duration::from_secs(60);
/// How long a call waits for the next start. If the start comes later, the call fails.
const WORTH_WAITING: Duration = Duration::from_secs(2);
/// How many speculations may have connections of their own at the same time.
const MAX_AHEAD: usize = 4;
/// How often to check whether a speculation is gone.
const LOOK: Duration = Duration::from_millis(500);

/// A server that the user configured.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    pub(crate) changes: Arc<Changes>,
    turns: Mutex<Kept>,
    ahead: Mutex<Ahead>,
    /// Its resources and prompts, once they were asked for.
    offers: Mutex<Option<Arc<Offers>>>,
    closed: AtomicBool,
}

/// The connection for the user's turns.
#[derive(Default)]
struct Kept {
    connection: Option<(Arc<Connection>, Instant)>,
    starts: Starts,
}

/// The connections for work ahead. Each is identified by the overlay of the work, and ends with it.
#[derive(Default)]
struct Ahead {
    connections: Vec<(Weak<Overlay>, Arc<Connection>)>,
    is_watched: bool,
    starts: Starts,
}

/// How many starts failed in a row.
#[derive(Default)]
struct Starts {
    failed: u32,
    next: Option<Instant>,
}

impl Starts {
    fn fail(&mut self) {
        self.failed += 1;
        let seconds = 1_u64 << self.failed.saturating_sub(1).min(6);
        self.next = Some(Instant::now() + Duration::from_secs(seconds.min(60)));
    }

    fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Waits until it may be started. The error says that it may not, or not soon.
    async fn wait(&self) -> Result<(), String> {
        if MAX_STARTS <= self.failed {
            return Err(format!(
                "it was started {MAX_STARTS} times and did not stay; /mcp reload starts it once more"
            ));
        }
        let left = self.next.map(|next| next.saturating_duration_since(Instant::now())).unwrap_or_default();
        if WORTH_WAITING < left {
            return Err(format!("it is down, and is started again in {} s", left.as_secs() + 1));
        }
        sleep(left).await;
        Ok(())
    }
}

impl Server {
    pub(crate) fn new(config: ServerConfig) -> Arc<Self> {
        let (turns, ahead, offers) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self {
            config,
            changes: Arc::default(),
            turns,
            ahead,
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
        let connection = self.for_turns().await?;
        let name = self.config.name.as_str();
        let (resources, prompts) = (connection.resources().await?, connection.prompts().await?);
        let found = Arc::new(Offers::of(name, resources, prompts));
        *offers = Some(Arc::clone(&found));
        Ok(found)
    }

    /// The connection for the user's turns, which is opened if there is none.
    pub(crate) async fn for_turns(&self) -> Result<Arc<Connection>, String> {
        let mut kept = self.turns.lock().await;
        if let Some((connection, since)) = kept.connection.take() {
            if connection.is_open() {
                kept.connection = Some((Arc::clone(&connection), since));
                return Ok(connection);
            }
            connection.close().await;
            if since.elapsed() < STAYED { kept.starts.fail() } else { kept.starts.succeed() }
        }
        let connection = self.open(&mut kept.starts).await?;
        kept.connection = Some((Arc::clone(&connection), Instant::now()));
        Ok(connection)
    }

    /// A connection for work ahead, which shares nothing with those of turns and of other work.
    pub(crate) async fn for_work_ahead(
        self: &Arc<Self>,
        view: &Arc<Overlay>,
    ) -> Result<Arc<Connection>, String> {
        let mut ahead = self.ahead.lock().await;
        let work = Arc::downgrade(view);
        let (mut known, mut is_down) = (None, false);
        for (of, connection) in std::mem::take(&mut ahead.connections) {
            if of.strong_count() == 0 || !connection.is_open() {
                is_down |= Weak::ptr_eq(&of, &work);
                connection.close().await;
                continue;
            }
            if Weak::ptr_eq(&of, &work) {
                known = Some(Arc::clone(&connection));
            }
            ahead.connections.push((of, connection));
        }
        if is_down {
            ahead.starts.fail();
        }
        if let Some(connection) = known {
            return Ok(connection);
        }
        if MAX_AHEAD <= ahead.connections.len() {
            return Err("too much work ahead asks it at the same time".to_owned());
        }
        let connection = self.open(&mut ahead.starts).await?;
        ahead.connections.push((work, Arc::clone(&connection)));
        if !std::mem::replace(&mut ahead.is_watched, true) {
            tokio::spawn(close_with_work(Arc::downgrade(self)));
        }
        Ok(connection)
    }

    async fn open(&self, starts: &mut Starts) -> Result<Arc<Connection>, String> {
        starts.wait().await?;
        if self.closed.load(Ordering::Acquire) {
            return Err("it is closed".to_owned());
        }
        match Connection::open(&self.config, &self.changes).await {
            Ok(connection) => Ok(Arc::new(connection)),
            Err(cause) => {
                starts.fail();
                Err(cause)
            }
        }
    }

    /// Ends all connections; nothing is started any more.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let kept = self.turns.lock().await.connection.take().map(|(connection, _)| connection);
        let ahead = std::mem::take(&mut self.ahead.lock().await.connections);
        let all = kept.into_iter().chain(ahead.into_iter().map(|(_, connection)| connection));
        futures::future::join_all(all.map(|connection| async move { connection.close().await })).await;
    }
}

/// Closes connections whose work ahead is gone, until there are none.
async fn close_with_work(server: Weak<Server>) {
    loop {
        sleep(LOOK).await;
        let Some(server) = server.upgrade() else { return };
        let mut ahead = server.ahead.lock().await;
        let (here, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut ahead.connections).into_iter().partition(|(of, _)| 0 < of.strong_count());
        ahead.connections = here;
        ahead.is_watched = !ahead.connections.is_empty();
        let is_done = !ahead.is_watched;
        drop(ahead);
        for (_, connection) in gone {
            connection.close().await;
        }
        if is_done {
            return;
        }
    }
}
