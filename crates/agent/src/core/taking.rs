//! Taking work that ran ahead, from the user's key to files and history.

use std::time::Duration;

use headstart_budget::ledger::Outcome;
use headstart_budget::{RunMeter, outcome_of_acceptance};
use headstart_followup_state::{AcceptMethod, Effect as Followed, Event as Followup, Suggestion};
use headstart_speculation::{
    AcceptAnswers, Acceptance, Accepted, Ending, Event, Limit, Origin, Speculation, Status, Transcript,
};

use super::{Core, Doing, Effect};
use crate::item::{Applied, Item, JudgedCall, NotTaken};
use crate::view::Refused;
use crate::work::WorkAhead;

/// Work that the user has taken and that is not handed over yet.
pub(super) struct Taken {
    pub(super) speculation: Speculation,
    /// If the work had ended when it was taken, what it told before. This becomes items when the work is applied,
    /// because a question or a conflict may come first.
    pub(super) reported: Vec<Event>,
    /// Whether the work was still running when it was taken, so that what it tells becomes items at once.
    pub(super) is_live: bool,
    pub(super) meter: RunMeter,
    /// The next step, on top of the work.
    pub(super) above: Option<Box<WorkAhead>>,
    /// What the user has answered about the work so far.
    pub(super) answers: AcceptAnswers,
}

impl Core {
    /// Takes the suggestion that the user sees, and the work behind it.
    pub(crate) fn take(&mut self, shown: &str) -> Result<(), Refused> {
        self.is_open()?;
        // Behind other words in the line the suggestion is not on screen, whatever the front end has drawn.
        let is_seen = |visible: &Suggestion| {
            visible.as_str() == shown
                && (visible.rest_after(&self.line).is_some() || visible.is_same_as(&self.line))
        };
        if !self.controller.visible().is_some_and(is_seen) {
            return Err(Refused::Stale);
        }
        if self.is_busy() {
            return Err(Refused::Busy);
        }
        let offered = self.controller.offered().cloned();
        let effects = self.controller.handle(self.now.ms, Followup::accept(AcceptMethod::Tab));
        let is_taken = effects.iter().any(|effect| matches!(effect, Followed::Insert { .. }));
        self.follow(effects, offered.as_ref(), Outcome::Aborted);
        if !is_taken {
            return Err(Refused::TooEarly);
        }
        self.line.clear();
        let taken = offered.and_then(|offered| self.take_offer(&offered, shown));
        self.send_with(shown, taken);
        Ok(())
    }

    /// Accepts the work that ran ahead; it may still be running.
    pub(super) fn take_work(&mut self, work: WorkAhead) {
        let is_live = work.finished.is_none();
        let joined = work.is_running();
        let WorkAhead { speculation, mut reported, mut meter, above, .. } = work;
        meter.joined = joined;
        self.log.close_call();
        self.log.begin_run();
        if is_live {
            for event in reported.drain(..) {
                self.tell(event, Origin::Ahead);
            }
        }
        self.accept(Taken {
            speculation,
            reported,
            is_live,
            meter,
            above,
            answers: AcceptAnswers::default(),
        });
    }

    pub(super) fn accept(&mut self, taken: Taken) {
        let (work, answers) = (taken.speculation.clone(), taken.answers.clone());
        self.effects.push_back(Effect::Accept { work, answers });
        self.doing = Doing::Accept(Box::new(taken));
    }

    pub(super) fn taken(&mut self) -> Option<&mut Taken> {
        match &mut self.doing {
            Doing::Accept(taken) | Doing::Ask(taken) => Some(taken),
            _ => None,
        }
    }

    /// The id of the work that is being taken.
    pub(super) fn taken_id(&self) -> Option<&str> {
        match &self.doing {
            Doing::Opening { work: Some(work), .. } => Some(work.speculation.id()),
            Doing::Accept(taken) | Doing::Ask(taken) => Some(taken.speculation.id()),
            _ => None,
        }
    }

    pub(super) fn accepted(&mut self, accepted: Result<Acceptance, String>) {
        let Doing::Accept(taken) = std::mem::take(&mut self.doing) else { return };
        let mut taken = *taken;
        let given_up = self.interrupted;
        let accepted = match accepted {
            Ok(Acceptance::NeedsApproval(asks)) if !given_up && self.options.attended => {
                return self.ask_about_changes(taken, asks);
            }
            Ok(Acceptance::Conflict(conflicts)) if !given_up && self.options.attended => {
                return self.ask_about_conflicts(taken, conflicts);
            }
            accepted => accepted,
        };
        let (outcome, saved_ms) = decision(&taken, &accepted);
        self.close_taken(&mut taken, outcome, saved_ms);
        match accepted {
            Ok(Acceptance::Accepted(accepted)) => self.hand_over(taken, accepted),
            _ if given_up => self.not_taken(taken, NotTaken::Interrupted),
            Ok(Acceptance::Conflict(conflicts)) => self.not_taken(taken, NotTaken::Conflict(conflicts)),
            Ok(Acceptance::Withdrawn { call, verdict }) => {
                self.not_taken(
                    taken,
                    NotTaken::Withdrawn(Box::new(JudgedCall { call, verdict, changes: None })),
                );
            }
            Ok(Acceptance::Discarded) => self.not_taken(taken, NotTaken::Discarded),
            // Nothing was done ahead, so the prompt runs as if it had been typed.
            Ok(_) => {
                let prompt = self.leave(taken);
                self.open(&prompt, None);
            }
            Err(error) => self.not_taken(taken, NotTaken::Failed { error }),
        }
    }

    /// Handles work of which nothing was applied. Its prompt was sent, so it is answered: it runs anew, unless the user
    /// has stopped it or the next write would fail the same way.
    pub(super) fn not_taken(&mut self, taken: Taken, why: NotTaken) {
        let ending = match &why {
            NotTaken::Interrupted => Some(Ending::Aborted),
            NotTaken::Failed { error } => Some(Ending::failed("accept", error)),
            _ => None,
        };
        let id = taken.speculation.id().to_owned();
        // Changes that are not in the workspace can still be looked at.
        self.keep_changes(&taken.speculation);
        let prompt = self.leave(taken);
        let Some(ending) = ending else {
            self.log.push(Item::NotTaken { id, why, anew: true });
            return self.open(&prompt, None);
        };
        let transcript = Transcript::new(&prompt);
        self.end(prompt, transcript, ending);
        self.log.push(Item::NotTaken { id, why, anew: false });
    }

    /// Drops the work, tells the ledger what became of it, and returns its prompt.
    pub(super) fn drop_taken(&mut self, mut taken: Taken, outcome: Outcome) -> String {
        self.close_taken(&mut taken, outcome, 0);
        self.leave(taken)
    }

    /// Drops work whose outcome the ledger knows already, and the steps above it. Returns its prompt.
    fn leave(&mut self, taken: Taken) -> String {
        let prompt = taken.speculation.prompt().to_owned();
        self.conversation.untell();
        self.close_steps(&taken.speculation, taken.above);
        self.effects.push_back(Effect::Abort(taken.speculation));
        prompt
    }

    pub(super) fn close_taken(&mut self, taken: &mut Taken, outcome: Outcome, saved_ms: u64) {
        let (meter, speculation) = (&mut taken.meter, &taken.speculation);
        self.options.metering.record_run_outcome(self.now.unix_ms, meter, speculation, outcome, saved_ms);
    }

    /// Makes the work ahead part of the conversation; if it had stopped early, a turn goes on from there.
    fn hand_over(&mut self, taken: Taken, accepted: Accepted) {
        let Taken { speculation, reported, meter, above, .. } = taken;
        for event in without_pending(reported) {
            self.tell(event, Origin::Ahead);
        }
        let note = accepted.note();
        // Work that stopped at its first call has saved hardly anything.
        let has_saved = 1 < accepted.transcript.messages.len();
        let Accepted { changes, merged, git, changed_since_view, transcript, ending, time_saved_ms, .. } =
            accepted;
        self.keep_changes(&speculation);
        self.made.took(speculation.id());
        self.log.push(Item::Applied(Box::new(Applied {
            id: speculation.id().to_owned(),
            undone: Vec::new(),
            changes,
            merged,
            git,
            stale: changed_since_view,
            saved: has_saved.then(|| Duration::from_millis(time_saved_ms)),
            ending: ending.clone(),
        })));
        if let Some(note) = note {
            self.conversation.add_note(&note);
        }
        let prompt = speculation.prompt().to_owned();
        match ending {
            Ending::Completed => {
                if self.queue.is_empty() && !self.interrupted && !self.is_over {
                    self.end(prompt, transcript, Ending::Completed);
                    self.await_next(speculation, meter, above);
                } else {
                    // The next prompt is another one, so the steps above are given up.
                    self.close_steps(&speculation, above);
                    self.effects.push_back(Effect::Abort(speculation));
                    self.end(prompt, transcript, Ending::Completed);
                }
            }
            // This limit would end a turn in the foreground as well, so the user decides whether to go on.
            ending @ Ending::Exhausted { limit: Limit::Output } => {
                self.end(prompt, transcript, ending);
            }
            _ => self.begin(prompt, transcript),
        }
    }
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
fn decision(taken: &Taken, accepted: &Result<Acceptance, String>) -> (Outcome, u64) {
    match accepted {
        Ok(_) if taken.speculation.status() == Status::Aborted => (Outcome::Aborted, 0),
        Ok(acceptance) => match outcome_of_acceptance(acceptance) {
            (Outcome::Accepted, saved_ms) if taken.meter.joined => (Outcome::Joined, saved_ms),
            other => other,
        },
        Err(_) => (Outcome::Failed, 0),
    }
}
