//! Work on top of work that the user has not taken yet.

use futures::FutureExt;
use headstart_budget::ledger::Outcome;
use headstart_budget::policy::Guess;
use headstart_followup_state::Suggestions;
use headstart_speculation::{Speculation, Status, Step, StepAbove};

use super::{Activity, Core, Effect};
use crate::work::WorkAhead;

impl Core {
    /// Whether the next step may run on top of work that the user has not taken yet.
    pub(crate) fn allow_step(&mut self, step: &Step) -> Option<StepAbove> {
        if !self.options.speculation || !self.controller.is_enabled() || self.is_over {
            return None;
        }
        let below = self.steps_up_to(&step.below)?;
        self.update_machine();
        let guess = Guess { text: &step.prompt, said: step.chance };
        let allowance = self.options.metering.allow_step(self.now.unix_ms, below.len(), guess).ok()?;
        Some(StepAbove { id: self.next_id(), limits: allowance.under(self.engine.limits) })
    }

    /// The steps that the user has not taken yet, up to the one with this id; `None` if no current work has this id.
    fn steps_up_to(&self, id: &str) -> Option<Vec<Speculation>> {
        let offered = self.offers.iter().filter_map(|offer| offer.work.as_ref());
        let offered = offered.map(|work| (&work.speculation, 0));
        let taken = match &self.activity {
            Activity::Accepting(taken) | Activity::AwaitingAnswer(taken) => Some(&taken.speculation),
            _ => None,
        };
        let accepted = self.query.as_ref().and_then(|query| query.accepted());
        let taken = taken.into_iter().chain(accepted).map(|speculation| (speculation, 1));
        offered.chain(taken).find_map(|(lowest, taken)| {
            let above = |step: &Speculation| step.above().now_or_never().flatten();
            let steps: Vec<_> = std::iter::successors(Some(lowest.clone()), above).collect();
            let place = steps.iter().position(|step| step.id() == id)?;
            Some(steps[taken.min(place + 1)..=place].to_vec())
        })
    }

    /// Takes in a step that the engine began on top of work. If that work is gone, the step is given up too.
    pub(super) fn step_started(&mut self, below: &str, step: Speculation) {
        let step = WorkAhead::new(self.now.unix_ms, step);
        let stands_on_taken = self.pending_accept().is_some_and(|taken| taken.speculation.id() == below);
        if stands_on_taken && let Some(taken) = self.pending_accept() {
            taken.above = Some(Box::new(step));
        } else if let Some(query) = self
            .query
            .as_mut()
            .filter(|query| query.accepted().is_some_and(|accepted| accepted.id() == below))
        {
            query.set_above(step);
        } else if let Some(work) = self.find_work(below) {
            work.above = Some(Box::new(step));
        }
    }

    /// Gives up the steps above this one along with it. The ledger is told while they can still say what they cost.
    pub(super) fn close_steps(&mut self, speculation: &Speculation, above: Option<Box<WorkAhead>>) {
        let unix_ms = self.now.unix_ms;
        let unreported = || {
            let step = speculation.above().now_or_never().flatten()?;
            Some(Box::new(WorkAhead::new(unix_ms, step)))
        };
        if let Some(mut above) = above.or_else(unreported) {
            self.close_work(&mut above, Outcome::Aborted);
        }
    }

    /// Tells the ledger what became of work and of the steps above it.
    pub(super) fn close_work(&mut self, work: &mut WorkAhead, outcome: Outcome) {
        let (meter, speculation) = (&mut work.meter, &work.speculation);
        self.options.metering.record_run_outcome(self.now.unix_ms, meter, speculation, outcome, 0);
        self.close_steps(&work.speculation, work.above.take());
    }

    /// Tells the ledger what became of work and of the steps above it, and drops the work.
    pub(super) fn give_up(&mut self, work: &mut WorkAhead, outcome: Outcome) {
        self.close_work(work, outcome);
        self.effects.push_back(Effect::Abort(work.speculation.clone()));
    }

    /// Returns the step if it can still be offered: an interrupt during the accept of the work below may have ended it.
    pub(super) fn unless_aborted(&mut self, mut step: Box<WorkAhead>) -> Option<Box<WorkAhead>> {
        if step.speculation.status() != Status::Aborted {
            return Some(step);
        }
        self.close_work(&mut step, Outcome::Aborted);
        None
    }

    /// If the step is for one of these suggestions, attaches it to the pending offer for that suggestion and returns
    /// whether it did; if it is for none of them, gives it up.
    pub(super) fn attach_step(
        &mut self,
        step: Option<Box<WorkAhead>>,
        suggestions: Option<&Suggestions>,
    ) -> bool {
        let Some(mut step) = step else { return false };
        let place = suggestions.and_then(|suggestions| suggestions.position(step.speculation.prompt()));
        if let Some(offer) = place.and_then(|place| self.pending.get_mut(place)) {
            offer.work = Some(*step);
            return true;
        }
        self.give_up(&mut step, Outcome::Aborted);
        false
    }
}
