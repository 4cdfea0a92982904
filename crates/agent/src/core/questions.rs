//! What the user is asked.

use std::sync::Arc;

use headstart_budget::ledger::Outcome;
use headstart_overlay_fs::{Conflict, ConflictKind};
use headstart_speculation::{ApprovalRequest, Consent};
use headstart_tool_gate::SessionRule;

use super::taking::Taken;
use super::{AskedCall, Core, Doing, Effect};
use crate::AfterDecline;
use crate::item::{Item, JudgedCall, NotTaken};
use crate::view::{Answer, Question, QuestionId, Refused, Subject};

/// A question that waits for its answer.
pub(super) struct Asking {
    id: QuestionId,
    about: Arc<Subject>,
    /// The number with which the turn waits, if the question is about a call.
    ask: Option<u64>,
    /// What would be allowed if the user says yes for the rest of the conversation.
    always: Option<SessionRule>,
}

impl Asking {
    pub(super) fn view(&self) -> Question {
        Question { id: self.id, about: Arc::clone(&self.about), always: self.always.clone() }
    }
}

impl Core {
    /// Asks the user about a call of the turn that needs consent.
    pub(super) fn asked(&mut self, asked: AskedCall) {
        let AskedCall { ask, call, verdict, prepared, always } = asked;
        let declines = Effect::Reply { ask, consent: Consent::Decline };
        if !matches!(self.doing, Doing::Turn { .. }) || self.interrupted || self.is_over {
            return self.effects.push_back(declines);
        }
        let judged = JudgedCall { call, verdict, changes: prepared.changes };
        if !self.options.attended {
            self.log.push(Item::Declined(Box::new(judged)));
            return self.effects.push_back(declines);
        }
        self.ask(Some(ask), Subject::Call(judged), always);
    }

    pub(super) fn ask_about_changes(&mut self, taken: Taken, asks: ApprovalRequest) {
        self.ask(None, Subject::Changes(asks), None);
        self.doing = Doing::Ask(Box::new(taken));
    }

    pub(super) fn ask_about_conflicts(&mut self, taken: Taken, conflicts: Vec<Conflict>) {
        let work = &taken.speculation;
        let about = if conflicts.iter().any(is_about_git) {
            Subject::Commits { work: work.id().to_owned(), conflicts, git: work.git() }
        } else {
            Subject::Conflicts { conflicts, changes: work.changes(), tokens: work.cost().spent_tokens() }
        };
        self.ask(None, about, None);
        self.doing = Doing::Ask(Box::new(taken));
    }

    fn ask(&mut self, ask: Option<u64>, about: Subject, always: Option<SessionRule>) {
        let id = QuestionId(self.next_number());
        self.asking = Some(Asking { id, about: Arc::new(about), ask, always });
    }

    /// Takes the user's answer. An answer that does not fit the question is refused, and the question stays.
    pub(crate) fn answer(&mut self, question: QuestionId, answer: Answer) -> Result<(), Refused> {
        let Some(asking) = self.asking.take_if(|asking| asking.id == question) else {
            return Err(Refused::Stale);
        };
        let answer = match (answer, &asking.always) {
            (Answer::Always, Some(rule)) => {
                self.allowed.add(rule);
                Answer::Yes
            }
            (answer, _) => answer,
        };
        match (&*asking.about, answer) {
            (Subject::Call(_), answer @ (Answer::Yes | Answer::No | Answer::NoBecause(_))) => {
                let consent = match answer {
                    Answer::Yes => Consent::Run,
                    Answer::NoBecause(why) => Consent::DeclineBecause(why),
                    Answer::No if self.options.after_decline == AfterDecline::Stop => Consent::Stop,
                    _ => Consent::Decline,
                };
                if let Some(ask) = asking.ask {
                    self.effects.push_back(Effect::Reply { ask, consent });
                }
            }
            (Subject::Changes(asks), Answer::Yes) => {
                if let Some(taken) = self.asked_about() {
                    self.accept(Taken { answers: asks.approve(), ..taken });
                }
            }
            (Subject::Conflicts { .. }, Answer::Choices(choices)) => {
                if let Some(taken) = self.asked_about() {
                    let answers = taken.answers.clone().with_choices(choices);
                    self.accept(Taken { answers, ..taken });
                }
            }
            (Subject::Conflicts { conflicts, .. } | Subject::Commits { conflicts, .. }, Answer::Anew) => {
                if let Some(mut taken) = self.asked_about() {
                    self.close_taken(&mut taken, Outcome::Conflict, 0);
                    self.not_taken(taken, NotTaken::Conflict(conflicts.clone()));
                }
            }
            (Subject::Commits { .. }, Answer::Settled) => {
                if let Some(taken) = self.asked_about() {
                    self.drop_taken(taken, Outcome::Conflict);
                }
            }
            (Subject::Changes(_) | Subject::Conflicts { .. } | Subject::Commits { .. }, Answer::No) => {
                self.asking = Some(asking);
                self.decline();
            }
            _ => {
                self.asking = Some(asking);
                return Err(Refused::Stale);
            }
        }
        Ok(())
    }

    /// Drops the work; its prompt is in the line again, before the prompts of the queue.
    pub(super) fn decline(&mut self) {
        let Some(asking) = self.asking.take() else { return };
        let Some(taken) = self.asked_about() else { return };
        let outcome = match &*asking.about {
            Subject::Changes(_) => Outcome::Ignored,
            _ => Outcome::Conflict,
        };
        let prompt = self.drop_taken(taken, outcome);
        self.queue.push_front(prompt);
        self.unqueue();
    }

    /// Takes the work about which the user was asked: nothing happens with it any more.
    fn asked_about(&mut self) -> Option<Taken> {
        match std::mem::take(&mut self.doing) {
            Doing::Ask(taken) => Some(*taken),
            other => {
                self.doing = other;
                None
            }
        }
    }
}

fn is_about_git(conflict: &Conflict) -> bool {
    conflict.kind == ConflictKind::Ref
}
