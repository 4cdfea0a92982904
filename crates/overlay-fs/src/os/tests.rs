//! What happens when something goes wrong between two steps of a commit.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests are the workspace's user, who edits it directly"
)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::executor::block_on;
use tempfile::TempDir;

use super::plan::Stop;
use super::{OsTree, SweepOutcome};
use crate::{
    CommitOptions, CommitOutcome, Committed, Conflict, ConflictKind, Overlay, Quota, TreeError, Workspace,
    WorkspacePath,
};

/// What the test does before a step; the number counts from 0.
type Hook = Box<dyn FnMut(usize, &WorkspacePath) -> Result<(), Stop>>;

thread_local! {
    static HOOK: RefCell<(usize, Option<Hook>)> = const { RefCell::new((0, None)) };
}

pub(super) fn before_step(path: &WorkspacePath) -> Result<(), Stop> {
    HOOK.with_borrow_mut(|(number, hook)| {
        *number += 1;
        hook.as_mut().map_or(Ok(()), |hook| hook(*number - 1, path))
    })
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

struct Place {
    folder: TempDir,
    tree: Arc<OsTree>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("dir/deep")).unwrap();
        fs::create_dir(root.join("empty")).unwrap();
        fs::set_permissions(root.join("empty"), fs::Permissions::from_mode(0o711)).unwrap();
        for file in ["changed", "removed", "dir/one", "dir/deep/two", "file then folder"] {
            fs::write(root.join(file), format!("old {file}\n")).unwrap();
        }
        fs::set_permissions(root.join("changed"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("changed", root.join("link")).unwrap();
        let tree = Arc::new(OsTree::open(root).unwrap());
        Self { folder, tree }
    }

    /// Staged changes with every kind of step.
    fn staged(&self) -> Overlay {
        let overlay = Overlay::new(self.tree.clone(), Quota::default());
        block_on(async {
            overlay.write(&path("changed"), b"new\n".to_vec()).await.unwrap();
            overlay.set_executable(&path("changed"), true).await.unwrap();
            overlay.remove(&path("removed")).await.unwrap();
            overlay.remove(&path("empty")).await.unwrap();
            overlay.write(&path("empty"), b"a file now\n".to_vec()).await.unwrap();
            overlay.rename(&path("dir"), &path("moved")).await.unwrap();
            overlay.rename(&path("link"), &path("other link")).await.unwrap();
            overlay.remove(&path("file then folder")).await.unwrap();
            overlay.write(&path("file then folder/inside"), b"in\n".to_vec()).await.unwrap();
            overlay.write(&path("new/folders/file"), b"n\n".to_vec()).await.unwrap();
        });
        overlay
    }

    fn commit(
        &self,
        overlay: &Overlay,
        hook: impl FnMut(usize, &WorkspacePath) -> Result<(), Stop> + 'static,
    ) -> (usize, Result<CommitOutcome, TreeError>) {
        HOOK.set((0, Some(Box::new(hook))));
        let outcome = block_on(self.tree.commit(&overlay.change_set(), CommitOptions::default()));
        (HOOK.replace((0, None)).0, outcome)
    }

    fn snapshot(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut todo = vec![self.folder.path().to_owned()];
        while let Some(at) = todo.pop() {
            let metadata = fs::symlink_metadata(&at).unwrap();
            let content = if metadata.is_file() {
                fs::read(&at).unwrap()
            } else if metadata.is_symlink() {
                fs::read_link(&at).unwrap().into_os_string().into_encoded_bytes()
            } else {
                todo.extend(fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()));
                Vec::new()
            };
            found.insert(at, (metadata.mode(), content));
        }
        found
    }
}

fn injected() -> Stop {
    Stop::Error(TreeError::Io { path: WorkspacePath::root(), message: "injected".to_owned() })
}

#[test]
fn an_error_before_any_step_restores_exactly_what_was_there() {
    let (steps, outcome) = {
        let place = Place::new();
        place.commit(&place.staged(), |_, _| Ok(()))
    };
    assert_eq!(outcome.unwrap(), CommitOutcome::Committed(Committed::default()));
    assert!(15 < steps, "every kind of step: {steps}");
    for fail_at in 0..steps {
        let place = Place::new();
        let overlay = place.staged();
        let before = place.snapshot();
        let (reached, outcome) =
            place.commit(&overlay, move |number, _| if number == fail_at { Err(injected()) } else { Ok(()) });
        assert_eq!(reached, fail_at + 1);
        assert!(
            matches!(outcome, Err(TreeError::Io { message, .. }) if message == "injected"),
            "step {fail_at}"
        );
        assert_eq!(place.snapshot(), before, "step {fail_at}");
        let (_, again) = place.commit(&overlay, |_, _| Ok(()));
        assert_eq!(
            again.unwrap(),
            CommitOutcome::Committed(Committed::default()),
            "step {fail_at}: nothing is in the way of a second try"
        );
    }
}

/// Does something to the workspace just before the step for a path.
fn at_step(
    place: &Place,
    step: &'static str,
    edit: fn(&Path),
) -> impl FnMut(usize, &WorkspacePath) -> Result<(), Stop> + 'static {
    let root = place.folder.path().to_owned();
    move |_, at| {
        if *at == path(step) {
            edit(&root);
        }
        Ok(())
    }
}

#[test]
fn what_its_user_does_in_the_last_moment_is_seen_and_kept() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit, ConflictKind); 9] = [
        ("changed", |root| fs::write(root.join("changed"), "user").unwrap(), ConflictKind::Modified),
        // As an editor saves: same length, and the times put back.
        (
            "changed",
            |root| {
                let times = fs::metadata(root.join("changed")).unwrap();
                fs::write(root.join("saved"), "OLD changed\n").unwrap();
                let file = fs::File::options().write(true).open(root.join("saved")).unwrap();
                file.set_modified(times.modified().unwrap()).unwrap();
                fs::set_permissions(root.join("saved"), times.permissions()).unwrap();
                fs::rename(root.join("saved"), root.join("changed")).unwrap();
            },
            ConflictKind::Modified,
        ),
        (
            "changed",
            |root| fs::set_permissions(root.join("changed"), fs::Permissions::from_mode(0o600)).unwrap(),
            ConflictKind::Modified,
        ),
        ("changed", |root| fs::remove_file(root.join("changed")).unwrap(), ConflictKind::Deleted),
        (
            "changed",
            |root| {
                fs::remove_file(root.join("changed")).unwrap();
                fs::create_dir(root.join("changed")).unwrap();
                fs::write(root.join("changed/inside"), "user").unwrap();
            },
            ConflictKind::Replaced,
        ),
        ("removed", |root| fs::write(root.join("removed"), "user").unwrap(), ConflictKind::Modified),
        ("dir", |root| fs::write(root.join("dir/user"), "user").unwrap(), ConflictKind::Modified),
        (
            "new/folders/file",
            |root| fs::write(root.join("new/folders/file"), "user").unwrap(),
            ConflictKind::Created,
        ),
        (
            "link",
            |root| {
                fs::remove_file(root.join("link")).unwrap();
                symlink("removed", root.join("link")).unwrap();
            },
            ConflictKind::Modified,
        ),
    ];
    for (index, (step, edit, kind)) in edits.into_iter().enumerate() {
        let place = Place::new();
        let overlay = place.staged();
        // What the workspace would be, had the user done this without any commit.
        let expected = {
            let other = Place::new();
            if step.starts_with("new") {
                fs::create_dir_all(other.folder.path().join("new/folders")).unwrap();
            }
            edit(other.folder.path());
            contents(&other)
        };
        let (_, outcome) = place.commit(&overlay, at_step(&place, step, edit));
        let found = CommitOutcome::Conflict(vec![Conflict::new(path(step), kind)]);
        assert_eq!(outcome.unwrap(), found, "number {index}");
        assert_eq!(contents(&place), expected, "number {index}");
    }
}

fn contents(place: &Place) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let relative = |at: PathBuf| at.strip_prefix(place.folder.path()).unwrap().to_owned();
    place.snapshot().into_iter().map(|(at, found)| (relative(at), found)).collect()
}

#[test]
fn a_folder_swapped_for_a_link_in_the_last_moment_is_not_followed() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    let overlay = Overlay::new(place.tree.clone(), Quota::default());
    block_on(overlay.write(&path("dir/one"), b"mine".to_vec())).unwrap();
    block_on(overlay.write(&path("dir/deep/new"), b"mine".to_vec())).unwrap();
    let (root, target) = (place.folder.path().to_owned(), outside.path().to_owned());
    let (_, outcome) = place.commit(&overlay, move |number, _| {
        if number == 0 {
            fs::rename(root.join("dir"), root.join("aside")).unwrap();
            symlink(&target, root.join("dir")).unwrap();
        }
        Ok(())
    });
    assert!(matches!(outcome.unwrap(), CommitOutcome::Conflict(_)));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(place.folder.path().join("aside/one")).unwrap(), "old dir/one\n");
}

#[test]
fn what_cannot_be_put_back_is_kept_and_named() {
    let place = Place::new();
    let overlay = place.staged();
    let root = place.folder.path().to_owned();
    let mut is_removed = false;
    let (_, outcome) = place.commit(&overlay, move |_, at| {
        if is_removed && *at != path("removed") {
            // The user makes the file anew while its old content is out of the way, and then the commit fails.
            fs::write(root.join("removed"), "user").unwrap();
            return Err(injected());
        }
        is_removed = *at == path("removed");
        Ok(())
    });
    let Err(TreeError::Io { path: at, message }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(at, path("removed"));
    let root = place.folder.path();
    assert_eq!(fs::read_to_string(root.join("removed")).unwrap(), "user");
    let copy = message.rsplit(' ').next().unwrap();
    assert_eq!(fs::read_to_string(root.join(copy)).unwrap(), "old removed\n", "{message}");
    assert_eq!(fs::read_to_string(root.join("changed")).unwrap(), "old changed\n");
    assert_eq!(place.tree.sweep().unwrap()[0].outcome, SweepOutcome::Alive);
    assert!(root.join(copy).exists());
}
