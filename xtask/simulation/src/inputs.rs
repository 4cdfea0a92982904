//! What was measured of real conversations: guesses and what came of them, and times. Only figures were kept.

use crate::random::{Quantiles, Random};

/// The guesses that were made for the turns of one group of users.
pub(crate) struct Group {
    /// The group, in words.
    pub(crate) name: &'static str,
    /// How many turns were looked at.
    pub(crate) turns: u64,
    /// What the model said, in percent; for how many turns; and for how many of these the user's next message asked for
    /// the same work, as a person judged who knew neither the chance nor the question.
    pub(crate) guesses: &'static [(u8, u64, u64)],
}

/// Both groups. The first was asked with an earlier question, which allowed the model to make no guess.
pub(crate) const GROUPS: [Group; 2] = [
    Group {
        name: "145 turns, mostly of three users",
        turns: 145,
        guesses: &[
            (25, 2, 0),
            (30, 4, 1),
            (35, 4, 1),
            (40, 8, 2),
            (45, 9, 4),
            (50, 10, 0),
            (55, 2, 0),
            (60, 4, 3),
            (65, 6, 2),
            (70, 3, 2),
            (72, 1, 1),
            (75, 3, 0),
            (78, 1, 1),
            (80, 4, 3),
            (85, 4, 2),
        ],
    },
    Group {
        name: "71 turns of two teams",
        turns: 71,
        guesses: &[
            (12, 2, 0),
            (14, 1, 0),
            (15, 4, 0),
            (16, 1, 0),
            (18, 3, 0),
            (20, 3, 2),
            (22, 7, 1),
            (24, 1, 0),
            (25, 6, 1),
            (28, 3, 1),
            (30, 3, 1),
            (32, 4, 2),
            (35, 1, 0),
            (38, 3, 1),
            (40, 3, 1),
            (42, 2, 1),
            (45, 3, 0),
            (48, 2, 1),
            (52, 3, 0),
            (55, 2, 1),
            (58, 3, 2),
            (60, 1, 1),
            (62, 1, 0),
            (68, 2, 2),
            (70, 2, 0),
            (72, 3, 2),
            (75, 2, 1),
        ],
    },
];

/// How long a turn takes, in seconds. Below the quarter and above the ninetieth percentile nothing was kept, so that it
/// goes down to five seconds, and is cut.
pub(crate) const TURN: Quantiles =
    Quantiles(&[(0.0, 5.0), (0.25, 25.0), (0.5, 68.0), (0.75, 212.0), (0.9, 564.0), (1.0, 564.0)]);

/// How long a user pauses between the end of a turn and the next prompt, in seconds; cut as well.
pub(crate) const PAUSE: Quantiles = Quantiles(&[
    (0.0, 5.0),
    (0.1, 17.0),
    (0.25, 42.0),
    (0.5, 113.0),
    (0.75, 282.0),
    (0.9, 808.0),
    (1.0, 808.0),
]);

/// How long the question for a guess takes, in seconds: first-token times of hourly probes of 15 models
/// (jonathanwrede.de, 2026: medians 0.3 to 4.2 s), because the answer is one line.
pub(crate) const QUESTION: Quantiles =
    Quantiles(&[(0.0, 0.7), (0.1, 1.0), (0.5, 2.1), (0.9, 4.2), (1.0, 8.0)]);

/// How long one answer of the model takes, in seconds: the mean of the trace.
pub(crate) const ANSWER_SECONDS: f64 = 11.5;
/// The part of that before the first word.
pub(crate) const FIRST_TOKEN_PART: f64 = 0.4;
/// Tokens of an answer (trace).
pub(crate) const WRITTEN_TOKENS: u64 = 520;
/// Tokens of the system's instruction and of the tools.
pub(crate) const BASE_TOKENS: u64 = 20_000;
/// Tokens that the result of a call adds (trace: 652 at the median of all steps).
pub(crate) const RESULT_TOKENS: u64 = 650;
/// Tokens that an answer of the model adds.
pub(crate) const ANSWER_TOKENS: u64 = 250;
/// The part of a request that the provider has cached, for the first request of a turn and for later ones (trace).
pub(crate) const CACHED_FIRST: f64 = 0.856;
pub(crate) const CACHED_LATER: f64 = 0.976;

pub(crate) const TURNS_OF_A_SESSION: usize = 10;
pub(crate) const SESSIONS: usize = 20;
pub(crate) const SESSIONS_OF_A_DAY: usize = 4;

impl Group {
    /// What the model says of its guess for a turn, and whether that comes true; `None` where it makes none.
    pub(crate) fn draw(&self, random: &mut Random) -> Option<(u8, bool)> {
        let mut place = random.below(self.turns);
        for (said, turns, came_true) in self.guesses {
            if place < *turns {
                return Some((*said, place < *came_true));
            }
            place -= turns;
        }
        None
    }

    /// How many guesses were made, and how many came true.
    pub(crate) fn totals(&self) -> (u64, u64) {
        self.guesses
            .iter()
            .fold((0, 0), |(made, right), (_, turns, came_true)| (made + turns, right + came_true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_what_was_measured() {
        assert_eq!(GROUPS.map(|group| group.totals()), [(65, 22), (71, 21)]);
        for group in &GROUPS {
            let mut random = Random::new(3);
            let drawn: Vec<_> = (0..20_000).map(|_| group.draw(&mut random)).collect();
            let share = |count: usize| 100 * count / drawn.len();
            let near = |found: usize, expected: u64| found.abs_diff(usize::try_from(expected).unwrap()) <= 2;
            let (made, right) = group.totals();
            assert!(near(share(drawn.iter().flatten().count()), 100 * made / group.turns));
            assert!(near(
                share(drawn.iter().flatten().filter(|(_, right)| *right).count()),
                100 * right / group.turns
            ));
        }
    }
}
