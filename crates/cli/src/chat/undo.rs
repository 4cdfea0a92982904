//! `/undo` restores what the last turn changed.

use headstart_agent::Phase;
use headstart_machine::conversation::{UndoResult, take_back_last_turn, take_back_matched};
use headstart_machine::error::CliError;
use headstart_terminal::Style;

use super::Chat;

impl Chat {
    /// Takes back everything that the last turn wrote, or nothing at all; where that may not be what the user expects,
    /// only if they say it again.
    pub(super) fn undo(&mut self) -> Result<(), CliError> {
        if !matches!(self.agent.view().phase, Phase::Idle) {
            return self.say_busy("/undo");
        }
        let result = take_back_last_turn(&self.agent, &self.parts, &mut self.undo_asked);
        self.say_undone(result)
    }

    /// Takes back the work that other words than its guess asked for, and sends these words anew.
    pub(super) fn take_back_matched(&mut self) -> Result<(), CliError> {
        let Some(matched) = self.agent.matched() else { return Ok(()) };
        if matched.has_changes {
            let result = take_back_matched(&self.agent, &self.parts, &mut self.undo_asked);
            let is_whole = matches!(result, UndoResult::Whole { .. });
            self.say_undone(result)?;
            if !is_whole {
                return Ok(());
            }
        }
        // Nothing goes on, so it begins.
        let _ = self.agent.submit_as_typed(&matched.prompt);
        Ok(())
    }

    fn say_undone(&mut self, result: UndoResult) -> Result<(), CliError> {
        match result {
            UndoResult::Nothing(why) => self.display.say(&why, Style::Dim),
            UndoResult::Refused(why) => self.display.say(&why, Style::Removed),
            UndoResult::Part { files, left } => {
                self.refresh_status();
                self.display.say(&files, Style::Plain)?;
                self.display.say(&left, Style::Removed)
            }
            UndoResult::Whole { files, summary } => {
                self.shown.taken_back = self.agent.view().items.len();
                self.refresh_status();
                self.display.say(&files, Style::Plain)?;
                self.display.say(&summary, Style::Dim)
            }
        }
    }
}
