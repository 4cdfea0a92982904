//! Shows the items of a conversation as lines from top to bottom.

use std::sync::Arc;
use std::time::{Duration, Instant};

use headstart_agent::{
    AppliedPlace, AppliedWork, CallItem, Draft, EditKind, Item, ItemChange, JudgedCall, Matching,
    NoSuggestion, NotAppliedReason, Phase, Update, View,
};
use headstart_forked_query::ToolCall;
use headstart_machine::conversation::costs::duration_words;
use headstart_machine::conversation::words;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::one_line;
use headstart_overlay_fs::WorkspacePath;
use headstart_speculation::{ApprovalRequest, CallStage, Ending, Limit, Origin};
use headstart_terminal::{Diff, DiffForm, LiveKind, LiveRow, Passage, Style};
use headstart_tool_gate::Reason;

use super::generated::GeneratedFiles;
use super::pager::{SideOutput, SideOutputs};
use super::{Chat, calls, show, staged};

/// The most lines that are shown of an edit when it is made.
const MAX_DIFF_LINES: usize = 30;

/// How much of the conversation is shown.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says of another thing whether it was shown")]
pub(super) struct DisplayProgress {
    /// How many items are above the frame.
    items: usize,
    /// How many bytes are above the frame of the next item, if it is an answer.
    answer: usize,
    /// Whether lines tell that the next item, a call, has begun, and what it did in a view. Only a pipe gets these
    /// lines.
    begun: bool,
    view: bool,
    /// Whether the user has seen, and agreed to, what is written next.
    pub(super) diff: bool,
    /// The id of the call whose changes the user has seen.
    pub(super) judged: Option<String>,
    /// Whether work runs ahead, or has run.
    runs_ahead: bool,
    /// Whether the user has been told once that this work is lost when they type something else.
    drop_was_announced: bool,
    /// What the user was shown last of what turns have staged.
    pub(super) staged: Option<Arc<ApprovalRequest>>,
    /// How much turns have staged now, in words.
    pub(super) staged_counts: Option<(Arc<ApprovalRequest>, String)>,
    /// How many items there were when a turn was taken back.
    pub(super) taken_back: usize,
    /// Whether the user has been told once what becomes of it.
    pub(super) staging_was_explained: bool,
}

impl DisplayProgress {
    /// Marks the first items as shown.
    pub(super) fn skip(&mut self, items: usize) {
        self.items = items;
    }
}

impl Chat {
    /// Shows what is new: first the items, then the question that came after them.
    pub(super) fn on_update(&mut self, update: &Update) -> Result<(), CliError> {
        for event in &update.events {
            self.display.write_event(event)?;
        }
        if update.items.iter().any(|change| matches!(change, ItemChange::Cleared)) {
            self.display.end_answer()?;
            let before = std::mem::take(&mut self.shown);
            self.shown =
                DisplayProgress { items: 0, answer: 0, begun: false, view: false, judged: None, ..before };
            self.running.clear();
            self.side_outputs = SideOutputs::default();
        }
        self.show_items(&update.view)?;
        let runs_ahead = update.view.ahead.is_some();
        match (std::mem::replace(&mut self.shown.runs_ahead, runs_ahead), runs_ahead) {
            (false, true) => self.parts.views.prepare(),
            (true, false) => self.say_dropped(&update.view)?,
            _ => {}
        }
        if update.view.phase == Phase::Turn {
            self.say_rules()?;
        }
        if let Some(draft) = &update.view.draft
            && self.drafted.as_ref() != Some(draft)
        {
            self.on_draft(draft.clone())?;
        }
        self.note_skip_reason(&update.view);
        self.on_question(update.view.question.as_ref())?;
        self.show_staged(&update.view, "Not written yet")
    }

    /// Says once, when the user types another prompt, that the work for the suggestion is lost. Where their words may
    /// take it, it stays until they are sent.
    fn say_dropped(&mut self, view: &View) -> Result<(), CliError> {
        let is_typing = view.phase == Phase::Idle && !self.editor.text().trim().is_empty();
        if !is_typing
            || self.settings.matching != Matching::Off
            || !self.display.has_keys()
            || std::mem::replace(&mut self.shown.drop_was_announced, true)
        {
            return Ok(());
        }
        self.display.say("what ran ahead is dropped: it was for the suggestion", Style::Dim)
    }

    /// Says which of the project's rules the model follows from now on.
    fn say_rules(&mut self) -> Result<(), CliError> {
        self.parts.rules_notices().iter().try_for_each(|notice| self.display.say(notice, Style::Dim))
    }

    /// Puts a draft into the prompt, before what is typed there. A user who stopped a turn decides again about what was
    /// to follow.
    fn on_draft(&mut self, draft: Draft) -> Result<(), CliError> {
        let typed = self.editor.whole_text();
        let typed = Some(&*typed).filter(|text| !text.is_empty());
        let text = [draft.text.as_str()].into_iter().chain(typed).collect::<Vec<_>>().join("\n");
        self.editor.replace(&text);
        self.agent.edited(&text, EditKind::Typed);
        self.drafted = Some(draft);
        self.say_prompt_text()
    }

    /// Announces what is in the prompt to a user who cannot see it.
    pub(super) fn say_prompt_text(&mut self) -> Result<(), CliError> {
        if !self.display.uses_screen_reader() {
            return Ok(());
        }
        let text = one_line(&self.editor.whole_text());
        self.display.say(
            &format!("In the prompt: {text}. Enter alone sends it; another line takes its place."),
            Style::Plain,
        )
    }

    /// Shows the items that are complete and not shown yet, in order, and the finished part of an answer. Items behind
    /// a call that has not ended wait for it.
    pub(super) fn show_items(&mut self, view: &View) -> Result<(), CliError> {
        self.note_running(view);
        while let Some(item) = view.items.get(self.shown.items) {
            if !matches!(**item, Item::Prompt { .. }) {
                self.say_rules()?;
            }
            let done = match &**item {
                Item::Answer { text } => {
                    let is_last = self.shown.items + 1 == view.items.len();
                    let more = text.get(self.shown.answer..).unwrap_or_default().to_owned();
                    if !more.is_empty() {
                        self.display.stream(&more)?;
                        self.shown.answer = text.len();
                    }
                    if is_last {
                        return Ok(());
                    }
                    self.display.end_answer()?;
                    1
                }
                Item::Call(call) if self.display.has_person() => self.show_calls(view, call)?,
                Item::Call(call) => self.tell_call(view, call)?,
                item => {
                    self.show(item)?;
                    1
                }
            };
            if done == 0 {
                return Ok(());
            }
            self.shown.items += done;
            (self.shown.answer, self.shown.begun, self.shown.view) = (0, false, false);
        }
        Ok(())
    }

    fn show(&mut self, item: &Item) -> Result<(), CliError> {
        match item {
            Item::Prompt { text } => {
                self.parts.begin_index();
                self.display.say_prompt(text)?;
            }
            Item::Check(checked) => self.display.say_of_turn(&[show::check_line(checked)])?,
            Item::Applied(applied) => self.show_applied(applied)?,
            Item::NotApplied { id, why, .. } if id.is_empty() => self.show_not_written(why)?,
            Item::NotApplied { why, anew, .. } => self.show_not_taken(why, *anew)?,
            Item::Declined(judged) => {
                self.say_judged(judged)?;
                self.tally.declined += 1;
                let how = self.how_to_allow(judged);
                let why = format!("  declined: there is no terminal to ask on; {how}");
                self.display.say(&why, Style::Removed)?;
            }
            Item::Undone { text } => self.display.say(text, Style::Dim)?,
            Item::NoSuggestion(NoSuggestion::Skipped(hold)) => self.say_skip_reason(*hold)?,
            Item::NoSuggestion(NoSuggestion::Failed(error)) => {
                self.display.say(&format!("no suggestion: {error}"), Style::Dim)?;
            }
            Item::Compacted(compacted) => {
                self.refresh_status();
                self.display.say(&compacted.to_string(), Style::Dim)?;
            }
            Item::Trouble { text } => self.display.say(text, Style::Removed)?,
            Item::End { ending } => self.show_end(ending)?,
            _ => {}
        }
        Ok(())
    }

    /// Shows a call that has ended, together with the reads behind it, and returns how many items these are. Returns 0
    /// as long as the call has not ended, or as long as its result or another read may follow.
    fn show_calls(&mut self, view: &View, call: &CallItem) -> Result<usize, CliError> {
        if !call.stage.is_end() || self.awaits_result(view, call) {
            return Ok(0);
        }
        // The turn that continues with this call shows it.
        if call.stage == CallStage::Boundary {
            return Ok(1);
        }
        let reads = reads_from(view, self.shown.items);
        if reads.is_empty() {
            let written = (call.origin == Origin::Turn).then(|| self.written.take(&call.call)).flatten();
            let diff = written.as_ref().map(|written| self.diff(written));
            let place = self.place_of_change(diff.as_ref())?;
            let detail = written.as_ref().map(calls::change_counts).into_iter().chain(place).collect();
            self.display.say_of_turn(&calls::finished_lines(call, detail, &self.fold_hint()))?;
            if let Some(diff) = &diff {
                self.keep_diff(diff, true);
            }
            let tells_lines = self.settings.screen.diff != DiffForm::Names;
            let is_known = self.shown.judged.as_ref() == Some(&call.call.id);
            if let Some(diff) = diff.filter(|_| !is_known && tells_lines) {
                self.say_written(diff.unnamed())?;
            }
            return Ok(1);
        }
        let next = view.items.get(self.shown.items + reads.len());
        let may_go_on = match next.map(AsRef::as_ref) {
            None => is_at_work(view),
            Some(Item::Call(next)) => calls::is_read(&next.call) && !next.stage.is_end(),
            Some(_) => false,
        };
        if may_go_on {
            return Ok(0);
        }
        self.display.say_of_turn(&[calls::merged_reads_line(&reads)])?;
        Ok(reads.len())
    }

    /// Whether the result of the next call is still to come. The end of a call is reported before its result, and the
    /// rows below its line are part of the result.
    fn awaits_result(&self, view: &View, call: &CallItem) -> bool {
        let has_one = matches!(call.stage, CallStage::Done | CallStage::Errored);
        // If something else follows the calls of an answer, no more results come for them.
        let mut behind = view.items.iter().skip(self.shown.items + 1);
        has_one
            && call.outcome.is_none()
            && is_at_work(view)
            && behind.all(|item| matches!(**item, Item::Call(_)))
    }

    /// Shows a call on a pipe: that it begins, and what its result is. Returns how many items are shown with it.
    fn tell_call(&mut self, view: &View, call: &CallItem) -> Result<usize, CliError> {
        let has_begun = call.stage == CallStage::Calling || call.stage.is_end();
        if has_begun && !std::mem::replace(&mut self.shown.begun, true) {
            self.display.say_of_turn(&[show::call_line(&call.call)])?;
        }
        if let Some(view) = &call.view
            && !std::mem::replace(&mut self.shown.view, true)
        {
            self.display.say_of_turn(&[show::view_line(view)])?;
        }
        if self.awaits_result(view, call) {
            return Ok(0);
        }
        let Some(outcome) = call.outcome.as_ref().filter(|_| call.stage.is_end()) else {
            return Ok(usize::from(call.stage.is_end()));
        };
        // The reason why the call was declined is shown before what the model reads about it.
        let next = view.items.get(self.shown.items + 1).map(AsRef::as_ref);
        let declined = next.filter(|next| matches!(next, Item::Declined(_)));
        if let Some(declined) = declined {
            self.show(declined)?;
        }
        self.display.say_of_turn(&show::outcome_lines(&call.call, outcome))?;
        Ok(1 + usize::from(declined.is_some()))
    }

    /// What is said behind lines that are left out: the key that shows all of them, if there are keys.
    pub(super) fn fold_hint(&self) -> String {
        let key = self.settings.screen.keys.hint("read_all").filter(|_| self.display.has_keys());
        key.map(|key| format!(" ({key})")).unwrap_or_default()
    }

    /// What was written, without the lines of files that the project calls generated. A diff in a question keeps them,
    /// because the project must not hide from the user what would be written.
    fn without_generated(&self, diff: Diff) -> Diff {
        let mut generated = GeneratedFiles::new(|path: &WorkspacePath| self.parts.read(path));
        diff.with_generated(|path| generated.is(path))
    }

    /// Keeps what the current item has changed, so that it can be read with the conversation later. `is_named` says
    /// that the item names the file.
    fn keep_diff(&mut self, written: &Diff, is_named: bool) {
        self.side_outputs.push(SideOutput {
            items: self.shown.items + 1,
            passages: vec![Passage::Diff(written.clone())],
            bytes: written.bytes(),
            is_named,
        });
    }

    /// Shows what was written.
    fn say_written(&mut self, written: Diff) -> Result<(), CliError> {
        let room = MAX_DIFF_LINES.min(self.display.rows() / 2);
        let diff = self.without_generated(written);
        self.display.say_diff(&diff, room, &self.fold_hint())
    }

    /// Where a change of one file is, if the screen is wide enough to show it.
    pub(super) fn place_of_change(&mut self, written: Option<&Diff>) -> Result<Option<String>, CliError> {
        let columns = self.display.columns()?;
        Ok(written.and_then(|diff| diff.place(columns)))
    }

    /// Notes the start of each call that runs.
    fn note_running(&mut self, view: &View) {
        let command = view.ahead.as_ref().and_then(|ahead| ahead.progress.command.as_ref());
        self.ahead_command = command.map(|command| match self.ahead_command.take() {
            Some((id, began)) if id == command.id => (id, began),
            _ => (command.id.clone(), Instant::now()),
        });
        let is_running = |key: usize| matches!(view.items.get(key).map(AsRef::as_ref), Some(Item::Call(call)) if call.stage == CallStage::Calling);
        self.running.retain(|key, _| is_running(*key));
        for key in (self.shown.items..view.items.len()).filter(|key| is_running(*key)) {
            self.running.entry(key).or_insert_with(Instant::now);
        }
    }

    /// The rows of the calls that are not above the frame yet.
    pub(super) fn live_rows(&self, view: &View) -> Vec<LiveRow> {
        let mut rows = Vec::new();
        let mut key = self.shown.items;
        while let Some(item) = view.items.get(key) {
            let reads = reads_from(view, key);
            key += reads.len().max(1);
            match &**item {
                Item::Call(_) if !reads.is_empty() => {
                    let (text, style) = calls::merged_reads_line(&reads);
                    rows.push(LiveRow::new(LiveKind::Call, text, style));
                }
                Item::Call(call) if !call.stage.is_end() && !call.waiting => {
                    let time = self.running.get(&(key - 1)).and_then(|began| self.running_time(*began));
                    rows.extend(calls::running_call_rows(call, time));
                }
                _ => {}
            }
        }
        rows
    }

    /// How long something has run that began then, as it is shown.
    pub(super) fn running_time(&self, began: Instant) -> Option<String> {
        calls::running_time(began.elapsed(), self.settings.screen.animations)
    }

    /// Ends when a running call has run for another second. Never ends if no seconds are shown.
    pub(super) fn next_second(&self) -> impl Future<Output = ()> + use<> {
        let own = self.own_began();
        let ahead = self.ahead_command.as_ref().map(|(_, began)| *began).filter(|_| self.display.has_keys());
        let left = self.running.values().copied().chain(own).chain(ahead).map(|began| {
            let ran = began.elapsed();
            Duration::from_secs(ran.as_secs() + 1).saturating_sub(ran)
        });
        let left = left.min().filter(|_| self.settings.screen.animations);
        async move {
            match left {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Shows a call in full, an edit as its diff, and why it needs consent. Returns whether it was shown as a diff.
    pub(super) fn say_judged(&mut self, judged: &JudgedCall) -> Result<bool, CliError> {
        let changes = judged.changes.as_ref().filter(|_| self.display.has_person());
        match changes {
            Some(changes) => self.say_diff(changes, usize::MAX, "")?,
            None => self.display.say(&show::whole_call(&judged.call), Style::Strong)?,
        }
        self.display.say(&show::reasons(&judged.verdict), Style::Dim)?;
        if let Some(staged) = &judged.staged {
            let text = format!("a yes first writes what is staged: {}", staged::counts(staged));
            self.display.say(&text, Style::Strong)?;
            self.say_staged(staged)?;
        }
        Ok(changes.is_some())
    }

    /// Shows that the work ahead was applied to the user's workspace.
    fn show_applied(&mut self, applied: &AppliedWork) -> Result<(), CliError> {
        let AppliedWork { changes, merged, git, not_kept, stale, saved, ending, .. } = applied;
        if let Some(guess) = &applied.guess {
            let keys = &self.settings.screen.keys;
            let key = keys.hint("undo").filter(|_| self.display.has_keys() && *ending == Ending::Completed);
            let columns = self.display.columns()?;
            self.display.say(&super::tab::matched_row(guess, key.as_deref(), columns), Style::Added)?;
        }
        if applied.place == AppliedPlace::Staged {
            // The question at the end of the turn shows all that is staged.
            let counts = words::counts_with(changes, git.as_deref());
            self.display.say(&format!("staged what ran ahead: {counts}"), Style::Dim)?;
        } else if applied.place == AppliedPlace::WrittenTurns && std::mem::take(&mut self.shown.diff) {
            // The question has shown it.
            self.parts.warm_views();
            self.written.clear();
            let mut text = format!("written: {}", words::counts_with(changes, git.as_deref()));
            if !merged.is_empty() {
                let files = words::counted(merged.len(), "file");
                text = format!("{text}, {files} with what you changed meanwhile");
            }
            self.display.say(&format!("{text} · /undo takes it back"), Style::Added)?;
            return match headstart_machine::output::stale_line(stale.len()) {
                Some(line) => self.display.say(&line, Style::Removed),
                None => Ok(()),
            };
        } else if !changes.is_empty() || git.is_some() {
            self.parts.warm_views();
            let written = self.written.take_all(changes).filter(|_| self.display.has_person());
            let diff = written.map(|written| self.diff(&written));
            let place =
                self.place_of_change(diff.as_ref().filter(|_| changes.len() == 1 && git.is_none()))?;
            let place = place.map(|place| format!("   {place}")).unwrap_or_default();
            let text = words::changes(changes, merged, git.as_deref());
            self.display.say(&format!("{text}{place}"), Style::Added)?;
            if let Some(diff) = &diff {
                self.keep_diff(diff, changes.len() == 1);
            }
            let tells_lines = self.settings.screen.diff != DiffForm::Names;
            if let Some(diff) = diff.filter(|_| !self.shown.diff && tells_lines) {
                self.say_written(if changes.len() == 1 { diff.unnamed() } else { diff })?;
            }
        }
        if let Some(line) = headstart_machine::output::not_kept_line(not_kept) {
            self.display.say(&line, Style::Removed)?;
        }
        if let Some(line) = headstart_machine::output::stale_line(stale.len()) {
            self.display.say(&line, Style::Removed)?;
        }
        if applied.place == AppliedPlace::WrittenTurns && self.display.has_person() {
            self.display.say("written · /undo takes it back", Style::Dim)?;
        }
        if let Some(saved) = saved {
            let is_written = (!changes.is_empty() || git.is_some())
                && applied.place == AppliedPlace::Written
                && self.display.has_person();
            let back = if is_written { " · /undo takes it back" } else { "" };
            let time = match saved.as_secs() {
                0 => "less than a second".to_owned(),
                seconds => duration_words(seconds),
            };
            let text = format!("{time} of this was done ahead{back}");
            self.display.say(&text, Style::Dim)?;
        }
        let why = match ending {
            // The question that follows does not contain what only the run ahead could find out.
            Ending::Boundary { verdict } if is_of_the_run(verdict.reason) => {
                format!("ahead it stopped there: {}", verdict.detail)
            }
            // The question, or the remark about the end of the turn, says the reason.
            Ending::Boundary { .. } | Ending::Completed | Ending::Exhausted { limit: Limit::Output } => {
                return Ok(());
            }
            ending => {
                let why = words::ending(ending).unwrap_or_default();
                format!("the work ahead ended early ({why}); going on from there")
            }
        };
        self.display.say(&why, Style::Dim)
    }

    fn show_not_taken(&mut self, why: &NotAppliedReason, anew: bool) -> Result<(), CliError> {
        let why = match why {
            NotAppliedReason::Conflict(conflicts) => Some(words::conflicts(conflicts)),
            NotAppliedReason::Withdrawn(judged) => {
                Some(format!("{} is not allowed any more: {}", judged.call.name, judged.verdict.detail))
            }
            NotAppliedReason::Discarded => Some("it stopped at a call that needs your consent".to_owned()),
            // The end of the turn has said the reason, and how much was done.
            NotAppliedReason::Failed { .. } => return Ok(()),
            // The end of the turn has said the reason.
            _ => None,
        };
        if let Some(why) = why {
            self.display.say(&why, Style::Removed)?;
        }
        let then = if anew { "; running it anew" } else { "" };
        self.display.say(&format!("nothing of the work ahead was applied{then}"), Style::Dim)
    }

    /// Shows why what turns have staged was not written.
    fn show_not_written(&mut self, reason: &NotAppliedReason) -> Result<(), CliError> {
        let why = match reason {
            NotAppliedReason::Conflict(conflicts) => words::conflicts(conflicts),
            NotAppliedReason::Withdrawn(judged) => {
                format!("{} is not allowed any more: {}", judged.call.name, judged.verdict.detail)
            }
            NotAppliedReason::Failed { error } => error.clone(),
            _ => String::new(),
        };
        self.display.say(&format!("not written: {why}"), Style::Removed)?;
        // An error says itself how much was done.
        let is_known = !matches!(reason, NotAppliedReason::Failed { .. });
        let stays = if is_known { "nothing was changed, and it stays staged" } else { "it stays staged" };
        self.display.say(stays, Style::Dim)
    }

    /// Shows what happened outside the turns, each notice once.
    pub(super) fn say_notices(&mut self) -> Result<(), CliError> {
        self.parts.notices().iter().try_for_each(|notice| self.display.say(notice, Style::Dim))
    }

    fn show_end(&mut self, ending: &Ending) -> Result<(), CliError> {
        if let Some(text) = words::ending(ending) {
            self.display.say(&text, Style::Removed)?;
        }
        self.say_notices()?;
        // A person has seen the ending on the screen; a script reads the exit code.
        if !self.display.has_person() {
            self.exit_status =
                if *ending == Ending::Completed { ExitStatus::Done } else { ExitStatus::Failed };
        }
        self.tally.turns += 1;
        self.refresh_status();
        self.written.clear();
        (self.shown.diff, self.shown.judged) = (false, None);
        Ok(())
    }
}

/// Whether the current phase may bring more items.
fn is_at_work(view: &View) -> bool {
    view.phase != Phase::Idle && view.phase != Phase::Ended
}

/// The finished reads from this item on.
fn reads_from(view: &View, from: usize) -> Vec<&ToolCall> {
    let items = view.items.get(from..).unwrap_or_default().iter();
    let reads = items.map_while(|item| match &**item {
        Item::Call(call) if call.stage == CallStage::Done && calls::is_read(&call.call) => Some(&call.call),
        _ => None,
    });
    reads.collect()
}

/// Whether a call stopped because of what it did, or could not do, where it ran.
fn is_of_the_run(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::NeedsHost | Reason::ChangedMeanwhile | Reason::ProtectedPath | Reason::WritesOutside
    )
}
