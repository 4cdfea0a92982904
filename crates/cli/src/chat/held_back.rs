use headstart_budget::policy::{Experience, Mode, Policy, SkipReason};
use headstart_forked_query::Money;

use super::Chat;
use crate::clock;
use crate::error::CliError;
use crate::terminal::Style;

impl Chat {
    /// Says why no suggestion comes, and what to type; silence looks like a defect.
    pub(super) fn say_hold(&mut self, hold: SkipReason) -> Result<(), CliError> {
        let line = self.agent.metering(|metering| line(hold, metering.policy(), metering.experience()));
        self.face.say(&line, Style::Dim)
    }

    /// What is left to work ahead in this session, in words.
    pub(super) fn what_is_left(&self) -> String {
        self.agent.metering(|metering| match metering.room(clock::unix_ms()) {
            Some(room) => format!(
                "this session may lose {} more; of today's starts {:.1} are left",
                amount(metering.experience(), room.left),
                room.day_starts_left
            ),
            None if metering.mode() == Mode::Always => "only the caps limit what it costs".to_owned(),
            None => "the model costs nothing".to_owned(),
        })
    }

    /// The user lets this session lose one more start.
    pub(super) fn grant(&mut self) -> Result<(), CliError> {
        let nothing = if self.agent.grant() { "" } else { "there is nothing to add: " };
        self.face.say(&format!("{nothing}{}", self.what_is_left()), Style::Dim)
    }
}

/// The one line of at most 80 columns in the place of a suggestion.
fn line(hold: SkipReason, policy: &Policy, experience: &Experience) -> String {
    match hold {
        SkipReason::Allowance { day_limits: false, .. } => {
            let session = experience.session();
            let lost = amount(experience, session.lost);
            let (taken, decided) = (session.taken, session.decided);
            format!("work ahead rests: {lost} lost, {taken} of {decided} taken · /background more")
        }
        SkipReason::Allowance { day_limits: true, .. } => {
            let starts = amount(experience, policy.day_starts * experience.start(policy));
            let starts = starts.trim_end_matches(" tokens");
            let share = policy.share * 100.0;
            format!(
                "today's starts are used ({starts}); {share:.0} % of your turns goes on · /background more"
            )
        }
        SkipReason::BackingOff { row, .. } => {
            format!("fewer suggestions: the last {row} were not taken · /background always")
        }
        SkipReason::Battery => "no work ahead on battery power · /background always".to_owned(),
        SkipReason::Load => "no work ahead while this machine is busy · /background always".to_owned(),
        hold => format!("{hold} · /background says how it stands"),
    }
}

/// Money where the price is known, else tokens.
pub(crate) fn amount(experience: &Experience, tokens: f64) -> String {
    experience.tariff().money(tokens).map_or_else(|| counted(tokens), dollars)
}

fn dollars(money: Money) -> String {
    format!("${:.2}", money.units())
}

fn counted(tokens: f64) -> String {
    if tokens < 1_000.0 { format!("{tokens:.0} tokens") } else { format!("{:.0}k tokens", tokens / 1_000.0) }
}

#[cfg(test)]
mod tests {
    use headstart_budget::ledger::Entry;
    use headstart_budget::policy::{Habits, Measure, Scope, Tariff};
    use headstart_forked_query::{Price, Prices};
    use unicode_width::UnicodeWidthStr;

    use super::*;

    /// A session that lost this much, and in which two of nine suggestions were taken.
    fn experience(input: Option<f64>, lost: u64) -> Experience {
        let money = |units| Money::new(units).unwrap();
        let price = |input| ("m".to_owned(), Price::new(money(input), money(input), money(input)));
        let tariff = Tariff::new("m", input.map(price).into_iter().collect::<Prices>());
        let mut experience = Experience::of(tariff, Habits::default(), &[]);
        let mut lines = Vec::new();
        for id in 0..9 {
            let outcome = if id < 2 { "accepted" } else { "ignored" };
            lines.push(format!(r#"{{"type":"suggestion","id":"{id}","at":1,"model":"m"}}"#));
            lines.push(format!(r#"{{"type":"outcome","id":"{id}","at":1,"outcome":"{outcome}"}}"#));
        }
        lines.push(format!(r#"{{"type":"speculation","id":"x","at":1,"model":"m","inputTokens":{lost}}}"#));
        for line in lines {
            let entry: Entry = serde_json::from_str(&line).unwrap();
            experience.observe(&Policy::default(), &entry);
        }
        experience
    }

    #[test]
    fn the_line_says_what_was_lost_and_what_to_type_in_80_columns() {
        let known = experience(Some(5.0), 150_000);
        let unknown = experience(None, 150_000);
        let allowance = |day_limits| SkipReason::Allowance { left: 0.0, costs: 1.0, day_limits };
        let rare = SkipReason::BackingOff { row: 12, left: 1 };
        let cases = [
            (allowance(false), &known, "work ahead rests: $0.75 lost, 2 of 9 taken · /background more"),
            (
                allowance(false),
                &unknown,
                "work ahead rests: 150k tokens lost, 2 of 9 taken · /background more",
            ),
            (rare, &known, "fewer suggestions: the last 12 were not taken · /background always"),
            (
                allowance(true),
                &known,
                "today's starts are used ($2.25); 15 % of your turns goes on · /background more",
            ),
            (
                allowance(true),
                &unknown,
                "today's starts are used (450k); 15 % of your turns goes on · /background more",
            ),
            (
                SkipReason::Cap { scope: Scope::Session, measure: Measure::Tokens },
                &known,
                "the cap of tokens for this session is reached · /background says how it stands",
            ),
        ];
        for (hold, experience, expected) in &cases {
            assert_eq!(line(*hold, &Policy::default(), experience), *expected);
        }
        for hold in cases.map(|(hold, ..)| hold).into_iter().chain([SkipReason::Battery, SkipReason::Load]) {
            for experience in [&known, &unknown] {
                assert!(line(hold, &Policy::default(), experience).width() <= 80, "{hold}");
            }
        }
    }
}
