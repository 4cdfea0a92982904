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
    ChangeSet, CommitOptions, CommitOutcome, Committed, OsTree, Overlay, Quota, Tree, Workspace,
    WorkspacePath,
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

fn writes(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let existing = folder.path().join("existing");
    fs::write(&existing, vec![b'x'; FILE]).unwrap();
    let tree = Arc::new(OsTree::open(folder.path()).unwrap());
    let overlay = || Overlay::new(tree.clone(), Quota::default());
    let mut group = criterion.benchmark_group("write 4 KB");
    group.bench_function("std::fs, over existing", |bench| {
        bench.iter(|| fs::write(&existing, [b'y'; FILE]).unwrap());
    });
    for (name, at) in [("staged, new", path("new")), ("staged, over existing", path("existing"))] {
        group.bench_function(name, |bench| {
            bench.iter_batched_ref(
                overlay,
                |overlay| block_on(overlay.write(&at, vec![b'y'; FILE])).unwrap(),
                BatchSize::SmallInput,
            );
        });
    }
    let again = overlay();
    block_on(again.write(&path("existing"), vec![b'y'; FILE])).unwrap();
    let at = path("existing");
    group.bench_function("staged, again", |bench| {
        bench.iter(|| block_on(again.write(&at, vec![b'z'; FILE])).unwrap());
    });
    group.finish();
}

/// A workspace of some files, and new content for all of them in a folder beside it.
struct Accept {
    folder: tempfile::TempDir,
    files: Vec<String>,
    round: Cell<u8>,
}

impl Accept {
    fn new(files: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<_> = (0..files).map(|number| format!("folder{}/file{number}", number % 10)).collect();
        for root in ["workspace", "staged"] {
            for file in &files {
                let at = folder.path().join(root).join(file);
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                fs::write(at, vec![b'x'; FILE]).unwrap();
            }
        }
        Self { folder, files, round: Cell::new(0) }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    fn copy_over_existing(&self) {
        for file in &self.files {
            fs::copy(self.folder.path().join("staged").join(file), self.root().join(file)).unwrap();
        }
    }

    fn staged(&self, tree: &Arc<OsTree>) -> ChangeSet {
        self.round.set(self.round.get().wrapping_add(1));
        let overlay = Overlay::new(tree.clone(), Quota::default());
        for file in &self.files {
            block_on(overlay.write(&path(file), vec![self.round.get(); FILE])).unwrap();
        }
        overlay.change_set()
    }
}

fn accepts(criterion: &mut Criterion) {
    for files in [1, 10, 100, 1_000] {
        let place = Accept::new(files);
        let tree = Arc::new(OsTree::open(place.root()).unwrap());
        let mut group = criterion.benchmark_group(format!("accept {files} files of 4 KB"));
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(2))
            .warm_up_time(Duration::from_millis(500));
        group
            .bench_function("std::fs::copy over existing", |bench| bench.iter(|| place.copy_over_existing()));
        group.bench_function("commit", |bench| {
            bench.iter_batched(
                || place.staged(&tree),
                |changes| {
                    assert_eq!(
                        block_on(tree.commit(&changes, CommitOptions::default())).unwrap(),
                        CommitOutcome::Committed(Committed::default())
                    );
                    changes
                },
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, reads, writes, accepts);
criterion_main!(benches);
