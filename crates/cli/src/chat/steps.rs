use futures::FutureExt;
use headstart_budget::ledger::Outcome;
use headstart_speculation::{Speculation, Status, StepAbove};

use super::Chat;
use super::accounts::new_id;
use super::ahead::Ahead;
use super::turn::Working;
use crate::host::AskStep;

impl Chat {
    /// The engine asks whether the next step may run on top of work that the user has not taken yet.
    pub(super) fn on_ask_step(&mut self, ask: AskStep) {
        let allowed = self.allow_step(&ask);
        // The work below may be gone meanwhile; then nobody waits for the answer.
        let _ = ask.answer.send(allowed);
    }

    fn allow_step(&mut self, ask: &AskStep) -> Option<StepAbove> {
        if !self.settings.speculation || !self.controller.is_enabled() {
            return None;
        }
        let below = self.steps_up_to(&ask.step.below)?;
        let allowance = self
            .accounts
            .judge(|metering, now| metering.run_above(now, below.len(), &ask.step.prompt))
            .ok()?;
        self.request += 1;
        Some(StepAbove { id: new_id(self.request, 0), limits: allowance.under(self.session.limits()) })
    }

    /// The steps that the user has not taken yet, up to the one with this id; nothing if it is none of this moment.
    fn steps_up_to(&self, id: &str) -> Option<Vec<Speculation>> {
        let offered = self.offers.iter().filter_map(|offer| offer.work.as_ref());
        let offered = offered.map(|ahead| (&ahead.speculation, 0));
        let taken = self.working.as_ref().and_then(Working::taken).map(|taken| &taken.speculation);
        let accepted = self.asked.as_ref().and_then(|asked| asked.after());
        let taken = taken.into_iter().chain(accepted).map(|speculation| (speculation, 1));
        offered.chain(taken).find_map(|(lowest, taken)| {
            let above = |step: &Speculation| step.above().now_or_never().flatten();
            let steps: Vec<_> = std::iter::successors(Some(lowest.clone()), above).collect();
            let place = steps.iter().position(|step| step.id() == id)?;
            Some(steps[taken.min(place + 1)..=place].to_vec())
        })
    }

    /// The steps above this one are given up with it: the ledger is told, while they still say what they cost.
    pub(super) fn close_steps(&mut self, speculation: &Speculation, above: Option<Box<Ahead>>) {
        let unknown = || speculation.above().now_or_never().flatten().map(Ahead::of_step);
        if let Some(mut above) = above.or_else(unknown) {
            self.close_work(&mut above, Outcome::Aborted);
        }
    }

    /// The ledger is told what became of work and of the steps above it.
    pub(super) fn close_work(&mut self, work: &mut Ahead, outcome: Outcome) {
        let (meter, speculation) = (&mut work.meter, &work.speculation);
        self.accounts.meter(|metering, now| metering.closed(now, meter, speculation, outcome, 0));
        self.close_steps(&work.speculation, work.above.take());
    }

    /// A step that is worth offering: Ctrl-C at the moment of the accept below may have ended it.
    pub(super) fn unless_aborted(&mut self, mut step: Box<Ahead>) -> Option<Box<Ahead>> {
        if step.speculation.status() != Status::Aborted {
            return Some(step);
        }
        self.close_work(&mut step, Outcome::Aborted);
        None
    }

    /// Gives the incoming suggestion the step that runs already for it, and says whether there is one; a step that is for
    /// none of them is given up.
    pub(super) fn adopt(&mut self, step: Option<Box<Ahead>>) -> bool {
        let Some(mut step) = step else { return false };
        if let Some(offer) = self.incoming.get_mut(step.speculation.prompt()) {
            offer.work = Some(*step);
            return true;
        }
        self.close_work(&mut step, Outcome::Aborted);
        step.speculation.abort();
        false
    }

    /// Writes down what the runs that have ended cost: the chat may be killed before the user decides.
    pub(super) fn note_ended(&mut self) {
        for offer in &mut self.offers {
            let mut step = offer.work.as_mut();
            while let Some(ahead) = step {
                if ahead.ended && !ahead.meter.is_recorded() {
                    let (meter, speculation) = (&mut ahead.meter, &ahead.speculation);
                    self.accounts.meter(|metering, now| metering.ran(now, meter, speculation));
                }
                step = ahead.above.as_deref_mut();
            }
        }
    }
}
