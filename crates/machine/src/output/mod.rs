//! Output of commands: results on standard output, everything else on standard error.

mod page;
mod spinner;
mod text;

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

pub use self::page::{PageLayout, grouped, percent, seconds, table, wrapped};
pub use self::spinner::Spinner;
pub use self::text::{
    ColorMode, age, call_in_full, call_on_one_line, call_title, change_line, checked_line, conflict_line,
    days, git_lines, interrupted, limit_name, merged_line, mode_words, not_kept_because, not_kept_line,
    not_kept_offer, one_line, printable, said_of_command, shadow_line, shadow_outcome, shortened, stale_line,
    swept,
};
use crate::environment::Environment;
use crate::error::CliError;
use headstart_terminal::Size;

/// The form of a command's output.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
    terminal: bool,
    style: ColorMode,
}

/// The last line of a command that failed, with `--json`.
#[derive(Serialize)]
struct ErrorLine<'a> {
    r#type: &'static str,
    message: &'a str,
}

impl Output {
    pub fn new(json: bool, environment: &Environment) -> Self {
        let terminal = io::stdout().is_terminal();
        let plain = !(terminal && takes_codes())
            || environment.get("NO_COLOR").is_some()
            || environment.get("TERM").is_some_and(|term| term == "dumb");
        Self { json, terminal, style: if plain { ColorMode::Plain } else { ColorMode::Colored } }
    }

    /// Whether results are printed as JSON Lines.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Whether a person reads standard output directly.
    pub fn is_terminal(self) -> bool {
        self.terminal
    }

    /// The greatest width of a line: that of the terminal, or 80 columns if there is none or it does not know its
    /// width.
    pub fn columns(self) -> usize {
        let terminal = self.terminal.then(|| Size::of_terminal().ok()).flatten();
        terminal.filter(|size| 0 < size.columns).map_or(80, |size| usize::from(size.columns))
    }

    pub fn style(self) -> ColorMode {
        self.style
    }

    /// Reports why the command failed.
    pub fn error(self, error: &CliError) {
        let message = error.to_string();
        note(&format!("headstart: {message}"));
        if self.json {
            print_error_line(&message);
        }
    }
}

/// Whether the terminal takes control codes. An old console of Windows does not; others are told to.
pub fn takes_codes() -> bool {
    #[cfg(windows)]
    return crossterm::ansi_support::supports_ansi();
    #[cfg(unix)]
    true
}

/// Prints one JSON object on a line of its own on standard output.
pub fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let mut line = serde_json::to_vec(value).map_err(|error| CliError::Output(error.into()))?;
    line.push(b'\n');
    write_out(&line)
}

/// Prints text for people on standard output, unchanged.
pub fn print(text: &str) -> Result<(), CliError> {
    write_out(text.as_bytes())
}

/// Prints a remark on standard error, without control characters.
pub fn note(message: &str) {
    // If standard error is closed, nobody can be told.
    let _ = writeln!(io::stderr().lock(), "{}", printable(message));
}

/// Prints the JSON line of an error that the person has been told already.
pub fn print_error_line(message: &str) {
    // If standard output is closed, the exit code still reports the error.
    let _ = print_json(&ErrorLine { r#type: "error", message });
}

fn write_out(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(CliError::Output)
}
