use headstart_agent::Item;

use super::Chat;
use crate::error::CliError;
use crate::terminal::Style;

impl Chat {
    /// Shows a conversation that is gone on with.
    pub(super) fn say_restored(&mut self) -> Result<(), CliError> {
        let view = self.agent.view();
        if !self.face.has_person() {
            self.shown.skip(&view);
            return Ok(());
        }
        self.draw(&view)?;
        self.show_items(&view)?;
        self.face.end_answer()?;
        if view.items.iter().any(|item| matches!(**item, Item::Prompt { .. })) {
            self.face.say(
                "This conversation goes on here. What was done is done; files may have changed since.",
                Style::Dim,
            )?;
        }
        Ok(())
    }

    /// How to go on with this conversation later.
    pub(super) fn how_to_resume(&self) -> Option<String> {
        let is_kept = self.is_kept && 0 < self.tally.turns;
        is_kept.then(|| format!("headstart chat --resume {} goes on with it", self.id))
    }
}
