use std::sync::Arc;
use std::time::Duration;

use headstart_overlay_fs::ChangeSet;
use headstart_workspace_path::WorkspacePath;

use crate::Adapter;

/// Which servers there are, and what they may take.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The servers; of two that know one ending the first one that is installed is asked.
    pub adapters: Vec<Adapter>,
    /// Whether servers run, or compilers only.
    pub mode: Mode,
    /// So many servers run at the same time; one more ends the one that was not asked for longest.
    pub servers: usize,
    /// A server that takes more memory than this, in bytes, is ended. `None`: no limit.
    pub memory: Option<u64>,
    /// A server that was asked nothing for so long is ended.
    pub idle: Duration,
    /// A question has so long.
    pub question: Duration,
    /// A server has so long to introduce itself.
    pub start: Duration,
    /// A check of the cheap mode has so long.
    pub check: Duration,
}

impl Default for Settings {
    /// All known servers, three at the same time, 15 minutes idle, 10 s a question, a minute to start, two minutes a check.
    fn default() -> Self {
        Self {
            adapters: Adapter::standard(),
            mode: Mode::Servers,
            servers: 3,
            memory: None,
            idle: Duration::from_secs(15 * 60),
            question: Duration::from_secs(10),
            start: Duration::from_secs(60),
            check: Duration::from_secs(120),
        }
    }
}

/// What finds the diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Language servers.
    #[default]
    Servers,
    /// The compilers and checkers of [`CheckCommand`](crate::CheckCommand), run anew each time. Only diagnostics are answered.
    Checks,
}

/// Which paths are closed to whoever asks.
pub type Closed = Arc<dyn Fn(&WorkspacePath) -> bool + Send + Sync>;

/// The state that a question is about.
#[derive(Clone)]
pub struct Snapshot {
    /// All that is staged over the workspace: where steps stand on each other, of all of them
    /// ([`ChangeSet::then`]).
    pub changes: Arc<ChangeSet>,
    /// Paths of which nothing is read, shown or changed.
    pub closed: Closed,
}

impl Snapshot {
    /// These changes, and no path closed.
    pub fn of(changes: ChangeSet) -> Self {
        Self { changes: Arc::new(changes), closed: Arc::new(|_| false) }
    }

    /// The workspace as it is on disk.
    pub fn unchanged() -> Self {
        Self::of(ChangeSet::default())
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("changes", &self.changes).finish_non_exhaustive()
    }
}
