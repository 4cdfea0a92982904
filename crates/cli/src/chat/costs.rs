//! `/cost` and `/stats`: what the conversation has cost, and what work ahead was good for.

use std::fmt::Write as _;

use headstart_budget::ledger::{Costs, PurposeCost};
use headstart_machine::conversation::costs::{cost_words, statistics_line};
use headstart_machine::error::CliError;
use headstart_terminal::Style;

use super::Chat;
use super::status::short_count;

impl Chat {
    pub(super) fn say_costs(&mut self) -> Result<(), CliError> {
        let (costs, is_free) = self
            .agent
            .metering(|metering| (Costs::of(metering.session()), metering.experience().tariff().is_free()));
        let mut text = table(&costs, is_free);
        if self.has_forgotten() {
            let cost = self.cost_of_conversation().unwrap_or_else(|| "nothing".to_owned());
            let _ = write!(text, "\n{:<12} {cost:>48}", "since /clear");
        }
        let text = format!("{text}\n{}", self.left_today());
        self.display.say(&text, Style::Plain)
    }

    pub(super) fn say_statistics(&mut self) -> Result<(), CliError> {
        self.display.say(&statistics_line(&self.agent), Style::Plain)
    }
}

/// A row for each kind of request.
fn table(costs: &Costs, is_free: bool) -> String {
    let row = |name: &str, part: &PurposeCost| {
        let tokens = &part.tokens;
        let cached = match tokens.cached_input_tokens {
            0 => String::new(),
            cached => format!(" ({} cached)", short_count(cached)),
        };
        let read = format!("{} in{cached}", short_count(tokens.input_tokens));
        let money = match part.count {
            0 => "",
            _ => &cost_words(part.money, is_free),
        };
        let text = format!(
            "{name:<12} {:>4}  {read:<22} {:>6} out  {money:>7}",
            part.count,
            short_count(tokens.output_tokens)
        );
        text.trim_end().to_owned()
    };
    let mut text = [
        row("own turns", &costs.turns),
        row("suggestions", &costs.suggestions),
        row("work ahead", &costs.ahead),
    ]
    .join("\n");
    if *costs != Costs::default() {
        let _ = write!(text, "\n{:<12} {:>48}", "together", cost_words(costs.total(), is_free));
    }
    text
}

#[cfg(test)]
mod tests {
    use headstart_budget::ledger::read;

    use super::*;

    const LINES: [&str; 5] = [
        r#"{"type":"turn","at":1,"model":"m","inputTokens":24000,"cachedInputTokens":18000,"outputTokens":900,"money":0.08}"#,
        r#"{"type":"suggestion","id":"a","at":1,"model":"m","inputTokens":24000,"outputTokens":9,"money":0.01}"#,
        r#"{"type":"speculation","id":"a","at":1,"model":"m","inputTokens":50000,"money":0.3}"#,
        r#"{"type":"outcome","id":"a","at":1,"outcome":"accepted","savedMs":41000}"#,
        r#"{"type":"suggestion","id":"b","at":1,"model":"m","inputTokens":100}"#,
    ];

    #[test]
    fn what_is_known_is_told_and_what_is_not_is_a_dash() {
        let of = |lines: &[&str]| read((lines.join("\n") + "\n").as_bytes()).entries;
        let (known, unknown) = (of(&LINES[..4]), of(&LINES));
        let expected = "\
own turns       1  24k in (18k cached)       900 out    $0.08
suggestions     1  24k in                      9 out    $0.01
work ahead      1  50k in                      0 out    $0.30
together                                                $0.39";
        assert_eq!(table(&Costs::of(&known), false), expected);
        assert!(table(&Costs::of(&unknown), false).ends_with("–"), "{}", table(&Costs::of(&unknown), false));
        let none = table(&Costs::default(), false);
        assert!(!none.contains('$') && !none.contains("together"), "{none}");
    }
}
