//! Processes of a view that are started in advance: when work begins that may need a view, so that its first command
//! does not wait for them.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use headstart_shadow::{Options, Prepared, ShadowError, View};

use super::{Views, lock};

/// How long the processes wait. They hold a copy of the machine's mounts, so they are not kept longer than a model
/// usually takes until its first command.
const WAIT: Duration = Duration::from_secs(60);

/// The processes for one view, and when they were started.
#[derive(Default)]
pub(super) struct PreparedProcesses(Mutex<Option<(Prepared, Instant)>>);

impl PreparedProcesses {
    fn make(&self, program: &Path) {
        let mut waiting = lock(&self.0);
        if waiting.is_none() {
            // A view that has to start its own processes reports what was refused.
            *waiting = Prepared::new(program).ok().map(|prepared| (prepared, Instant::now()));
        }
    }

    fn take(&self) -> Option<Prepared> {
        lock(&self.0).take().map(|(prepared, _)| prepared)
    }

    /// Ends processes that have waited for so long, or for longer than the limit.
    pub(super) fn end(&self, waited: Duration) {
        let is_old = |(_, since): &mut (Prepared, Instant)| waited.min(WAIT) <= since.elapsed();
        let _ended = lock(&self.0).take_if(is_old);
    }
}

impl Views {
    /// Prepares processes, because work begins or goes on that may need a new view. Returns at once.
    pub(crate) fn prepare(self: &Arc<Self>) {
        if self.support.has_views() {
            self.watch_idle();
            let views = Arc::clone(self);
            tokio::task::spawn_blocking(move || views.prepared.make(&views.options.program));
        }
    }

    /// Starts a view, with the processes that were prepared for it.
    pub(super) fn start_view(&self, options: &Options) -> Result<View, ShadowError> {
        View::start_with(options, self.prepared.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_waits_and_not_for_ever() {
        let ahead = PreparedProcesses::default();
        ahead.make(Path::new("/bin/true"));
        let first = lock(&ahead.0).as_ref().map(|(_, since)| *since);
        ahead.make(Path::new("/bin/true"));
        assert_eq!(lock(&ahead.0).as_ref().map(|(_, since)| *since), first);
        ahead.end(Duration::from_secs(3600));
        assert!(ahead.take().is_some() && ahead.take().is_none());
        ahead.make(Path::new("/bin/true"));
        ahead.end(Duration::ZERO);
        assert!(ahead.take().is_none());
        ahead.make(Path::new("/no/such/program"));
        assert!(ahead.take().is_none());
    }
}
