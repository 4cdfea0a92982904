//! A disk that gets full at any moment of an accept or an undo: all of it is made, or nothing, and no lock is left.

use std::fs;
use std::path::Path;
use std::process::Command;

use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{CommitOptions, CommitOutcome, OsTree, TreeError, UndoOutcome};

use crate::world::{Seen, Work, World, accept};

/// The variable that names the folder of a small disk to the process that works on it.
const ORDER: &str = "HEADSTART_TEST_ORDER";
/// The unit in which the small disk gives room.
const PAGE: u64 = 4096;
/// With this much room, in pages, everything that is tried here succeeds.
const ENOUGH: u64 = 128;

#[derive(Debug, Clone, Copy)]
struct Case {
    /// What the user did before.
    before: &'static [&'static str],
    script: &'static str,
    /// Whether the logs of the branches and of `HEAD` have no room for a line within the room that they take.
    logs_are_full: bool,
}

const SCRIPT: &str = "echo more >> a.txt; git rm -q src/b.txt; seq 2000 > new.txt; git add .; git commit -qm second; git tag v1";

/// Each log that has to grow takes room, and each that has grown cannot be taken back.
const BRANCHES: &str =
    "echo more >> a.txt; git commit -qam second; for n in 1 2 3 4 5 6; do git branch -q -f b$n; done";

const SWITCH: &str = "git switch -q -c topic; echo more >> a.txt; git commit -qam second";

const CASES: [Case; 5] = [
    Case { before: &[], script: SCRIPT, logs_are_full: false },
    Case { before: &[], script: SCRIPT, logs_are_full: true },
    // A large index.
    Case { before: &["many"], script: SCRIPT, logs_are_full: false },
    Case { before: &["branches"], script: BRANCHES, logs_are_full: true },
    Case { before: &[], script: SWITCH, logs_are_full: true },
];

fn room(folder: &Path) -> u64 {
    let found = rustix::fs::statvfs(folder).unwrap();
    found.f_bavail * found.f_frsize / PAGE
}

/// Leaves this much room on the disk.
fn fill(folder: &Path, left: u64) {
    let ballast = folder.join("ballast");
    let _ = fs::remove_file(&ballast);
    let size = room(folder) - left;
    fs::write(&ballast, vec![b'x'; usize::try_from(size * PAGE).unwrap()]).unwrap();
    assert_eq!(room(folder), left);
}

fn free(folder: &Path) {
    fs::remove_file(folder.join("ballast")).unwrap();
}

/// Lengthens the logs of the branches and of `HEAD` to the end of their last page.
fn fill_logs(world: &World) {
    let heads = fs::read_dir(world.user().join(".git/logs/refs/heads")).unwrap();
    let logs = heads.map(|log| log.unwrap().path());
    for log in logs.chain([world.user().join(".git/logs/HEAD")]) {
        let mut text = fs::read_to_string(&log).unwrap();
        let page = usize::try_from(PAGE).unwrap();
        let missing = page - text.len() % page;
        let line = text.lines().next_back().unwrap().to_owned();
        assert!(line.len() + 1 < missing);
        text += &line;
        text += &"x".repeat(missing - line.len() - 1);
        text += "\n";
        assert_eq!(text.len() % page, 0);
        fs::write(&log, text).unwrap();
    }
}

fn undo(tree: &OsTree, work: &Work) -> Result<UndoOutcome, TreeError> {
    let beside = work.git.as_ref().unwrap().beside();
    tree.undo_with(&work.changes, Some(&beside))
}

/// Checks that all of it is made or nothing, and says which.
fn made(world: &World, (from, to): (&Seen, &Seen), is_told_as_made: bool, told: &str) -> bool {
    let seen = world.seen();
    let expected = if is_told_as_made { to } else { from };
    assert!(seen == *expected, "{told}: {seen:?} instead of {expected:?}");
    assert_eq!(world.litter(), Vec::<String>::new(), "{told}");
    world.check();
    is_told_as_made
}

fn play(folder: &Path, case: Case) {
    let world = World::in_folder(folder);
    if case.before.contains(&"many") {
        for number in 0..400 {
            world.write(&format!("many/{number}/a-file-with-a-long-name.txt"), "one\n");
        }
        world.git(&["add", "."]);
        world.git(&["commit", "-q", "-m", "many"]);
    }
    if case.before.contains(&"branches") {
        for number in 1..=6 {
            world.git(&["branch", &format!("b{number}")]);
        }
    }
    let work = world.work(case.script);
    if case.logs_are_full {
        fill_logs(&world);
    }
    let old = world.seen();
    let mut failures = [0, 0];
    let mut successes = [0, 0];
    let new = World::of_view(&world).seen();
    for left in (0..24).chain([28, 32, 40, 60, 80, ENOUGH]) {
        let told = format!("{case:?} with {left} pages");
        fill(folder, left);
        let accepted = accept(&world.tree(), &work, CommitOptions::default());
        let is_made = matches!(accepted, Ok(CommitOutcome::Committed(_)));
        assert!(is_made || accepted.is_err(), "{told}: {accepted:?}");
        free(folder);
        let is_made = made(&world, (&old, &new), is_made, &format!("accept, {told}: {accepted:?}"));
        [&mut failures, &mut successes][usize::from(is_made)][0] += 1;
        if !is_made {
            continue;
        }
        for of_undo in [left * 3 % 8, left * 5 % 40, ENOUGH] {
            fill(folder, of_undo);
            let undone = undo(&world.tree(), &work);
            let is_undone = matches!(undone, Ok(UndoOutcome::Undone { .. }));
            assert!(is_undone || undone.is_err(), "{told}: {undone:?}");
            free(folder);
            let told = format!("undo with {of_undo} pages, {told}: {undone:?}");
            let is_undone = made(&world, (&new, &old), is_undone, &told);
            [&mut failures, &mut successes][usize::from(is_undone)][1] += 1;
            if is_undone {
                let again = accept(&world.tree(), &work, CommitOptions::default());
                assert!(matches!(again, Ok(CommitOutcome::Committed(_))), "{told}: {again:?}");
            }
        }
        assert!(matches!(undo(&world.tree(), &work), Ok(UndoOutcome::Undone { .. })), "{told}");
        assert_eq!(world.seen(), old, "{told}");
    }
    assert!(
        failures.iter().chain(&successes).all(|count| 1 < *count),
        "{case:?}: {failures:?} {successes:?}"
    );
}

/// Has the system refuse these steps of git.
fn refuse(steps: &'static [&'static str]) {
    const NO_SPACE: i32 = 28;
    arm(move |point| {
        let is_refused = point.call == "git" && steps.iter().any(|step| step.as_bytes() == point.name);
        if is_refused { FailAction::Fail(NO_SPACE) } else { FailAction::GoOn }
    });
}

#[test]
fn where_refs_cannot_be_moved_the_files_go_back() {
    for script in [SCRIPT, BRANCHES, SWITCH] {
        let world = World::new();
        for number in 1..=6 {
            world.git(&["branch", &format!("b{number}")]);
        }
        let work = world.work(script);
        let (old, new) = (world.seen(), World::of_view(&world).seen());
        for (undoes, from, to) in [(false, &old, &new), (true, &new, &old)] {
            let tree = world.tree();
            let run = || {
                if undoes {
                    undo(&tree, &work).map(|done| matches!(done, UndoOutcome::Undone { .. }))
                } else {
                    let made = accept(&tree, &work, CommitOptions::default());
                    made.map(|made| matches!(made, CommitOutcome::Committed(_)))
                }
            };
            refuse(&["refs", "finish"]);
            let refused = run();
            disarm();
            assert!(
                refused.as_ref().is_err_and(|error| error.to_string().contains("No space")),
                "{refused:?}"
            );
            made(&world, (from, to), false, script);
            // Where not even that can be done, the next run ends it.
            refuse(&["refs", "finish", "take back"]);
            let refused = run();
            disarm();
            let told = "the files are in place, but what belongs to them could not follow";
            assert!(refused.as_ref().is_err_and(|error| error.to_string().contains(told)), "{refused:?}");
            world.tree().sweep().unwrap();
            made(&world, (from, to), true, script);
        }
    }
}

#[test]
#[ignore = "it is the process that the other test starts on a small disk"]
fn the_process_on_a_small_disk() {
    // The order is missing if all ignored tests are run.
    let Ok(order) = std::env::var(ORDER) else { return };
    let (folder, number) = order.split_once('|').unwrap();
    play(folder.as_ref(), CASES[number.parse::<usize>().unwrap()]);
    println!("played {number}");
}

fn on_a_small_disk(number: usize) {
    let folder = tempfile::tempdir().unwrap();
    let can = |flags: &&str| {
        let tried = Command::new("unshare").args([*flags, "true"]).output();
        tried.is_ok_and(|ran| ran.status.success())
    };
    let flags =
        ["-Urm", "-m"].into_iter().find(can).expect("neither `unshare -Urm` nor `unshare -m` works here");
    let path = folder.path().display().to_string();
    let run = format!(
        "mount -t tmpfs -o size=6m none '{path}' && exec \"$0\" --exact full::the_process_on_a_small_disk --ignored --nocapture"
    );
    let program = std::env::current_exe().unwrap();
    let order = format!("{path}|{number}");
    let output = Command::new("unshare")
        .args([flags, "sh", "-c", &run])
        .arg(program)
        .env(ORDER, order)
        .output()
        .unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains(&format!("played {number}")), "{told}");
}

#[test]
fn with_any_room_a_commit_is_made_or_not() {
    on_a_small_disk(0);
}

#[test]
fn with_logs_that_cannot_grow_a_commit_is_made_or_not() {
    on_a_small_disk(1);
}

#[test]
fn with_any_room_for_a_large_index_a_commit_is_made_or_not() {
    on_a_small_disk(2);
}

#[test]
fn with_many_logs_that_cannot_grow_a_commit_is_made_or_not() {
    on_a_small_disk(3);
}

#[test]
fn with_logs_that_cannot_grow_a_switch_is_made_or_not() {
    on_a_small_disk(4);
}
