use std::future::poll_fn;
use std::task::Poll;

use futures::StreamExt;
use headstart_speculation::ledger::Outcome;
use headstart_speculation::{Candidate, Candidates, Event};

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
        self.inserted = false;
        let given_up = self.offers.give_up(outcome);
        self.close(given_up);
    }

    /// The user has chosen one: the others are gone.
    pub(super) fn choose(&mut self, text: &str) {
        let given_up = self.offers.keep_only(text);
        self.close(given_up);
    }

    /// Keeps what the work told; nothing is the end of it.
    pub(super) fn on_told(&mut self, id: &str, told: Option<Event>) {
        let work = self.offers.iter_mut().find(|offer| offer.id == id).and_then(|offer| offer.work.as_mut());
        let Some(ahead) = work else { return };
        ahead.hear(told);
        if ahead.ended {
            self.books.ran(&mut ahead.account, &ahead.speculation);
        }
    }

    fn close(&mut self, given_up: Vec<(Candidate<Ahead>, Outcome)>) {
        for (offer, outcome) in given_up {
            match offer.work {
                Some(mut ahead) => {
                    self.books.closed(&mut ahead.account, &ahead.speculation, outcome, 0);
                    ahead.speculation.abort();
                }
                None => self.books.decided(&offer.id, outcome),
            }
        }
    }
}

/// The next event of any work ahead and the id of its suggestion; `None` for the event, once, when that work has ended.
pub(super) async fn next_told(offers: &mut Offers) -> (String, Option<Event>) {
    poll_fn(|context| {
        for offer in offers.iter_mut() {
            if let Some(ahead) = offer.work.as_mut().filter(|ahead| !ahead.ended)
                && let Poll::Ready(told) = ahead.events.poll_next_unpin(context)
            {
                return Poll::Ready((offer.id.clone(), told));
            }
        }
        Poll::Pending
    })
    .await
}
