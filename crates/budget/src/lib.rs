//! Whether work ahead of the user is worth it.
//!
//! The [`ledger`] has what the work cost and what became of it. From that and from the habits of the user, the
//! [`policy`] decides whether to ask for a suggestion, whether to run it, and what that may cost. [`Metering`] is both
//! for one conversation: it is asked before something is done ahead, and told what came of it.
//! [`outcome_when_given_up`] and [`outcome_when_passed_over`] say which outcome the ledger gets for suggestions that
//! are not taken.
//!
//! # Decisions that are not obvious
//!
//! - **The policy sees the ledger and the user's habits.** An `Experience` is a fold over the entries of a project's
//!   ledger: what things cost there, and what this session has lost. The `Habits` (suggestions in a row that were not
//!   taken, how much of today's starts was used) are those of the user in all projects: each entry results in a
//!   `HabitUpdate`, which the host adds to its file of habits under a lock. If the policy prevents something, that is
//!   an entry too.
//! - **Work that is taken is no loss.** The user would have paid for it anyway; what counts is the work that was not
//!   taken, and the questions.
//! - **Of several suggestions one is taken.** The controller keeps, narrows and turns them; the policy judges each by
//!   the chance that no better one is taken. At most one of them counts as ignored, and a suggestion that was not seen
//!   teaches nothing.

mod candidate_outcome;
pub mod ledger;
mod metering;
pub mod policy;

pub use candidate_outcome::{outcome_when_given_up, outcome_when_passed_over};
pub use metering::{
    EntryBuilder, Metering, PendingWrites, QueryCost, QuerySuppression, RunMeter, outcome,
    outcome_of_acceptance,
};
