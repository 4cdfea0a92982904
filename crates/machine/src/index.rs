//! The index of a workspace on this machine: where it is stored, how it is kept current, and what past commits add to
//! it.

mod english;
mod history;
mod models;
mod remote;
mod sweep;
mod upkeep;
mod vectors;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headstart_code_index::{
    Hit, IndexError, Progress, Step, Store, StoreLimits, Updated, VectorStatus, passage, update, update_paths,
};
use headstart_overlay_fs::{ContentHash, OsOptions, OsTree, Tree as _, WorkspacePath};
use headstart_tool_gate::GateContext;

pub use self::models::IndexModels;
pub use self::upkeep::Upkeep;
use self::vectors::{VectorBuilder, VectorError};
use crate::config::{Flags, IndexConfig};
use crate::context::Context;
use crate::error::CliError;
use crate::output;
use crate::store::create_private_folder;
use crate::workspace::state_name;

/// The name of the index's note which says that the user has paused it, unless it is empty.
pub const PAUSED: &str = "paused";

/// The name of the note with the number of files that are current, and of all files.
const PROGRESS: &str = "progress";

/// The least time for reading changed files, however long it took to find them.
const MIN_READING: Duration = Duration::from_millis(500);

/// The index of one workspace.
pub struct Index {
    pub store: Store,
    workspace: PathBuf,
    tree: OsTree,
    gate: GateContext,
    config: IndexConfig,
}

impl Index {
    /// Opens the index, or begins an empty one. Also returns, as a text for the user, why an old index could not be
    /// used.
    pub fn open(
        state: &Path,
        workspace: &str,
        gate: GateContext,
        config: IndexConfig,
    ) -> Result<(Self, Option<String>), CliError> {
        let limits = StoreLimits { bytes: config.max_bytes, ..StoreLimits::default() };
        let place = place(state, workspace);
        place.parent().map_or(Ok(()), create_private_folder)?;
        let opened = Store::open(&place, limits)?;
        let workspace = PathBuf::from(workspace);
        let tree = files(&workspace, state)?;
        Ok((Self { store: opened.store, workspace, tree, gate, config }, opened.told))
    }

    /// The folder that the index is of.
    fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Updates the index to the current files, for a limited time. A full disk, a limit, or a process that writes for
    /// long is no error: it is one of the remarks in the result, and searches use what the index contains.
    /// `tell` hears how far it is.
    pub async fn follow(
        &self,
        most: Option<Duration>,
        tell: &mut (dyn FnMut(Step) + Send),
    ) -> Result<Updated, CliError> {
        let began = Instant::now();
        let mut reading = None;
        let mut keep_going = |step| {
            tell(step);
            let is_over = |most: Duration| match step {
                Step::Walk(_) => most < began.elapsed(),
                // Some files are read even if the walk took all the time, so that each call makes progress.
                Step::Read(_) => {
                    let since = *reading.get_or_insert_with(Instant::now);
                    most < began.elapsed() && MIN_READING < since.elapsed()
                }
            };
            if most.is_some_and(is_over) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let done = match self.follow_history() {
            Ok(()) => self.update(&mut keep_going).await,
            Err(error) => Err(error),
        };
        let notice = |text: String| Ok(Updated { told: vec![text], ..Updated::default() });
        match done {
            Err(error) if error.is_full() => notice(format!("the index is full: {error}")),
            Err(error) if error.is_locked() => {
                notice("another process is writing the index: what changed since may be missing".to_owned())
            }
            done => Ok(done?),
        }
    }

    /// Compares all files with the index, and writes the differences.
    async fn update(
        &self,
        keep_going: &mut (dyn FnMut(Step) -> ControlFlow<()> + Send),
    ) -> Result<Updated, IndexError> {
        let updated = update(&self.store, &self.tree, &|path| self.gate.denies(path), keep_going).await?;
        let Progress { current, all } = updated.progress;
        self.store.set_note(PROGRESS, &format!("{current} {all}"))?;
        Ok(updated)
    }

    /// The progress of the last comparison of all files, in whichever process it took place.
    fn progress(&self) -> Result<Option<Progress>, IndexError> {
        let note = self.store.note(PROGRESS)?.unwrap_or_default();
        let numbers = note.split_once(' ').map(|(current, all)| (current.parse(), all.parse()));
        Ok(match numbers {
            Some((Ok(current), Ok(all))) => Some(Progress { current, all }),
            _ => None,
        })
    }

    /// Updates these paths. Returns whether all files have to be compared.
    async fn update_paths(&self, paths: &BTreeSet<WorkspacePath>) -> Result<bool, IndexError> {
        update_paths(&self.store, &self.tree, &|path| self.gate.denies(path), paths).await
    }

    /// Makes the missing vectors, until all are made or the model fails. A failure is one of the models' remarks.
    pub async fn embed(&self, models: &IndexModels) -> Result<(), CliError> {
        let Some(embedder) = models.embedder() else { return Ok(()) };
        let mut embedding = VectorBuilder::begin(self, embedder)?;
        loop {
            match embedding.step().await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return Ok(()),
                Err(VectorError::Model(failure)) => {
                    models.no_vectors(&failure);
                    return Ok(());
                }
                Err(VectorError::Index(error)) => return Err(error.into()),
            }
        }
    }

    /// The text of a place for a model that judges places. It is only the path if the file is closed or has changed
    /// since.
    pub async fn passage(&self, hit: &Hit) -> String {
        let read = async { self.tree.read(&hit.path).await.ok().filter(|_| !self.gate.denies(&hit.path)) };
        match read.await.filter(|bytes| ContentHash::of(bytes) == hit.digest) {
            Some(bytes) => passage(&hit.path, &String::from_utf8_lossy(&bytes), hit.lines),
            None => hit.path.to_string(),
        }
    }

    /// The progress of the vectors, and the name of their model.
    pub fn vector_status(&self, models: &IndexModels) -> Result<Option<(String, VectorStatus)>, CliError> {
        let Some(embedder) = models.embedder() else { return Ok(None) };
        let status = self.store.vector_status(embedder.id())?;
        models.expect(status.dimensions);
        Ok(Some((embedder.id().to_owned(), status)))
    }

    /// The files of the last commits, the newest first, each with its weight.
    pub fn recent(&self) -> Result<Vec<(WorkspacePath, f32)>, IndexError> {
        Ok(history::read_recent(&self.store.note("recent")?.unwrap_or_default()))
    }

    /// Updates what the index contains about past commits.
    fn follow_history(&self) -> Result<(), IndexError> {
        if !self.config.history {
            return Ok(());
        }
        let Some(head) = history::head(&self.workspace) else { return Ok(()) };
        if self.store.note("head")?.as_ref() == Some(&head) {
            return Ok(());
        }
        // If git does not answer in time, the field stays unchanged.
        let Some(commits) = history::log(&self.workspace) else { return Ok(()) };
        let subjects = history::subjects(&commits);
        self.store.set_history(subjects.iter().map(|(path, text)| (path, text.as_str())))?;
        self.store.set_note("recent", &history::recent(&commits))?;
        self.store.set_note("head", &head)
    }
}

/// Writes the changes of an accept to the index of its workspace, if there is one, so that the next search need not
/// find them. The accept is already done, so an error is only reported.
pub async fn note_changed(workspace: &Path, paths: &BTreeSet<WorkspacePath>, context: &Context) {
    if let Err(error) = write_changed(workspace, paths, context).await {
        output::note(&format!(
            "the index does not know the changes yet, the next search looks for them: {error}"
        ));
    }
}

async fn write_changed(
    workspace: &Path,
    paths: &BTreeSet<WorkspacePath>,
    context: &Context,
) -> Result<(), CliError> {
    let config = context.config(&Flags::default(), workspace)?;
    let Some(workspace) = workspace.to_str() else { return Ok(()) };
    let store = context.store()?;
    let state = store.state_folder();
    if !config.index.enabled || !place(state, workspace).exists() {
        return Ok(());
    }
    let gate = config.gate_context(workspace.to_owned())?;
    let (index, _) = Index::open(state, workspace, gate, config.index)?;
    // A paused index is not written to, and no search considers it current.
    if index.store.note(PAUSED)?.is_none_or(|paused| paused.is_empty()) {
        index.update_paths(paths).await?;
    }
    Ok(())
}

/// The files of a workspace, without the state folder if that is in it.
fn files(workspace: &Path, state: &Path) -> Result<OsTree, CliError> {
    let options = OsOptions { state: Some(state.to_owned()), ..OsOptions::default() };
    OsTree::open_with(workspace, options)
        .map_err(|error| CliError::Workspace { path: workspace.to_owned(), message: error.to_string() })
}

/// The path of an index: `STATE/index/NAME-HASH.sqlite`.
fn place(state: &Path, workspace: &str) -> PathBuf {
    state.join("index").join(format!("{}.sqlite", state_name(Path::new(workspace))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workspaces_of_one_name_have_two_indexes() {
        let state = Path::new("/state");
        let one = place(state, "/home/ada/project");
        assert_ne!(one, place(state, "/home/bob/project"));
        assert_eq!(one, place(state, "/home/ada/project"));
        assert!(one.starts_with("/state/index"));
        assert!(one.file_name().unwrap().to_str().unwrap().starts_with("project-"));
        let odd = place(state, "/home/ada/über project\n");
        assert!(odd.to_str().unwrap().is_ascii());
    }
}
