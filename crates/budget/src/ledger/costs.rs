use headstart_forked_query::Usage;

use super::{Bill, Entry, WorkCost};

/// What requests cost, by what they were for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Turns that the user asked for.
    pub turns: PurposeCost,
    /// Queries for suggestions.
    pub suggestions: PurposeCost,
    /// Prompts that ran ahead, taken or not, and summaries that were written ahead.
    pub ahead: PurposeCost,
}

/// What the requests for one purpose cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurposeCost {
    /// How many turns, queries or prompts.
    pub count: u64,
    /// Their tokens.
    pub tokens: Usage,
    /// What that cost.
    pub money: Bill,
}

impl Costs {
    /// Adds up entries.
    pub fn of(entries: &[Entry]) -> Self {
        let mut costs = Self::default();
        for entry in entries {
            match entry {
                Entry::Turn(work) => costs.turns.add(work),
                Entry::Suggestion(suggested) if suggested.was_asked() => {
                    costs.suggestions.add(&suggested.work);
                }
                Entry::Speculation(speculated) => costs.ahead.add(&speculated.work),
                Entry::Summary(work) => costs.ahead.add(work),
                _ => {}
            }
        }
        costs
    }

    /// The cost of everything.
    pub fn total(&self) -> Bill {
        self.turns.money.and(self.suggestions.money).and(self.ahead.money)
    }
}

impl PurposeCost {
    fn add(&mut self, work: &WorkCost) {
        self.count += 1;
        self.tokens.input_tokens = self.tokens.input_tokens.saturating_add(work.tokens.input_tokens);
        self.tokens.cached_input_tokens =
            self.tokens.cached_input_tokens.saturating_add(work.tokens.cached_input_tokens);
        self.tokens.output_tokens = self.tokens.output_tokens.saturating_add(work.tokens.output_tokens);
        self.money.add(work);
    }
}

#[cfg(test)]
mod tests {
    use headstart_forked_query::Money;

    use super::*;
    use crate::ledger::read;

    #[test]
    fn what_was_spent_is_told_by_what_it_was_for_and_never_in_part() {
        let lines = [
            r#"{"type":"turn","model":"m","inputTokens":1000,"cachedInputTokens":400,"outputTokens":7,"money":0.5}"#,
            r#"{"type":"turn","model":"m","inputTokens":10,"money":0.25}"#,
            r#"{"type":"suggestion","id":"a","model":"m","inputTokens":30,"money":0.125}"#,
            r#"{"type":"suggestion","id":"","model":"m","suppressed":"backing_off"}"#,
            r#"{"type":"speculation","id":"a","at":1,"model":"m","inputTokens":5,"money":1}"#,
            r#"{"type":"outcome","id":"a","at":1,"outcome":"accepted"}"#,
        ];
        let of = |lines: &[&str]| Costs::of(&read((lines.join("\n") + "\n").as_bytes()).entries);
        let costs = of(&lines);
        assert_eq!((costs.turns.count, costs.suggestions.count, costs.ahead.count), (2, 1, 1));
        assert_eq!(costs.turns.tokens.input_tokens, 1_010);
        assert_eq!(costs.turns.tokens.cached_input_tokens, 400);
        assert_eq!(costs.total().amount(), Money::new(1.875));
        // The price of one request is unknown.
        let unpriced = r#"{"type":"speculation","id":"b","at":1,"model":"n","inputTokens":5}"#;
        let costs = of(&[&lines[..], &[unpriced]].concat());
        assert_eq!((costs.turns.money.amount(), costs.ahead.money.amount()), (Money::new(0.75), None));
        assert_eq!(costs.total().amount(), None);
    }
}
