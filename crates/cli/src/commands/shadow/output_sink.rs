use std::io::{self, Write as _};

use headstart_machine::error::CliError;
use headstart_shadow::Stream;

/// The output of a command, which is passed on directly, or kept for the JSON.
pub(super) struct OutputSink {
    kept: Option<Vec<u8>>,
    /// Why the output cannot be passed on.
    error: Option<io::Error>,
}

impl OutputSink {
    pub(super) fn new(is_kept: bool) -> Self {
        Self { kept: is_kept.then(Vec::new), error: None }
    }

    pub(super) fn take(&mut self, stream: Stream, piece: &[u8]) {
        let written = match (&mut self.kept, stream) {
            (Some(kept), _) => kept.write_all(piece),
            (None, Stream::Out) => io::stdout().write_all(piece).and_then(|()| io::stdout().flush()),
            (None, Stream::Err) => io::stderr().write_all(piece),
        };
        self.error = self.error.take().or(written.err());
    }

    /// The whole output that was kept.
    pub(super) fn whole(self) -> Result<String, CliError> {
        match self.error {
            Some(error) => Err(CliError::Output(error)),
            None => Ok(String::from_utf8_lossy(&self.kept.unwrap_or_default()).into_owned()),
        }
    }
}
