//! `--log FILE`: what headstart does at each of its ports, one JSON object per line, for finding out what went wrong.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use headstart_forked_query::CONTENT;
use headstart_machine::error::CliError;
use headstart_machine::system::PrivateFile as _;
use headstart_providers::Scrubber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;

/// What is logged, and where.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Log {
    /// Write what headstart does to this file, a JSON object a line; no prompt, content or key is in it
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    log: Option<PathBuf>,
    /// Write prompts, answers, calls and their results to it as well; never a key
    #[arg(long, global = true, requires = "log")]
    log_content: bool,
}

impl Log {
    /// Starts the log. Lines are appended to an existing file. `secrets` is only called if there is a log, because a
    /// hook must start quickly.
    pub(crate) fn begin(&self, secrets: impl FnOnce() -> Scrubber) -> Result<(), CliError> {
        let Some(path) = &self.log else { return Ok(()) };
        let file = open(path).map_err(|source| CliError::Io {
            action: "open the log",
            path: path.clone(),
            source,
        })?;
        let with_content = self.log_content;
        // Events of other crates may contain anything: headers, addresses, bodies.
        let is_ours = move |target: &str| {
            if target == CONTENT { with_content } else { target.starts_with("headstart") }
        };
        let lines = tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
            // An error because of a full disk must not be printed over the screen.
            .log_internal_errors(false)
            .with_writer(Mutex::new(ScrubbingWriter { file, secrets: secrets() }))
            .with_filter(filter_fn(move |metadata| is_ours(metadata.target())));
        let level = if with_content { LevelFilter::TRACE } else { LevelFilter::DEBUG };
        tracing_subscriber::registry().with(lines.and_then(level)).init();
        log_panics();
        let version = env!("CARGO_PKG_VERSION");
        tracing::info!(version, os = std::env::consts::OS, pid = std::process::id(), "headstart begins");
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).private().open(path)
}

/// Also logs panics. They are still printed to the screen.
fn log_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        let place = panicked.location().map(ToString::to_string);
        tracing::error!(place, "a panic");
        tracing::trace!(target: CONTENT, words = %panicked, "what it said");
        before(panicked);
    }));
}

/// Removes secrets from each line.
struct ScrubbingWriter {
    file: File,
    secrets: Scrubber,
}

impl Write for ScrubbingWriter {
    /// Writes a whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.file.write_all(self.secrets.text(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
