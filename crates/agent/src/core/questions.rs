//! What the user is asked.

use std::sync::Arc;

use headstart_budget::ledger::Outcome;
use headstart_overlay_fs::{Conflict, ConflictKind};
use headstart_speculation::{ApprovalRequest, CallPreview, Consent, Transcript};
use headstart_tool_gate::SessionRule;

use super::accept::PendingAccept;
use super::{Activity, ConsentRequest, Core, Effect};
use crate::AfterDecline;
use crate::item::{Item, JudgedCall, NotAppliedReason};
use crate::view::{ActionError, Question, QuestionId, Subject, UserAnswer};

/// A question that waits for its answer.
pub(super) struct PendingQuestion {
    id: QuestionId,
    about: Arc<Subject>,
    /// The number with which the turn waits, if the question is about a call.
    ask: Option<u64>,
    /// What would be allowed if the user says yes for the rest of the conversation.
    always: Option<SessionRule>,
}

impl PendingQuestion {
    pub(super) fn view(&self) -> Question {
        Question { id: self.id, about: Arc::clone(&self.about), always: self.always.clone() }
    }
}

impl Core {
    /// Asks the user about a call of the turn that needs consent.
    pub(super) fn consent_requested(&mut self, asked: ConsentRequest) {
        let ConsentRequest { ask, call, verdict, prepared, always } = asked;
        let declines = Effect::Reply { ask, consent: Consent::Decline };
        if !matches!(self.activity, Activity::Turn { .. }) || self.interrupted || self.is_over {
            return self.effects.push_back(declines);
        }
        let CallPreview { changes, staged, .. } = prepared;
        let judged = JudgedCall { call, verdict, changes, staged: staged.map(Box::new) };
        if !self.options.attended {
            self.log.push(Item::Declined(Box::new(judged)));
            return self.effects.push_back(declines);
        }
        self.ask(Some(ask), Subject::Call(judged), always);
    }

    pub(super) fn ask_about_changes(&mut self, accept: PendingAccept, asks: ApprovalRequest) {
        self.ask(None, Subject::Changes(asks), None);
        self.activity = Activity::AwaitingAnswer(Box::new(accept));
    }

    pub(super) fn ask_about_conflicts(&mut self, accept: PendingAccept, conflicts: Vec<Conflict>) {
        let work = &accept.speculation;
        let about = if conflicts.iter().any(is_about_git) {
            Subject::Commits { work: work.id().to_owned(), conflicts, git: work.git() }
        } else {
            Subject::Conflicts {
                conflicts,
                changes: work.changes(),
                tokens: Some(work.cost().spent_tokens()),
            }
        };
        self.ask(None, about, None);
        self.activity = Activity::AwaitingAnswer(Box::new(accept));
    }

    pub(super) fn ask(&mut self, ask: Option<u64>, about: Subject, always: Option<SessionRule>) {
        let id = QuestionId(self.next_number());
        self.pending_question = Some(PendingQuestion { id, about: Arc::new(about), ask, always });
    }

    /// Takes the user's answer. An answer that does not fit the question is refused, and the question stays.
    pub(crate) fn answer(&mut self, question: QuestionId, answer: UserAnswer) -> Result<(), ActionError> {
        let Some(pending_question) =
            self.pending_question.take_if(|pending_question| pending_question.id == question)
        else {
            return Err(ActionError::Stale);
        };
        let answer = match (answer, &pending_question.always) {
            (UserAnswer::Always, Some(rule)) => {
                self.session_rules.add(rule);
                UserAnswer::Yes
            }
            (answer, _) => answer,
        };
        match (&*pending_question.about, answer) {
            (Subject::Call(_), answer @ (UserAnswer::Yes | UserAnswer::No | UserAnswer::NoBecause(_))) => {
                let consent = match answer {
                    UserAnswer::Yes => Consent::Run,
                    UserAnswer::NoBecause(why) => Consent::DeclineBecause(why),
                    UserAnswer::No if self.options.after_decline == AfterDecline::Stop => Consent::Stop,
                    _ => Consent::Decline,
                };
                if let Some(ask) = pending_question.ask {
                    self.effects.push_back(Effect::Reply { ask, consent });
                }
            }
            (Subject::Changes(asks), answer @ (UserAnswer::Yes | UserAnswer::Keep)) => {
                if let Some(accept) = self.take_questioned_accept() {
                    let keeps = answer == UserAnswer::Keep;
                    let answers = if keeps { asks.approve_and_keep() } else { asks.approve() };
                    self.accept(PendingAccept { answers, ..accept });
                }
            }
            (Subject::Conflicts { .. }, UserAnswer::Choices(choices)) => {
                if let Activity::AwaitingChoices(write) = &self.activity {
                    let answers = write.answers.clone().with_choices(choices);
                    self.write_again(answers);
                } else if let Some(accept) = self.take_questioned_accept() {
                    let answers = accept.answers.clone().with_choices(choices);
                    self.accept(PendingAccept { answers, ..accept });
                }
            }
            (Subject::Conflicts { conflicts, .. } | Subject::Commits { conflicts, .. }, UserAnswer::Anew)
                if matches!(self.activity, Activity::AwaitingAnswer(_)) =>
            {
                if let Some(mut accept) = self.take_questioned_accept() {
                    self.close_pending_accept(&mut accept, Outcome::Conflict, 0);
                    self.end_unapplied(accept, NotAppliedReason::Conflict(conflicts.clone()));
                }
            }
            (Subject::Conflicts { .. } | Subject::Commits { .. }, UserAnswer::Anew)
                if matches!(self.activity, Activity::AwaitingChoices(_)) =>
            {
                // The turn is over, so there is nothing to run anew.
                self.end_write();
            }
            (Subject::Commits { .. }, UserAnswer::Settled) => {
                if matches!(self.activity, Activity::AwaitingChoices(_)) {
                    self.end_write();
                    self.forget_staged();
                } else if let Some(accept) = self.take_questioned_accept() {
                    self.drop_pending_accept(accept, Outcome::Conflict);
                }
            }
            (Subject::Changes(_) | Subject::Conflicts { .. } | Subject::Commits { .. }, UserAnswer::No) => {
                self.pending_question = Some(pending_question);
                self.decline();
            }
            _ => {
                self.pending_question = Some(pending_question);
                return Err(ActionError::Stale);
            }
        }
        Ok(())
    }

    /// Drops the work; its prompt is in the line again, before the prompts of the queue.
    pub(super) fn decline(&mut self) {
        let Some(pending_question) = self.pending_question.take() else { return };
        if matches!(self.activity, Activity::AwaitingChoices(_)) {
            // It stays staged.
            return self.end_write();
        }
        let Some(accept) = self.take_questioned_accept() else { return };
        let outcome = match &*pending_question.about {
            Subject::Changes(_) => Outcome::Ignored,
            _ => Outcome::Conflict,
        };
        let prompt = self.drop_pending_accept(accept, outcome);
        self.keep_turn_end(&Transcript::default(), false);
        self.queue.push_front(prompt);
        self.return_queue_to_draft();
    }

    /// Takes the work about which the user was asked: nothing happens with it any more.
    fn take_questioned_accept(&mut self) -> Option<PendingAccept> {
        match std::mem::take(&mut self.activity) {
            Activity::AwaitingAnswer(accept) => Some(*accept),
            other => {
                self.activity = other;
                None
            }
        }
    }
}

pub(super) fn is_about_git(conflict: &Conflict) -> bool {
    conflict.kind == ConflictKind::Ref
}
