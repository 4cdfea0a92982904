//! Whether work ahead of the user is worth it.
//!
//! The [`ledger`] is what it cost, and what became of it; the [`policy`] says from that, and from the habits of the user, whether to ask for a
//! suggestion, whether to run it, and what that may cost. [`Metering`] is both for one conversation: asked before something is done ahead, and told
//! what came of it. [`Candidates`] are the suggestions of one moment with the work that runs for
//! each, and know what the ledger is told of those that are not taken.

mod candidates;
pub mod ledger;
mod metering;
pub mod policy;

pub use candidates::{Candidate, Candidates};
pub use metering::{
    EntryBuilder, Metering, NotShown, QueryCost, RunMeter, Unwritten, of_acceptance, outcome,
};
