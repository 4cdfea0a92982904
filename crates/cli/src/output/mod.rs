//! What a command says: results on standard output, everything else on standard error.

mod page;
mod spinner;
mod text;

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

pub(crate) use self::page::{Look, grouped, percent, seconds, table};
pub(crate) use self::spinner::Spinner;
pub(crate) use self::text::{
    Style, age, call_in_full, call_title, change_line, checked_line, conflict_line, days, git_lines,
    limit_name, merged_line, one_call, one_line, printable, shadow_line, shadow_outcome, shortened,
    stale_line, swept,
};
use crate::environment::Environment;
use crate::error::CliError;
use crate::terminal::Size;

/// How a command speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    terminal: bool,
    style: Style,
}

/// The last line of a command that failed, with `--json`.
#[derive(Serialize)]
struct ErrorLine<'a> {
    r#type: &'static str,
    message: &'a str,
}

impl Output {
    pub(crate) fn new(json: bool, environment: &Environment) -> Self {
        let terminal = io::stdout().is_terminal();
        let plain = !terminal
            || environment.get("NO_COLOR").is_some()
            || environment.get("TERM").is_some_and(|term| term == "dumb");
        Self { json, terminal, style: if plain { Style::Plain } else { Style::Colored } }
    }

    /// Whether results are JSON Lines.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Whether a person reads standard output as it comes.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// How wide a line may be: as the terminal, and without one, or one that does not know its width, 80 columns.
    pub(crate) fn columns(self) -> usize {
        let terminal = self.terminal.then(|| Size::of_terminal().ok()).flatten();
        terminal.filter(|size| 0 < size.columns).map_or(80, |size| usize::from(size.columns))
    }

    pub(crate) fn style(self) -> Style {
        self.style
    }

    /// Says why the command failed.
    pub(crate) fn error(self, error: &CliError) {
        let message = error.to_string();
        note(&format!("headstart: {message}"));
        if self.json {
            print_error_line(&message);
        }
    }
}

/// One JSON object on a line of its own, on standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let mut line = serde_json::to_vec(value).map_err(|error| CliError::Output(error.into()))?;
    line.push(b'\n');
    write_out(&line)
}

/// Text for people on standard output, as it is.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    write_out(text.as_bytes())
}

/// A remark on standard error, made harmless for a terminal.
pub(crate) fn note(message: &str) {
    // Nobody is left to be told when standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{}", printable(message));
}

/// The JSON line of an error that the person has been told already.
pub(crate) fn print_error_line(message: &str) {
    // The exit code still tells where standard output is gone.
    let _ = print_json(&ErrorLine { r#type: "error", message });
}

fn write_out(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(CliError::Output)
}
