//! The tools `codebase` and `repo_map`, which search the project as the call's merged view shows it.

mod call_view;
mod find;
mod map;
mod port;
mod snippets;
mod unindexed;

use std::sync::Arc;

use headstart_code_index::{Budget, Hit, Query, View, Weights, search};
use headstart_overlay_fs::WorkspacePath;

pub use self::port::{AvailableModels, IndexCoverage, IndexState, IndexWork, ProjectIndex};
use crate::{Tool, ToolContext, ToolError};

/// `codebase` and `repo_map`, for [`Toolbox::with`](crate::Toolbox::with). A file that is staged is found by the next
/// call, a removed one is not, and a path that a rule closes is never named. The path of both is the argument `path`.
pub fn codebase_tools(index: Arc<dyn ProjectIndex>) -> Vec<Arc<dyn Tool>> {
    ProjectSearch::new(index).tools()
}

/// An index with its caches, for a host that also searches outside the tools.
#[derive(Clone)]
pub struct ProjectSearch(Arc<call_view::IndexAccess>);

impl ProjectSearch {
    /// A search over an index that the host keeps.
    pub fn new(index: Arc<dyn ProjectIndex>) -> Self {
        Self(Arc::new(call_view::IndexAccess::new(index)))
    }

    /// The tools of [`codebase_tools`] with these caches.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let access = &self.0;
        vec![
            Arc::new(find::Codebase { access: Arc::clone(access) }),
            Arc::new(map::RepoMap { access: Arc::clone(access) }),
        ]
    }

    /// The places of a view whose words match `text` best, according to the index and what is staged over it, the
    /// best first, and only below `path` if there is one. Files that the index does not know yet are not searched, no
    /// read is noted, and no model is asked.
    pub async fn hits(
        &self,
        text: &str,
        below: Option<WorkspacePath>,
        budget: Budget,
        context: ToolContext<'_>,
    ) -> Result<Vec<Hit>, ToolError> {
        let delta = self.0.call_view(context).await?.delta;
        let (access, text) = (Arc::clone(&self.0), text.to_owned());
        let hits = self.0.with_index(move |moment| {
            let staged = access.staged_layer(moment, &delta)?;
            let view = View::new(moment.snapshot, [staged.as_ref()]);
            let mut query = Query::parse(&text, |path| view.has(path));
            if let Some(below) = below {
                query = query.below(below);
            }
            search(&view, &query, budget, moment.recent, &Weights::for_view(&view))
        });
        hits.await?.map_err(ToolError::of)
    }
}
