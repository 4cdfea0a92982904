//! What the user wants, turn by turn, and what the model does about it. The script is drawn once and is the same for
//! every way to work.

use std::time::Duration;

use crate::inputs::{self, Group};
use crate::random::Random;

/// The sessions of one user.
pub(crate) struct Script {
    pub(crate) turns: Vec<ScriptedTurn>,
}

/// One request of the user.
pub(crate) struct ScriptedTurn {
    /// How many answers the model gives to the user's prompt, and to the guess if that is another.
    pub(crate) answers: [u32; 2],
    /// How sure the model says it is of the guess for this turn, in percent, and whether that is what the user wants.
    pub(crate) guess: Option<(u8, bool)>,
    /// The time from the end of the previous turn to this prompt.
    pub(crate) pause: Duration,
    /// How long the question for the guess takes.
    pub(crate) question: Duration,
}

impl Script {
    pub(crate) fn new(seed: u64, group: &Group, turns: usize) -> Self {
        let mut random = Random::new(seed);
        Self { turns: (0..turns).map(|_| ScriptedTurn::draw(group, &mut random)).collect() }
    }

    /// The prompt of a turn: what the user wants, or something else.
    pub(crate) fn prompt(turn: usize, wanted: bool) -> String {
        let verb = if wanted { "add tests for" } else { "document" };
        format!("{verb} part {turn}")
    }

    /// The number of the turn that a prompt is for, and how many answers there are to it.
    pub(crate) fn answers(&self, prompt: &str) -> Option<(usize, u32)> {
        let turn: usize = prompt.rsplit(' ').next()?.parse().ok()?;
        let [wanted, other] = self.turns.get(turn)?.answers;
        Some((turn, if prompt.starts_with("add") { wanted } else { other }))
    }
}

impl ScriptedTurn {
    fn draw(group: &Group, random: &mut Random) -> Self {
        let mut answers = || {
            let seconds = inputs::TURN.at(random.next());
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
            let count = (seconds / inputs::ANSWER_SECONDS).round() as u32;
            count.max(1)
        };
        let answers = [answers(), answers()];
        Self {
            answers,
            guess: group.draw(random),
            pause: Duration::from_secs_f64(inputs::PAUSE.at(random.next())),
            question: Duration::from_secs_f64(inputs::QUESTION.at(random.next())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_find_their_turns() {
        let script = Script::new(1, &inputs::GROUPS[1], 3);
        for turn in 0..3 {
            let [wanted, other] = script.turns[turn].answers;
            assert_eq!(script.answers(&Script::prompt(turn, true)), Some((turn, wanted)));
            assert_eq!(script.answers(&Script::prompt(turn, false)), Some((turn, other)));
        }
        assert_eq!(script.answers("add tests for part 3"), None);
    }
}
