//! The index of a workspace on this machine: where it is stored, how it is kept current, and what past commits add to
//! it.

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
    HistoryPlace, Hit, IndexError, Progress, Step, Store, StoreLimits, Updated, VectorStatus, passage,
    update, update_paths,
};
use headstart_overlay_fs::{ContentHash, OsOptions, OsTree, Tree as _, WorkspacePath};
use headstart_tool_gate::GateContext;

use self::history::{Commits, Extent};
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

/// The name of the note that says which commits are in the index.
const HISTORY: &str = "history";

/// How long git may take to tell past commits: to a search, to a process that works in the background, and to somebody
/// who waits for all.
const SOME_HISTORY: Duration = Duration::from_secs(1);
const MORE_HISTORY: Duration = Duration::from_secs(10);
const ALL_HISTORY: Duration = Duration::from_secs(120);

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

    /// Updates the index to the current files, for a limited time, and then to the commits. A full disk, a limit, or a process that writes for
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
        let done = match self.update(&mut keep_going).await {
            Ok(mut updated) => {
                self.follow_history(most.map_or(ALL_HISTORY, |_| SOME_HISTORY)).map(|missing| {
                    updated.told.extend(missing.map(str::to_owned));
                    updated
                })
            }
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
        match self.text(hit).await {
            Some(text) => passage(&hit.path, &text, hit.lines),
            None => hit.path.to_string(),
        }
    }

    /// The text of the file of a hit; `None` if the file is closed, or has changed since.
    pub async fn text(&self, hit: &Hit) -> Option<String> {
        let bytes = self.tree.read(&hit.path).await.ok().filter(|_| !self.gate.denies(&hit.path))?;
        (ContentHash::of(&bytes) == hit.digest).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether something is at a path that no rule closes.
    pub async fn has(&self, path: &WorkspacePath) -> bool {
        !self.gate.denies(path) && self.tree.metadata(path).await.is_ok()
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

    /// Updates what the index contains about past commits, for this long: first by the commits that are new, then by
    /// older ones. What came in this time is kept, and the next call goes on there. Returns what is missing, in words
    /// for the user.
    fn follow_history(&self, patience: Duration) -> Result<Option<&'static str>, IndexError> {
        const MISSING: &str = "git was slow, so past commits are missing; headstart index reads them";
        if !self.config.history {
            return Ok(None);
        }
        let end = Instant::now() + patience;
        let left = || end.saturating_duration_since(Instant::now());
        let known = self.store.note(HISTORY)?.as_deref().and_then(Extent::parse);
        let Some(head) = history::head(&self.workspace, patience) else {
            return Ok(left().is_zero().then_some(MISSING));
        };
        let goes_on = |known: &Extent| {
            known.newest == head || history::goes_on(&self.workspace, &known.newest, &head, left())
        };
        let mut extent = match known.filter(|known| !known.is_long() && goes_on(known)) {
            Some(known) if known.newest == head => known,
            Some(known) => {
                let range = format!("{}..{head}", known.newest);
                match history::log(&self.workspace, &range, 0, history::COMMITS, left()) {
                    Some(commits) if commits.is_whole => self.add_commits(&commits, &head, Some(known))?,
                    _ => return Ok(Some(MISSING)),
                }
            }
            None => match history::log(&self.workspace, &head, 0, history::COMMITS, left()) {
                Some(commits) if commits.is_whole || !commits.list.is_empty() => {
                    self.add_commits(&commits, &head, None)?
                }
                _ => return Ok(Some(MISSING)),
            },
        };
        if let Some(oldest) = extent.oldest.clone() {
            let most = history::COMMITS.saturating_sub(extent.count);
            if let Some(commits) = history::log(&self.workspace, &oldest, 1, most, left()) {
                let subjects = history::subjects(&commits.list);
                let subjects = subjects.iter().map(|(path, text)| (path, text.as_str()));
                self.store.add_history(subjects, HistoryPlace::Older)?;
                extent.count += commits.list.len();
                let reached = commits.oldest().unwrap_or(&oldest).to_owned();
                extent.oldest = (!commits.is_whole).then_some(reached);
                self.store.set_note(HISTORY, &extent.text())?;
            }
        }
        Ok(extent.oldest.is_some().then_some(MISSING))
    }

    /// Adds the newest commits to those that are known.
    fn add_commits(
        &self,
        commits: &Commits,
        head: &str,
        known: Option<Extent>,
    ) -> Result<Extent, IndexError> {
        let subjects = history::subjects(&commits.list);
        let subjects = subjects.iter().map(|(path, text)| (path, text.as_str()));
        let before = match &known {
            Some(_) => self.store.note("recent")?.unwrap_or_default(),
            None => String::new(),
        };
        match known {
            Some(_) => self.store.add_history(subjects, HistoryPlace::Newer)?,
            None => self.store.set_history(subjects)?,
        }
        self.store.set_note("recent", &history::recent(&commits.list, &before))?;
        let (oldest, count) = match known {
            Some(known) => (known.oldest, known.count),
            None => (commits.oldest().filter(|_| !commits.is_whole).map(str::to_owned), 0),
        };
        let extent = Extent { newest: head.to_owned(), oldest, count: count + commits.list.len() };
        self.store.set_note(HISTORY, &extent.text())?;
        Ok(extent)
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
    fn git(folder: &Path, arguments: &[&str]) {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false"]);
        git.args(arguments).current_dir(folder).env("HOME", folder);
        assert!(git.output().expect("git is needed for this test").status.success(), "git {arguments:?}");
    }

    /// A git that is too slow costs a search no file, what it told until then is kept, later only what is new is read,
    /// and a history that was rewritten is read again.
    #[test]
    fn past_commits_come_after_the_files_and_bit_by_bit() {
        let (state, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = folder.path().canonicalize().unwrap();
        let commit = |text: &str, arguments: &[&str]| {
            std::fs::write(project.join("cart.rs"), text).unwrap();
            git(&project, &["add", "."]);
            git(&project, &[&["commit", "-q"][..], arguments].concat());
        };
        git(&project, &["init", "-q"]);
        commit("fn a() {}\n", &["-m", "Round halfpennies up"]);
        let workspace = project.to_str().unwrap();
        let gate = GateContext { workspace: workspace.to_owned(), ..GateContext::default() };
        let (index, _) = Index::open(state.path(), workspace, gate, IndexConfig::default()).unwrap();
        futures::executor::block_on(index.update(&mut |_| ControlFlow::Continue(()))).unwrap();
        let path = WorkspacePath::parse("cart.rs").unwrap();
        let said = || {
            let snapshot = index.store.snapshot().unwrap();
            assert!(headstart_code_index::Snapshot::catalogue(&snapshot).digest(&path).is_some());
            headstart_code_index::Snapshot::history(&snapshot, &path).unwrap().tokens
        };
        let patience = Duration::from_secs(60);

        assert!(index.follow_history(Duration::ZERO).unwrap().is_some());
        assert_eq!(said(), "");
        assert_eq!(index.follow_history(patience).unwrap(), None);
        assert!(said().contains("halfpenn"), "{}", said());
        assert_eq!(index.recent().unwrap().len(), 1);

        commit("fn b() {}\n", &["-m", "Count farthings"]);
        assert_eq!(index.follow_history(patience).unwrap(), None);
        let (newer, older) = (said().find("farth").unwrap(), said().find("halfpenn").unwrap());
        assert!(newer < older, "{}", said());

        commit("fn c() {}\n", &["--amend", "-m", "Count groats"]);
        assert_eq!(index.follow_history(patience).unwrap(), None);
        assert!(said().contains("groat") && !said().contains("farth"), "{}", said());

        // As if git had only told the newest commit in its time.
        let head = history::head(&project, patience).unwrap();
        index.store.set_history([(&path, "Count groats")]).unwrap();
        let part = Extent { newest: head.clone(), oldest: Some(head.clone()), count: 1 };
        index.store.set_note(HISTORY, &part.text()).unwrap();
        assert_eq!(index.follow_history(patience).unwrap(), None);
        assert!(said().find("groat").unwrap() < said().find("halfpenn").unwrap(), "{}", said());
        let whole = Extent { newest: head, oldest: None, count: 2 };
        assert_eq!(index.store.note(HISTORY).unwrap(), Some(whole.text()));
    }
}
