//! A process is killed before every step of an accept and of an undo, both steps of the files and steps of git. The
//! process that opens the workspace next must find, or bring about, all of it or nothing: files, refs and index
//! together, and no lock left.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{CommitOptions, CommitOutcome, OsTree, SweepOutcome, UndoOutcome};
use rustix::process::{Pid, Signal, kill_process};

use crate::world::{Seen, Work, World, accept, is_lock, tables};

/// The variable that tells the process that dies what it has to do.
const ORDER: &str = "HEADSTART_TEST_ORDER";

/// Which process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Our process; git sees the end of its input.
    We,
    /// Git first, which leaves its locks behind, and then our process.
    Both,
    /// Only git.
    Git,
}

#[test]
#[ignore = "it is the process that the other tests start, and it dies"]
fn the_process_that_dies() {
    // The order is missing if all ignored tests are run.
    let Ok(order) = std::env::var(ORDER) else { return };
    let [folder, what, who, number] = order.split('|').collect::<Vec<_>>().try_into().unwrap();
    let world = World::at(folder.as_ref());
    let work: Work = serde_json::from_slice(&fs::read(world.path.join("work.json")).unwrap()).unwrap();
    let number: usize = number.parse().unwrap();
    let (kills_git, dies) = (who != "We", who != "Git");
    let tree = world.tree();
    arm(move |point| {
        if point.number != number {
            return FailAction::GoOn;
        }
        if kills_git {
            kill_children();
        }
        if dies { FailAction::Die } else { FailAction::GoOn }
    });
    match what {
        "accept" => {
            let outcome = accept(&tree, &work, CommitOptions::default()).unwrap();
            assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
        }
        "undo" => {
            let outcome = undo(&tree, &work);
            assert!(matches!(outcome, UndoOutcome::Undone { .. }), "{outcome:?}");
        }
        _ => drop(tree.sweep().unwrap()),
    }
    println!("points: {}", disarm());
}

fn undo(tree: &OsTree, work: &Work) -> UndoOutcome {
    let beside = work.git.as_ref().unwrap().beside();
    tree.undo_with(&work.changes, Some(&beside)).unwrap()
}

fn kill_children() {
    let children = fs::read_to_string("/proc/thread-self/children").unwrap();
    for child in children.split_whitespace() {
        let pid = Pid::from_raw(child.parse().unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        // A killed process is a zombie; from then on its locks stay as they are.
        while fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::yield_now();
        }
    }
}

/// Waits for the git that outlived the process that died. It sees the end of its input, takes back what it prepared,
/// and ends.
fn wait_for_git(world: &World) {
    let place = world.path.to_string_lossy().into_owned();
    let is_of_world = |process: &std::path::Path| {
        let says = |file: &str| fs::read(process.join(file)).unwrap_or_default();
        let link = fs::read_link(process.join("cwd")).unwrap_or_default();
        let text = [says("cmdline"), says("environ"), link.into_os_string().into_encoded_bytes()].concat();
        says("comm").starts_with(b"git") && String::from_utf8_lossy(&text).contains(&place)
    };
    let lives = || fs::read_dir("/proc").unwrap().flatten().any(|process| is_of_world(&process.path()));
    while lives() {
        std::thread::yield_now();
    }
}

/// Runs the order in a process of its own and returns whether the kill took place. A process that is not killed must
/// have carried out its order.
fn dies(world: &World, what: &str, who: Who, number: usize) -> bool {
    let order = format!("{}|{what}|{who:?}|{number}", world.path.display());
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "killed::the_process_that_dies", "--ignored", "--nocapture"]).env(ORDER, order);
    let output = process.output().unwrap();
    if output.status.signal() == Some(9) {
        return true;
    }
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{what} {who:?} {number}: {told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let points = told.lines().find_map(|line| line.rsplit_once("points: ")?.1.parse().ok());
    who == Who::Git && points.is_none_or(|points: usize| number < points)
}

const SCRIPT: &str = "echo more >> a.txt; git rm -q src/b.txt; echo new > new.txt; git add .; git commit -qm second; git tag v1; \
    git branch -q -D old";

/// A kind of repository, and what the work does to it.
#[derive(Debug, Clone, Copy)]
struct Case {
    init: &'static [&'static str],
    script: &'static str,
}

const FILES: Case = Case { init: &["init", "-q", "-b", "main"], script: SCRIPT };
/// The work switches to a branch that it makes.
const SWITCH: Case = Case {
    init: FILES.init,
    script: "git switch -q -c topic; echo more >> a.txt; git commit -qam second; git branch -q -D old",
};

fn in_tables() -> Option<Case> {
    tables().map(|init| Case { init, ..FILES })
}

fn world(case: Case) -> (World, Work, Seen, Seen) {
    let world = World::with(case.init);
    world.git(&["branch", "old"]);
    let old = world.seen();
    let work = world.work(case.script);
    let new = World::of_view(&world).seen();
    fs::write(world.path.join("work.json"), serde_json::to_vec(&work).unwrap()).unwrap();
    (world, work, old, new)
}

/// At which steps the process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// The steps of git, the steps that change the phase of the journal, and a few of the steps of the files.
    Few,
    All,
}

fn at_steps(steps: Steps, case: Case, what: &str, who: Who) {
    let all = all_steps(case, what);
    assert!(30 < all.len(), "{all:?}");
    let is_chosen = |(number, step): &(usize, &(&str, String))| {
        steps == Steps::All || ["git", "rename"].contains(&step.0) || number % 16 == 0
    };
    let chosen = all.iter().enumerate().filter(is_chosen).map(|(number, _)| number);
    let ended: Vec<bool> = chosen.map(|number| dies_at(case, what, who, number)).collect();
    let made = ended.iter().filter(|is_made| **is_made).count();
    assert!(1 < made && (who == Who::Git || 1 < ended.len() - made), "{what}: {made} of {}", ended.len());
}

/// All steps of an accept or of an undo, in their order.
fn all_steps(case: Case, what: &str) -> Vec<(&'static str, String)> {
    let (world, work, ..) = world(case);
    if what == "undo" {
        world.accepted(&work);
    }
    let steps = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let (noted, tree) = (steps.clone(), world.tree());
    arm(move |point| {
        noted.borrow_mut().push((point.call, String::from_utf8_lossy(point.name).into_owned()));
        FailAction::GoOn
    });
    if what == "undo" {
        undo(&tree, &work);
    } else {
        accept(&tree, &work, CommitOptions::default()).unwrap();
    }
    disarm();
    steps.take()
}

/// Kills at this step, and checks what the next process finds. Returns whether the accept or undo was made
/// nevertheless.
fn dies_at(case: Case, what: &str, who: Who, number: usize) -> bool {
    let (world, work, old, new) = world(case);
    let (from, to) = if what == "undo" { (&new, &old) } else { (&old, &new) };
    if what == "undo" {
        world.accepted(&work);
    }
    let died = dies(&world, what, who, number);
    wait_for_git(&world);
    let told = format!("{what} with {case:?}, {who:?} killed before step {number}: {died}");
    let swept = world.tree().sweep().unwrap();
    let seen = world.seen();
    assert!(seen == *from || seen == *to, "{told}: {swept:?} {seen:?}");
    let mut litter = world.litter();
    if who == Who::Both && seen == *from && !swept.iter().any(is_recovered) {
        // At this point nothing records yet whose the locks are, so they stay. Git tells its user about them; the test
        // removes them as the user would.
        litter.retain(|path| !is_lock(path) || path.ends_with("index.lock"));
        remove_locks(&world);
    }
    // A draft of the index or of HEAD is not a lock, and the next accept removes it.
    litter.retain(|path| !path.starts_with("index.headstart-") && !path.starts_with("HEAD.headstart-"));
    assert_eq!(litter, Vec::<String>::new(), "{told}: {swept:?}");
    if who == Who::Git {
        assert_eq!(seen, *to, "{told}: {swept:?}");
    }
    // Afterwards the work can be accepted and undone as usual, and nothing is left over.
    if what == "undo" {
        if seen == *from {
            assert!(matches!(undo(&world.tree(), &work), UndoOutcome::Undone { .. }), "{told}");
        }
        assert_eq!(world.seen(), *to, "{told}");
    } else {
        let again = CommitOptions { repeated: true, ..CommitOptions::default() };
        let outcome = accept(&world.tree(), &work, again).unwrap();
        assert!(matches!(outcome, CommitOutcome::Committed(_)), "{told}: {outcome:?}");
        assert_eq!(world.seen(), *to, "{told}");
        assert!(matches!(undo(&world.tree(), &work), UndoOutcome::Undone { .. }), "{told}");
        assert_eq!(world.seen(), old, "{told}");
    }
    world.check();
    seen == *to
}

fn is_recovered(swept: &headstart_overlay_fs::Swept) -> bool {
    matches!(swept.outcome, SweepOutcome::RolledBack | SweepOutcome::UndoRolledBack | SweepOutcome::Completed)
}

fn remove_locks(world: &World) {
    for path in world.litter().iter().filter(|path| is_lock(path)) {
        fs::remove_file(world.user().join(".git").join(path)).unwrap();
    }
}

fn at_all_kinds_of_steps(steps: Steps) {
    at_steps(steps, FILES, "accept", Who::We);
    at_steps(steps, FILES, "accept", Who::Both);
    at_steps(steps, FILES, "accept", Who::Git);
    at_steps(steps, FILES, "undo", Who::We);
    at_steps(steps, FILES, "undo", Who::Both);
    at_steps(steps, SWITCH, "accept", Who::We);
    at_steps(steps, SWITCH, "accept", Who::Both);
    at_steps(steps, SWITCH, "accept", Who::Git);
    at_steps(steps, SWITCH, "undo", Who::We);
    at_steps(steps, SWITCH, "undo", Who::Both);
    if let Some(tables) = in_tables() {
        at_steps(steps, tables, "accept", Who::Both);
    }
}

#[test]
fn an_accept_killed_between_the_steps_of_git_is_made_or_not() {
    at_steps(Steps::Few, FILES, "accept", Who::We);
    at_steps(Steps::Few, FILES, "accept", Who::Git);
}

#[test]
fn an_accept_killed_together_with_its_git_is_made_or_not() {
    at_steps(Steps::Few, FILES, "accept", Who::Both);
    if let Some(tables) = in_tables() {
        at_steps(Steps::Few, tables, "accept", Who::Both);
    }
}

#[test]
fn a_switch_killed_between_the_steps_of_git_is_made_or_not() {
    at_steps(Steps::Few, SWITCH, "accept", Who::We);
    at_steps(Steps::Few, SWITCH, "accept", Who::Both);
    at_steps(Steps::Few, SWITCH, "undo", Who::We);
}

/// The user checked out another branch while the accept was cut off, so it is taken back.
#[test]
fn a_switch_that_cannot_be_completed_any_more_is_taken_back() {
    for name in ["refs", "lock HEAD", "HEAD"] {
        let (world, _, old, _) = world(SWITCH);
        assert!(dies(&world, "accept", Who::We, step_of(SWITCH, "accept", name)), "{name}");
        wait_for_git(&world);
        remove_locks(&world);
        world.git(&["symbolic-ref", "HEAD", "refs/heads/theirs"]);
        let swept = world.tree().sweep().unwrap();
        assert!(swept.iter().any(|swept| swept.outcome == SweepOutcome::RolledBack), "{name}: {swept:?}");
        assert_eq!(world.git(&["symbolic-ref", "HEAD"]), "refs/heads/theirs\n", "{name}");
        assert_eq!((world.seen().refs, world.seen().files), (old.refs, old.files), "{name}");
        world.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
        world.check();
    }
}

#[test]
fn an_undo_killed_between_the_steps_of_git_is_made_or_not() {
    at_steps(Steps::Few, FILES, "undo", Who::Both);
}

#[test]
#[ignore = "it takes minutes"]
fn an_accept_or_an_undo_killed_anywhere_is_made_or_not() {
    at_all_kinds_of_steps(Steps::All);
}

/// The number of the step of git with this name.
fn step(what: &str, name: &str) -> usize {
    step_of(FILES, what, name)
}

fn step_of(case: Case, what: &str, name: &str) -> usize {
    let steps = all_steps(case, what);
    steps.iter().position(|step| *step == ("git", name.to_owned())).unwrap()
}

/// Git had moved one of two refs when it died, so the recovery completes the accept.
#[test]
fn what_git_had_half_committed_is_completed() {
    let (world, work, _, new) = world(FILES);
    assert!(dies(&world, "accept", Who::Both, step("accept", "refs")));
    let tag =
        work.git.as_ref().unwrap().refs.iter().find(|change| change.name.as_str() == "refs/tags/v1").unwrap();
    // The state that is left if git dies after it moved one of two refs.
    let tip = tag.new.as_ref().unwrap();
    let lock = world.user().join(".git/refs/tags/v1.lock");
    assert_eq!(fs::read_to_string(&lock).unwrap().trim(), tip.as_str());
    fs::rename(&lock, world.user().join(".git/refs/tags/v1")).unwrap();
    let swept = world.tree().sweep().unwrap();
    assert!(swept.iter().any(|swept| swept.outcome == SweepOutcome::Completed), "{swept:?}");
    assert_eq!(world.seen(), new);
    world.check();
}

/// The user has committed meanwhile, so the accept cannot be completed. It is taken back, and the user's commit stays.
#[test]
fn what_cannot_be_completed_any_more_is_taken_back() {
    let (world, work, old, _) = world(FILES);
    assert!(dies(&world, "accept", Who::We, step("accept", "refs")));
    // Git let go of its locks when its input ended. One ref had been moved already, and then the user commits.
    let tip = work.git.as_ref().unwrap().tip().unwrap().to_string();
    let is_ours = |path: &String| path == "index.lock" || path.starts_with("index.headstart-");
    while !world.litter().iter().all(is_ours) {
        std::thread::yield_now();
    }
    world.git(&["update-ref", "refs/tags/v1", &tip]);
    fs::remove_file(world.user().join(".git/index.lock")).unwrap();
    world.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    let theirs = world.git(&["rev-parse", "HEAD"]);
    let swept = world.tree().sweep().unwrap();
    assert!(swept.iter().any(|swept| swept.outcome == SweepOutcome::RolledBack), "{swept:?}");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), theirs);
    assert_eq!((world.seen().files, world.seen().index), (old.files, old.index));
    assert_eq!(world.git(&["tag"]), "");
    world.check();
}

/// A lock whose file is not the one that our git made belongs to another git and stays.
#[test]
fn a_lock_of_another_git_is_never_removed() {
    let (world, ..) = world(FILES);
    assert!(dies(&world, "accept", Who::Both, step("accept", "refs")));
    let lock = world.user().join(".git/refs/heads/main.lock");
    fs::remove_file(&lock).unwrap();
    fs::write(world.path.join("other"), "").unwrap();
    fs::rename(world.path.join("other"), &lock).unwrap();
    assert!(world.tree().sweep().is_err(), "git says that another one is at work");
    assert!(lock.exists());
    fs::remove_file(&lock).unwrap();
    world.tree().sweep().unwrap();
    world.check();
}

/// A half-done accept needs git to recover. A program that opens the workspace without git gets an error, and changes
/// nothing.
#[test]
fn who_opens_the_workspace_without_git_is_told_and_changes_nothing() {
    let (world, .., new) = world(FILES);
    assert!(dies(&world, "accept", Who::We, step("accept", "refs")));
    let options = headstart_overlay_fs::OsOptions { state: Some(world.state()), ..Default::default() };
    let tree = OsTree::open_with(world.user(), options).unwrap();
    let error = tree.sweep().unwrap_err().to_string();
    assert!(error.contains("participant"), "{error}");
    world.tree().sweep().unwrap();
    assert_eq!(world.seen(), new);
}
