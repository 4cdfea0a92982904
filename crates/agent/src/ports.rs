use std::error::Error;

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_budget::Unwritten;
use headstart_budget::policy::{Habits, SkipReason};

/// What the conversation needs from the program around it beside the [`Host`](headstart_speculation::Host) of its engine.
pub trait Runtime: Send + Sync {
    /// Milliseconds since the Unix epoch, for the ledger.
    fn unix_ms(&self) -> u64;

    /// Why the machine that does the background work has nothing to spare, if it is this one and has not. It is asked before work ahead, so it
    /// answers at once.
    fn machine(&self) -> Option<SkipReason> {
        None
    }

    /// Runs work beside everything else, and gives back what it cannot run so: the [`Driver`](crate::Driver) does it in its own time then.
    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        Some(work)
    }
}

/// Why something could not be kept.
pub type StoreError = Box<dyn Error + Send + Sync>;

/// Where the ledger of the project and the habits of its user are kept. Calls come one after the other. One that takes longer than 5 s is told once
/// ([`Item::Trouble`](crate::Item::Trouble)), and nobody waits for it any more; if it answers later, what came meanwhile follows in order.
#[async_trait]
pub trait LedgerStore: Send + Sync {
    /// Keeps this. Gives the habits as they are now, where it learned them anew.
    async fn append(&self, unwritten: Unwritten) -> Result<Option<Habits>, StoreError>;

    /// The habits as they are now: other conversations may have learned something.
    async fn habits(&self) -> Option<Habits> {
        None
    }
}

/// Where one conversation is kept, as lines that are only ever added ([`Session`](crate::Session) reads them). Calls come one after the other,
/// with the same limit as those of a [`LedgerStore`].
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Adds lines at the end, all of them or, if the program is killed meanwhile, a beginning of them.
    async fn append(&self, lines: String) -> Result<(), StoreError>;
}

/// Keeps nothing: what this conversation costs is known to it alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLedger;

#[async_trait]
impl LedgerStore for NoLedger {
    async fn append(&self, _unwritten: Unwritten) -> Result<Option<Habits>, StoreError> {
        Ok(None)
    }
}
