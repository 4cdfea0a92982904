//! Checkers are run anew for each question, so their answers must also be right while the user edits the project.

use headstart_code_intel::{Adapter, Delta, DiagnosticsSource, Settings, Severity, Snapshot};
use libtest_mimic::Trial;

use super::trials::{FILES, trial};
use crate::support::{TestProject, path};

pub(crate) fn all() -> Vec<Trial> {
    let trials: [(&str, fn()); 4] = [
        ("a check sees what its user saved, renamed and removed since the last one", saved),
        ("a check is told that files changed", told),
        ("what a check printed before it was ended is no answer", cut),
        ("a check goes on in another view where one has ended", ended),
    ];
    trials.into_iter().map(trial).collect()
}

fn world() -> TestProject {
    let program = std::env::current_exe().unwrap();
    let adapter = serde_json::json!({
        "name": "mock", "command": "no-such-server", "languages": { "mock": "mock" },
        "check": { "command": program, "args": ["--play", "check"], "format": "tsc" },
    });
    let adapter: Adapter = serde_json::from_value(adapter).unwrap();
    TestProject::new(
        &FILES,
        Settings { adapters: vec![adapter], mode: DiagnosticsSource::Checks, ..Settings::default() },
    )
}

/// The places of new errors, and how many errors are old and how many are gone.
fn asked(world: &TestProject, edits: &[(&str, Option<&str>)]) -> (Vec<String>, usize, usize) {
    let snapshot = Snapshot::of(world.staged(edits));
    let paths = if edits.is_empty() { vec![path("a.mock")] } else { Vec::new() };
    let delta: Delta =
        async_io::block_on(world.intel.diagnostics(&snapshot, &paths, Severity::Error)).unwrap();
    let new = delta.new.iter().map(|one| format!("{}:{}", one.path, one.line)).collect();
    (new, delta.old_count, delta.gone_count)
}

const EDIT: [(&str, Option<&str>); 1] = [("b.mock", Some("three\nERR\n"))];

fn saved() {
    let world = world();
    let new = || vec!["b.mock:2".to_owned()];
    assert_eq!(asked(&world, &EDIT), (new(), 1, 0));
    // A mistake that the user makes counts as old, not as an error of the staged edit.
    world.user_saves("a.mock", Some("ERR\ntwo ERR\n"));
    assert_eq!(asked(&world, &EDIT), (new(), 2, 0));
    world.user_saves("a.mock", None);
    world.user_saves("c.mock", Some("four ERR\n"));
    assert_eq!(asked(&world, &EDIT), (new(), 1, 0));
    world.user_saves("c.mock", Some("four\n"));
    assert_eq!(asked(&world, &EDIT), (new(), 0, 0));
    // If the user has also saved a file that is staged, the view still shows the staged text.
    world.user_saves("b.mock", Some("of its user\n"));
    assert_eq!(asked(&world, &EDIT), (new(), 0, 0));
    assert_eq!(asked(&world, &[]), (Vec::new(), 0, 0));
}

/// A view that does not look at the disk by itself learns of changed files by `files_changed`.
fn told() {
    let world = world();
    let in_view = || world.copies.roots.lock().unwrap()[0].join("a.mock");
    assert_eq!(asked(&world, &EDIT).1, 1);
    std::fs::write(in_view(), "one\ntwo\n").unwrap();
    async_io::block_on(world.intel.files_changed(&[path("a.mock")]));
    assert_eq!(asked(&world, &EDIT), (vec!["b.mock:2".to_owned()], 0, 0));
}

fn ended() {
    let world = world();
    assert_eq!(asked(&world, &EDIT).1, 1);
    let first = world.copies.roots.lock().unwrap()[0].clone();
    std::fs::remove_dir_all(&first).unwrap();
    world.user_saves("a.mock", Some("one\ntwo\n"));
    assert_eq!(asked(&world, &EDIT).1, 0);
    assert_eq!(world.copies.roots.lock().unwrap().len(), 2);
}

fn cut() {
    let world = world();
    *world.copies.ended.lock().unwrap() = Some("it built too much".to_owned());
    let snapshot = Snapshot::of(world.staged(&EDIT));
    let error = async_io::block_on(world.intel.diagnostics(&snapshot, &[], Severity::Error)).unwrap_err();
    assert!(error.to_string().ends_with("was ended: it built too much"), "{error}");
    assert_eq!(asked(&world, &EDIT), (vec!["b.mock:2".to_owned()], 1, 0));
}
