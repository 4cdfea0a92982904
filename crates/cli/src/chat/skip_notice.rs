use std::collections::BTreeSet;

use headstart_agent::{Phase, View};
use headstart_budget::policy::SkipReason;
use headstart_machine::clock;
use headstart_machine::error::CliError;
use headstart_terminal::Style;

use super::Chat;

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
        let row = line(hold);
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
            Err(hold) if hold.code() == code => Some(line(hold)),
            // The conversation has just begun, or the model had no suggestion.
            _ => None,
        }
    }

    /// What work ahead may still cost today, in words.
    pub(super) fn left_today(&self) -> String {
        self.agent.metering(|metering| match metering.left_today(clock::unix_ms()) {
            Some(left) => {
                let days = 1.0 + f64::from(metering.experience().session().granted);
                let limit = metering.policy().limit.units() * days;
                format!("${left:.2} of today's ${limit:.2} are left for work that you do not take")
            }
            None => "the model costs nothing".to_owned(),
        })
    }

    /// Grants this conversation the limit of a day once more.
    pub(super) fn grant(&mut self) -> Result<(), CliError> {
        self.skip_notice.clear_row();
        let nothing = if self.agent.grant() { "" } else { "there is nothing to add: " };
        self.display.say(&format!("{nothing}{}", self.left_today()), Style::Dim)
    }
}

fn row(why: &str, command: &str) -> String {
    format!("ahead – held back · {why} · {command}")
}

/// The line in the place of a suggestion, of at most 80 columns.
fn line(hold: SkipReason) -> String {
    match hold {
        SkipReason::Limit { limit } => {
            row(&format!("too little left of today's ${limit}"), "/background more")
        }
        SkipReason::BackingOff { row: missed, .. } => {
            row(&format!("the last {missed} were not taken"), "/background always")
        }
        SkipReason::Unfit { answers } => {
            row(&format!("the last {answers} guesses were of no use"), "/background always")
        }
        SkipReason::Battery => row("battery power", "/background always"),
        SkipReason::Load => row("this machine is busy", "/background always"),
        hold => row(&hold.to_string(), "/background"),
    }
}

#[cfg(test)]
mod tests {
    use headstart_budget::policy::Policy;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn the_line_says_why_and_what_to_type_in_80_columns() {
        let limit = SkipReason::Limit { limit: Policy::default().limit };
        let rare = SkipReason::BackingOff { row: 22, left: 1 };
        let cases = [
            (limit, "ahead – held back · too little left of today's $1.00 · /background more"),
            (rare, "ahead – held back · the last 22 were not taken · /background always"),
        ];
        for (hold, expected) in cases {
            assert_eq!(line(hold), expected);
        }
        for hold in [limit, rare, SkipReason::Unfit { answers: 20 }, SkipReason::Battery, SkipReason::Load] {
            assert!(line(hold).width() <= 80, "{hold}");
        }
    }
}
