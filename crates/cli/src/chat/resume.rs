use headstart_agent::{Item, View};
use headstart_machine::error::CliError;
use headstart_terminal::Style;

use super::Chat;

/// How many turns of a resumed conversation are shown.
const SHOWN_TURNS: usize = 2;

impl Chat {
    /// Shows the end of a resumed conversation.
    pub(super) fn say_restored(&mut self) -> Result<(), CliError> {
        let view = self.agent.view();
        if !self.display.has_person() {
            // A script has read what was said, but not what is wrong with it now.
            for item in &view.items {
                if let Item::Trouble { text } = &**item {
                    self.display.say(text, Style::Removed)?;
                }
            }
            self.shown.skip(view.items.len());
            return Ok(());
        }
        let (earlier, first) = end_of(&view);
        if 0 < earlier {
            let turns = if earlier == 1 { "turn" } else { "turns" };
            let how = if self.display.has_keys() { " (Ctrl-T shows all)" } else { "" };
            self.display.say(&format!("{earlier} earlier {turns}{how}"), Style::Dim)?;
            self.shown.skip(first);
        }
        self.draw(&view)?;
        self.show_items(&view)?;
        self.display.end_answer()?;
        if view.items.iter().any(|item| matches!(**item, Item::Prompt { .. })) {
            self.display.say(
                "This conversation goes on here. What was done is done; files may have changed since.",
                Style::Dim,
            )?;
        }
        Ok(())
    }

    /// How to resume this conversation later.
    pub(super) fn how_to_resume(&self) -> Option<String> {
        let items = &self.agent.view().items;
        let has_prompt = items.iter().any(|item| matches!(**item, Item::Prompt { .. }));
        let is_kept = self.is_kept && has_prompt && 0 < self.tally.turns;
        is_kept.then(|| format!("headstart chat --resume {} goes on with it", self.id))
    }
}

/// How many turns come before the last ones, and the item at which the last ones begin.
fn end_of(view: &View) -> (usize, usize) {
    let prompts = view.items.iter().enumerate().filter(|(_, item)| matches!(***item, Item::Prompt { .. }));
    let places: Vec<_> = prompts.map(|(place, _)| place).collect();
    let earlier = places.len().saturating_sub(SHOWN_TURNS);
    (earlier, places.get(earlier).copied().unwrap_or(0))
}
