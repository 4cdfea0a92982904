//! A workspace for one test, and a view of it.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, OsTree, Overlay, Quota, Workspace as _,
};
use headstart_shadow::{BuildRoom, Command, Options, Output, ReadBack, ReadRules, Tier, View};
use headstart_workspace_path::WorkspacePath;
use tempfile::TempDir;

use crate::clones;

/// A test and its name.
pub(crate) type Test = (&'static str, fn());

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

thread_local! {
    /// The tier of all views in this test.
    static TIER: Cell<Tier> = const { Cell::new(Tier::Kernel) };
}

/// Sets the tier of all views in this test.
pub(crate) fn set_tier(tier: Tier) {
    TIER.set(tier);
}

pub(crate) fn tier() -> Tier {
    TIER.get()
}

pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// A workspace with these files, beside a home folder.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self::named("work", files)
    }

    pub(crate) fn named(name: &str, files: &[(&str, &str)]) -> Self {
        let at = if tier() == Tier::Clone { clones::folder() } else { Path::new("/var/tmp") };
        let folder = tempfile::Builder::new().prefix("shadow-").tempdir_in(at).unwrap();
        fs::create_dir_all(folder.path().join("home")).unwrap();
        fs::create_dir_all(folder.path().join("work")).unwrap();
        if name != "work" {
            fs::rename(folder.path().join("work"), folder.path().join(name)).unwrap();
            std::os::unix::fs::symlink(name, folder.path().join("work")).unwrap();
        }
        let place = Self { folder };
        for (path, content) in files {
            place.write(path, content);
        }
        place.settle();
        place
    }

    /// Waits until files that are changed later get later times than what was just written.
    #[expect(clippy::unused_self, reason = "it stands beside what a test wrote in a place")]
    pub(crate) fn settle(&self) {
        headstart_shadow::wait_for_later_times();
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let file = self.work().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        if content.starts_with("#!") {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    pub(crate) fn options(&self) -> Options {
        let build = (tier() == Tier::Clone).then(|| {
            let room =
                tempfile::Builder::new().prefix("room-").tempdir_in(self.folder.path()).unwrap().keep();
            BuildRoom { measured: room.clone(), folder: room, layers: Vec::new(), bytes: 1 << 30 }
        });
        Options { build, tier: tier(), ..Options::new(self.work()).of_user(Some(&self.home()), None) }
    }

    pub(crate) fn view(&self) -> View {
        View::start(&self.options()).unwrap_or_else(|error| panic!("these tests need views: {error}"))
    }

    pub(crate) fn tree(&self) -> OsTree {
        OsTree::open(self.work()).unwrap()
    }

    pub(crate) fn read_back(&self, view: &mut View) -> ReadBack {
        view.read_back(&self.tree(), &ReadRules::new(Quota::default())).unwrap()
    }

    /// What an overlay over the workspace stages.
    pub(crate) fn staged(&self, stage: impl AsyncFnOnce(&Overlay)) -> ChangeSet {
        let overlay = Overlay::new(std::sync::Arc::new(self.tree()), Quota::default());
        futures::executor::block_on(stage(&overlay));
        overlay.change_set()
    }

    pub(crate) fn commit(&self, changes: &ChangeSet) -> CommitOutcome {
        futures::executor::block_on(self.tree().commit(changes, CommitOptions::default())).unwrap()
    }

    pub(crate) fn commit_all(&self, changes: &ChangeSet) {
        let outcome = self.commit(changes);
        assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    }
}

/// Runs a line of the shell and returns its output.
pub(crate) fn sh(view: &mut View, line: &str) -> Output {
    view.run(&Command::shell(line, PATIENCE)).unwrap()
}

/// Like [`sh`], for a line that has to succeed. Returns what it printed.
pub(crate) fn ok(view: &mut View, line: &str) -> String {
    let output = sh(view, line);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.end.is_success(), "{line}: {:?}: {said}", output.end);
    said
}

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// Describes each change in one line.
pub(crate) fn lines(changes: &ChangeSet) -> Vec<String> {
    changes.changes.iter().map(line).collect()
}

fn line(change: &Change) -> String {
    let path = &change.path;
    let was = change.base.as_ref().map_or("nothing".to_owned(), |base| format!("{:?}", base.kind));
    match &change.kind {
        ChangeKind::Write { content, executable, moved_from } => {
            let content = String::from_utf8_lossy(content);
            let mode = if *executable { "x" } else { "-" };
            let from = moved_from.as_ref().map_or(String::new(), |from| format!(" from {from}"));
            format!("write {path} {mode} {content:?}{from}, was {was}")
        }
        ChangeKind::Link { target, .. } => {
            format!("link {path} -> {}, was {was}", String::from_utf8_lossy(target))
        }
        ChangeKind::CreateDirectory => format!("folder {path}, was {was}"),
        ChangeKind::Delete => format!("delete {path}, was {was}"),
    }
}
