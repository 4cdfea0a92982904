//! The overlay and its commit on a real disk, each beside what `std::fs` takes for the same.
#![expect(clippy::disallowed_methods, reason = "the floor is what std::fs does")]
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, Durability, EntryKind, OsOptions, OsTree, Overlay, Quota, Tree,
    UndoLimit, UndoOutcome, Workspace, WorkspacePath,
};

const FILE: usize = 4096;
const DEEP: &str = "one/two/three/file";

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn reads(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join(DEEP);
    fs::create_dir_all(deep.parent().unwrap()).unwrap();
    fs::write(&deep, vec![b'x'; FILE]).unwrap();
    let listed = folder.path().join("listed");
    fs::create_dir(&listed).unwrap();
    for number in 0..100 {
        fs::write(listed.join(number.to_string()), "").unwrap();
    }
    let tree = Arc::new(OsTree::open(folder.path()).unwrap());
    let untouched = Overlay::new(tree.clone(), Quota::default());
    let staged = Overlay::new(tree.clone(), Quota::default());
    for at in [DEEP, "listed/staged", "other"] {
        block_on(staged.write(&path(at), vec![b'y'; FILE])).unwrap();
    }
    block_on(staged.remove(&path("listed/50"))).unwrap();
    let elsewhere = Overlay::new(tree.clone(), Quota::default());
    block_on(elsewhere.write(&path("other"), vec![b'y'; FILE])).unwrap();

    let mut group = criterion.benchmark_group("read 4 KB");
    group.bench_function("std::fs", |bench| bench.iter(|| fs::read(&deep).unwrap()));
    let at = path(DEEP);
    group.bench_function("OsTree", |bench| bench.iter(|| block_on(tree.read(&at)).unwrap()));
    group.bench_function("hit", |bench| bench.iter(|| block_on(staged.read(&at)).unwrap()));
    group.bench_function("miss", |bench| bench.iter(|| block_on(elsewhere.read(&at)).unwrap()));
    group.bench_function("miss, nothing staged", |bench| {
        bench.iter(|| block_on(untouched.read(&at)).unwrap());
    });
    group.finish();

    let mut group = criterion.benchmark_group("list 100 names");
    group.bench_function("std::fs", |bench| bench.iter(|| names(&listed)));
    let at = path("listed");
    group.bench_function("OsTree", |bench| bench.iter(|| block_on(tree.list(&at)).unwrap()));
    group.bench_function("merged", |bench| bench.iter(|| block_on(staged.list(&at)).unwrap()));
    group.bench_function("nothing staged", |bench| bench.iter(|| block_on(untouched.list(&at)).unwrap()));
    group.finish();
}

fn names(folder: &Path) -> Vec<(std::ffi::OsString, bool)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut names: Vec<_> =
        entries.map(|entry| (entry.file_name(), entry.file_type().unwrap().is_dir())).collect();
    names.sort();
    names
}

/// 10,000 files in 100 folders, one of them staged anew and one removed in every tenth folder.
fn walks(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10_000 {
        let at = folder.path().join(format!("folder{}/file{number}", number % 100));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, "").unwrap();
    }
    let tree = Arc::new(OsTree::open(folder.path()).unwrap());
    let untouched = Overlay::new(tree.clone(), Quota::default());
    let staged = Overlay::new(tree.clone(), Quota::default());
    for number in (0..100).step_by(10) {
        block_on(staged.write(&path(&format!("folder{number}/staged")), b"new".to_vec())).unwrap();
        block_on(staged.remove(&path(&format!("folder{number}/file{number}")))).unwrap();
    }
    let mut group = criterion.benchmark_group("walk 10,000 files");
    group.sample_size(20);
    group.bench_function("std::fs", |bench| {
        bench.iter(|| assert_eq!(walk_folder(folder.path()), 10_000));
    });
    let trees: [(&str, &dyn Tree); 3] =
        [("OsTree", &*tree), ("merged", &staged), ("nothing staged", &untouched)];
    for (name, tree) in trees {
        group.bench_function(name, |bench| bench.iter(|| assert_eq!(walk_tree(tree), 10_000)));
    }
    group.finish();
}

/// How many files are in a folder and all below it, with the names of each folder in order.
fn walk_folder(folder: &Path) -> usize {
    let names = names(folder).into_iter();
    names.map(|(name, is_folder)| if is_folder { walk_folder(&folder.join(name)) } else { 1 }).sum()
}

fn walk_tree(tree: &dyn Tree) -> usize {
    let mut files = 0;
    let mut folders = vec![WorkspacePath::root()];
    while let Some(folder) = folders.pop() {
        for entry in block_on(tree.list(&folder)).unwrap() {
            if entry.kind == EntryKind::Directory {
                folders.push(folder.join_bytes(&entry.name).unwrap());
            } else {
                files += 1;
            }
        }
    }
    files
}

fn writes(criterion: &mut Criterion) {
    for (size, told) in [(FILE, "4 KB"), (1 << 20, "1 MB")] {
        writes_of(criterion, size, told);
    }
}

fn writes_of(criterion: &mut Criterion, size: usize, told: &str) {
    let folder = tempfile::tempdir().unwrap();
    let existing = folder.path().join("existing");
    fs::write(&existing, vec![b'x'; size]).unwrap();
    let tree = Arc::new(OsTree::open(folder.path()).unwrap());
    let overlay = || Overlay::new(tree.clone(), Quota::default());
    let mut group = criterion.benchmark_group(format!("write {told}"));
    let content = vec![b'y'; size];
    group.bench_function("std::fs, over existing", |bench| {
        bench.iter(|| fs::write(&existing, &content).unwrap());
    });
    for (name, at) in [("staged first, new", path("new")), ("staged first, over existing", path("existing"))]
    {
        group.bench_function(name, |bench| {
            bench.iter_batched_ref(
                || (overlay(), content.clone()),
                |(overlay, content)| block_on(overlay.write(&at, std::mem::take(content))).unwrap(),
                BatchSize::LargeInput,
            );
        });
    }
    let again = overlay();
    block_on(again.write(&path("existing"), content.clone())).unwrap();
    let at = path("existing");
    group.bench_function("staged, again", |bench| {
        bench.iter(|| block_on(again.write(&at, content.clone())).unwrap());
    });
    group.finish();
}

/// A workspace of some files, and new content for all of them in a folder beside it.
struct Accept {
    folder: tempfile::TempDir,
    files: Vec<String>,
    size: usize,
    round: Cell<u64>,
}

impl Accept {
    fn new(files: usize, size: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = (0..files).map(|number| format!("folder{}/file{number}", number % 10)).collect();
        for root in ["workspace", "staged"] {
            for file in &files {
                let at = folder.path().join(root).join(file);
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                fs::write(at, vec![b'x'; size]).unwrap();
            }
        }
        Self { folder, files, size, round: Cell::new(0) }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// With a state folder on the file system of the workspace, or on another one.
    fn tree(&self, state: &Path, durability: Durability) -> Arc<OsTree> {
        let undo = UndoLimit { accepts: 2, bytes: u64::MAX };
        let options = OsOptions { state: Some(state.to_owned()), durability, undo, ..OsOptions::default() };
        Arc::new(OsTree::open_with(self.root(), options).unwrap())
    }

    fn copy_over_existing(&self, from: &Path) {
        for file in &self.files {
            fs::copy(from.join(file), self.root().join(file)).unwrap();
        }
    }

    /// As an editor saves.
    fn copy_and_rename_over_existing(&self, from: &Path) {
        for file in &self.files {
            let new = self.root().join(format!("{file}.new"));
            fs::copy(from.join(file), &new).unwrap();
            fs::rename(new, self.root().join(file)).unwrap();
        }
    }

    fn staged(&self, tree: &Arc<OsTree>) -> ChangeSet {
        self.round.set(self.round.get() + 1);
        let mut content = vec![b'y'; self.size];
        content[..8].copy_from_slice(&self.round.get().to_le_bytes());
        let overlay = Overlay::new(tree.clone(), Quota { bytes: u64::MAX, ..Quota::default() });
        for file in &self.files {
            block_on(overlay.write(&path(file), content.clone())).unwrap();
        }
        overlay.change_set()
    }

    fn prepared(&self, tree: &Arc<OsTree>) -> ChangeSet {
        let changes = self.staged(tree);
        block_on(tree.prepare(&changes)).unwrap();
        changes
    }

    fn committed(&self, tree: &Arc<OsTree>) -> ChangeSet {
        let changes = self.prepared(tree);
        commit(tree, changes)
    }
}

/// Gives the changes back, so that the time to free their memory is not measured.
fn commit(tree: &Arc<OsTree>, changes: ChangeSet) -> ChangeSet {
    let outcome = block_on(tree.commit(&changes, CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)));
    changes
}

fn accepts(criterion: &mut Criterion) {
    for (files, size, told) in [
        (1, FILE, "4 KB"),
        (10, FILE, "4 KB"),
        (100, FILE, "4 KB"),
        (1_000, FILE, "4 KB"),
        (10, 1 << 20, "1 MB"),
    ] {
        let place = Accept::new(files, size);
        let state = place.folder.path().join("state");
        let mut group = criterion.benchmark_group(format!("accept {files} files of {told}"));
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(1))
            .warm_up_time(Duration::from_millis(300));
        let from = place.folder.path().join("staged");
        group.bench_function("std::fs::copy over existing", |bench| {
            bench.iter(|| place.copy_over_existing(&from));
        });
        for durability in [Durability::Fast, Durability::Full] {
            let tree = place.tree(&state, durability);
            group.bench_function(format!("prepared, {durability:?}"), |bench| {
                let setup = || place.prepared(&tree);
                bench.iter_batched(setup, |changes| commit(&tree, changes), BatchSize::PerIteration);
            });
            group.bench_function(format!("not prepared, {durability:?}"), |bench| {
                let setup = || place.staged(&tree);
                bench.iter_batched(setup, |changes| commit(&tree, changes), BatchSize::PerIteration);
            });
        }
        let tree = place.tree(&state, Durability::Fast);
        group.bench_function("undo, Fast", |bench| {
            let setup = || place.committed(&tree);
            let undo = |changes| {
                let outcome = tree.undo(&changes).unwrap();
                assert!(matches!(outcome, UndoOutcome::Undone { .. }), "{outcome:?}");
                changes
            };
            bench.iter_batched(setup, undo, BatchSize::PerIteration);
        });
        group.bench_function("discard", |bench| {
            bench.iter_batched(
                || place.prepared(&tree),
                |changes| {
                    tree.forget(&changes);
                    changes
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function("sweep", |bench| {
            place.committed(&tree);
            bench.iter(|| tree.sweep().unwrap());
        });
        group.finish();
    }
}

/// The state folder, and what a copy copies from, in memory: the workspace's own file system has to take every byte.
fn accepts_across(criterion: &mut Criterion) {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("accept across file systems: there is no /dev/shm, so it is not measured");
        return;
    };
    for files in [100, 1_000] {
        let place = Accept::new(files, FILE);
        for file in &place.files {
            let at = memory.path().join(file);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, vec![b'x'; FILE]).unwrap();
        }
        let mut group = criterion.benchmark_group(format!("accept {files} files across file systems"));
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(1))
            .warm_up_time(Duration::from_millis(300));
        group.bench_function("std::fs::copy over existing", |bench| {
            bench.iter(|| place.copy_over_existing(memory.path()));
        });
        // New files, as an accept makes them: ext4 looks long for an inode where many were removed a moment ago.
        group.bench_function("std::fs::copy to new files, renamed over existing", |bench| {
            bench.iter(|| place.copy_and_rename_over_existing(memory.path()));
        });
        let tree = place.tree(&memory.path().join("state"), Durability::Fast);
        group.bench_function("commit, Fast", |bench| {
            // As the engine does: with a state folder elsewhere, it only makes room.
            let setup = || place.prepared(&tree);
            bench.iter_batched(setup, |changes| commit(&tree, changes), BatchSize::PerIteration);
        });
        group.finish();
    }
}

criterion_group!(benches, reads, walks, writes, accepts, accepts_across);
criterion_main!(benches);
