//! What a conversation has cost, and what work ahead has achieved in it, in words.

use std::time::Duration;

use headstart_agent::AgentHandle;
use headstart_budget::ledger::Entry;
use headstart_budget::ledger::{Bill, Statistics};
use headstart_forked_query::Money;
use headstart_forked_query::Usage;

/// When suggestions come, if nothing holds them back.
pub const WHEN_SUGGESTED: &str = "a turn is followed by a suggestion, once the model has called a tool or answered twice, and not in plan mode";

/// What work ahead has achieved in a conversation.
pub fn statistics_line(agent: &AgentHandle) -> String {
    let (statistics, is_free) = agent.metering(|metering| {
        let tariff = metering.experience().tariff();
        (Statistics::of(metering.session(), tariff), tariff.is_free())
    });
    line(&statistics, is_free)
}

/// How long the user of a conversation did not have to wait: what `stats` counts, without work that was undone.
pub fn time_saved(agent: &AgentHandle) -> Duration {
    let statistics =
        agent.metering(|metering| Statistics::of(metering.session(), metering.experience().tariff()));
    Duration::from_millis(statistics.total.saved_ms)
}

/// The tokens of all requests since a conversation was begun or resumed: for turns, suggestions, work ahead and
/// summaries.
pub fn tokens(agent: &AgentHandle) -> Usage {
    let of = |entry: &Entry| match entry {
        Entry::Turn(work) | Entry::Summary(work) => work.tokens,
        Entry::Suggestion(suggested) => suggested.work.tokens,
        Entry::Speculation(speculated) => speculated.work.tokens,
        _ => Usage::NOTHING,
    };
    agent.metering(|metering| {
        metering.session().iter().map(of).fold(Usage::NOTHING, |mut sum, tokens| {
            sum += tokens;
            sum
        })
    })
}

/// What work ahead has achieved in this chat.
fn line(statistics: &Statistics, is_free: bool) -> String {
    let total = &statistics.total;
    let mut parts = vec![format!("{} offered", total.shown), format!("{} taken", total.taken)];
    parts.push(format!("{} saved", duration_words(total.saved_ms / 1_000)));
    let has_asked = 0 < total.speculations + total.suggestions;
    if has_asked && is_free && total.money.amount() == Some(Money::ZERO) {
        parts.push("the model costs nothing".to_owned());
    } else if has_asked {
        parts.push(format!(
            "{} spent ahead, {} of it unused",
            cost_words(total.money, is_free),
            cost_words(total.wasted_money, is_free)
        ));
    }
    parts.join(", ")
}

/// What something cost; a dash if no price is known. What costs nothing is called free instead of 0.
pub fn cost_words(bill: Bill, is_free: bool) -> String {
    match bill.amount() {
        None => "–".to_owned(),
        Some(Money::ZERO) if is_free => "free".to_owned(),
        Some(Money::ZERO) => "$0.00".to_owned(),
        Some(money) if money.units() < 0.005 => "<$0.01".to_owned(),
        Some(money) => format!("${:.2}", money.units()),
    }
}

/// A duration such as `41 s` or `4 min 10 s`.
pub fn duration_words(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use headstart_budget::ledger::{Costs, read};
    use headstart_budget::policy::Tariff;
    use headstart_forked_query::Prices;

    use super::*;

    const LINES: [&str; 4] = [
        r#"{"type":"suggestion","id":"a","at":1,"model":"m","inputTokens":24000,"outputTokens":9,"money":0.01}"#,
        r#"{"type":"speculation","id":"a","at":1,"model":"m","inputTokens":50000,"money":0.3}"#,
        r#"{"type":"outcome","id":"a","at":1,"outcome":"accepted","savedMs":41000}"#,
        r#"{"type":"suggestion","id":"b","at":1,"model":"m","inputTokens":100}"#,
    ];

    #[test]
    fn what_is_known_is_told_and_what_is_not_is_a_dash() {
        let tariff = Tariff::new("m", Prices::default());
        let of = |lines: &[&str]| read((lines.join("\n") + "\n").as_bytes()).entries;
        let (known, unknown) = (of(&LINES[..3]), of(&LINES));
        assert_eq!(
            line(&Statistics::of(&known, &tariff), false),
            "1 offered, 1 taken, 41 s saved, $0.31 spent ahead, $0.01 of it unused"
        );
        assert_eq!(
            line(&Statistics::of(&unknown, &tariff), false),
            "2 offered, 1 taken, 41 s saved, – spent ahead, – of it unused"
        );
        assert_eq!(line(&Statistics::default(), true), "0 offered, 0 taken, 0 s saved");
    }

    #[test]
    fn what_nobody_knows_the_price_of_costs_a_dash_and_never_0() {
        let bill = |lines: &str| Costs::of(&read(lines.as_bytes()).entries).total();
        let turn = |money: &str| format!(r#"{{"type":"turn","model":"m","inputTokens":9{money}}}"#) + "\n";
        for (money, is_free, expected) in [
            ("", false, "–"),
            ("", true, "–"),
            (r#","money":0"#, true, "free"),
            (r#","money":0.0001"#, false, "<$0.01"),
            (r#","money":0.084"#, false, "$0.08"),
            (r#","money":12.5"#, false, "$12.50"),
        ] {
            assert_eq!(cost_words(bill(&turn(money)), is_free), expected, "{money}");
        }
    }

    #[test]
    fn times_are_short() {
        assert_eq!([1, 59, 60, 250].map(duration_words), ["1 s", "59 s", "1 min", "4 min 10 s"]);
    }
}
