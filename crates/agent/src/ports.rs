use std::error::Error;

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_budget::PendingWrites;
use headstart_budget::policy::{Habits, SkipReason};

/// What the conversation needs from the program around it besides the [`Host`](headstart_speculation::Host) of its
/// engine.
pub trait Runtime: Send + Sync {
    /// Milliseconds since the Unix epoch, for the ledger.
    fn unix_ms(&self) -> u64;

    /// If the background work is done by this machine and it has no capacity to spare, the reason. This is called
    /// before work ahead, so it must answer at once.
    fn machine(&self) -> Option<SkipReason> {
        None
    }

    /// Runs work beside everything else. Returns the work if it cannot do so; the [`Driver`](crate::Driver) then polls
    /// it itself.
    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        Some(work)
    }
}

/// Why something could not be kept.
pub type StoreError = Box<dyn Error + Send + Sync>;

/// Where the ledger of the project and the habits of its user are kept. Calls are made one after the other. A call that
/// takes longer than 5 s is reported once ([`Item::Trouble`](crate::Item::Trouble)), and nobody waits for it any more;
/// if it answers later, the calls that came meanwhile follow in order.
#[async_trait]
pub trait LedgerStore: Send + Sync {
    /// Keeps these entries. Returns the habits as they are now, if the store has read them again.
    async fn append(&self, pending_writes: PendingWrites) -> Result<Option<Habits>, StoreError>;

    /// The habits as they are now, because other conversations may have learned something.
    async fn habits(&self) -> Option<Habits> {
        None
    }
}

/// Where one conversation is kept, as lines that are only ever added ([`Session`](crate::Session) reads them). Calls
/// are made one after the other, with the same time limit as those of a [`LedgerStore`].
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Adds lines at the end. If the program is killed meanwhile, only the beginning of the lines may be there.
    async fn append(&self, lines: String) -> Result<(), StoreError>;
}

/// Keeps nothing, so only this conversation knows its costs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLedger;

#[async_trait]
impl LedgerStore for NoLedger {
    async fn append(&self, _pending_writes: PendingWrites) -> Result<Option<Habits>, StoreError> {
        Ok(None)
    }
}
