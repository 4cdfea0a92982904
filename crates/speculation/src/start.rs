use headstart_forked_query::CacheSafeParams;

use crate::{Driver, Engine, Events, Speculation, Staged, StartError};

impl Engine {
    /// Begins to run a prompt over an overlay, forked from the conversation in `params`.
    ///
    /// Nothing happens until the [`Driver`] is polled, so spawn it. Dropping the driver stalls the speculation; only
    /// [`Speculation::abort`] ends it.
    pub fn start(
        &self,
        id: impl Into<String>,
        params: &CacheSafeParams,
        prompt: &str,
    ) -> Result<(Speculation, Driver, Events), StartError> {
        self.start_with_note(id, params, "", prompt)
    }

    /// As [`start`](Self::start), and the model is told `note` before the prompt, in the same message, for example what
    /// its user has undone ([`UndoReport::note`](crate::UndoReport::note)). With an empty `note` nothing is told. The
    /// note is no part of [`Speculation::prompt`].
    pub fn start_with_note(
        &self,
        id: impl Into<String>,
        params: &CacheSafeParams,
        note: &str,
        prompt: &str,
    ) -> Result<(Speculation, Driver, Events), StartError> {
        Speculation::start(self, id.into(), params.clone(), (note, prompt), None)
    }
    /// As [`start_with_note`](Self::start_with_note), on top of what turns have staged. Until that is written, the work
    /// cannot be accepted, but it can be staged too ([`Speculation::stage_on`]).
    pub fn start_on(
        &self,
        staged: &Staged,
        id: impl Into<String>,
        params: &CacheSafeParams,
        note: &str,
        prompt: &str,
    ) -> Result<(Speculation, Driver, Events), StartError> {
        Speculation::start(self, id.into(), params.clone(), (note, prompt), staged.below())
    }
}
