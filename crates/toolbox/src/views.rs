//! Views: copy-on-write copies of the workspace in which a command may write.

mod memory;
mod output;
mod refused;
mod request;
mod summary;
mod support;

pub use memory::{MemoryViews, Played};
pub use output::{ViewCost, ViewOutput};
pub use refused::Refused;
pub use request::{GitSoFar, ViewId, ViewRequest};
pub use summary::TestSummary;
pub use support::{Support, Tier};
