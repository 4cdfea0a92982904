//! The cost of accepting a commit, beside the cost of the same commit made by git itself. Run by
//! `cargo bench -p headstart-git-ahead --features os`.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "the benchmark is the workspace's user, who runs git and edits files"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use divan::Bencher;
use futures::executor::block_on;
use headstart_git_ahead::{Git, GitChange, Reader, Repository, Snapshot};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, OsOptions, OsTree, Overlay, Quota, UndoLimit, Workspace as _,
    WorkspacePath,
};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// How many files the repository has.
const SIZES: [usize; 2] = [100, 5_000];

struct World {
    _folder: TempDir,
    user: PathBuf,
    state: PathBuf,
    view: PathBuf,
}

fn git(folder: &Path, arguments: &[&str]) {
    let ran = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn world(files: usize) -> World {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let [user, state, view] = ["user", "state", "view"].map(|name| path.join(name));
    fs::create_dir(&user).unwrap();
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    for number in 0..files {
        let folder = user.join(format!("d{}", number % 50));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("f{number}.txt")), format!("{number}\n")).unwrap();
    }
    git(&user, &["init", "-q", "-b", "main"]);
    git(&user, &["add", "."]);
    git(&user, &["commit", "-qm", "first"]);
    World { _folder: folder, user, state, view }
}

/// Commits the change of one file in a view, and reads the work that waits for a decision.
fn work(world: &World) -> (ChangeSet, GitChange, OsTree) {
    let program = Git::find(&std::env::var_os("PATH").unwrap()).unwrap();
    let before = Snapshot::take(fs::File::open(&world.user).unwrap(), &world.state).unwrap();
    assert!(Command::new("cp").arg("-a").args([&world.user, &world.view]).status().unwrap().success());
    fs::write(world.view.join("d0/f0.txt"), "changed\n").unwrap();
    git(&world.view, &["commit", "-qam", "second"]);
    let options = OsOptions {
        state: Some(world.state.clone()),
        undo: UndoLimit { accepts: 20, bytes: 1 << 30 },
        ..OsOptions::default()
    };
    let repository = Repository::new(program.clone(), &world.user, &world.state);
    let tree = OsTree::open_with(&world.user, options).unwrap().with_participant(Arc::new(repository));
    let overlay = Overlay::new(Arc::new(OsTree::open(&world.user).unwrap()), Quota::default());
    block_on(overlay.write(&WorkspacePath::parse("d0/f0.txt").unwrap(), b"changed\n".to_vec())).unwrap();
    let reader = Reader::new(program, &world.user, &world.state);
    let view = fs::File::open(&world.view).unwrap();
    let change = reader.read(before.as_ref(), view, &world.state, "work.pack").unwrap().unwrap();
    (overlay.change_set(), change, tree)
}

/// The floor: how long git itself takes for a commit of the same file.
#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn git_commit(bencher: Bencher, files: usize) {
    let prepared = || {
        let world = world(files);
        fs::write(world.user.join("d0/f0.txt"), "changed\n").unwrap();
        world
    };
    bencher.with_inputs(prepared).bench_values(|world| {
        git(&world.user, &["commit", "-qam", "second"]);
        world
    });
}

/// Accepts the files and the refs.
#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn accept(bencher: Bencher, files: usize) {
    let prepared = || {
        let world = world(files);
        let work = work(&world);
        (world, work)
    };
    bencher.with_inputs(prepared).bench_values(|(world, (changes, change, tree))| {
        let outcome = block_on(tree.commit_with(&changes, &change.beside(), CommitOptions::default()));
        assert!(matches!(outcome, Ok(CommitOutcome::Committed(_))));
        (world, tree)
    });
}

/// Accepts the files alone. The difference to `accept` is the cost of git.
#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn accept_files_alone(bencher: Bencher, files: usize) {
    let prepared = || {
        let world = world(files);
        let work = work(&world);
        (world, work)
    };
    bencher.with_inputs(prepared).bench_values(|(world, (changes, _, tree))| {
        let outcome = block_on(tree.commit(&changes, CommitOptions::default()));
        assert!(matches!(outcome, Ok(CommitOutcome::Committed(_))));
        (world, tree)
    });
}

/// What a view costs before any command runs in it.
#[divan::bench(args = SIZES)]
fn snapshot(bencher: Bencher, files: usize) {
    let world = world(files);
    bencher.bench_local(|| Snapshot::take(fs::File::open(&world.user).unwrap(), &world.state).unwrap());
}

/// Reads which changes a commit in a view made.
#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1)]
fn read(bencher: Bencher, files: usize) {
    let world = world(files);
    let program = Git::find(&std::env::var_os("PATH").unwrap()).unwrap();
    let before = Snapshot::take(fs::File::open(&world.user).unwrap(), &world.state).unwrap();
    assert!(Command::new("cp").arg("-a").args([&world.user, &world.view]).status().unwrap().success());
    fs::write(world.view.join("d0/f0.txt"), "changed\n").unwrap();
    git(&world.view, &["commit", "-qam", "second"]);
    let reader = Reader::new(program, &world.user, &world.state);
    bencher.bench_local(|| {
        let view = fs::File::open(&world.view).unwrap();
        reader.read(before.as_ref(), view, &world.state, "work.pack").unwrap()
    });
}
