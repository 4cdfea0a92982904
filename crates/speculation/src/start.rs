use headstart_forked_query::CacheSafeParams;

use crate::{Driver, Engine, Events, Speculation, StartError};

impl Engine {
    /// Begins to run a prompt over an overlay, forked from the conversation in `params`.
    ///
    /// Nothing happens until the [`Driver`] is polled, so spawn it. Dropping the driver stalls the speculation; only
    /// [`Speculation::abort`] ends it. With [`Limits::depth`](crate::Limits::depth) the driver goes on with the steps
    /// above.
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
        Speculation::start(self, id.into(), params.clone(), (note, prompt), &[])
    }
}
