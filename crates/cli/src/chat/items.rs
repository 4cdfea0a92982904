//! What a conversation tells, in lines from top to bottom.

use std::sync::Arc;

use headstart_agent::{
    Applied, CallItem, Draft, Edit, Item, ItemChange, JudgedCall, NoSuggestion, NotTaken, Phase, Update,
};
use headstart_speculation::{Ending, Host, Limit};
use headstart_tool_gate::Reason;

use super::{Chat, edits, show};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::terminal::{Diff, Style};

/// So many lines of an edit are shown at most when it is made.
const MOST_DIFF_LINES: usize = 30;

/// How much is shown of the last call and of what runs ahead.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says of another thing whether it was shown")]
pub(super) struct Shown {
    /// The key of its item.
    call: usize,
    view: bool,
    outcome: bool,
    /// Whether the user has seen, and agreed to, what is written next.
    pub(super) diff: bool,
    /// Whether work runs ahead, or has run.
    runs_ahead: bool,
}

impl Chat {
    /// Shows what is new: first what was told, then the question that came after it.
    pub(super) fn on_update(&mut self, update: Update) -> Result<(), CliError> {
        for event in &update.events {
            self.face.write_event(event)?;
        }
        for change in update.items {
            if matches!(&change, ItemChange::Added { .. }) {
                self.face.end_answer()?;
            }
            if !matches!(&change, ItemChange::Added { item, .. } if matches!(**item, Item::Prompt { .. })) {
                self.say_rules()?;
            }
            match change {
                ItemChange::Added { key, item } => self.show(key, &item, true)?,
                ItemChange::Changed { key, item } => self.show(key, &item, false)?,
                ItemChange::Appended { text, .. } => self.face.stream(&text)?,
                _ => {}
            }
        }
        let runs_ahead = update.view.ahead.is_some();
        if !std::mem::replace(&mut self.shown.runs_ahead, runs_ahead) && runs_ahead {
            self.parts.views.prepare();
        }
        if update.view.phase == Phase::Turn {
            self.say_rules()?;
        }
        if let Some(draft) = &update.view.draft
            && self.drafted.as_ref() != Some(draft)
        {
            self.on_draft(draft.clone());
        }
        self.on_question(update.view.question.as_ref())
    }

    /// Says which of the project's rules the model goes by from here on.
    fn say_rules(&mut self) -> Result<(), CliError> {
        self.parts.rules_notices().iter().try_for_each(|notice| self.face.say(notice, Style::Dim))
    }

    /// Whoever stopped a turn decides anew about what was to follow: it is in the prompt again, before what is typed there.
    fn on_draft(&mut self, draft: Draft) {
        let typed = Some(self.editor.text()).filter(|text| !text.is_empty());
        let text = [draft.text.as_str()].into_iter().chain(typed).collect::<Vec<_>>().join("\n");
        self.editor.replace(&text);
        self.agent.edited(&text, Edit::Typed);
        self.drafted = Some(draft);
    }

    pub(super) fn show(&mut self, key: usize, item: &Arc<Item>, is_new: bool) -> Result<(), CliError> {
        match &**item {
            Item::Prompt { text } => {
                self.parts.begin_index();
                if self.face.is_terminal() {
                    self.face.say(&format!("\n> {text}"), Style::Strong)?;
                }
            }
            Item::Answer { text } => self.face.stream(text)?,
            Item::Call(call) => {
                if is_new {
                    self.shown = Shown { call: key, view: false, outcome: false, ..self.shown };
                    self.face.say_of_turn(&[show::call_line(&call.call)])?;
                }
                self.show_call(key, call)?;
            }
            Item::Check(checked) => self.face.say_of_turn(&[show::check_line(checked)])?,
            Item::Applied(applied) => self.show_applied(applied)?,
            Item::NotTaken { why, anew } => self.show_not_taken(why, *anew)?,
            Item::Declined(judged) => {
                self.say_judged(judged)?;
                let why = "  declined: there is no terminal to ask on; --mode says what may run";
                self.face.say(why, Style::Removed)?;
            }
            Item::Undone { text } => self.face.say(text, Style::Dim)?,
            Item::NoSuggestion(NoSuggestion::Held(hold)) => self.say_hold(*hold)?,
            Item::NoSuggestion(NoSuggestion::Failed(error)) => {
                self.face.say(&format!("no suggestion: {error}"), Style::Dim)?;
            }
            Item::Compacted(compacted) => self.face.say(&compacted.to_string(), Style::Dim)?,
            Item::Trouble { text } => self.face.say(text, Style::Removed)?,
            Item::End { ending } => self.show_end(ending)?,
            _ => {}
        }
        Ok(())
    }

    /// Shows what has come of a call and is not shown yet.
    fn show_call(&mut self, key: usize, item: &CallItem) -> Result<(), CliError> {
        if self.shown.call != key {
            return Ok(());
        }
        if let Some(view) = &item.view
            && !std::mem::replace(&mut self.shown.view, true)
        {
            self.face.say_of_turn(&[show::view_line(view)])?;
        }
        if let Some(outcome) = &item.outcome
            && !std::mem::replace(&mut self.shown.outcome, true)
        {
            self.face.say_of_turn(&show::outcome_lines(&item.call.name, outcome))?;
            let written = self.written.take(&item.call);
            if let Some(written) = written.filter(|_| self.face.is_terminal() && !self.shown.diff) {
                let room = MOST_DIFF_LINES.min(self.face.rows() / 2);
                self.face.say_diff(&Diff::parse(&written.diff()).unnamed(), room, "")?;
            }
        }
        Ok(())
    }

    /// A call in full, an edit as what it changes, and why it needs consent. Tells whether it was shown as that.
    pub(super) fn say_judged(&mut self, judged: &JudgedCall) -> Result<bool, CliError> {
        let workspace = Arc::clone(&self.parts.engine.workspace);
        let changes = edits::preview(&judged.call, workspace, &self.parts.host.gate_context());
        let changes = changes.filter(|_| self.face.is_terminal());
        match &changes {
            Some(changes) => self.say_diff(changes, usize::MAX, "")?,
            None => self.face.say(&show::whole_call(&judged.call), Style::Strong)?,
        }
        self.face.say(&format!("  {}", judged.verdict.detail), Style::Dim)?;
        Ok(changes.is_some())
    }

    /// The work ahead is the user's now.
    fn show_applied(&mut self, applied: &Applied) -> Result<(), CliError> {
        let Applied { changes, merged, git, stale, saved, ending, .. } = applied;
        if !changes.is_empty() || git.is_some() {
            self.parts.warm_views();
            self.face.say(&show::changes(changes, merged, git.as_deref()), Style::Added)?;
        }
        if let Some(line) = crate::output::stale_line(stale.len()) {
            self.face.say(&line, Style::Removed)?;
        }
        if let Some(saved) = saved {
            self.tally.ahead += *saved;
            self.face.say(&format!("{:.1} s of this was done ahead", saved.as_secs_f64()), Style::Dim)?;
        }
        let why = match ending {
            // What only the run ahead could find out, the question that follows does not say.
            Ending::Boundary { verdict } if is_of_the_run(verdict.reason) => {
                format!("ahead it stopped there: {}", verdict.detail)
            }
            // That question, or what is told of the end of the turn, says it.
            Ending::Boundary { .. } | Ending::Completed | Ending::Exhausted { limit: Limit::Output } => {
                return Ok(());
            }
            ending => {
                let why = show::ending(ending).unwrap_or_default();
                format!("the work ahead ended early ({why}); going on from there")
            }
        };
        self.face.say(&why, Style::Dim)
    }

    fn show_not_taken(&mut self, why: &NotTaken, anew: bool) -> Result<(), CliError> {
        let why = match why {
            NotTaken::Conflict(conflicts) => Some(show::conflicts(conflicts)),
            NotTaken::Withdrawn(judged) => {
                Some(format!("{} is not allowed any more: {}", judged.call.name, judged.verdict.detail))
            }
            NotTaken::Discarded => Some("it stopped at a call that needs your consent".to_owned()),
            // The end of the turn has said it.
            _ => None,
        };
        if let Some(why) = why {
            self.face.say(&why, Style::Removed)?;
        }
        let then = if anew { "; running it anew" } else { "" };
        self.face.say(&format!("nothing of the work ahead was applied{then}"), Style::Dim)
    }

    fn show_end(&mut self, ending: &Ending) -> Result<(), CliError> {
        if let Some(text) = show::ending(ending) {
            self.face.say(&text, Style::Removed)?;
        }
        for notice in self.parts.index_notices() {
            self.face.say(&notice, Style::Dim)?;
        }
        // Somebody who reads the screen has seen it; a script goes by the exit code.
        if !self.face.is_terminal() {
            self.last = if *ending == Ending::Completed { ExitStatus::Done } else { ExitStatus::Failed };
        }
        self.tally.turns += 1;
        self.written.clear();
        self.shown.diff = false;
        Ok(())
    }
}

/// Whether a call stopped for what it did, or could not do, where it ran.
fn is_of_the_run(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::NeedsHost | Reason::ChangedMeanwhile | Reason::ProtectedPath | Reason::WritesOutside
    )
}
