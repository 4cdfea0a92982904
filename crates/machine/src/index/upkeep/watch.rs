use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Weak;

use headstart_overlay_fs::WorkspacePath;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::shared::SharedState;
use crate::system::{path_in, workspace_path};
use crate::watch_share::WatchShare;

/// Whether one watch covers everything below a folder.
const RECURSIVE: bool = !cfg!(target_os = "linux");
/// Files of git that change with every commit.
const HISTORY: [&[u8]; 3] = [b"HEAD", b"ORIG_HEAD", b"COMMIT_EDITMSG"];

/// Receives reports of changes of the indexed files.
pub(super) struct Watch {
    watcher: RecommendedWatcher,
    share: WatchShare,
    root: PathBuf,
    folders: HashSet<WorkspacePath>,
}

impl Watch {
    /// Watches these folders of a workspace, and its git folder. Fails if the system has no more watches, or none for
    /// this file system, or if other processes have all that this program takes.
    pub(super) fn start(
        root: &Path,
        state: &Path,
        folders: &[WorkspacePath],
        shared: Weak<SharedState>,
    ) -> Result<Self, notify::Error> {
        let share =
            WatchShare::take(state).ok_or(notify::ErrorKind::MaxFilesWatch).map_err(notify::Error::new)?;
        let of = root.to_owned();
        let watcher = RecommendedWatcher::new(
            move |event: notify::Result<Event>| {
                if let Some(shared) = shared.upgrade() {
                    handle_event(&shared, &of, event);
                }
            },
            Config::default().with_follow_symlinks(false),
        )?;
        let mut watch = Self { watcher, share, root: root.to_owned(), folders: HashSet::new() };
        if RECURSIVE {
            watch.watcher.watch(root, RecursiveMode::Recursive)?;
        } else {
            // If this is a file or does not exist, commits are not reported, and the next start finds them.
            let _ = watch.watcher.watch(&root.join(".git"), RecursiveMode::NonRecursive);
        }
        watch.follow(folders)?;
        Ok(watch)
    }

    /// Watches these folders instead. Returns whether one of them is new.
    pub(super) fn follow(&mut self, folders: &[WorkspacePath]) -> Result<bool, notify::Error> {
        if RECURSIVE {
            return Ok(false);
        }
        if self.share.folders < folders.len() {
            return Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch));
        }
        let wanted: HashSet<WorkspacePath> = folders.iter().cloned().collect();
        for folder in self.folders.difference(&wanted) {
            // A folder that was removed is not watched any more.
            let _ = self.watcher.unwatch(&on_disk(&self.root, folder));
        }
        for folder in wanted.difference(&self.folders) {
            match self.watcher.watch(&on_disk(&self.root, folder), RecursiveMode::NonRecursive) {
                Err(error) if !matches!(error.kind, notify::ErrorKind::PathNotFound) => return Err(error),
                _ => {}
            }
        }
        let is_new = !wanted.is_subset(&self.folders);
        self.folders = wanted;
        Ok(is_new)
    }
}

fn on_disk(root: &Path, path: &WorkspacePath) -> PathBuf {
    path_in(root, path).unwrap_or_else(|_| root.to_owned())
}

/// Notes the changes that an event reports. If it says that other events were lost, all files are compared.
fn handle_event(shared: &SharedState, root: &Path, event: notify::Result<Event>) {
    let Ok(event) = event else {
        shared.change(|state| state.wants_comparison = true);
        return;
    };
    let is_only_read = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    };
    if is_only_read && !event.need_rescan() {
        return;
    }
    // A folder that was created or moved contains files that no event reports.
    let may_be_new = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)));
    if event.need_rescan() || may_be_new && event.paths.iter().any(|path| path.is_dir()) {
        shared.change(|state| state.wants_comparison = true);
    }
    let paths: Vec<WorkspacePath> =
        event.paths.iter().filter_map(|path| workspace_path(path.strip_prefix(root).ok()?)).collect();
    let (of_git, paths): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|path| path.names().any(|name| name == b".git"));
    if of_git.iter().filter_map(WorkspacePath::file_name).any(|name| HISTORY.contains(&name)) {
        shared.change(|state| state.wants_history = true);
    }
    // Changes in a folder have events of their own.
    let is_file = |path: &WorkspacePath| !path.is_root() && !on_disk(root, path).is_dir();
    shared.note_changed(paths.into_iter().filter(is_file));
}
