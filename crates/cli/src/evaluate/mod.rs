//! Measures how often a suggestion would have been what the user typed next, in conversations that they already had
//! with agents: with this program, or with another one that keeps its sessions in files.
//!
//! `files` finds the files, `formats` makes [`SessionEvent`](recorded_conversation::SessionEvent)s of their lines, and
//! [`recorded_conversation`] makes prompts of these, each with the conversation before it; `query` has a model guess,
//! `measure` compares, and `report` adds up. The files are only read, and their content is sent to the user's own model and nowhere else.

mod files;
mod formats;
mod measure;
mod query;
mod recorded_conversation;
mod report;

pub(crate) use self::files::{SessionScan, evenly_spaced, scan};
pub(crate) use self::formats::Product;
pub(crate) use self::measure::Match;
pub(crate) use self::query::{EvaluationQuery, RequestPrefix, ask, questions};
pub(crate) use self::report::{EvaluatedPrompt, EvaluationReport, EvaluationTotals};
