use std::future::poll_fn;
use std::task::Poll;

use headstart_budget::ledger::Outcome;
use headstart_budget::{Candidate, Candidates};

use super::Chat;
use super::ahead::Ahead;

/// The suggestions of this moment, on screen, about to be, or in the prompt, with the work that runs ahead for them.
pub(super) type Offers = Candidates<Ahead>;

impl Chat {
    /// The work ahead that the user would take now.
    pub(super) fn ahead(&self) -> Option<&Ahead> {
        self.offers.current()?.work.as_ref()
    }

    /// The suggestions are gone, and the work behind them with them.
    pub(super) fn settle(&mut self, outcome: Outcome) {
        let given_up = self.offers.give_up(outcome);
        self.close(given_up);
    }

    /// The user has chosen one: the others are gone.
    pub(super) fn choose(&mut self, text: &str) {
        let given_up = self.offers.keep_only(text);
        self.close(given_up);
    }

    /// What became of a suggestion that did not run.
    pub(super) fn decided(&mut self, id: &str, outcome: Outcome) {
        self.accounts.meter(|metering, now| metering.decided(now, id, outcome));
    }

    pub(super) fn close(&mut self, given_up: Vec<(Candidate<Ahead>, Outcome)>) {
        for (offer, outcome) in given_up {
            match offer.work {
                Some(mut ahead) => {
                    self.close_work(&mut ahead, outcome);
                    ahead.speculation.abort();
                }
                None => self.decided(&offer.id, outcome),
            }
        }
    }
}

/// Waits until any work ahead has told something.
pub(super) async fn next_told(offers: &mut Offers) {
    poll_fn(|context| {
        let mut ahead = offers.iter_mut().filter_map(|offer| offer.work.as_mut());
        if ahead.any(|ahead| ahead.poll_told(context).is_ready()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
