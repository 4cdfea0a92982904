//! What commands in a view do to the git repository of the workspace: read from the view, and shown in a later one.
//!
//! A view whose commands leave git's folder alone pays nothing: what the repository was when the view started is read afterwards, and
//! counts only if nothing in it has changed since. Else the command is run once more.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use headstart_git_ahead::{GitChange, GitError, Reader, Snapshot};
use headstart_overlay_fs::Process;
use headstart_overlay_fs::WorkspacePath;
use headstart_toolbox::GitSoFar;
use tempfile::TempDir;

use super::opening::Opened;
use super::rooms::is_leftover;
use crate::store::create_private_folder;
use crate::{clock, git};

/// The folder of the state in which each process has one of its own.
const FOLDER: &str = "git";
/// In it, the process that it belongs to.
const OWNER: &str = "owner";

/// The repository of a workspace, as its views need it.
pub(super) struct Repository {
    workspace: PathBuf,
    state: Option<PathBuf>,
    ready: OnceLock<Result<Ready, String>>,
    packs: AtomicU64,
}

/// A git to read with, and a folder for what it reads; both made when a command first changed a repository.
struct Ready {
    reader: Reader,
    state: PathBuf,
    /// Gone with the process.
    private: TempDir,
}

/// The repository in one view.
pub(crate) struct InView {
    /// The kernel's clock before the view started.
    pub(super) since: i64,
    /// What it was when the first command ran in the view, once that is known; nothing where there was none.
    before: Option<Snapshot>,
    is_known: bool,
    /// Whether git in the view was told to take closed files that it tracks as they were.
    pub(super) keeps_tracked: bool,
    /// What the view shows of the work's own changes.
    pub(super) shown: GitSoFar,
}

/// What came of reading a repository.
pub(crate) enum Read {
    /// What all commands in the view did; `None`: nothing.
    Change(Option<Box<GitChange>>),
    /// Its user changed the repository while the view was there.
    Disturbed,
    /// It is none that can be read, or not everything in it can be.
    Refused(String),
}

impl Repository {
    /// `state` is the folder of all state; without it no commit made ahead can be kept.
    pub(super) fn new(workspace: &Path, state: Option<&Path>) -> Self {
        let (workspace, state) = (workspace.to_owned(), state.map(Path::to_owned));
        Self { workspace, state, ready: OnceLock::new(), packs: AtomicU64::new(0) }
    }

    /// Shows in a view, in which no command has run yet, what the work did to the repository before.
    pub(super) fn show(&self, opened: &mut Opened, so_far: &GitSoFar) -> Result<(), String> {
        let (view, shown) = (opened.view.root(), &mut opened.git);
        shown.shown = so_far.clone();
        if so_far.is_empty() {
            return Ok(());
        }
        let ready = self.ready()?;
        let told = |error: GitError| error.to_string();
        for change in &so_far.below {
            ready.reader.apply_to_view(view, &ready.state, change).map_err(told)?;
        }
        (shown.before, shown.is_known) = (ready.reader.snapshot(view).map_err(told)?, true);
        if let Some(change) = &so_far.step {
            ready.reader.apply_to_view(view, &ready.state, change).map_err(told)?;
        }
        Ok(())
    }

    /// What the commands in a view did, where one of them wrote to git's folder.
    pub(super) fn read(&self, opened: &mut Opened) -> Read {
        self.try_read(opened).unwrap_or_else(Read::Refused)
    }

    fn try_read(&self, opened: &mut Opened) -> Result<Read, String> {
        let (view, shown) = (opened.view.root(), &mut opened.git);
        let ready = self.ready()?;
        let told = |error: GitError| error.to_string();
        let real = File::open(&self.workspace).map_err(|error| error.to_string())?;
        if !shown.is_known {
            shown.before = Snapshot::take(&real, ready.private.path()).map_err(told)?;
            shown.is_known = true;
        }
        // What the view shows, and what was read a moment ago, is of one moment only if nobody changed anything meanwhile.
        if Snapshot::changed_since(&real, shown.since).map_err(told)? {
            return Ok(Read::Disturbed);
        }
        let number = self.packs.fetch_add(1, Ordering::Relaxed);
        let folder = ready.private.path().file_name().unwrap_or_default().to_string_lossy();
        let pack = format!("{FOLDER}/{folder}/{number}.pack");
        let change = ready.reader.read(shown.before.as_ref(), view, &ready.state, &pack).map_err(told)?;
        match (&shown.shown.step, &change) {
            // What was known already stays as it was kept.
            (Some(known), Some(now)) if known.is_same(now) => {
                let _ = std::fs::remove_file(ready.state.join(&pack));
            }
            _ => shown.shown.step = change,
        }
        Ok(Read::Change(shown.shown.step.clone().map(Box::new)))
    }

    /// Why git finds no repository in a view of this workspace, where it finds one outside.
    pub(super) fn is_elsewhere(&self) -> Option<&'static str> {
        let git = self.workspace.join(".git");
        match git.symlink_metadata() {
            Ok(found) if found.is_dir() => None,
            Ok(_) => Some(
                "its repository is outside the workspace (a linked worktree, or a submodule), where a view shows nothing",
            ),
            Err(_) => {
                self.workspace.ancestors().skip(1).any(|above| above.join(".git").exists()).then_some(
                    "its repository is in a folder above the workspace, where a view shows nothing",
                )
            }
        }
    }

    fn ready(&self) -> Result<&Ready, String> {
        self.ready.get_or_init(|| self.make_ready()).as_ref().map_err(Clone::clone)
    }

    fn make_ready(&self) -> Result<Ready, String> {
        let state = self.state.clone().ok_or("there is no state folder to keep commits in")?;
        let git = git::find(&self.workspace).map_err(|error| error.to_string())?;
        let folder = state.join(FOLDER);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        create_private_folder(&folder).map_err(|error| error.to_string())?;
        remove_old(&folder);
        let private = tempfile::Builder::new().prefix("work-").tempdir_in(&folder).map_err(failed)?;
        let owner = serde_json::to_vec(&Process::current()).map_err(|error| error.to_string())?;
        std::fs::write(private.path().join(OWNER), owner).map_err(failed)?;
        let reader = Reader::new(git, &self.workspace, private.path());
        Ok(Ready { reader, state, private })
    }
}

impl InView {
    /// In a view that is started now, by the clock that the kernel stamps files with.
    pub(super) fn starts_now() -> Self {
        Self {
            since: clock::since_now_ns(),
            before: None,
            is_known: false,
            keeps_tracked: false,
            shown: GitSoFar::default(),
        }
    }
}

/// Whether its user did something in the repository of a workspace; what cannot be read is told by whoever reads it.
pub(super) fn has_changed_since(workspace: &Path, since: i64) -> bool {
    File::open(workspace).is_ok_and(|real| Snapshot::changed_since(&real, since).unwrap_or(false))
}

/// Removes what processes left that died.
fn remove_old(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let owner = std::fs::read(entry.path().join(OWNER)).ok();
        let owner = owner.and_then(|bytes| serde_json::from_slice::<Process>(&bytes).ok());
        // One without an owner is being made at this moment, or was left by a process that died within it.
        let is_old = || entry.metadata().is_ok_and(|found| is_leftover(&found));
        if owner.map_or_else(is_old, |owner| !owner.is_alive()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Why a change is not applied that is about what git ignores, or about build output: these folders stay in the view.
pub(crate) fn commits_output(change: &GitChange, output: &[WorkspacePath]) -> Option<String> {
    let path = change.paths.iter().find(|path| output.iter().any(|folder| path.starts_with(folder)))?;
    Some(format!(
        "it commits {path}, which git ignores or which is build output, and which stays in the view"
    ))
}

/// Whether a command says that it found no repository.
pub(crate) fn found_none(output: &str) -> bool {
    output.contains("not a git repository")
}
