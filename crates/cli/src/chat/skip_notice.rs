use std::collections::BTreeSet;

use headstart_agent::{Phase, View};
use headstart_budget::policy::{Experience, Mode, Policy, SkipReason};

use super::Chat;
use crate::clock;
use crate::conversation::costs::amount;
use crate::error::CliError;
use crate::terminal::Style;

/// Why nothing is suggested, in the row of the work ahead. Each reason is shown once, and later only if the user asks
/// for it.
#[derive(Debug, Default)]
pub(super) struct SkipNotice {
    shown: BTreeSet<String>,
    /// The current reason, and its row if it has one.
    current: Option<(String, Option<String>)>,
}

impl SkipNotice {
    pub(super) fn row(&self) -> Option<String> {
        self.current.as_ref().and_then(|(_, row)| row.clone())
    }

    /// Removes the row, because the user has sent the next prompt or changed what held suggestions back.
    pub(super) fn clear_row(&mut self) {
        if let Some((_, row)) = &mut self.current {
            *row = None;
        }
    }
}

impl Chat {
    /// Says why no suggestion comes, and what to type, if there is no row that shows it. Silence would look like a
    /// defect.
    pub(super) fn say_skip_reason(&mut self, hold: SkipReason) -> Result<(), CliError> {
        if self.display.has_keys() {
            return Ok(());
        }
        let row = self.row_of(hold);
        self.display.say(&row, Style::Dim)
    }

    /// Notes why there is no suggestion.
    pub(super) fn note_skip_reason(&mut self, view: &View) {
        let is_idle = view.phase == Phase::Idle && !view.is_asking && view.suggestion.is_none();
        let code = view.unsuggested.as_deref().filter(|_| is_idle && self.display.has_keys());
        let known = self.skip_notice.current.as_ref().map(|(known, _)| known.as_str());
        // The row stays as it was first shown, although its numbers may have changed since.
        if code == known {
            return;
        }
        let Some(code) = code.map(str::to_owned) else {
            self.skip_notice.current = None;
            return;
        };
        let is_new = self.skip_notice.shown.insert(code.clone());
        let row = if is_new { self.skip_notice_row(&code) } else { None };
        self.skip_notice.current = Some((code, row));
    }

    fn skip_notice_row(&self, code: &str) -> Option<String> {
        match self.agent.may_suggest() {
            _ if code == "plan_mode" => Some(row("plan mode", "/mode changes it")),
            Err(hold) if hold.code() == code => Some(self.row_of(hold)),
            // The conversation has just begun, or the model had no suggestion.
            _ => None,
        }
    }

    fn row_of(&self, hold: SkipReason) -> String {
        self.agent.metering(|metering| line(hold, metering.policy(), metering.experience()))
    }

    /// What work ahead may still use in this session, in words.
    pub(super) fn remaining_allowance(&self) -> String {
        self.agent.metering(|metering| match metering.remaining_budget(clock::unix_ms()) {
            Some(room) => format!(
                "this session may lose {} more, and all of today's together {:.1} times what one may",
                amount(metering.experience(), room.left),
                room.day_starts_left
            ),
            None if metering.mode() == Mode::Always => "only the caps limit what it costs".to_owned(),
            None => "the model costs nothing".to_owned(),
        })
    }

    /// Allows this session one more start.
    pub(super) fn grant_one_start(&mut self) -> Result<(), CliError> {
        self.skip_notice.clear_row();
        let nothing = if self.agent.grant() { "" } else { "there is nothing to add: " };
        self.display.say(&format!("{nothing}{}", self.remaining_allowance()), Style::Dim)
    }
}

fn row(why: &str, command: &str) -> String {
    format!("ahead – held back · {why} · {command}")
}

/// The line in the place of a suggestion, of at most 80 columns.
fn line(hold: SkipReason, policy: &Policy, experience: &Experience) -> String {
    match hold {
        SkipReason::Allowance { day_limits: false, .. } => {
            let session = experience.session();
            let lost = amount(experience, session.lost);
            let (taken, decided) = (session.taken, session.decided);
            row(&format!("{lost} lost, {taken} of {decided} taken"), "/background more")
        }
        SkipReason::Allowance { day_limits: true, .. } => {
            let starts = amount(experience, policy.day_starts * experience.start(policy));
            let starts = starts.trim_end_matches(" tokens");
            let share = policy.share * 100.0;
            row(&format!("today's {starts} are used, {share:.0} % goes on"), "/background more")
        }
        SkipReason::BackingOff { row: missed, .. } => {
            row(&format!("the last {missed} were not taken"), "/background always")
        }
        SkipReason::Battery => row("battery power", "/background always"),
        SkipReason::Load => row("this machine is busy", "/background always"),
        hold => row(&hold.to_string(), "/background"),
    }
}

#[cfg(test)]
mod tests {
    use headstart_budget::ledger::Entry;
    use headstart_budget::policy::{Habits, Measure, Scope, Tariff};
    use headstart_forked_query::{Money, Price, Prices};
    use unicode_width::UnicodeWidthStr;

    use super::*;

    /// A session that has lost this much, with two accepted suggestions of nine.
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
            (allowance(false), &known, "ahead – held back · $0.75 lost, 2 of 9 taken · /background more"),
            (
                allowance(false),
                &unknown,
                "ahead – held back · 150k tokens lost, 2 of 9 taken · /background more",
            ),
            (rare, &known, "ahead – held back · the last 12 were not taken · /background always"),
            (
                allowance(true),
                &known,
                "ahead – held back · today's $2.25 are used, 15 % goes on · /background more",
            ),
            (
                allowance(true),
                &unknown,
                "ahead – held back · today's 450k are used, 15 % goes on · /background more",
            ),
            (
                SkipReason::Cap { scope: Scope::Session, measure: Measure::Tokens },
                &known,
                "ahead – held back · the cap of tokens for this session is reached · /background",
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
