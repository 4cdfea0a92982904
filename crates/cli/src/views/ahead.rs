//! Processes of a view that wait for it: made when work begins that may want one, so that its first command does not wait for them.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use headstart_shadow::{Options, Prepared, ShadowError, View};

use super::{Views, lock};

/// They hold a copy of what is mounted on the machine, so they wait no longer than a model usually takes to its first command.
const WAIT: Duration = Duration::from_secs(60);

/// The processes of one view, and since when they wait.
#[derive(Default)]
pub(super) struct Ahead(Mutex<Option<(Prepared, Instant)>>);

impl Ahead {
    fn make(&self, program: &Path) {
        let mut waiting = lock(&self.0);
        if waiting.is_none() {
            // Whoever starts a view without them is told what was refused.
            *waiting = Prepared::new(program).ok().map(|prepared| (prepared, Instant::now()));
        }
    }

    fn take(&self) -> Option<Prepared> {
        lock(&self.0).take().map(|(prepared, _)| prepared)
    }

    /// Ends what has waited for so long, or for longer than anything waits.
    pub(super) fn end(&self, waited: Duration) {
        let is_old = |(_, since): &mut (Prepared, Instant)| waited.min(WAIT) <= since.elapsed();
        let ended = lock(&self.0).take_if(is_old);
        drop(ended);
    }
}

impl Views {
    /// Work begins, or goes on, that may want a view that is not there yet. Comes back at once.
    pub(crate) fn prepare(self: &Arc<Self>) {
        if self.support.has_views() {
            self.watch_idle();
            let views = Arc::clone(self);
            tokio::task::spawn_blocking(move || views.ahead.make(&views.options.program));
        }
    }

    /// A view, with what waits for it.
    pub(super) fn start_view(&self, options: &Options) -> Result<View, ShadowError> {
        View::start_with(options, self.ahead.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_waits_and_not_for_ever() {
        let ahead = Ahead::default();
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
