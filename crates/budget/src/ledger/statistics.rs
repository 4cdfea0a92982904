use std::collections::{BTreeMap, BTreeSet, HashMap};

use headstart_forked_query::Usage;
use serde::{Serialize, Serializer};

use super::{Day, Entry, Kind, Outcome, OutcomeEntry, SuggestionEntry, TakenBy, WorkCost};
use crate::policy::{Band, SkipReason, Tariff};
use headstart_forked_query::Money;

/// The totals of a ledger.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// Everything together.
    pub total: Figures,
    /// By the model that was asked.
    pub by_model: BTreeMap<String, Figures>,
    /// By the day on which the work was done.
    pub by_day: BTreeMap<Day, Figures>,
    /// For each kind, how many suggestions were shown and taken.
    pub by_kind: BTreeMap<Kind, ShownFigures>,
    /// The same by how sure the model said it was.
    pub by_band: BTreeMap<Band, ShownFigures>,
    /// The models whose background work shared no cache with the conversation's own model.
    pub without_shared_cache: BTreeSet<String>,
}

/// Suggestions of one kind, or of one band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownFigures {
    /// How many were shown.
    pub shown: u64,
    /// How many of these were taken.
    pub taken: u64,
}

/// What several requests cost. In JSON it is `null` if the price of any of them is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    known: Money,
    is_unknown: bool,
}

/// The figures of one model, one day, or everything.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Prompts that ran ahead.
    pub speculations: u64,
    /// Queries for a suggestion.
    pub suggestions: u64,
    /// Suggestions that were shown: of several in one answer, those that the user came to.
    pub shown: u64,
    /// How many of these were taken.
    pub taken: u64,
    /// How many of these because the user typed a prompt that asks for the same.
    pub typed: u64,
    /// How many because they typed a prompt that asks for the same and for more.
    pub extended: u64,
    /// How often the policy prevented a query or a run, by the code of its reason.
    pub held: BTreeMap<String, u64>,
    /// What became of the prompts that ran ahead; one that waits for a decision is not counted.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Tokens of background work: speculations and queries for a suggestion.
    #[serde(flatten)]
    pub tokens: Usage,
    /// The part of these that was spent for speculations that the user did not take, and for queries.
    pub wasted_tokens: u64,
    /// What background work cost.
    pub money: Bill,
    /// The part of this that was spent for nothing.
    pub wasted_money: Bill,
    /// What was spent for nothing, in input tokens of the conversation's model, including dropped requests.
    pub lost: f64,
    /// What the user's own turns cost in the same measure, including the speculations that replaced some of them.
    pub own: f64,
    /// Requests of background work that were dropped half-way, or for which the server did not say what they cost;
    /// their tokens are in no other figure.
    pub unmeasured: u64,
    /// Bytes staged.
    pub staged_bytes: u64,
    /// Milliseconds of work ahead.
    pub work_ms: u64,
    /// The part of this that commands in views took, in milliseconds.
    #[serde(skip_serializing_if = "is_nothing")]
    pub view_ms: u64,
    /// The processor time of these commands, in milliseconds.
    #[serde(skip_serializing_if = "is_nothing")]
    pub view_cpu_ms: u64,
    /// Milliseconds of work for which the user did not wait.
    pub saved_ms: u64,
    /// Turns that the user waited for.
    pub turns: u64,
    /// Tokens of these turns, and of the speculations that the user took in their place.
    pub own_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_nothing(number: &u64) -> bool {
    *number == 0
}

impl Statistics {
    /// Adds up the entries of a ledger.
    pub fn of(entries: &[Entry], tariff: &Tariff) -> Self {
        let costs = CostMeasure::of(entries, tariff);
        let mut decisions: HashMap<&str, &OutcomeEntry> = HashMap::new();
        for entry in entries {
            if let Entry::Outcome(decision) = entry {
                decisions.insert(&decision.id, decision);
            }
        }
        let mut statistics = Self::default();
        for entry in entries {
            let (work, shares_cache) = match entry {
                Entry::Turn(work) | Entry::Summary(work) => (work, true),
                Entry::Suggestion(suggested) => (&suggested.work, suggested.shares_cache),
                Entry::Speculation(speculated) => (&speculated.work, speculated.shares_cache),
                Entry::LeftOut(_) => continue,
                Entry::Outcome(decision) => {
                    if let Some(held) = &decision.skip_code {
                        *statistics.total.held.entry(held.clone()).or_default() += 1;
                    }
                    continue;
                }
            };
            if let Entry::Suggestion(suggested) = entry {
                statistics.count_shown(suggested, &decisions);
            }
            if !shares_cache {
                statistics.without_shared_cache.insert(work.model.clone());
            }
            let of_model = statistics.by_model.entry(work.model.clone()).or_default();
            let of_day = statistics.by_day.entry(Day::of(work.at)).or_default();
            for figures in [&mut statistics.total, of_model, of_day] {
                figures.add(entry, &decisions, &costs);
            }
        }
        statistics
    }

    fn count_shown(&mut self, suggested: &SuggestionEntry, decisions: &HashMap<&str, &OutcomeEntry>) {
        let (shown, taken) = shown_and_taken(suggested, decisions);
        if shown {
            let of_kind = self.by_kind.entry(suggested.kind).or_default();
            let of_band = self.by_band.entry(Band::of(suggested.chance)).or_default();
            for figures in [of_kind, of_band] {
                figures.shown += 1;
                figures.taken += u64::from(taken);
            }
        }
    }
}

/// Whether a suggestion was shown, and whether it was taken.
fn shown_and_taken(suggested: &SuggestionEntry, decisions: &HashMap<&str, &OutcomeEntry>) -> (bool, bool) {
    if suggested.suppressed.is_some() {
        return (false, false);
    }
    let outcome = decisions.get(suggested.id.as_str()).map(|decision| decision.outcome);
    let shown = match outcome {
        // For a further candidate, only the user's action shows whether they came to it.
        Some(outcome) if suggested.candidate_of.is_some() => outcome.was_seen(),
        None if suggested.candidate_of.is_some() => false,
        outcome => outcome != Some(Outcome::Replaced),
    };
    (shown, outcome.is_some_and(|outcome| outcome.was_wanted() == Some(true)))
}

/// What work costs in input tokens of the conversation's model.
struct CostMeasure<'a> {
    tariff: &'a Tariff,
    question: f64,
}

impl<'a> CostMeasure<'a> {
    #[expect(clippy::cast_precision_loss, reason = "a mean of counts far below 2^52")]
    fn of(entries: &[Entry], tariff: &'a Tariff) -> Self {
        let asked = entries.iter().filter_map(|entry| match entry {
            Entry::Suggestion(suggested) if suggested.work.spent_tokens() != 0 => Some(&suggested.work),
            _ => None,
        });
        let costs: Vec<f64> = asked.map(|work| tariff.cost(work, 0.0)).collect();
        Self { tariff, question: costs.iter().sum::<f64>() / costs.len().max(1) as f64 }
    }

    fn cost_of(&self, work: &WorkCost) -> f64 {
        self.tariff.cost(work, self.question)
    }
}

impl Bill {
    /// The whole amount; `None` if any price is unknown.
    pub fn amount(&self) -> Option<Money> {
        (!self.is_unknown).then_some(self.known)
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { known: self.known.plus(other.known), is_unknown: self.is_unknown || other.is_unknown }
    }

    pub(super) fn add(&mut self, work: &WorkCost) {
        self.known = self.known.plus(work.money.unwrap_or_default());
        let was_free = work.money == Some(Money::ZERO);
        self.is_unknown |= (work.money.is_none() && work.spent_tokens() != 0)
            || (work.tokens.untold_requests != 0 && !was_free);
    }
}

impl Serialize for Bill {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.amount().serialize(serializer)
    }
}

impl Figures {
    fn add(&mut self, entry: &Entry, decisions: &HashMap<&str, &OutcomeEntry>, costs: &CostMeasure<'_>) {
        match entry {
            Entry::Turn(work) => {
                self.turns += 1;
                self.own_tokens = self.own_tokens.saturating_add(work.spent_tokens());
                self.own += costs.cost_of(work);
            }
            Entry::Suggestion(suggested) => {
                let (shown, taken) = shown_and_taken(suggested, decisions);
                self.shown += u64::from(shown);
                self.taken += u64::from(taken);
                let is_held = |code: &&String| SkipReason::is_code(code);
                if let Some(code) = suggested.suppressed.as_ref().filter(is_held) {
                    *self.held.entry(code.clone()).or_default() += 1;
                }
                if suggested.was_asked() {
                    self.suggestions += 1;
                    self.spend(&suggested.work);
                    self.waste(&suggested.work, costs);
                }
            }
            Entry::Speculation(speculated) => {
                self.speculations += 1;
                self.staged_bytes = self.staged_bytes.saturating_add(speculated.staged_bytes);
                self.work_ms = self.work_ms.saturating_add(speculated.work.work_ms);
                self.view_ms = self.view_ms.saturating_add(speculated.view_ms);
                self.view_cpu_ms = self.view_cpu_ms.saturating_add(speculated.view_cpu_ms);
                self.spend(&speculated.work);
                let Some(decision) = decisions.get(speculated.id.as_str()) else { return };
                self.typed += u64::from(decision.taken_by == Some(TakenBy::Typed));
                self.extended += u64::from(decision.taken_by == Some(TakenBy::Extended));
                *self.outcomes.entry(decision.outcome).or_default() += 1;
                if decision.outcome.is_hit() {
                    self.saved_ms = self.saved_ms.saturating_add(decision.saved_ms);
                    self.own_tokens = self.own_tokens.saturating_add(speculated.work.spent_tokens());
                    self.own += costs.cost_of(&speculated.work);
                } else {
                    self.waste(&speculated.work, costs);
                }
            }
            Entry::Summary(work) => {
                self.spend(work);
                self.waste(work, costs);
            }
            Entry::Outcome(_) | Entry::LeftOut(_) => {}
        }
    }

    fn spend(&mut self, work: &WorkCost) {
        let tokens = &mut self.tokens;
        tokens.input_tokens = tokens.input_tokens.saturating_add(work.tokens.input_tokens);
        tokens.cached_input_tokens =
            tokens.cached_input_tokens.saturating_add(work.tokens.cached_input_tokens);
        tokens.output_tokens = tokens.output_tokens.saturating_add(work.tokens.output_tokens);
        self.money.add(work);
        self.unmeasured = self
            .unmeasured
            .saturating_add(u64::from(work.unmeasured))
            .saturating_add(work.tokens.untold_requests);
    }

    fn waste(&mut self, work: &WorkCost, costs: &CostMeasure<'_>) {
        self.wasted_tokens = self.wasted_tokens.saturating_add(work.spent_tokens());
        self.wasted_money.add(work);
        self.lost += costs.cost_of(work);
    }

    /// Speculations that the user took.
    pub fn hits(&self) -> u64 {
        self.count(Outcome::is_hit)
    }

    /// Speculations whose outcome is known.
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

    /// What was spent for nothing, as a fraction of what the user's own turns cost; `None` before the first.
    pub fn lost_share(&self) -> Option<f64> {
        (0.0 < self.own).then(|| self.lost / self.own)
    }

    /// Tokens spent for nothing for each second saved; `None` if nothing was saved.
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
    use headstart_forked_query::Prices;

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
        let contents = read(lines.concat().as_bytes());
        assert!(contents.damaged.is_empty() && !contents.torn, "{contents:?}");
        Statistics::of(&contents.entries, &Tariff::new("m", Prices::default()))
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
            (figures.money.amount(), figures.wasted_money.amount()),
            (None, None),
            "of the query no price is known"
        );
        // Lost are 400 and 10 tokens, and two requests that were dropped; own are the turn, and what was taken.
        assert_eq!((figures.lost, figures.own), (330.0, 1_328.0));
        assert_eq!(figures.lost_share(), Some(330.0 / 1_328.0));
        assert_eq!((figures.turns, figures.own_tokens), (1, 1_307));
        assert_eq!((figures.unmeasured, figures.staged_bytes, figures.work_ms), (2, 20, 8_000));
    }

    #[test]
    fn money_is_the_whole_or_unknown_and_never_a_part() {
        let turn = r#"{"type":"turn","model":"m","inputTokens":1000}"#.to_owned() + "\n";
        let priced = [speculation("a", 0, "m", 100), turn, outcome("a", "ignored", 0)];
        let figures = of(&priced).total;
        assert_eq!(
            (figures.money.amount(), figures.wasted_money.amount()),
            (Money::new(0.5), Money::new(0.5))
        );
        let query = r#"{"type":"suggestion","id":"a","model":"m","inputTokens":10}"#.to_owned() + "\n";
        let figures = of(&[&priced[..], &[query]].concat()).total;
        assert_eq!((figures.money.amount(), figures.wasted_money.amount()), (None, None));
        assert_eq!(serde_json::to_value(&figures).unwrap()["money"], serde_json::Value::Null);
    }

    #[test]
    fn suggestions_are_counted_as_asked_for_shown_and_taken_by_kind() {
        let suggestion = |id: &str, more: &str| {
            format!(r#"{{"type":"suggestion","id":"{id}","kind":"fix","model":"m"{more}}}"#) + "\n"
        };
        let held = r#"{"type":"outcome","id":"a","at":1,"outcome":"ignored","held":"row"}"#.to_owned() + "\n";
        let statistics = of(&[
            suggestion("", r#","suppressed":"backing_off""#),
            suggestion("", r#","suppressed":"unlikely","inputTokens":9"#),
            suggestion("a", r#","inputTokens":1"#),
            suggestion("b", r#","inputTokens":1"#),
            suggestion("c", r#","beside":"b""#),
            suggestion("d", r#","beside":"b""#),
            suggestion("e", r#","inputTokens":1"#),
            held,
            outcome("b", "aborted", 0),
            outcome("c", "accepted", 0),
            outcome("d", "aborted", 0),
            outcome("e", "replaced", 0),
        ]);
        let total = &statistics.total;
        assert_eq!((total.suggestions, total.shown, total.taken), (4, 3, 1));
        let counted = |code: &str| (code.to_owned(), 1);
        assert_eq!(total.held, ["backing_off", "row", "unlikely"].map(counted).into());
        assert_eq!(statistics.by_kind, [(Kind::Fix, ShownFigures { shown: 3, taken: 1 })].into());
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
