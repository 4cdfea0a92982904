use std::sync::Arc;
use std::time::Duration;

use headstart_overlay_fs::ChangeSet;
use headstart_workspace_path::WorkspacePath;

use crate::Adapter;

/// Which servers there are, and how much they may use.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The servers. Of two for the same extension the first one that is installed is used.
    pub adapters: Vec<Adapter>,
    /// Whether servers run, or compilers only.
    pub mode: DiagnosticsSource,
    /// The most servers that run at the same time. One more ends the one that was not used for longest.
    pub max_servers: usize,
    /// The most memory of a server in bytes, beyond which it is ended; `None` for no limit.
    pub memory_limit: Option<u64>,
    /// A server that is not used for this long is ended.
    pub idle_timeout: Duration,
    /// The time limit of a question.
    pub request_timeout: Duration,
    /// The time limit of a server's handshake.
    pub start_timeout: Duration,
    /// The time limit of a check in [`DiagnosticsSource::Checks`].
    pub check_timeout: Duration,
}

impl Default for Settings {
    /// All known servers, three at the same time, ended after 15 minutes without use; 10 s for a question, a minute
    /// for a start, two minutes for a check.
    fn default() -> Self {
        Self {
            adapters: Adapter::standard(),
            mode: DiagnosticsSource::Servers,
            max_servers: 3,
            memory_limit: None,
            idle_timeout: Duration::from_secs(15 * 60),
            request_timeout: Duration::from_secs(10),
            start_timeout: Duration::from_secs(60),
            check_timeout: Duration::from_secs(120),
        }
    }
}

/// Where diagnostics come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DiagnosticsSource {
    /// Language servers.
    #[default]
    Servers,
    /// The compilers and checkers of [`CheckCommand`](crate::CheckCommand), run anew each time. Only diagnostics are answered.
    Checks,
}

/// Whether a path is closed for a question.
pub type PathFilter = Arc<dyn Fn(&WorkspacePath) -> bool + Send + Sync>;

/// The state that a question is about.
#[derive(Clone)]
pub struct Snapshot {
    /// Everything that is staged over the workspace. For stacked steps, that of all of them ([`ChangeSet::then`]).
    pub changes: Arc<ChangeSet>,
    /// Paths that are neither read, shown nor changed.
    pub closed: PathFilter,
}

impl Snapshot {
    /// A snapshot with these changes, and no path closed.
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
