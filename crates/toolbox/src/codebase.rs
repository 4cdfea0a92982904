//! The tools `codebase` and `repo_map`: what the project contains, as the call's merged view shows it.

mod find;
mod look;
mod map;
mod meanwhile;
mod port;
mod show;

use std::sync::Arc;

pub use self::port::{IndexMoment, IndexStanding, IndexWork, ProjectIndex, Served};
use crate::Tool;

/// `codebase` and `repo_map`, for [`Toolbox::with`](crate::Toolbox::with): what is staged is found by the next call, what is
/// removed is not, and what a rule closes is never named. The path of both is the argument `path`.
pub fn codebase_tools(index: Arc<dyn ProjectIndex>) -> Vec<Arc<dyn Tool>> {
    let looks = Arc::new(look::Looks::new(index));
    vec![Arc::new(find::Codebase { looks: Arc::clone(&looks) }), Arc::new(map::RepoMap { looks })]
}
