//! The speculation engine.

mod outcome;

pub use outcome::{Cost, Ending, Finished, Limit, Status};
