//! The speculation engine.

mod accept;
mod engine;
mod event;
mod host;
mod limits;
mod outcome;
mod permit;
mod pipeline;
mod run;
mod speculation;
mod transcript;

pub use accept::{AcceptError, Acceptance, Accepted, StartError, accept};
pub use engine::{Engine, Turn};
pub use event::{Event, Events};
pub use host::{Consent, Host};
pub use limits::Limits;
pub use outcome::{Cost, Ending, Finished, Limit, Status};
pub use speculation::{Driver, Speculation};
pub use transcript::Transcript;
