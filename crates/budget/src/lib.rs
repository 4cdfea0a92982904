//! Whether work ahead of the user is worth it.
//!
//! The [`ledger`] is what it cost, and what became of it; the [`policy`] says from that, and from the habits of the user, whether to ask for a
//! suggestion, whether to run it, and what that may cost. [`Candidates`] are the suggestions of one moment with the work that runs for
//! each, and know what the ledger is told of those that are not taken.

mod candidates;
pub mod ledger;
pub mod policy;

pub use candidates::{Candidate, Candidates};
