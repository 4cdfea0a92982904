//! What was spent ahead of the user, and what came of it.
//!
//! A ledger is a list of [`Entry`]s, one line of JSON each, to which lines are only ever appended: what a turn of the
//! user, a query for a suggestion or a speculation cost, and later what became of it. No line has the text of a prompt
//! unless the host puts it there. [`read()`] reads the lines, even if a killed process left the last one incomplete;
//! [`Statistics`] adds them up.
//!
//! ```
//! use headstart_budget::ledger::{self, Statistics};
//! use headstart_forked_query::Prices;
//! use headstart_budget::policy::Tariff;
//!
//! let lines = r#"{"type":"speculation","id":"a","at":0,"source":"chat","kind":"verify","model":"m","inputTokens":900,"workMs":4000}
//! {"type":"outcome","id":"a","at":9000,"outcome":"accepted","savedMs":4000}
//! {"type":"specu"#;
//! let contents = ledger::read(lines.as_bytes());
//! let statistics = Statistics::of(&contents.entries, &Tariff::new("m", Prices::default()));
//! assert_eq!(statistics.total.hit_rate(), Some(1.0));
//! assert_eq!(statistics.total.seconds_saved_per_hit(), Some(4.0));
//! assert!(contents.torn);
//! ```
//!
//! # Limitations
//!
//! If the answer to a request was dropped half-way, no provider says what the request cost: such requests are counted
//! ([`WorkCost::unmeasured`]), but not priced. A process that is killed leaves no line for what was in flight.

mod contents;
mod costs;
mod day;
mod entry;
mod kind;
mod statistics;

pub use contents::{DamagedLine, LedgerContents, read};
pub use costs::{Costs, PurposeCost};
pub use day::Day;
pub use entry::{
    Entry, OmissionEntry, Outcome, OutcomeEntry, Source, SpeculationEntry, SuggestionEntry, TakenBy, WorkCost,
};
pub use kind::Kind;
pub use statistics::{Bill, Figures, ShownFigures, Statistics};
