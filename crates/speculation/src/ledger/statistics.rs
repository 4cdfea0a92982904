use std::collections::{BTreeMap, BTreeSet, HashMap};

use headstart_forked_query::Usage;
use serde::Serialize;

use super::{Day, Decision, Entry, Money, Outcome, Work};

/// A ledger added up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// All of it.
    pub total: Figures,
    /// By the model that was asked.
    pub by_model: BTreeMap<String, Figures>,
    /// By the day on which the work was done.
    pub by_day: BTreeMap<Day, Figures>,
    /// The models whose background work shared no cache with the conversation's own model.
    pub without_shared_cache: BTreeSet<String>,
}

/// The figures of one model, one day, or everything.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Prompts that ran ahead.
    pub speculations: u64,
    /// Queries for a suggestion.
    pub suggestions: u64,
    /// What became of the prompts that ran ahead; one that waits for a decision is in none.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Tokens of background work: speculations and queries for a suggestion.
    #[serde(flatten)]
    pub tokens: Usage,
    /// Of these, in speculations that the user did not get, and in queries.
    pub wasted_tokens: u64,
    /// What background work cost, as far as prices are known.
    pub money: Money,
    /// Of this, for nothing.
    pub wasted_money: Money,
    /// Requests of background work that were dropped half-way, or of which the server did not say what they cost; their tokens
    /// are in no figure.
    pub unmeasured: u64,
    /// Bytes staged.
    pub staged_bytes: u64,
    /// Milliseconds of work ahead.
    pub work_ms: u64,
    /// Milliseconds of work that the user did not wait for.
    pub saved_ms: u64,
    /// Turns that the user waited for.
    pub turns: u64,
    /// Tokens of these turns, and of the speculations that the user got in their place.
    pub own_tokens: u64,
}

impl Statistics {
    /// Adds up the entries of a ledger.
    pub fn of(entries: &[Entry]) -> Self {
        let mut decisions: HashMap<&str, &Decision> = HashMap::new();
        for entry in entries {
            if let Entry::Outcome(decision) = entry {
                decisions.insert(&decision.id, decision);
            }
        }
        let mut statistics = Self::default();
        for entry in entries {
            let (work, shares_cache) = match entry {
                Entry::Suggestion(suggested) if !suggested.was_asked() => continue,
                Entry::Turn(work) => (work, true),
                Entry::Suggestion(suggested) => (&suggested.work, suggested.shares_cache),
                Entry::Speculation(speculated) => (&speculated.work, speculated.shares_cache),
                Entry::Outcome(_) => continue,
            };
            if !shares_cache {
                statistics.without_shared_cache.insert(work.model.clone());
            }
            let of_model = statistics.by_model.entry(work.model.clone()).or_default();
            let of_day = statistics.by_day.entry(Day::of(work.at)).or_default();
            for figures in [&mut statistics.total, of_model, of_day] {
                figures.add(entry, &decisions);
            }
        }
        statistics
    }
}

impl Figures {
    fn add(&mut self, entry: &Entry, decisions: &HashMap<&str, &Decision>) {
        match entry {
            Entry::Turn(work) => {
                self.turns += 1;
                self.own_tokens = self.own_tokens.saturating_add(work.spent_tokens());
            }
            Entry::Suggestion(suggested) => {
                self.suggestions += 1;
                self.spend(&suggested.work);
                self.waste(&suggested.work);
            }
            Entry::Speculation(speculated) => {
                self.speculations += 1;
                self.staged_bytes = self.staged_bytes.saturating_add(speculated.staged_bytes);
                self.work_ms = self.work_ms.saturating_add(speculated.work.work_ms);
                self.spend(&speculated.work);
                let Some(decision) = decisions.get(speculated.id.as_str()) else { return };
                *self.outcomes.entry(decision.outcome).or_default() += 1;
                if decision.outcome.is_hit() {
                    self.saved_ms = self.saved_ms.saturating_add(decision.saved_ms);
                    self.own_tokens = self.own_tokens.saturating_add(speculated.work.spent_tokens());
                } else {
                    self.waste(&speculated.work);
                }
            }
            Entry::Outcome(_) => {}
        }
    }

    fn spend(&mut self, work: &Work) {
        let tokens = &mut self.tokens;
        tokens.input_tokens = tokens.input_tokens.saturating_add(work.tokens.input_tokens);
        tokens.cached_input_tokens =
            tokens.cached_input_tokens.saturating_add(work.tokens.cached_input_tokens);
        tokens.output_tokens = tokens.output_tokens.saturating_add(work.tokens.output_tokens);
        self.money = self.money.plus(work.money.unwrap_or_default());
        self.unmeasured = self
            .unmeasured
            .saturating_add(u64::from(work.unmeasured))
            .saturating_add(work.tokens.untold_requests);
    }

    fn waste(&mut self, work: &Work) {
        self.wasted_tokens = self.wasted_tokens.saturating_add(work.spent_tokens());
        self.wasted_money = self.wasted_money.plus(work.money.unwrap_or_default());
    }

    /// Speculations that the user got.
    pub fn hits(&self) -> u64 {
        self.count(Outcome::is_hit)
    }

    /// Speculations of which it is known what became of them.
    pub fn decided(&self) -> u64 {
        self.count(|_| true)
    }

    /// Hits out of decided speculations, from 0 to 1; `None` before the first.
    pub fn hit_rate(&self) -> Option<f64> {
        ratio(self.hits(), self.decided())
    }

    /// Seconds of waiting that a hit saved, on average; `None` before the first.
    pub fn seconds_saved_per_hit(&self) -> Option<f64> {
        ratio(self.saved_ms, self.hits()).map(|ms| ms / 1_000.0)
    }

    /// Tokens spent for nothing for each second saved; `None` where nothing was saved.
    pub fn tokens_wasted_per_second_saved(&self) -> Option<f64> {
        ratio(self.wasted_tokens, self.saved_ms).map(|per_ms| per_ms * 1_000.0)
    }

    fn count(&self, which: impl Fn(Outcome) -> bool) -> u64 {
        self.outcomes.iter().filter(|(outcome, _)| which(**outcome)).map(|(_, count)| count).sum()
    }
}

#[expect(clippy::cast_precision_loss, reason = "ratios of counts far below 2^52")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::read;

    const DAY: u64 = 24 * 60 * 60 * 1_000;

    fn speculation(id: &str, at: u64, model: &str, tokens: u64) -> String {
        format!(
            r#"{{"type":"speculation","id":"{id}","at":{at},"model":"{model}","inputTokens":{tokens},"workMs":2000,"stagedBytes":5,"money":0.5}}"#
        ) + "\n"
    }

    fn outcome(id: &str, outcome: &str, saved_ms: u64) -> String {
        format!(r#"{{"type":"outcome","id":"{id}","at":1,"outcome":"{outcome}","savedMs":{saved_ms}}}"#)
            + "\n"
    }

    fn of(lines: &[String]) -> Statistics {
        let book = read(lines.concat().as_bytes());
        assert!(book.damaged.is_empty() && !book.torn, "{book:?}");
        Statistics::of(&book.entries)
    }

    #[test]
    fn hits_savings_and_waste_are_told_apart() {
        let figures = of(&[
            speculation("a", 0, "m", 100),
            speculation("b", 0, "m", 200),
            speculation("c", 0, "m", 300),
            speculation("d", 0, "m", 400),
            outcome("a", "accepted", 2_000),
            outcome("b", "joined", 500),
            outcome("c", "ignored", 0),
            r#"{"type":"suggestion","id":"a","model":"m","inputTokens":10,"unmeasured":2}"#.to_owned() + "\n",
            r#"{"type":"turn","model":"m","inputTokens":1000,"outputTokens":7}"#.to_owned() + "\n",
        ])
        .total;
        assert_eq!((figures.speculations, figures.decided(), figures.hits()), (4, 3, 2));
        assert_eq!(figures.hit_rate(), Some(2.0 / 3.0));
        assert_eq!(figures.seconds_saved_per_hit(), Some(1.25));
        assert_eq!((figures.wasted_tokens, figures.tokens.input_tokens), (310, 1_010));
        assert_eq!(figures.tokens_wasted_per_second_saved(), Some(124.0));
        assert_eq!(
            (figures.money, figures.wasted_money),
            (Money::new(2.0).unwrap(), Money::new(0.5).unwrap())
        );
        assert_eq!((figures.turns, figures.own_tokens), (1, 1_307));
        assert_eq!((figures.unmeasured, figures.staged_bytes, figures.work_ms), (2, 20, 8_000));
    }

    #[test]
    fn a_policy_that_held_back_asked_nobody() {
        let held = r#"{"type":"suggestion","id":"","model":"m","suppressed":"backing_off"}"#;
        let shown = r#"{"type":"suggestion","id":"","model":"m","suppressed":"unlikely","inputTokens":9}"#;
        let further = r#"{"type":"suggestion","id":"b","model":"m","beside":"a"}"#;
        let figures = of(&[format!("{held}\n{shown}\n{further}\n")]).total;
        assert_eq!((figures.suggestions, figures.wasted_tokens), (1, 9));
    }

    #[test]
    fn the_last_word_on_a_speculation_counts() {
        let lines =
            [speculation("a", 0, "m", 1), outcome("a", "conflict", 0), outcome("a", "accepted", 1_000)];
        assert_eq!(of(&lines).total.hit_rate(), Some(1.0));
        assert_eq!(of(&lines[..2]).total.hit_rate(), Some(0.0));
        assert_eq!(of(&lines[..1]).total.hit_rate(), None);
        assert_eq!(of(&lines[..1]).total.wasted_tokens, 0, "it may still be accepted");
        let undone = of(&[&lines[..], &[outcome("a", "undone", 0)]].concat()).total;
        assert_eq!((undone.hits(), undone.decided(), undone.saved_ms, undone.wasted_tokens), (0, 1, 0, 1));
    }

    #[test]
    fn models_and_days_add_up_to_the_whole() {
        let statistics = of(&[
            speculation("a", 0, "m", 100),
            speculation("b", DAY, "n", 200),
            speculation("c", DAY + 1, "m", 300),
            outcome("c", "accepted", 1),
        ]);
        let tokens = |figures: &Figures| figures.tokens.input_tokens;
        let models: Vec<_> =
            statistics.by_model.iter().map(|(model, figures)| (&**model, tokens(figures))).collect();
        assert_eq!(models, [("m", 400), ("n", 200)]);
        let days: Vec<_> =
            statistics.by_day.iter().map(|(day, figures)| (day.to_string(), tokens(figures))).collect();
        assert_eq!(days, [("1970-01-01".to_owned(), 100), ("1970-01-02".to_owned(), 500)]);
        assert_eq!(statistics.by_day[&Day::of(DAY)].hits(), 1);
    }
}
