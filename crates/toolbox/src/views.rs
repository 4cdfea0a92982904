//! Views: copy-on-write copies of the workspace in which a command may write.

mod memory;
mod output;
mod refusals;
mod request;
mod summary;
mod support;

pub use memory::{MemoryViews, ScriptedRun};
pub use output::{ViewCost, ViewOutput};
pub use refusals::ViewRefusals;
pub use request::{PriorGitChanges, ViewId, ViewRequest};
pub use summary::TestSummary;
pub use support::{Tier, ViewSupport};
