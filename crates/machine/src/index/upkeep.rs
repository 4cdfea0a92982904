//! The index of a chat or of work ahead, which is built in the background after the first prompt, and updated when
//! files change.

mod shared;
mod vectors;
mod watch;
mod work;
mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_code_index::{MemoryIndex, ModelLocation, TextVector};
use headstart_overlay_fs::{OsTree, Tree, Workspace, WorkspacePath};
use headstart_tool_gate::GateContext;
use headstart_toolbox::{AvailableModels, IndexState, IndexWork, ProjectIndex};

use self::shared::SharedState;
use self::workspace::IndexedWorkspace;
use super::{IndexModels, files};
use crate::config::IndexConfig;
use crate::error::CliError;

/// How long a query waits until the index is opened, which only takes long on a slow machine, and below it how long for
/// the comparison of all files, which is done by then in most projects.
const OPENING: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_millis(300);
/// If changes are not reported, a comparison of all files that is older than this is repeated before a query.
const FRESH: Duration = Duration::from_secs(2);
/// How long a process that ends waits until the index has written its current batch.
const FAREWELL: Duration = Duration::from_millis(200);

/// What is needed to open the index later.
#[derive(Debug, Clone)]
pub(super) struct UpkeepPlan {
    pub(super) state: PathBuf,
    pub(super) workspace: String,
    pub(super) gate: GateContext,
    pub(super) config: IndexConfig,
}

/// Keeps the index of a workspace current while this process works on it. Dropping this ends that.
pub struct Upkeep {
    shared: Arc<SharedState>,
    files: Arc<OsTree>,
    plan: UpkeepPlan,
    models: Arc<IndexModels>,
}

impl Upkeep {
    /// Opens and reads nothing before [`begin`](Self::begin).
    pub(crate) fn new(
        state: PathBuf,
        workspace: &str,
        gate: GateContext,
        config: IndexConfig,
        models: IndexModels,
    ) -> Result<Self, CliError> {
        let files = files(Path::new(workspace), &state)?;
        let plan = UpkeepPlan { state, workspace: workspace.to_owned(), gate, config };
        Ok(Self { shared: Arc::default(), files: Arc::new(files), plan, models: Arc::new(models) })
    }

    /// Begins in a thread of its own with the lowest priority. Only the first call has an effect.
    pub fn begin(&self) {
        if !self.shared.change(|state| std::mem::replace(&mut state.begun, true)) {
            work::begin(&self.shared, self.plan.clone(), Arc::clone(&self.models));
        }
    }

    /// The workspace, wrapped so that the index is told of its commits.
    pub(crate) fn follow(self: &Arc<Self>, workspace: Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        Arc::new(IndexedWorkspace { workspace, upkeep: Arc::clone(self) })
    }

    /// Notes that these paths have changed.
    fn note_changed<'a>(&self, paths: impl IntoIterator<Item = &'a WorkspacePath>) {
        self.shared.note_changed(paths.into_iter().cloned());
    }

    /// What the user must be told, each only once.
    pub fn notices(&self) -> Vec<String> {
        let mut notices = self.shared.change(|state| std::mem::take(&mut state.notices));
        notices.extend(self.models.notices());
        notices
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.shared.change(|state| state.over = true);
        self.shared.wait(FAREWELL, |state| !state.begun || state.ended);
    }
}

#[async_trait]
impl ProjectIndex for Upkeep {
    fn files(&self) -> Arc<dyn Tree> {
        Arc::clone(&self.files) as Arc<dyn Tree>
    }

    async fn changed(&self) -> BTreeSet<WorkspacePath> {
        self.begin();
        let waits = self.shared.change(|state| {
            let is_old = |at: std::time::Instant| !state.watched && FRESH < at.elapsed();
            if state.compared_at.is_some_and(is_old) {
                state.wants_comparison = true;
            }
            state.is_worth_a_wait()
        });
        if waits {
            let shared = Arc::clone(&self.shared);
            let wait = move || {
                shared.wait(OPENING, |state| !state.is_opening());
                shared.wait(PATIENCE, |state| !state.is_worth_a_wait())
            };
            let came = tokio::task::spawn_blocking(wait).await.unwrap_or(false);
            // A query that waited in vain is not followed by another one that waits for the same work.
            self.shared.change(|state| state.waited_in_vain = !came);
        }
        self.shared.change(|state| state.changed.keys().cloned().collect())
    }

    fn available_models(&self, permitted: ModelLocation) -> AvailableModels {
        self.models.available_models(permitted)
    }

    async fn embed_query(&self, text: &str, permitted: ModelLocation) -> Option<TextVector> {
        self.models.embed_query(text, permitted).await
    }

    async fn rank_passages(
        &self,
        query: &str,
        passages: &[&str],
        permitted: ModelLocation,
    ) -> Option<Vec<usize>> {
        self.models.rank_passages(query, passages, permitted).await
    }

    async fn read(&self, work: IndexWork) {
        let shared = Arc::clone(&self.shared);
        let read = tokio::task::spawn_blocking(move || {
            let (index, edited) = shared.change(|state| (state.index.clone(), state.edited.clone()));
            let Some(index) = index else { return note_no_index(&shared, work) };
            let opened = index.recent().and_then(|recent| Ok((index.store.snapshot()?, recent)));
            match opened {
                Ok((snapshot, recent)) => {
                    let (recent, moment) = edited.with(recent);
                    let generation = snapshot.generation().wrapping_mul(1 << 20).wrapping_add(moment);
                    let coverage = shared.coverage(&snapshot);
                    let (recent, coverage) = (&recent[..], &coverage);
                    work(&IndexState { snapshot: &snapshot, recent, generation, coverage });
                }
                Err(error) => {
                    shared.fail(&error.to_string());
                    note_no_index(&shared, work);
                }
            }
        });
        // After a panic there is no answer, which the caller notices.
        let _ = read.await;
    }
}

/// Answers without an index, where all files are ones that it does not know.
fn note_no_index(shared: &SharedState, work: IndexWork) {
    let nothing = MemoryIndex::new();
    let coverage = shared.coverage(&nothing);
    work(&IndexState { snapshot: &nothing, recent: &[], generation: 0, coverage: &coverage });
}

#[cfg(test)]
mod tests;
