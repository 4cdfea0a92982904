//! Finds out what commands in a view did to the git repository of the workspace, and shows that in a later view.
//!
//! A view whose commands do not touch git's folder costs nothing: the state of the repository at the start of the view
//! is read afterwards, and only counts if the repository has not changed since then. If it has, the command is run once
//! more.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use headstart_git_ahead::{GitChange, GitError, ObjectName, Reader, Snapshot};
use headstart_overlay_fs::{Process, Torn, WorkspacePath, file_times};
use headstart_shadow::TakenAway;
use headstart_toolbox::PriorGitChanges;
use tempfile::TempDir;

use super::opening::OpenedView;
use super::view_folders::is_leftover;
use crate::git;
use crate::store::create_private_folder;

/// The folder in the state folder in which each process has a folder.
const FOLDER: &str = "git";
/// The file in such a folder that names its process.
const OWNER: &str = "owner";

/// What views need to know of the workspace's repository.
pub(super) struct Repository {
    workspace: PathBuf,
    state: Option<PathBuf>,
    ready: OnceLock<Result<GitAccess, String>>,
    packs: AtomicU64,
}

/// The git to read with and a folder for what it reads. Both are created when a command first changes a repository.
struct GitAccess {
    reader: Reader,
    state: PathBuf,
    /// Removed when the process ends.
    private: TempDir,
}

/// The repository in one view.
pub(crate) struct ViewRepository {
    /// The time of the kernel's clock before the view started.
    pub(super) since: i64,
    /// The state of the repository when the first command ran in the view, once that has been read; `None` if there was
    /// no repository.
    before: Option<Snapshot>,
    is_known: bool,
    /// Whether git in the view was told to treat the closed files that it tracks as unchanged.
    pub(super) keeps_tracked: bool,
    /// The changes of the work itself that the view shows.
    pub(super) shown: PriorGitChanges,
    /// What work had named in the repository when it took files away. Their only copy may be there, so a later command
    /// must not drop it alone.
    holding: BTreeSet<ObjectName>,
}

/// The result of reading a repository.
pub enum RepositoryRead {
    /// What all commands in the view did; `None` if they did nothing.
    Change(Option<Box<GitChange>>),
    /// The user changed the repository during the lifetime of the view.
    Disturbed,
    /// The repository, or a part of it, cannot be read.
    Refused(String),
}

impl Repository {
    /// `state` is the state folder. Without it commits made ahead cannot be stored.
    pub(super) fn new(workspace: &Path, state: Option<&Path>) -> Self {
        let (workspace, state) = (workspace.to_owned(), state.map(Path::to_owned));
        Self { workspace, state, ready: OnceLock::new(), packs: AtomicU64::new(0) }
    }

    /// Shows what the work did to the repository earlier. No command must have run in the view yet.
    pub(super) fn show(&self, opened: &mut OpenedView, so_far: &PriorGitChanges) -> Result<(), String> {
        let (view, shown) = (opened.view.root(), &mut opened.git);
        shown.shown = so_far.clone();
        if so_far.is_empty() {
            return Ok(());
        }
        let ready = self.git_access()?;
        let to_text = |error: GitError| error.to_string();
        for change in &so_far.below {
            ready.reader.apply_to_view(view, &ready.state, change).map_err(to_text)?;
        }
        (shown.before, shown.is_known) = (ready.reader.snapshot(view).map_err(to_text)?, true);
        if let Some(change) = &so_far.step {
            shown.holding.extend(change.named().cloned());
            ready.reader.apply_to_view(view, &ready.state, change).map_err(to_text)?;
        }
        Ok(())
    }

    /// What the commands in a view did, if one of them wrote to git's folder.
    pub(super) fn read(&self, opened: &mut OpenedView, taken_away: &[TakenAway]) -> RepositoryRead {
        self.try_read(opened, taken_away).unwrap_or_else(RepositoryRead::Refused)
    }

    fn try_read(&self, opened: &mut OpenedView, taken_away: &[TakenAway]) -> Result<RepositoryRead, String> {
        let (view, shown) = (opened.view.root(), &mut opened.git);
        let ready = self.git_access()?;
        let to_text = |error: GitError| error.to_string();
        let real = File::open(&self.workspace).map_err(|error| error.to_string())?;
        if !shown.is_known {
            shown.before = Snapshot::take(&real, ready.private.path()).map_err(to_text)?;
            shown.is_known = true;
        }
        // What the view shows and what was just read only belong to the same state if nobody changed anything
        // meanwhile.
        if Snapshot::changed_since(&real, shown.since).map_err(to_text)? {
            return Ok(RepositoryRead::Disturbed);
        }
        let number = self.packs.fetch_add(1, Ordering::Relaxed);
        let folder = ready.private.path().file_name().unwrap_or_default().to_string_lossy();
        let pack = format!("{FOLDER}/{folder}/{number}.pack");
        let change = ready.reader.read(shown.before.as_ref(), view, &ready.state, &pack).map_err(to_text)?;
        let is_boundary = change.as_ref().is_some_and(|change| change.boundary().is_some());
        if !is_boundary && let Some(torn) = ready.torn(view, change.as_ref(), taken_away, &shown.holding)? {
            let _ = std::fs::remove_file(ready.state.join(&pack));
            return Ok(RepositoryRead::Refused(format!("it {}", torn.words())));
        }
        if taken_away.iter().any(|file| !file.is_settled) {
            shown.holding.extend(change.iter().flat_map(GitChange::named).cloned());
        }
        match (&shown.shown.step, &change) {
            // What was known before stays as it was stored.
            (Some(known), Some(now)) if known.is_same(now) => {
                let _ = std::fs::remove_file(ready.state.join(&pack));
            }
            _ => shown.shown.step = change,
        }
        Ok(RepositoryRead::Change(shown.shown.step.clone().map(Box::new)))
    }

    fn git_access(&self) -> Result<&GitAccess, String> {
        self.ready.get_or_init(|| self.open_git_access()).as_ref().map_err(Clone::clone)
    }

    fn open_git_access(&self) -> Result<GitAccess, String> {
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
        Ok(GitAccess { reader, state, private })
    }
}

impl GitAccess {
    /// What work took away and whose only copy may be below `.git` where no accept brings it: now, or in what it had
    /// named there before.
    fn torn(
        &self,
        view: impl AsFd,
        change: Option<&GitChange>,
        taken_away: &[TakenAway],
        holding: &BTreeSet<ObjectName>,
    ) -> Result<Option<Torn>, String> {
        let to_text = |error: GitError| error.to_string();
        let (old, new): (Vec<_>, Vec<_>) = taken_away.iter().partition(|file| file.is_settled);
        let paths = |files: &[&TakenAway]| files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        if !new.is_empty() {
            let lengths = new.iter().map(|file| file.len).collect();
            let written =
                self.reader.unbrought(view.as_fd(), change, &self.state, &lengths).map_err(to_text)?;
            if !written.is_empty() {
                return Ok(Some(Torn { removed: paths(&new), written }));
            }
        }
        let is_dropped =
            !old.is_empty() && self.reader.drops_any(view, change, &self.state, holding).map_err(to_text)?;
        Ok(is_dropped.then(|| Torn { removed: paths(&old), written: vec![".git/objects".to_owned()] }))
    }
}

impl ViewRepository {
    /// For a view that starts now, by the clock with which the kernel stamps files.
    pub(super) fn starts_now() -> Self {
        Self {
            since: file_times::since_now_ns(),
            before: None,
            is_known: false,
            keeps_tracked: false,
            shown: PriorGitChanges::default(),
            holding: BTreeSet::new(),
        }
    }
}

/// Whether the user changed the repository of a workspace. A repository that cannot be read is reported elsewhere.
pub(super) fn has_changed_since(workspace: &Path, since: i64) -> bool {
    File::open(workspace).is_ok_and(|real| Snapshot::changed_since(&real, since).unwrap_or(false))
}

/// Removes the folders of processes that have died.
fn remove_old(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let owner = std::fs::read(entry.path().join(OWNER)).ok();
        let owner = owner.and_then(|bytes| serde_json::from_slice::<Process>(&bytes).ok());
        // A folder without an owner is just being created, or was left by a process that died while creating it.
        let is_old = || entry.metadata().is_ok_and(|found| is_leftover(&found));
        if owner.map_or_else(is_old, |owner| !owner.is_alive()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Why a change is not applied that contains ignored files or build output, whose folders stay in the view; `None` if
/// it contains none.
pub fn commits_output(change: &GitChange, output: &[WorkspacePath]) -> Option<String> {
    let path = change.paths.iter().find(|path| output.iter().any(|folder| path.starts_with(folder)))?;
    Some(format!(
        "it commits {path}, which git ignores or which is build output, and which stays in the view"
    ))
}

/// Whether a command printed that it found no repository.
pub fn says_no_repository(output: &str) -> bool {
    output.contains("not a git repository")
}
