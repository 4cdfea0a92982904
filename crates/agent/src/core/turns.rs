//! From a prompt to the end of its turn.

use std::time::Duration;

use headstart_budget::ledger::Outcome;
use headstart_forked_query::{Role, ToolCall, ToolOutcome};
use headstart_speculation::{Attachments, Cost, Ending, Limits, Origin, Transcript, UndoReport};
use headstart_tool_gate::Declaration;
use headstart_toolbox::PARTIAL_OUTPUT_BYTES;

use super::suggestions::Offer;
use super::{Activity, Core, Effect};
use crate::AfterDecline;
use crate::item::Item;
use crate::view::Draft;
use crate::work::WorkAhead;

/// What the model reads as the result of a call that its user declined and with which the turn ended.
const DECLINED: &str = "the user declined this call";

/// The most answers of the model in one turn.
const TURN_ANSWERS: u32 = 200;

/// What the model reads of a call that did not begin before its turn ended.
const NOT_RUN: &str = "[not run: the turn ended before it]";
/// What became of the changes of a call that was cut.
const ALL_STAYS: &str = "what it did until then stays";
const NOTHING_STAYS: &str = "nothing of what it did is kept";
/// The most bytes of a character.
const CHARACTER_BYTES: usize = 4;

/// What the model reads of a call that ran when its turn ended. Of a command, only the end of a longer output is known.
fn interrupted(
    call: &ToolCall,
    printed: Option<&str>,
    ran: Duration,
    (ending, what): (&Ending, &str),
) -> ToolOutcome {
    let who = if *ending == Ending::Aborted { "interrupted by the user" } else { "broken off" };
    let after = match ran.as_secs() {
        0 => "after less than 1 s".to_owned(),
        seconds => format!("after {seconds} s"),
    };
    // What a command printed in a view is only told once it was compared with what is closed.
    let is_dropped = what == NOTHING_STAYS && printed.is_some();
    let Some(printed) = printed.filter(|_| !is_dropped) else {
        let nothing = match Declaration::is_shell(&call.name) {
            true if is_dropped => "; what it had printed is dropped",
            true => "; it had printed nothing",
            false => "",
        };
        return ToolOutcome::Error(format!("[{who} {after}{nothing}; {what}]"));
    };
    let is_whole = printed.len() + CHARACTER_BYTES <= PARTIAL_OUTPUT_BYTES;
    let before = if is_whole { "" } else { "[… what it printed before is left out …]\n" };
    let printed = printed.trim_end();
    ToolOutcome::Output(format!("{before}{printed}\n[{who} {after}; {what}]").into())
}

impl Core {
    /// Runs a prompt: the work ahead for it is taken, or a turn begins. All other suggestions are dropped.
    pub(super) fn send(&mut self, prompt: &str) {
        let taken = self.take_matching_offer(prompt);
        self.send_with(prompt, taken);
    }

    /// Runs a prompt; `taken` is the suggestion that it was.
    pub(super) fn send_with(&mut self, prompt: &str, taken: Option<Offer>) {
        self.session_file.sent_at = self.now.unix_ms;
        self.suggesting.matched = None;
        self.log.push(Item::Prompt { text: prompt.to_owned() });
        self.keep_prompt(prompt);
        self.begin_turn(prompt);
        let outcome = self.outcome_if_left();
        self.leave_suggestion(outcome);
        let work = taken.and_then(|offer| {
            if offer.work.is_none() {
                self.options.metering.record_decision(self.now.unix_ms, &offer.id, Outcome::Accepted);
            }
            offer.work
        });
        self.open(prompt, work);
    }

    /// Looks for what the user has undone, because the model has to know it before the prompt.
    pub(super) fn open(&mut self, prompt: &str, work: Option<WorkAhead>) {
        self.offer_tools();
        self.announce_tools();
        let runs = work.is_none().then(|| (prompt.to_owned(), Box::new(self.conversation.params().clone())));
        self.activity = Activity::Opening { prompt: prompt.to_owned(), work: work.map(Box::new) };
        self.effects.push_back(Effect::Open { prompt: runs });
        self.effects.push_back(Effect::ReadHabits);
    }

    pub(super) fn opened(&mut self, undo_report: UndoReport, attachments: Result<Attachments, String>) {
        let Activity::Opening { prompt, work } = std::mem::take(&mut self.activity) else { return };
        if self.interrupted {
            if let Some(work) = work {
                self.give_up(*work, Outcome::Aborted);
            }
            let transcript = Transcript::new(&prompt);
            return self.end(prompt, transcript, Ending::Aborted);
        }
        match work {
            // The work ran ahead with other news of what its user has undone or redone, so it assumed other files.
            Some(work) if work.speculation.note() != self.conversation.preface(&undo_report) => {
                self.give_up(*work, Outcome::Aborted);
                return self.open(&prompt, None);
            }
            Some(work) => {
                self.mark_undone(undo_report.clone());
                self.conversation.announce(undo_report);
                self.show_undone();
                return self.take_work(prompt, *work);
            }
            None => {}
        }
        let attachments = match attachments {
            Ok(attachments) => attachments,
            Err(problem) => {
                let transcript = Transcript::new(&prompt);
                return self.end(prompt, transcript, Ending::failed("prompt", problem));
            }
        };
        self.mark_undone(undo_report.clone());
        let left_out = self.conversation.left_out();
        self.options.metering.record_left_out(self.now.unix_ms, false, left_out);
        let transcript = self.conversation.open(&prompt, &attachments, undo_report);
        self.show_undone();
        self.begin(prompt, transcript);
    }

    /// Shows the user, once for each prompt, what the model is told that they have undone.
    fn show_undone(&mut self) {
        let text = self.conversation.announced().user_message();
        let of_prompt =
            self.log.items().iter().rev().take_while(|item| !matches!(***item, Item::Prompt { .. }));
        let is_shown = of_prompt
            .into_iter()
            .any(|item| matches!(&**item, Item::Undone { text: shown } if *shown == text));
        if !text.is_empty() && !is_shown {
            self.log.push(Item::Undone { text });
        }
    }

    /// Begins a turn in the foreground, once the conversation is short enough for it.
    pub(super) fn begin(&mut self, prompt: String, transcript: Transcript) {
        self.log.begin_run();
        if transcript.pending_call().is_none() {
            self.log.close_call();
        }
        self.compact_if_needed(prompt, transcript);
    }

    /// Runs a turn, or its next part.
    pub(super) fn run_turn(&mut self, prompt: String, transcript: Transcript) {
        // The conversation grows now, so the summary would not cover all of it any more.
        self.drop_summary_ahead();
        self.activity = Activity::Turn { prompt };
        self.keep_transcript(&transcript);
        let (request, limits) = (Box::new(self.conversation.request()), self.foreground_limits());
        let kept = self.session_file.said;
        let earlier = self.compaction.done_in_turn().to_vec();
        self.effects.push_back(Effect::StartTurn { request, earlier, transcript, kept, limits });
    }

    pub(super) fn turn_ended(&mut self, mut ending: Ending, mut transcript: Transcript, cost: &Cost) {
        let Activity::Turn { prompt } = &mut self.activity else { return };
        let prompt = std::mem::take(prompt);
        if let (Ending::Boundary { .. }, AfterDecline::Stop) = (&ending, self.options.after_decline) {
            // The user declined the call, and the turn ends with it; the model is told with the next prompt.
            if let Some(id) = transcript.pending_call().map(|call| call.id.clone()) {
                transcript.resolve(&id, ToolOutcome::Error(DECLINED.to_owned()));
            }
            ending = Ending::Aborted;
        }
        self.options.metering.record_turn(self.now.unix_ms, cost, ending == Ending::Aborted);
        self.compaction.count_answers(cost.turns);
        let Some((mut transcript, ending)) = self.continue_compacted(&prompt, transcript, ending) else {
            return;
        };
        self.answer_pending_calls(&mut transcript, &ending);
        if self.writes_at_end() {
            return self.write_then_end(prompt, transcript, ending);
        }
        self.conclude_turn(prompt, transcript, ending);
    }

    /// Ends a turn, and asks what may come next.
    pub(super) fn conclude_turn(&mut self, prompt: String, transcript: Transcript, ending: Ending) {
        let asks = ending == Ending::Completed && self.queue.is_empty();
        self.staged.refresh();
        self.end(prompt, transcript, ending);
        if asks && !self.is_over {
            self.ask_for_suggestion();
        }
    }

    /// Gives each call that has no result when its turn ends one that says what became of it, because what a call did
    /// stays, and the model must not take it for undone. A turn of which nothing was done is left as it is: its prompt
    /// goes back into the line.
    fn answer_pending_calls(&mut self, transcript: &mut Transcript, ending: &Ending) {
        self.log.set_source(self.now.ms, Origin::Turn);
        let pending: Vec<_> = transcript.pending_calls().cloned().collect();
        let is_answered = transcript.messages.iter().any(|message| message.role == Role::Model);
        let has_begun = |call: &ToolCall| self.log.running_for(&call.id).is_some();
        if !is_answered && transcript.ready.is_empty() && !pending.iter().any(has_begun) {
            return;
        }
        for call in pending {
            let Some(ran) = self.log.running_for(&call.id) else {
                transcript.resolve(&call.id, ToolOutcome::Error(NOT_RUN.to_owned()));
                continue;
            };
            let printed = self.log.printed_by(&call.id);
            let what = if self.staged.has_cut(&call.id) { NOTHING_STAYS } else { ALL_STAYS };
            let outcome = interrupted(&call, printed, ran, (ending, what));
            if matches!(outcome, ToolOutcome::Output(_)) {
                self.log.interrupt_call(&call.id, outcome.clone());
            }
            transcript.resolve(&call.id, outcome);
        }
    }

    /// Ends a turn, wherever it stopped: what was done is part of the conversation from now on. If the turn was
    /// completed, the next prompt of the queue runs; if not, the queue goes back into the line, because the user has to
    /// decide anew.
    pub(super) fn end(&mut self, prompt: String, transcript: Transcript, ending: Ending) {
        let was_absorbed = self.compaction.end_turn();
        let is_answered =
            was_absorbed || transcript.messages.iter().any(|message| message.role == Role::Model);
        self.pending_question = None;
        self.activity = Activity::Idle;
        self.keep_turn_end(&transcript, is_answered);
        if is_answered {
            self.clear_undo_report();
        }
        self.conversation.conclude(transcript, &ending);
        self.keep_note();
        let is_completed = ending == Ending::Completed;
        self.record_end(ending);
        let was_interrupted = std::mem::take(&mut self.interrupted);
        if self.is_over {
            return;
        }
        if is_completed && !was_interrupted {
            self.ask_for_title();
            self.send_queued();
            if !self.is_busy() {
                self.prepare_summary();
            }
            return;
        }
        if !is_answered {
            // The prompt got no answer, so it can be sent again unchanged.
            self.queue.push_front(prompt);
        }
        self.return_queue_to_draft();
    }

    /// Runs the next prompt of the queue.
    pub(super) fn send_queued(&mut self) {
        if let Some(next) = self.queue.pop_front() {
            self.send(&next);
        }
    }

    /// Puts the prompts of the queue back into the line.
    pub(super) fn return_queue_to_draft(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        let prompts: Vec<_> = self.queue.drain(..).collect();
        self.draft = Some(Draft { revision: self.revision, text: prompts.join("\n") });
    }

    /// The limits of a foreground turn. The user is at the keyboard and can stop it, so no budget does; these limits
    /// only end a model that runs in circles.
    fn foreground_limits(&self) -> Limits {
        Limits {
            turns: TURN_ANSWERS.saturating_sub(self.compaction.answers_in_turn()),
            messages: 1_000,
            tokens: u64::MAX,
            time: Duration::from_secs(24 * 60 * 60),
            window: Some(self.compaction.limit()),
            ..self.engine.limits
        }
    }
}
