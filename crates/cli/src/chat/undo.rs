//! `/undo` restores what the last turn changed.

use headstart_agent::Phase;

use super::Chat;
use crate::conversation::{Undone, take_back_last_turn};
use crate::error::CliError;
use crate::terminal::Style;

impl Chat {
    /// Takes back everything that the last turn wrote, or nothing at all.
    pub(super) fn undo(&mut self) -> Result<(), CliError> {
        if !matches!(self.agent.view().phase, Phase::Idle) {
            return self.say_busy("/undo");
        }
        match take_back_last_turn(&self.agent, &self.parts.tree) {
            Undone::Nothing(why) => self.face.say(&why, Style::Dim),
            Undone::Refused(why) => self.face.say(&why, Style::Removed),
            Undone::Part { files, left } => {
                self.face.say(&files, Style::Plain)?;
                self.face.say(&left, Style::Removed)
            }
            Undone::Whole { files, told } => {
                self.face.say(&files, Style::Plain)?;
                self.face.say(&told, Style::Dim)
            }
        }
    }
}
