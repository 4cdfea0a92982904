//! A typing slip: one key after which no candidate matches the typed text, and which the user may take back.

use super::FollowupController;
use crate::{Effect, Effects, Millis, Suggestion};

/// A key that made all candidates stop matching. They are kept for a while, because the user may take the key back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slip {
    pub(super) at: Millis,
    /// The length of the suggestion that was on screen, in characters; 0 if none was.
    pub(super) length: usize,
}

impl FollowupController {
    /// Whether `text` matches none of the candidates that wait or are shown, and there are any.
    pub(super) fn leads_away(&self, text: &str) -> bool {
        let waiting = self.waiting.and(self.offered.as_ref());
        let mut left = waiting.into_iter().chain(self.on_screen()).peekable();
        left.peek().is_some() && left.all(|candidates| !candidates.any_matches(text))
    }

    pub(super) fn begin_slip(&mut self, now: Millis, text: String, effects: &mut Effects) {
        let length = self.visible().map_or(0, Suggestion::char_count);
        self.slip = Some(Slip { at: now, length });
        self.typed = text;
        if self.shown.is_some() {
            effects.push(Effect::Hide);
        }
        effects.push(Effect::WakeAt { at: now.saturating_add(self.config.slip_ms) });
    }

    /// Dismisses the candidates once the time in which the key could be taken back is over.
    pub(super) fn wake_in_slip(&mut self, now: Millis, effects: &mut Effects) {
        let Some(slip) = &mut self.slip else { return };
        // After a clock that jumped back the wait begins again.
        slip.at = slip.at.min(now);
        let over_at = slip.at.saturating_add(self.config.slip_ms);
        if now < over_at {
            effects.push(Effect::WakeAt { at: over_at });
        } else {
            self.dismiss(now, effects);
        }
    }
}

/// Whether one key leads from `before` to `after`: one character was inserted, removed or replaced.
pub(super) fn is_one_key(before: &str, after: &str) -> bool {
    let same = |(a, b): &(char, char)| a == b;
    let start = before.chars().zip(after.chars()).take_while(same).count();
    let (before_left, after_left) = (before.chars().count() - start, after.chars().count() - start);
    let end = before.chars().rev().zip(after.chars().rev()).take_while(same).count();
    let end = end.min(before_left).min(after_left);
    before_left - end <= 1 && after_left - end <= 1
}
