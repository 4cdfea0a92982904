//! Updates of an index on disk from the files of a project: changed files are read, removed ones go, and nothing is
//! lost if an update is stopped.
#![cfg(feature = "sqlite")]

mod edits;

use std::ops::ControlFlow;

use futures::executor::block_on;
use headstart_code_index::{Budget, Progress, Snapshot, Step, Store, StoreLimits, Updated, View, update};
use headstart_overlay_fs::{MemoryTree, WorkspacePath};

use self::edits::{hits, path};

fn open(folder: &tempfile::TempDir) -> Store {
    Store::open(&folder.path().join("index.sqlite"), StoreLimits::default()).expect("an index").store
}

fn bring_up(store: &Store, tree: &MemoryTree) -> Updated {
    block_on(update(store, tree, &|_| false, &mut |_| ControlFlow::Continue(()))).expect("an update")
}

fn paths(store: &Store) -> Vec<String> {
    store.snapshot().expect("a snapshot").catalogue().paths().map(ToString::to_string).collect()
}

fn found(store: &Store, query: &str) -> Vec<String> {
    let snapshot = store.snapshot().expect("a snapshot");
    let view = View::new(&snapshot, []);
    hits(&view, query, Budget::default()).into_iter().map(|hit| hit.path.to_string()).collect()
}

/// An update only reads files that changed since the last one.
#[test]
fn what_changed_is_read_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let tree = MemoryTree::from_files([
        ("a.rs", "fn one() {}"),
        ("b.rs", "fn two() {}"),
        ("c/d.rs", "fn three() {}"),
    ])
    .unwrap();
    let first = bring_up(&store, &tree);
    assert_eq!((first.applied.put, first.applied.removed), (3, 0));
    assert_eq!(first.progress, Progress { current: 3, all: 3 });
    assert_eq!(bring_up(&store, &tree).applied, headstart_code_index::Applied::default());

    tree.write(&path("a.rs"), "fn changed() {}");
    tree.remove(&path("b.rs"));
    tree.write(&path("c/e.rs"), "fn three() {}");
    let second = bring_up(&store, &tree);
    assert_eq!((second.applied.put, second.applied.removed, second.applied.contents), (2, 1, 1));
    assert_eq!(found(&store, "changed"), ["a.rs"]);
    assert!(found(&store, "two").is_empty());
    assert_eq!(found(&store, "three").len(), 2);
}

#[test]
fn what_is_ignored_or_closed_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let tree = MemoryTree::from_files([
        (".gitignore", "generated/\n*.log\n"),
        (".headstart/ignore", "notes/\n!dist/\n!kept.log\n"),
        ("src/a.rs", "needle"),
        ("src/.gitignore", "b.rs\n"),
        ("src/b.rs", "needle"),
        ("generated/a.rs", "needle"),
        ("x.log", "needle"),
        ("kept.log", "needle"),
        ("notes/a.md", "needle"),
        ("dist/a.js", "needle"),
        ("node_modules/x/index.js", "needle"),
        ("Cargo.lock", "needle"),
        ("secret/key.txt", "needle"),
        (".git/config", "needle"),
    ])
    .unwrap();
    tree.link(&path("link"), "src");
    let closes = |path: &WorkspacePath| path.starts_with(&WorkspacePath::parse("secret").expect("a path"));
    block_on(update(&store, &tree, &closes, &mut |_| ControlFlow::Continue(()))).unwrap();
    let mut all = found(&store, "needle");
    all.sort();
    assert_eq!(all, ["dist/a.js", "kept.log", "src/a.rs"]);
    assert!(!paths(&store).iter().any(|path| path.contains("secret")));

    // A rule that was added after the files were indexed takes them out.
    block_on(update(&store, &tree, &|_| true, &mut |_| ControlFlow::Continue(()))).unwrap();
    assert!(paths(&store).is_empty());
}

/// An update that is stopped has kept what it has read, and the next one goes on there.
#[test]
fn an_update_that_is_stopped_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let files: Vec<(String, String)> =
        (0..50).map(|at| (format!("{at:02}.rs"), format!("fn word_{at}() {{}}"))).collect();
    let tree =
        MemoryTree::from_files(files.iter().map(|(name, text)| (name.as_str(), text.as_str()))).unwrap();
    let mut seen = Vec::new();
    for _ in 0..10 {
        let mut left = 10;
        let updated = block_on(update(&store, &tree, &|_| false, &mut |step| {
            left -= i32::from(matches!(step, Step::Read(_)));
            if left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }));
        seen.push(updated.unwrap().progress.percent());
    }
    assert_eq!(seen, [20, 40, 60, 80, 100, 100, 100, 100, 100, 100]);
}

/// If the walk over the files is stopped, the files found so far are indexed, and no file that was not seen is taken
/// for removed.
#[test]
fn a_look_that_is_stopped_while_it_walks_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let files: Vec<(String, String)> =
        (0..600).map(|at| (format!("{}/{at}.rs", at / 300), format!("fn word_{at}() {{}}\n"))).collect();
    let tree =
        MemoryTree::from_files(files.iter().map(|(name, text)| (name.as_str(), text.as_str()))).unwrap();
    let stopped_at = |most: u64| {
        let mut keep_going = |step| match step {
            Step::Walk(found) if most <= found => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        block_on(update(&store, &tree, &|_| false, &mut keep_going)).unwrap()
    };
    // The files that were found before the stop are read.
    let first = stopped_at(256);
    assert!(!first.is_whole && first.applied.put == 256, "{first:?}");
    assert_eq!(first.told, ["only 256 files were found in this time; headstart index finds the rest"]);
    let whole = bring_up(&store, &tree);
    assert!(whole.is_whole && whole.told.is_empty(), "{whole:?}");
    assert_eq!((whole.applied.put, whole.progress.percent()), (344, 100));
    // A file that was not seen, because the walk was stopped, stays in the index.
    tree.remove(&path("1/599.rs"));
    let stopped = stopped_at(0);
    assert_eq!((stopped.applied.put, stopped.applied.removed, stopped.progress.percent()), (0, 0, 100));
    assert_eq!(stopped.told, ["only 0 of 600 files were looked at in this time; others may have changed"]);
    assert_eq!(paths(&store).len(), 600);
    assert_eq!(bring_up(&store, &tree).applied.removed, 1);
}

/// Single changed paths are followed without a walk over the project.
#[test]
fn single_paths_are_followed_without_a_look_at_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let tree = MemoryTree::from_files([
        (".gitignore", "ignored/\n"),
        ("a.rs", "fn one() {}"),
        ("b.rs", "fn two() {}"),
        ("c/d.rs", "fn three() {}"),
    ])
    .unwrap();
    bring_up(&store, &tree);
    tree.write(&path("a.rs"), "fn changed() {}");
    tree.write(&path("unheard.rs"), "fn changed() {}");
    tree.write(&path("ignored/x.rs"), "fn changed() {}");
    tree.write(&path("secret.rs"), "fn changed() {}");
    tree.remove(&path("c"));
    let closes = |path: &WorkspacePath| path.as_bytes() == b"secret.rs";
    let follow = |names: &[&str]| {
        let paths = names.iter().map(|name| path(name)).collect();
        block_on(headstart_code_index::update_paths(&store, &tree, &closes, &paths)).unwrap()
    };
    assert!(!follow(&["a.rs", "ignored/x.rs", "secret.rs", "c"]));
    assert_eq!(found(&store, "changed"), ["a.rs"]);
    assert!(found(&store, "three").is_empty());
    // For a folder or an ignore rule, the answer is that a whole update is needed, because more than one path may
    // change.
    assert!(follow(&["ignored"]) && follow(&[".gitignore"]));
}

#[test]
fn a_hundred_hostile_names_and_contents_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let tree = MemoryTree::new();
    for (name, text) in [("a\nb.rs", "x"), ("\"; --", "x"), ("big.rs", ""), ("bin", "\0\0"), ("empty", "")] {
        tree.write(&path(name), text);
    }
    tree.write(&path("big.rs"), "fn a() {}\n".repeat(200_000));
    let first = bring_up(&store, &tree);
    assert_eq!(first.progress.percent(), 100);
    assert_eq!(paths(&store).len(), 5);
    assert_eq!(bring_up(&store, &tree).applied.put, 0);
}
