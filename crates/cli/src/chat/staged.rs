//! What turns have staged: one question above the prompt, which stays a prompt.

use std::sync::Arc;

use headstart_agent::{Item, Phase, View};
use headstart_speculation::ApprovalRequest;

use super::Chat;
use super::command::SlashCommand;
use super::question::changes_nothing;
use headstart_machine::conversation::words;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{not_kept_offer, one_line};
use headstart_terminal::{DiffForm, LiveKind, LiveRow, Style};

/// How many files a question names.
const MOST_NAMED: usize = 12;
/// Of how many files a question shows the diff, as far as there is room.
const MOST_COMPARED: usize = 500;
/// The rows that the question itself and the prompt take.
const ROWS_BESIDE_THE_DIFF: usize = 7;
/// The least rows of a diff that are shown, however low the terminal is.
const MIN_DIFF_ROWS: usize = 6;

/// What the user says to the question, as a whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StagedAnswer {
    Write,
    Keep,
    Diff,
    Drop,
}

/// In a terminal with fewer columns the row of what is staged has its keys in short.
const NARROW: usize = 64;

impl StagedAnswer {
    /// The answer that a line is. Any other line is a prompt, also `yes` and `no`, which may answer what the model asked.
    fn of(line: &str, asks: &ApprovalRequest) -> Option<Self> {
        match line.to_ascii_lowercase().as_str() {
            "y" if !changes_nothing(asks) => Some(Self::Write),
            "k" if asks.can_keep() => Some(Self::Keep),
            "d" if !changes_nothing(asks) || asks.can_keep() => Some(Self::Diff),
            "n" => Some(Self::Drop),
            _ => None,
        }
    }
}

/// A line that is no prompt, though it is typed as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slip {
    /// The letter of an answer where nothing is asked.
    Letter,
    /// The word with which people leave a shell.
    Exit,
}

impl Slip {
    /// What a line is, unless it may answer what the model has said last.
    fn of(line: &str, said: &str) -> Option<Self> {
        let asks = said.contains(['?', '？', '؟', '\u{37e}']);
        let names =
            said.split(|sign: char| !sign.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case(line));
        match line.to_ascii_lowercase().as_str() {
            "y" | "n" | "d" | "k" if !asks && !names => Some(Self::Letter),
            "exit" | "quit" if !asks => Some(Self::Exit),
            _ => None,
        }
    }
}

impl Chat {
    /// What a line is that a person has typed and that is not for the model.
    pub(super) fn slip(&self, line: &str) -> Option<Slip> {
        if !self.display.has_person() {
            return None;
        }
        let view = self.agent.view();
        // What was asked in a turn that was taken back waits for no answer.
        let since = view.items.get(self.shown.taken_back..).unwrap_or(&view.items).iter();
        let said = since.rev().find_map(|item| match &**item {
            Item::Answer { text } => Some(text.as_str()),
            _ => None,
        });
        Slip::of(line.trim(), said.unwrap_or_default())
    }

    pub(super) fn on_slip(&mut self, slip: Slip, line: &str) -> Result<(), CliError> {
        if slip == Slip::Exit {
            return self.on_command(&SlashCommand::Quit);
        }
        let view = self.agent.view();
        let why = match (&view.unwritten, view.phase) {
            (_, Phase::Opening | Phase::Turn) => {
                "a turn is running; what it stages is asked about when it ends"
            }
            (Some(_), _) => "it is none of the answers in the row above the prompt",
            (None, _) => "nothing is staged or asked",
        };
        let text = format!("{line} answers nothing now, so it was not sent: {why}");
        self.display.say(&text, Style::Dim)
    }

    /// What can be answered now.
    fn asks_of_staged(&self, view: &View) -> Option<Arc<ApprovalRequest>> {
        let is_open = view.phase == Phase::Idle && self.question.is_none();
        view.unwritten.clone().filter(|_| is_open)
    }

    /// Whether turns have staged something: then a question about changes is about that, and not about work ahead.
    pub(super) fn has_staged(&self) -> bool {
        self.agent.view().unwritten.as_ref().is_some_and(|asks| !changes_nothing(asks))
    }

    /// Whether this line answers the question about what is staged.
    pub(super) fn answer_to_staged(&self, line: &str) -> Option<StagedAnswer> {
        StagedAnswer::of(line.trim(), &*self.asks_of_staged(&self.agent.view())?)
    }

    pub(super) fn on_answer_to_staged(&mut self, answer: StagedAnswer) -> Result<(), CliError> {
        let view = self.agent.view();
        let Some(asks) = self.asks_of_staged(&view) else {
            let text = match view.phase {
                Phase::Idle => "nothing is staged",
                _ => "a turn is running; what it stages is asked about when it ends",
            };
            return self.display.say(text, Style::Dim);
        };
        match answer {
            StagedAnswer::Write | StagedAnswer::Keep => {
                // The question has shown what is written.
                self.shown.diff = true;
                let _ = self.agent.write_staged(answer == StagedAnswer::Keep);
                Ok(())
            }
            StagedAnswer::Diff => self.show_asked(&asks),
            StagedAnswer::Drop => {
                if self.agent.drop_staged().is_ok() {
                    let counts = counts(&asks);
                    let text = format!("dropped: {counts}; the model is told with your next prompt");
                    self.display.say(&text, Style::Dim)?;
                }
                Ok(())
            }
        }
    }

    /// Shows what is staged once a turn has ended, each time that it is something else.
    pub(super) fn show_staged(&mut self, view: &View, title: &str) -> Result<(), CliError> {
        // The row above the prompt says how much it is, also while something goes on.
        self.shown.staged_counts = view.unwritten.as_ref().map(|asks| {
            let known = self.shown.staged_counts.take().filter(|(of, _)| Arc::ptr_eq(of, asks));
            known.unwrap_or_else(|| (Arc::clone(asks), counts(asks)))
        });
        if view.phase != Phase::Idle || self.question.is_some() {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.shown.staged, view.unwritten.clone());
        // Most often it is the very same, and comparing thousands of files would take time.
        let is_shown = |asks: &Arc<ApprovalRequest>| {
            before.as_ref().is_some_and(|before| Arc::ptr_eq(before, asks) || before == asks)
        };
        let Some(asks) = view.unwritten.clone().filter(|asks| !is_shown(asks)) else { return Ok(()) };
        if changes_nothing(&asks) || !self.display.has_person() {
            return Ok(());
        }
        self.display.end_answer()?;
        self.display.say(&format!("{title}: {}", counts(&asks)), Style::Strong)?;
        self.say_staged(&asks)?;
        if !std::mem::replace(&mut self.shown.staging_was_explained, true) {
            let text = "nothing is written before you say y; a prompt goes on over what is staged";
            self.display.say(text, Style::Dim)?;
        }
        match self.staged_row(view).filter(|_| !self.display.has_keys()) {
            Some(row) => self.display.say(&row.text, Style::Plain),
            None => Ok(()),
        }
    }

    /// The files, hunks as far as they fit, and what did not end well.
    pub(super) fn say_staged(&mut self, asks: &ApprovalRequest) -> Result<(), CliError> {
        let summary = asks.changes().summary();
        let (named, more) = summary.split_at(summary.len().min(MOST_NAMED));
        if !named.is_empty() || asks.git().is_some() {
            self.display.say(&words::changes(named, &[], asks.git()), Style::Plain)?;
        }
        if !more.is_empty() {
            let text = format!("and {}: d shows all", words::counted(more.len(), "more file"));
            self.display.say(&text, Style::Plain)?;
        }
        // Of thousands of files the list says enough, and to compare them all would take long.
        if self.settings.screen.diff != DiffForm::Names && summary.len() <= MOST_COMPARED {
            let beside = ROWS_BESIDE_THE_DIFF + named.len() + asks.failures().len();
            let room = self.display.rows().saturating_sub(beside).max(MIN_DIFF_ROWS);
            let is_one = summary.len() == 1;
            let diff = self.diff(asks.changes());
            self.display.say_diff(&if is_one { diff.unnamed() } else { diff }, room, ": d shows all")?;
        }
        for failure in asks.failures() {
            self.display.say(&format!("failed: {}", one_line(failure)), Style::Removed)?;
        }
        if let Some(line) = not_kept_offer(asks.not_kept(), asks.can_keep().then_some("k keeps them")) {
            self.display.say(&line, Style::Removed)?;
        }
        Ok(())
    }

    /// The row above the prompt.
    pub(super) fn staged_row(&self, view: &View) -> Option<LiveRow> {
        let asks = view.unwritten.as_ref()?;
        let is_narrow = self.display.width() < NARROW;
        let keys = if self.asks_of_staged(view).is_none() {
            ""
        } else if changes_nothing(asks) {
            if is_narrow { "k/d Enter · " } else { " · k keeps it, d shows it; then Enter" }
        } else if asks.can_keep() {
            if is_narrow {
                "y/k/d/n Enter · "
            } else {
                " · y writes, k with what is not kept, d shows, n drops; then Enter"
            }
        } else if is_narrow {
            "y/d/n Enter · "
        } else {
            " · y writes, d shows, n drops; then Enter"
        };
        // In a narrow terminal the end of the row is cut off, so the keys come first.
        let (first, last) = if is_narrow { (keys, "") } else { ("", keys) };
        let text = match not_kept_offer(asks.not_kept(), None) {
            Some(line) if changes_nothing(asks) => format!("{first}{line}{last}"),
            _ => {
                let known = self.shown.staged_counts.as_ref().filter(|(of, _)| Arc::ptr_eq(of, asks));
                let counts = known.map_or_else(|| counts(asks), |(_, counts)| counts.clone());
                format!("{first}staged: {counts}{last}")
            }
        };
        Some(LiveRow::new(LiveKind::Queued, text, Style::Strong))
    }

    /// What is staged and would be lost to a user who does not know of it, when the chat ends.
    pub(super) fn say_unwritten(&mut self) -> Result<(), CliError> {
        let view = self.agent.view();
        let Some(asks) = view.unwritten.as_ref().filter(|asks| !changes_nothing(asks)) else {
            return Ok(());
        };
        if view.phase == Phase::Writing {
            let text =
                "the chat ended while this was being written; headstart chat --continue says what is not";
            return self.display.say(&format!("{}: {text}", counts(asks)), Style::Removed);
        }
        let how = match self.parts.host.unwritten_id() {
            _ if self.opening.leaves_nothing => "it goes with the sample project".to_owned(),
            Some(id) => format!("headstart accept {id} writes it, headstart abort {id} drops it"),
            None => "it could not be kept".to_owned(),
        };
        if !self.display.has_person() && self.exit_status == ExitStatus::Done {
            self.exit_status = ExitStatus::Boundary;
        }
        self.display.say(&format!("not written: {}; {how}", counts(asks)), Style::Removed)
    }
}

/// How much is staged: `3 files +40 -12, 1 commit on main`.
pub(super) fn counts(asks: &ApprovalRequest) -> String {
    words::counts_with(&asks.changes().summary(), asks.git())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_no_prompt_unless_the_model_asked_for_one() {
        let done = "Done. It is in src/a.rs now.";
        for line in ["y", "n", "N", "d", "k"] {
            assert_eq!(Slip::of(line, done), Some(Slip::Letter), "{line}");
            assert_eq!(Slip::of(line, ""), Some(Slip::Letter), "{line}");
            for asked in ["Shall I go on?", "続けますか？", "Answer with y, n, d or k."] {
                assert_eq!(Slip::of(line, asked), None, "{line}: {asked}");
            }
        }
        for line in ["exit", "quit"] {
            assert_eq!(Slip::of(line, done), Some(Slip::Exit));
            assert_eq!(Slip::of(line, "It ended with exit code 1, so I quit."), Some(Slip::Exit));
            assert_eq!(Slip::of(line, "Do you want to exit or to quit?"), None);
        }
        for line in ["yes", "no", "a", "exit now", "nn", ""] {
            assert_eq!(Slip::of(line, done), None, "{line}");
        }
    }
}
