//! Lends the terminal to an editor of the user's, or to the shell.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use headstart_agent::EditKind;
use headstart_machine::error::CliError;
use headstart_machine::system::find_bash;
use headstart_machine::system::signals::{self, Signals};
use headstart_terminal::{Input, Style};

use super::Chat;

/// The program that gets the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handover {
    /// An editor, for the prompt.
    ToEditor,
    /// The shell, until it continues the chat.
    ToShell,
}

impl Chat {
    /// Lends the terminal and continues afterwards. Background tasks keep running meanwhile.
    pub(super) fn hand_over_terminal(
        &mut self,
        to: Handover,
        input: &mut Input,
        signals: &mut Signals,
    ) -> Result<(), CliError> {
        match to {
            Handover::ToShell => {
                self.with_terminal_released(input, signals::stop)?;
                Ok(())
            }
            Handover::ToEditor => {
                let edited = self.edit_in_editor(input);
                // A Ctrl-C in the editor was meant for the editor.
                signals.forget_interrupts();
                match edited? {
                    Ok(text) if text != self.editor.whole_text() => {
                        self.editor.replace(&text);
                        self.agent.edited(&text, EditKind::Changed);
                        Ok(())
                    }
                    Ok(_) => Ok(()),
                    Err(problem) => {
                        self.display.say(&format!("the prompt stays as it was: {problem}"), Style::Removed)
                    }
                }
            }
        }
    }

    fn with_terminal_released<T>(
        &mut self,
        input: &mut Input,
        run: impl FnOnce() -> T,
    ) -> Result<Option<T>, CliError> {
        let display = &mut self.display;
        input.pause(|| tokio::task::block_in_place(|| display.with_terminal_released(run)))
    }

    /// The prompt after the user has edited it. The inner error says why there is none.
    fn edit_in_editor(&mut self, input: &mut Input) -> Result<Result<String, String>, CliError> {
        let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| self.models.variable(name));
        let Some(editor) = editor else {
            return Ok(Err("set VISUAL or EDITOR to the command of your editor".to_owned()));
        };
        let file = match with_text(&self.editor.whole_text()) {
            Ok(file) => file,
            Err(error) => return Ok(Err(format!("no file can be written for {editor}: {error}"))),
        };
        let path = file.path().to_owned();
        let ended = self.with_terminal_released(input, || run(&editor, &path))?;
        Ok(match ended {
            Some(Ok(status)) if status.success() => {
                let text = std::fs::read_to_string(&path);
                text.map(|text| cleaned(&text).to_owned())
                    .map_err(|error| format!("{}: {error}", path.display()))
            }
            Some(Ok(status)) => Err(format!("{editor} ended with {status}")),
            Some(Err(error)) => Err(format!("{editor} cannot be started: {error}")),
            None => Err("there is no terminal".to_owned()),
        })
    }
}

/// Writes the prompt to a file that only its user can read.
fn with_text(text: &str) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("headstart-prompt-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    Ok(file)
}

/// Runs the editor as git does: the variable contains a command with its arguments.
fn run(editor: &str, path: &Path) -> io::Result<std::process::ExitStatus> {
    Command::new(shell()?).arg("-c").arg(format!("{editor} \"$1\"")).arg(editor).arg(path).status()
}

/// The shell that runs an editor. On Windows it is the one that comes with git.
fn shell() -> io::Result<PathBuf> {
    if cfg!(unix) {
        return Ok("sh".into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let workspace = std::env::current_dir()?;
    find_bash(&path, &workspace).map_err(|why| io::Error::new(io::ErrorKind::NotFound, why))
}

/// The text without what editors add: a byte order mark at the beginning, a line feed at the end.
fn cleaned(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_editors_add_is_left_out() {
        for (text, expected) in [
            ("fix it\n", "fix it"),
            ("\u{feff}fix\r\nit\r\n", "fix\r\nit"),
            ("fix it\n\n", "fix it\n"),
            ("", ""),
        ] {
            assert_eq!(cleaned(text), expected, "{text:?}");
        }
    }
}
