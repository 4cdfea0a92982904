use headstart_followup_state::Candidates;

use crate::ledger::Outcome;

/// The outcome for one of several candidates, counted from 0, if all are given up with this outcome. The outcome counts
/// for the candidate that is on screen or was last; the others are passed over.
pub fn outcome_when_given_up(candidates: &Candidates, index: usize, outcome: Outcome) -> Outcome {
    if index == candidates.on_screen() || outcome == Outcome::Aborted {
        outcome
    } else {
        outcome_when_passed_over(candidates, index)
    }
}

/// The outcome for a candidate if its user chooses another one. A candidate that they have not seen teaches nothing.
pub fn outcome_when_passed_over(candidates: &Candidates, index: usize) -> Outcome {
    if candidates.was_seen(index) { Outcome::Replaced } else { Outcome::Aborted }
}

#[cfg(test)]
mod tests {
    use headstart_followup_state::{Config, Event, FollowupController, MAX_CANDIDATES, RequestId, filter};

    use super::*;

    /// Three candidates. With `None` nothing is on screen yet; otherwise the first was on screen, and its user turned
    /// this many times.
    fn candidates(turns: Option<usize>) -> Candidates {
        let texts = ["run the tests", "commit this", "update the changelog"];
        let mut controller = FollowupController::new(Config::default());
        controller.handle(0, Event::suggested(RequestId(1), texts.map(|text| filter(text).unwrap())));
        if let Some(turns) = turns {
            controller.handle(1_000, Event::Wake);
            for _ in 0..turns {
                controller.handle(2_000, Event::NextCandidate);
            }
        }
        controller.offered().unwrap().clone()
    }

    #[test]
    fn of_several_at_most_one_is_ignored_and_what_was_not_seen_teaches_nothing() {
        use Outcome::{Aborted, Ignored, Replaced};
        let cases: [(Option<usize>, Outcome, [Outcome; MAX_CANDIDATES]); 6] = [
            (Some(0), Ignored, [Ignored, Aborted, Aborted]),
            (Some(1), Ignored, [Replaced, Ignored, Aborted]),
            (Some(3), Ignored, [Ignored, Replaced, Replaced]),
            (None, Replaced, [Replaced, Aborted, Aborted]),
            (Some(1), Aborted, [Aborted, Aborted, Aborted]),
            (None, Aborted, [Aborted, Aborted, Aborted]),
        ];
        for (turns, outcome, expected) in cases {
            let candidates = candidates(turns);
            let told = std::array::from_fn(|index| outcome_when_given_up(&candidates, index, outcome));
            assert_eq!(expected, told, "{turns:?} {outcome:?}");
        }
    }

    #[test]
    fn who_is_seen_and_not_chosen_is_replaced() {
        let candidates = candidates(Some(1));
        let told = std::array::from_fn(|index| outcome_when_passed_over(&candidates, index));
        assert_eq!([Outcome::Replaced, Outcome::Replaced, Outcome::Aborted], told);
    }
}
