use std::io::{self, Write as _};

use headstart_machine::bounded_output::BoundedOutput;
use headstart_machine::error::CliError;
use headstart_shadow::Stream;

/// The most bytes that are kept for the JSON, half from the beginning and half from the end.
const KEPT_FOR_JSON: usize = 1024 * 1024;
/// The most that is kept of what was passed on, to say what a command missed that failed.
const KEPT: usize = 64 * 1024;

/// The output of a command, which is kept, and passed on directly unless it is for JSON.
pub(super) struct OutputSink {
    is_json: bool,
    kept: BoundedOutput,
    /// Why the output cannot be passed on.
    error: Option<io::Error>,
}

impl OutputSink {
    pub(super) fn new(is_json: bool) -> Self {
        let kept = BoundedOutput::new(if is_json { KEPT_FOR_JSON } else { KEPT });
        Self { is_json, kept, error: None }
    }

    pub(super) fn take(&mut self, stream: Stream, piece: &[u8]) {
        self.kept.push(piece);
        let written = match stream {
            _ if self.is_json => Ok(()),
            Stream::Out => io::stdout().write_all(piece).and_then(|()| io::stdout().flush()),
            Stream::Err => io::stderr().write_all(piece),
        };
        self.error = self.error.take().or(written.err());
    }

    /// What was kept of the output.
    pub(super) fn finish(self) -> Result<String, CliError> {
        match self.error {
            Some(error) => Err(CliError::Output(error)),
            None => Ok(self.kept.finish().0),
        }
    }
}
