//! `/undo` restores what the last turn changed.

use headstart_agent::Phase;

use super::Chat;
use crate::conversation::{UndoResult, take_back_last_turn};
use crate::error::CliError;
use crate::terminal::Style;

impl Chat {
    /// Takes back everything that the last turn wrote, or nothing at all; where that may not be what the user expects,
    /// only if they say it again.
    pub(super) fn undo(&mut self) -> Result<(), CliError> {
        if !matches!(self.agent.view().phase, Phase::Idle) {
            return self.say_busy("/undo");
        }
        match take_back_last_turn(&self.agent, &self.parts, &mut self.undo_asked) {
            UndoResult::Nothing(why) => self.display.say(&why, Style::Dim),
            UndoResult::Refused(why) => self.display.say(&why, Style::Removed),
            UndoResult::Part { files, left } => {
                self.refresh_status();
                self.display.say(&files, Style::Plain)?;
                self.display.say(&left, Style::Removed)
            }
            UndoResult::Whole { files, summary } => {
                self.refresh_status();
                self.display.say(&files, Style::Plain)?;
                self.display.say(&summary, Style::Dim)
            }
        }
    }
}
