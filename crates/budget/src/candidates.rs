use headstart_followup_state::Suggestion;

use crate::ledger::Outcome;

/// The suggestions of one moment, best first. The user takes at most one of them; each may have work that runs ahead for
/// it.
///
/// It says who is given up when one is taken or all are refused, and what the ledger is told of each: of several
/// suggestions at most one counts as ignored, and one that the user has not seen teaches nothing. What becomes of the
/// work (`W`, a [`Speculation`](headstart_speculation::Speculation) for example) is up to the host: it aborts what it is given back.
///
/// ```
/// use headstart_followup_state::filter;
/// use headstart_budget::Candidates;
/// use headstart_budget::ledger::Outcome;
///
/// let texts = [("a", filter("run the tests")?), ("b", filter("commit this")?)];
/// let mut candidates = Candidates::<()>::new(texts.map(|(id, text)| (id.to_owned(), text)));
/// candidates.saw("run the tests");
/// candidates.saw("commit this");
///
/// let rest = candidates.keep_only("Commit this.");
/// assert!(rest.is_empty() && candidates.iter().count() == 2, "that is none of them");
/// let rest = candidates.keep_only("commit this.");
/// assert_eq!(rest.iter().map(|(given_up, outcome)| (&*given_up.id, *outcome)).collect::<Vec<_>>(), [("a", Outcome::Replaced)]);
/// # Ok::<(), headstart_followup_state::FilterReason>(())
/// ```
#[derive(Debug, Clone)]
pub struct Candidates<W> {
    all: Vec<Candidate<W>>,
    /// The one that is on screen, or was last.
    current: usize,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct Candidate<W> {
    /// Its id in the ledger.
    pub id: String,
    /// What the user may send.
    pub suggestion: Suggestion,
    /// What runs ahead for it.
    pub work: Option<W>,
    seen: bool,
}

impl<W> Candidates<W> {
    /// Suggestions with their ids, best first. Nothing runs for them yet.
    pub fn new(suggestions: impl IntoIterator<Item = (String, Suggestion)>) -> Self {
        let candidate = |(id, suggestion)| Candidate { id, suggestion, work: None, seen: false };
        Self { all: suggestions.into_iter().map(candidate).collect(), current: 0 }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, best first.
    pub fn iter(&self) -> std::slice::Iter<'_, Candidate<W>> {
        self.all.iter()
    }

    /// All of them, best first.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Candidate<W>> {
        self.all.iter_mut()
    }

    /// The one that is on screen or was last; before that, the best.
    pub fn current(&self) -> Option<&Candidate<W>> {
        self.all.get(self.current)
    }

    /// The one that a text is ([`Suggestion::is_same_as`]).
    pub fn get(&self, text: &str) -> Option<&Candidate<W>> {
        self.place(text).and_then(|place| self.all.get(place))
    }

    /// The one that a text is, to give it work.
    pub fn get_mut(&mut self, text: &str) -> Option<&mut Candidate<W>> {
        self.place(text).and_then(|place| self.all.get_mut(place))
    }

    /// The one that a text is has come on screen.
    pub fn saw(&mut self, text: &str) {
        if let Some(place) = self.place(text) {
            self.current = place;
            self.all[place].seen = true;
        }
    }

    /// The user has chosen the one that a text is: gives up the others, each with what becomes of it. If it is none of
    /// them, nothing is given up.
    #[must_use = "the work of what is given up has to be aborted"]
    pub fn keep_only(&mut self, text: &str) -> Vec<(Candidate<W>, Outcome)> {
        let Some(place) = self.place(text) else { return Vec::new() };
        let chosen = self.all.remove(place);
        let others = std::mem::replace(&mut self.all, vec![chosen]);
        self.current = 0;
        let passed_over = |other: Candidate<W>| {
            let outcome = other.passed_over();
            (other, outcome)
        };
        others.into_iter().map(passed_over).collect()
    }

    /// Takes out the one that a text is, and leaves the others.
    pub fn take(&mut self, text: &str) -> Option<Candidate<W>> {
        let place = self.place(text)?;
        self.current = 0;
        Some(self.all.remove(place))
    }

    /// Gives all of them up: the current one with this outcome, the others with what follows from it.
    #[must_use = "the work of what is given up has to be aborted"]
    pub fn give_up(&mut self, outcome: Outcome) -> Vec<(Candidate<W>, Outcome)> {
        let current = std::mem::take(&mut self.current);
        let fate = |(place, candidate): (usize, Candidate<W>)| {
            let fate = match outcome {
                _ if place == current => outcome,
                Outcome::Aborted => Outcome::Aborted,
                _ => candidate.passed_over(),
            };
            (candidate, fate)
        };
        std::mem::take(&mut self.all).into_iter().enumerate().map(fate).collect()
    }

    fn place(&self, text: &str) -> Option<usize> {
        self.all.iter().position(|candidate| candidate.suggestion.is_same_as(text))
    }
}

impl<'a, W> IntoIterator for &'a Candidates<W> {
    type Item = &'a Candidate<W>;
    type IntoIter = std::slice::Iter<'a, Candidate<W>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, W> IntoIterator for &'a mut Candidates<W> {
    type Item = &'a mut Candidate<W>;
    type IntoIter = std::slice::IterMut<'a, Candidate<W>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<W> Default for Candidates<W> {
    fn default() -> Self {
        Self { all: Vec::new(), current: 0 }
    }
}

impl<W> Candidate<W> {
    /// What becomes of it when the user turns to another one.
    fn passed_over(&self) -> Outcome {
        if self.seen { Outcome::Replaced } else { Outcome::Aborted }
    }
}

#[cfg(test)]
mod tests {
    use headstart_followup_state::filter;

    use super::*;

    const TEXTS: [&str; 3] = ["run the tests", "commit this", "update the changelog"];

    /// Three candidates, those that were seen in this order.
    fn candidates(seen: &[usize]) -> Candidates<()> {
        let named = TEXTS.iter().enumerate().map(|(id, text)| (id.to_string(), filter(text).unwrap()));
        let mut candidates = Candidates::new(named);
        for place in seen {
            candidates.saw(TEXTS[*place]);
        }
        candidates
    }

    fn fates(given_up: &[(Candidate<()>, Outcome)]) -> Vec<(&str, Outcome)> {
        given_up.iter().map(|(candidate, outcome)| (candidate.id.as_str(), *outcome)).collect()
    }

    #[test]
    fn of_several_at_most_one_is_ignored_and_what_was_not_seen_teaches_nothing() {
        use Outcome::{Aborted, Ignored, Replaced};
        let cases: [(&[usize], Outcome, [Outcome; 3]); 6] = [
            (&[0], Ignored, [Ignored, Aborted, Aborted]),
            (&[0, 1], Ignored, [Replaced, Ignored, Aborted]),
            (&[0, 1, 2, 0], Ignored, [Ignored, Replaced, Replaced]),
            (&[], Replaced, [Replaced, Aborted, Aborted]),
            (&[0, 1], Aborted, [Aborted, Aborted, Aborted]),
            (&[], Aborted, [Aborted, Aborted, Aborted]),
        ];
        for (seen, outcome, expected) in cases {
            let mut candidates = candidates(seen);
            let given_up = candidates.give_up(outcome);
            let expected: Vec<_> = ["0", "1", "2"].into_iter().zip(expected).collect();
            assert_eq!(fates(&given_up), expected, "{seen:?} {outcome:?}");
            assert!(candidates.is_empty() && candidates.current().is_none());
            assert!(candidates.give_up(outcome).is_empty());
        }
    }

    #[test]
    fn whoever_is_chosen_stays_and_the_others_go() {
        let mut candidates = candidates(&[0, 1]);
        assert!(candidates.keep_only("run all tests").is_empty());
        assert_eq!(candidates.iter().count(), 3);
        let given_up = candidates.keep_only(" commit this. ");
        assert_eq!(fates(&given_up), [("0", Outcome::Replaced), ("2", Outcome::Aborted)]);
        assert_eq!(candidates.current().map(|kept| kept.id.as_str()), Some("1"));
        assert_eq!(fates(&candidates.give_up(Outcome::Ignored)), [("1", Outcome::Ignored)]);
    }

    #[test]
    fn whoever_is_taken_is_gone_and_the_others_are_passed_over() {
        let mut candidates = candidates(&[0, 1]);
        assert!(candidates.take("something else").is_none());
        assert_eq!(candidates.take("commit this").map(|taken| taken.id), Some("1".to_owned()));
        assert!(candidates.get("commit this").is_none());
        assert_eq!(candidates.iter().count(), 2);
    }
}
