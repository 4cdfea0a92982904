use std::io::{self, Write as _};

use headstart_machine::bounded_output::BoundedOutput;
use headstart_machine::error::CliError;
use headstart_shadow::Stream;

/// The most bytes that are kept for the JSON, half from the beginning and half from the end.
const MOST_KEPT: usize = 1024 * 1024;

/// The output of a command, which is passed on directly, or kept for the JSON.
pub(super) struct OutputSink {
    kept: Option<BoundedOutput>,
    /// Why the output cannot be passed on.
    error: Option<io::Error>,
}

impl OutputSink {
    pub(super) fn new(is_kept: bool) -> Self {
        Self { kept: is_kept.then(|| BoundedOutput::new(MOST_KEPT)), error: None }
    }

    pub(super) fn take(&mut self, stream: Stream, piece: &[u8]) {
        let written = match (&mut self.kept, stream) {
            (Some(kept), _) => {
                kept.push(piece);
                Ok(())
            }
            (None, Stream::Out) => io::stdout().write_all(piece).and_then(|()| io::stdout().flush()),
            (None, Stream::Err) => io::stderr().write_all(piece),
        };
        self.error = self.error.take().or(written.err());
    }

    /// What was kept of the output.
    pub(super) fn finish(self) -> Result<String, CliError> {
        match self.error {
            Some(error) => Err(CliError::Output(error)),
            None => Ok(self.kept.map_or_else(String::new, |kept| kept.finish().0)),
        }
    }
}
