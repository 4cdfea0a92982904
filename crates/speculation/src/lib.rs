//! The speculation engine.

mod event;
mod host;
mod limits;
mod outcome;
mod transcript;

pub use event::{Event, Events};
pub use host::{Consent, Host};
pub use limits::Limits;
pub use outcome::{Cost, Ending, Finished, Limit, Status};
pub use transcript::Transcript;
