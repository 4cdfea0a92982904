//! Taking work that ran ahead, from the user's key to files and history.

use std::time::Duration;

use headstart_budget::ledger::Outcome;
use headstart_budget::{RunMeter, outcome_of_acceptance};
use headstart_followup_state::{AcceptMethod, Effect as FollowupEffect, Event as Followup, Suggestion};
use headstart_forked_query::Role;
use headstart_speculation::{
    AcceptAnswers, Acceptance, Accepted, Ending, Event, Limit, Origin, Speculation, Status, Transcript,
};

use super::matching::{MatchedWork, guess_of_other_words};
use super::{Activity, Core, Effect};
use crate::item::{AppliedPlace, AppliedWork, Item, JudgedCall, NotAppliedReason};
use crate::view::ActionError;
use crate::work::WorkAhead;

/// Work that the user has taken and that is not handed over yet.
pub(super) struct PendingAccept {
    /// What the user sent; the guess for which the work ran may have other words.
    pub(super) prompt: String,
    pub(super) speculation: Speculation,
    /// If the work had ended when it was taken, what it told before. This becomes items when the work is applied,
    /// because a question or a conflict may come first.
    pub(super) reported: Vec<Event>,
    /// Whether the work was still running when it was taken, so that what it tells becomes items at once.
    pub(super) is_live: bool,
    pub(super) meter: RunMeter,
    /// What the user has answered about the work so far.
    pub(super) answers: AcceptAnswers,
    /// Whether the user does not want to wait for it: its prompt runs in the foreground.
    pub(super) is_left: bool,
}

impl Core {
    /// Takes the suggestion that the user sees, and the work behind it.
    pub(crate) fn take(&mut self, shown: &str) -> Result<(), ActionError> {
        self.is_open()?;
        // Behind other words in the line the suggestion is not on screen, whatever the front end has drawn.
        let is_seen = |visible: &Suggestion| {
            visible.as_str() == shown
                && (visible.rest_after(&self.line).is_some() || visible.is_same_as(&self.line))
        };
        if !self.suggesting.controller.visible().is_some_and(is_seen) {
            return Err(ActionError::Stale);
        }
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        let offered = self.suggesting.controller.offered().cloned();
        let effects = self.suggesting.controller.handle(self.now.ms, Followup::accept(AcceptMethod::Tab));
        let is_taken = effects.iter().any(|effect| matches!(effect, FollowupEffect::Insert { .. }));
        self.apply_followup_effects(effects, offered.as_ref(), Outcome::Aborted);
        if !is_taken {
            return Err(ActionError::TooEarly);
        }
        self.line.clear();
        let offer = offered.and_then(|offered| self.take_offer(&offered, shown));
        self.send_with(shown, offer);
        Ok(())
    }

    /// Takes one of the guesses, which its user has chosen from a list of them.
    pub(crate) fn take_guess(&mut self, guess: &str) -> Result<(), ActionError> {
        self.is_open()?;
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        let candidates = self.candidates().cloned().ok_or(ActionError::Stale)?;
        let chosen = candidates.position(guess).ok_or(ActionError::Stale)?;
        self.line.clear();
        self.suggesting.passed = None;
        let offer = self.take_offer_at(&candidates, chosen);
        self.send_with(guess, offer);
        Ok(())
    }

    /// Accepts the work that ran ahead; it may still be running.
    pub(super) fn take_work(&mut self, prompt: String, work: WorkAhead) {
        let is_live = work.finished.is_none();
        let joined = work.is_running();
        let WorkAhead { speculation, mut reported, mut meter, .. } = work;
        meter.joined = joined;
        self.log.close_call();
        self.log.begin_run();
        if is_live {
            for event in reported.drain(..) {
                self.record_event(event, Origin::Ahead);
            }
        }
        self.accept(PendingAccept {
            prompt,
            speculation,
            reported,
            is_live,
            meter,
            answers: AcceptAnswers::default(),
            is_left: false,
        });
    }

    pub(super) fn accept(&mut self, accept: PendingAccept) {
        let (work, answers) = (accept.speculation.clone(), accept.answers.clone());
        self.keep_accepting();
        self.effects.push_back(Effect::Accept { work, answers });
        self.activity = Activity::Accepting(Box::new(accept));
    }

    /// Gives up the work that the user has taken and that still runs. Its prompt runs in the foreground.
    pub(crate) fn run_here(&mut self) -> Result<(), ActionError> {
        self.is_open()?;
        match &mut self.activity {
            Activity::Accepting(accept)
                if accept.speculation.status() == Status::Running && !self.interrupted =>
            {
                accept.is_left = true;
                self.effects.push_back(Effect::Abort(accept.speculation.clone()));
                Ok(())
            }
            _ => Err(ActionError::Stale),
        }
    }

    pub(super) fn pending_accept(&mut self) -> Option<&mut PendingAccept> {
        match &mut self.activity {
            Activity::Accepting(accept) | Activity::AwaitingAnswer(accept) => Some(accept),
            _ => None,
        }
    }

    /// The id of the work that is being taken.
    pub(super) fn pending_accept_id(&self) -> Option<&str> {
        match &self.activity {
            Activity::Opening { work: Some(work), .. } => Some(work.speculation.id()),
            Activity::Accepting(accept) | Activity::AwaitingAnswer(accept) => Some(accept.speculation.id()),
            _ => None,
        }
    }

    pub(super) fn accepted(&mut self, accepted: Result<Acceptance, String>) {
        let Activity::Accepting(accept) = std::mem::take(&mut self.activity) else { return };
        let mut accept = *accept;
        let given_up = self.interrupted;
        let accepted = match accepted {
            Ok(Acceptance::NeedsApproval(asks)) if !given_up && self.options.attended => {
                return self.ask_about_changes(accept, asks);
            }
            Ok(Acceptance::Conflict(conflicts)) if !given_up && self.options.attended => {
                return self.ask_about_conflicts(accept, conflicts);
            }
            // Nobody is there to be asked what is kept besides, so nothing is.
            Ok(Acceptance::NeedsApproval(asks))
                if !given_up && asks.changes().is_empty() && asks.git().is_none() =>
            {
                let answers = asks.approve();
                return self.accept(PendingAccept { answers, ..accept });
            }
            accepted => accepted,
        };
        let (outcome, saved_ms) = ledger_outcome(&accept, &accepted);
        self.close_pending_accept(&mut accept, outcome, saved_ms);
        match accepted {
            Ok(Acceptance::Accepted(accepted)) => self.hand_over(accept, accepted),
            _ if given_up => {
                accept.is_left = false;
                self.end_unapplied(accept, NotAppliedReason::Interrupted);
            }
            Ok(Acceptance::Nothing) if accept.is_left => {
                self.end_unapplied(accept, NotAppliedReason::Interrupted);
            }
            Ok(Acceptance::Conflict(conflicts)) => {
                self.end_unapplied(accept, NotAppliedReason::Conflict(conflicts));
            }
            Ok(Acceptance::Withdrawn { call, verdict }) => {
                self.end_unapplied(
                    accept,
                    NotAppliedReason::Withdrawn(Box::new(JudgedCall {
                        call,
                        verdict,
                        changes: None,
                        staged: None,
                    })),
                );
            }
            Ok(Acceptance::Discarded) => self.end_unapplied(accept, NotAppliedReason::Discarded),
            // Nothing was done ahead, so the prompt runs as if it had been typed.
            Ok(_) => {
                let prompt = self.release_pending_accept(accept);
                self.open(&prompt, None);
            }
            Err(error) => self.end_unapplied(accept, NotAppliedReason::Failed { error }),
        }
    }

    /// Handles work of which nothing was applied. Its prompt was sent, so it is answered: it runs anew, unless the user
    /// has stopped it or the next write would fail the same way.
    pub(super) fn end_unapplied(&mut self, accept: PendingAccept, why: NotAppliedReason) {
        let ending = match &why {
            NotAppliedReason::Interrupted if !accept.is_left => Some(Ending::Aborted),
            NotAppliedReason::Failed { error } => Some(Ending::failed("accept", error)),
            _ => None,
        };
        let id = accept.speculation.id().to_owned();
        // Changes that are not in the workspace can still be looked at.
        self.keep_changes(&accept.speculation);
        let prompt = self.release_pending_accept(accept);
        let Some(ending) = ending else {
            self.log.push(Item::NotApplied { id, why, anew: true });
            return self.open(&prompt, None);
        };
        let transcript = Transcript::new(&prompt);
        self.end(prompt, transcript, ending);
        self.log.push(Item::NotApplied { id, why, anew: false });
    }

    /// Drops the work, tells the ledger what became of it, and returns its prompt.
    pub(super) fn drop_pending_accept(&mut self, mut accept: PendingAccept, outcome: Outcome) -> String {
        self.close_pending_accept(&mut accept, outcome, 0);
        self.release_pending_accept(accept)
    }

    /// Drops work whose outcome the ledger knows already. Returns its prompt.
    fn release_pending_accept(&mut self, accept: PendingAccept) -> String {
        self.conversation.retract_announcement();
        self.effects.push_back(Effect::Abort(accept.speculation));
        accept.prompt
    }

    pub(super) fn close_pending_accept(
        &mut self,
        accept: &mut PendingAccept,
        outcome: Outcome,
        saved_ms: u64,
    ) {
        let (meter, speculation) = (&mut accept.meter, &accept.speculation);
        self.options.metering.record_run_outcome(self.now.unix_ms, meter, speculation, outcome, saved_ms);
    }

    /// Makes the work ahead part of the conversation; if it had stopped early, a turn goes on from there.
    fn hand_over(&mut self, accept: PendingAccept, accepted: Accepted) {
        let PendingAccept { prompt, speculation, reported, meter, .. } = accept;
        for event in without_pending(reported) {
            self.record_event(event, Origin::Ahead);
        }
        let note = accepted.note();
        // Work that stopped at its first call has saved hardly anything.
        let has_saved = 1 < accepted.transcript.messages.len();
        let Accepted { changes, merged, git, not_kept, changed_since_view, .. } = accepted;
        let Accepted { mut transcript, ending, time_saved_ms, .. } = accepted;
        transcript.reword(speculation.note(), speculation.prompt(), &prompt);
        let guess = guess_of_other_words(&speculation, &prompt);
        let has_changes = !changes.is_empty() || git.is_some();
        self.suggesting.matched = guess
            .as_ref()
            .filter(|_| ending == Ending::Completed)
            .map(|_| MatchedWork { id: speculation.id().to_owned(), prompt: prompt.clone(), has_changes });
        self.keep_changes(&speculation);
        self.note_work_of_turn(speculation.id());
        self.log.push(Item::Applied(Box::new(AppliedWork {
            id: speculation.id().to_owned(),
            undone: Vec::new(),
            changes,
            merged,
            git,
            not_kept,
            stale: changed_since_view,
            saved: has_saved.then(|| Duration::from_millis(time_saved_ms)),
            guess,
            ending: ending.clone(),
            place: if self.staged.is_dirty() { AppliedPlace::Staged } else { AppliedPlace::Written },
        })));
        self.staged.refresh();
        if let Some(note) = note {
            self.conversation.add_note(&note);
        }
        match ending {
            Ending::Completed => {
                if self.queue.is_empty() && !self.interrupted && !self.is_over {
                    self.end(prompt, transcript, Ending::Completed);
                    self.await_next(speculation, meter);
                } else {
                    self.drop_next(speculation, meter);
                    self.end(prompt, transcript, Ending::Completed);
                }
            }
            // This would end a turn in the foreground as well, so the user decides whether to go on.
            ending if ending == (Ending::Exhausted { limit: Limit::Output }) || has_answered(&transcript) => {
                self.end(prompt, transcript, ending);
            }
            _ => self.begin(prompt, transcript),
        }
    }
}

/// Whether the model had the last word, and nothing is left to do.
fn has_answered(transcript: &Transcript) -> bool {
    let last = transcript.messages.last();
    last.is_some_and(|message| message.role == Role::Model) && transcript.pending_call().is_none()
}

/// What the work told, without the call that has no result: the turn that goes on with the call tells it again.
fn without_pending(mut events: Vec<Event>) -> Vec<Event> {
    let last =
        events.iter().rposition(|event| matches!(event, Event::ToolCall { .. } | Event::ToolResult { .. }));
    if let Some(last) = last
        && matches!(events[last], Event::ToolCall { .. })
    {
        events.remove(last);
    }
    events
}

/// The outcome and the saved time that the ledger is told after an accept.
fn ledger_outcome(accept: &PendingAccept, accepted: &Result<Acceptance, String>) -> (Outcome, u64) {
    match accepted {
        Ok(_) if accept.speculation.status() == Status::Aborted => (Outcome::Aborted, 0),
        Ok(acceptance) => match outcome_of_acceptance(acceptance) {
            (Outcome::Accepted, saved_ms) if accept.meter.joined => (Outcome::Joined, saved_ms),
            other => other,
        },
        Err(_) => (Outcome::Failed, 0),
    }
}
