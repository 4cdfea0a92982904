//! A workspace on a real disk of Windows: that no name leads to anything but what it says, that a commit is all or
//! nothing wherever its process ends, and that nothing of the user's is lost.
//!
//! On Linux it runs in wine: `cargo xtask windows`.
#![cfg(windows)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests are the workspace's user, who edits it directly, and start processes that die"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, Committed, ConflictKind, MemoryTree, OsOptions, OsTree, Overlay,
    Process, Quota, SweepOutcome, Tree as _, TreeError, UndoLimit, UndoOutcome, Workspace as _,
    WorkspacePath,
};
use tempfile::TempDir;

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with what a commit returns")]
fn committed() -> Result<CommitOutcome, TreeError> {
    Ok(CommitOutcome::Committed(Committed::default()))
}

/// The workspace of a place, and its folder for state.
fn open(folder: &Path) -> OsTree {
    let undo = UndoLimit { accepts: 3, bytes: 1024 * 1024 };
    let options = OsOptions { state: Some(folder.join("state")), undo, ..OsOptions::default() };
    OsTree::open_with(folder.join("workspace"), options).unwrap()
}

struct Place {
    folder: TempDir,
    tree: Arc<OsTree>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        fs::create_dir_all(root.join("dir/deep")).unwrap();
        fs::create_dir(root.join("empty")).unwrap();
        for file in ["changed", "removed", "dir/one", "dir/deep/two", "file then folder"] {
            fs::write(root.join(file), format!("old {file}\n")).unwrap();
        }
        let tree = Arc::new(open(folder.path()));
        Self { folder, tree }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Staged changes that need every kind of step.
    fn staged(&self) -> ChangeSet {
        let overlay = Overlay::new(self.tree.clone(), Quota::default());
        block_on(async {
            overlay.write(&path("changed"), b"new\n".to_vec()).await.unwrap();
            overlay.remove(&path("removed")).await.unwrap();
            overlay.remove(&path("empty")).await.unwrap();
            overlay.write(&path("empty"), b"a file now\n".to_vec()).await.unwrap();
            overlay.rename(&path("dir"), &path("moved")).await.unwrap();
            overlay.remove(&path("file then folder")).await.unwrap();
            overlay.write(&path("file then folder/inside"), b"in\n".to_vec()).await.unwrap();
            overlay.write(&path("new/folders/file"), b"n\n".to_vec()).await.unwrap();
        });
        overlay.change_set()
    }

    fn commit(&self, changes: &ChangeSet) -> Result<CommitOutcome, TreeError> {
        block_on(self.tree.commit(changes, CommitOptions::default()))
    }

    /// Every path in the workspace but the staging folders, with a file's content.
    fn contents(&self) -> BTreeMap<String, Option<String>> {
        let root = self.root();
        let mut found = BTreeMap::new();
        let mut todo = vec![root.clone()];
        while let Some(folder) = todo.pop() {
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                let at = entry.path();
                if entry.file_name().to_string_lossy().starts_with(".headstart-staging-") {
                    continue;
                }
                let name = at.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                let is_folder = entry.file_type().unwrap().is_dir();
                found.insert(name, (!is_folder).then(|| fs::read_to_string(&at).unwrap()));
                todo.extend(is_folder.then_some(at));
            }
        }
        found
    }

    fn stagings(&self) -> usize {
        let names = fs::read_dir(self.root()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".headstart-staging-")).count()
    }
}

fn after() -> BTreeMap<String, Option<String>> {
    let file = |content: &str| Some(content.to_owned());
    [
        ("changed", file("new\n")),
        ("empty", file("a file now\n")),
        ("moved", None),
        ("moved/one", file("old dir/one\n")),
        ("moved/deep", None),
        ("moved/deep/two", file("old dir/deep/two\n")),
        ("file then folder", None),
        ("file then folder/inside", file("in\n")),
        ("new", None),
        ("new/folders", None),
        ("new/folders/file", file("n\n")),
    ]
    .map(|(name, content)| (name.to_owned(), content))
    .into()
}

#[test]
fn a_commit_makes_every_kind_of_change_and_an_undo_takes_it_back() {
    let place = Place::new();
    let old = place.contents();
    let changes = place.staged();
    assert_eq!(place.contents(), old, "nothing happens before the commit");
    block_on(place.tree.prepare(&changes)).unwrap();
    assert_eq!((place.contents(), place.stagings()), (old.clone(), 0), "nor when it is prepared");
    assert_eq!(place.commit(&changes), committed());
    assert_eq!(place.contents(), after());
    assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
    assert_eq!(place.contents(), old);
    place.tree.sweep().unwrap();
    assert_eq!(place.stagings(), 0);
}

#[test]
fn a_users_edit_is_a_conflict_and_nothing_is_written() {
    let place = Place::new();
    let changes = place.staged();
    fs::write(place.root().join("changed"), "mine\n").unwrap();
    let mine = place.contents();
    let Ok(CommitOutcome::Conflict(found)) = place.commit(&changes) else { panic!("it is a conflict") };
    let found: Vec<_> =
        found.into_iter().map(|conflict| (conflict.path.to_string(), conflict.kind)).collect();
    assert_eq!(found, [("changed".to_owned(), ConflictKind::Modified)]);
    assert_eq!(place.contents(), mine);
}

#[test]
fn a_file_that_is_made_at_a_new_path_meanwhile_is_kept() {
    let place = Place::new();
    let changes = place.staged();
    fs::create_dir_all(place.root().join("new/folders")).unwrap();
    fs::write(place.root().join("new/folders/file"), "mine\n").unwrap();
    assert!(matches!(place.commit(&changes), Ok(CommitOutcome::Conflict(_))));
    assert_eq!(place.contents()["new/folders/file"].as_deref(), Some("mine\n"));
}

#[test]
fn a_file_that_is_read_only_is_not_replaced() {
    let place = Place::new();
    let at = place.root().join("changed");
    let mut permissions = fs::metadata(&at).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&at, permissions.clone()).unwrap();
    let old = place.contents();
    let error = place.commit(&place.staged()).unwrap_err().to_string();
    assert!(error.contains("read-only"), "{error}");
    assert_eq!(place.contents(), old);
    #[expect(clippy::permissions_set_readonly_false, reason = "Windows has no other bit")]
    permissions.set_readonly(false);
    fs::set_permissions(&at, permissions).unwrap();
}

/// Most programs let others rename what they have open. Where one does not, nothing is written, and later everything is.
#[test]
fn a_file_that_another_program_holds_stops_a_commit_which_can_be_made_later() {
    use std::os::windows::fs::OpenOptionsExt as _;
    for held in ["changed", "removed", "dir/deep/two", "file then folder"] {
        let place = Place::new();
        let changes = place.staged();
        let old = place.contents();
        // FILE_SHARE_READ | FILE_SHARE_WRITE
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .share_mode(3)
            .open(place.root().join(held))
            .unwrap();
        let error = place.commit(&changes).unwrap_err().to_string();
        assert!(error.contains("os error 32"), "{held}: {error}");
        assert_eq!(place.contents(), old, "{held}");
        drop(file);
        let swept = place.tree.sweep().unwrap();
        assert_eq!(place.contents(), old, "{held}: {swept:?}");
        assert_eq!(place.commit(&changes), committed(), "{held}");
        assert_eq!(place.contents(), after(), "{held}");
        assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })), "{held}");
        assert_eq!(place.contents(), old, "{held}");
        place.tree.sweep().unwrap();
        assert_eq!(place.stagings(), 0, "{held}");
    }
}

/// Each of these is another name of a file that a rule may close, or of something that is no file of the workspace.
#[test]
fn a_name_that_windows_takes_for_another_thing_reaches_nothing() {
    let place = Place::new();
    fs::write(place.root().join(".env"), "KEY=secret\n").unwrap();
    fs::write(place.folder.path().join("outside"), "outside\n").unwrap();
    let names = [
        r"..\outside",
        r"dir\..\..\outside",
        r"dir\one",
        ".env::$DATA",
        ".env:stream",
        ".env.",
        ".env ",
        "dir/one.",
        "dir./one",
        "C:",
        r"C:\Windows\win.ini",
        r"\\?\C:\Windows\win.ini",
        "NUL",
        "con.txt",
        "dir/aux",
        "ENV~1",
        "DIR~1/one",
    ];
    for name in names {
        let at = path(name);
        let refused = |outcome: Result<(), TreeError>| match outcome {
            Err(TreeError::Escapes { .. } | TreeError::NotFound { .. }) => {}
            other => panic!("{name}: {other:?}"),
        };
        refused(block_on(place.tree.read(&at)).map(drop));
        refused(block_on(place.tree.metadata(&at)).map(drop));
        refused(block_on(place.tree.look(&at)).map(drop));
        refused(block_on(place.tree.list(&at)).map(drop));
        let old = place.contents();
        // Where nothing refuses the name before the commit.
        let elsewhere = Overlay::new(Arc::new(MemoryTree::new()), Quota::default());
        block_on(elsewhere.write(&at, b"x".to_vec())).unwrap();
        let outcome = place.commit(&elsewhere.change_set());
        assert!(!matches!(outcome, Ok(CommitOutcome::Committed(_))), "{name}: {outcome:?}");
        assert_eq!(place.contents(), old, "{name}");
        assert_eq!(fs::read_to_string(place.folder.path().join("outside")).unwrap(), "outside\n", "{name}");
    }
}

/// Upper and lower case are one name here, so what another program made under the other one is in the way.
#[test]
fn a_name_that_differs_only_in_case_is_the_same_file() {
    let place = Place::new();
    let overlay = Overlay::new(place.tree.clone(), Quota::default());
    block_on(overlay.write(&path("CHANGED"), b"theirs\n".to_vec())).unwrap();
    let old = place.contents();
    let outcome = place.commit(&overlay.change_set());
    match outcome {
        Ok(CommitOutcome::Committed(_)) => {
            let found = place.contents();
            let same = found.iter().filter(|(name, _)| name.eq_ignore_ascii_case("changed"));
            let contents: Vec<_> = same.map(|(_, content)| content.as_deref()).collect();
            assert_eq!((contents, found.len()), (vec![Some("theirs\n")], old.len()));
        }
        _ => assert_eq!(place.contents(), old),
    }
}

const ORDER: &str = "HEADSTART_TEST_ORDER";

/// A process of this test program that runs one of its ignored tests with an order.
fn process(test: &str, order: &str) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", test, "--ignored", "--nocapture"]).env(ORDER, order);
    process
}

fn order<const N: usize>() -> Option<[String; N]> {
    let order = std::env::var(ORDER).ok()?;
    Some(order.split('|').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap())
}

#[test]
#[ignore = "it is the process that the other tests start, and it dies"]
fn the_process_that_dies() {
    let Some([folder, what, number]) = order() else { return };
    let number: usize = number.parse().unwrap();
    let changes = fs::read(format!("{folder}/changes.json")).unwrap();
    let changes: ChangeSet = serde_json::from_slice(&changes).unwrap();
    let tree = open(folder.as_ref());
    arm(move |point| if point.number == number { FailAction::Die } else { FailAction::GoOn });
    match what.as_str() {
        "undo" => assert!(matches!(tree.undo(&changes), Ok(UndoOutcome::Undone { .. }))),
        "sweep" => drop(tree.sweep().unwrap()),
        _ => assert_eq!(block_on(tree.commit(&changes, CommitOptions::default())), committed()),
    }
    disarm();
}

/// Runs the order in a process of its own and returns whether it died. A process that does not die must have carried
/// out its order.
fn dies(place: &Place, what: &str, number: usize) -> bool {
    let order = format!("{}|{what}|{number}", place.folder.path().display());
    let output = process("the_process_that_dies", &order).output().unwrap();
    let (told, erred) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!told.contains("FAILED") && !erred.contains("panicked"), "{what} {number}: {told}{erred}");
    assert_eq!(output.status.success(), told.contains("1 passed"), "{what} {number}: {told}{erred}");
    !output.status.success()
}

/// Does it on a disk that fails from this system call on; returns whether it got there. Then the tree is opened anew, as
/// the next process does.
fn fails(place: &mut Place, changes: &ChangeSet, what: &str, number: usize) -> bool {
    // It did not look at the staging folders before.
    place.tree = Arc::new(open(place.folder.path()));
    let io = 1117;
    arm(move |point| if point.number < number { FailAction::GoOn } else { FailAction::Fail(io) });
    match what {
        "undo" => drop(place.tree.undo(changes)),
        _ => drop(place.commit(changes)),
    }
    let got_there = number < disarm();
    place.tree = Arc::new(open(place.folder.path()));
    got_there
}

/// A process costs a second in wine, so only before every so many calls one is killed.
const KILLED: usize = 10;

/// For every system call: makes a fresh place, stops before the call, and calls `check`.
fn at_every_call(what: &str, begin: impl Fn(&Place, &ChangeSet), check: impl Fn(&Place, &ChangeSet, &str)) {
    for number in 0.. {
        let is_killed = number % KILLED == 0;
        let mut place = Place::new();
        let changes = place.staged();
        fs::write(place.folder.path().join("changes.json"), serde_json::to_vec(&changes).unwrap()).unwrap();
        begin(&place, &changes);
        let stopped =
            if is_killed { dies(&place, what, number) } else { fails(&mut place, &changes, what, number) };
        check(
            &place,
            &changes,
            &format!("{what}, stopped before call {number} (killed: {is_killed}): {stopped}"),
        );
        if !stopped {
            assert!(50 < number, "it has more system calls than {number}");
            return;
        }
    }
}

#[test]
fn a_commit_killed_anywhere_is_made_or_taken_back() {
    let old = Place::new().contents();
    at_every_call(
        "commit",
        |_, _| {},
        |place, changes, told| {
            let swept = place.tree.sweep().unwrap();
            let found = place.contents();
            assert!(found == after() || found == old, "{told}: {swept:?}\n{found:#?}");
            // The caller could not note the outcome, so it commits again. That must not be a conflict.
            let again = CommitOptions { repeated: true, ..CommitOptions::default() };
            assert_eq!(block_on(place.tree.commit(changes, again)), committed(), "{told}");
            assert_eq!(place.contents(), after(), "{told}");
            assert!(matches!(place.tree.undo(changes), Ok(UndoOutcome::Undone { .. })), "{told}");
            assert_eq!(place.contents(), old, "{told}");
            place.tree.sweep().unwrap();
            assert_eq!(place.stagings(), 0, "{told}");
        },
    );
}

#[test]
fn an_undo_killed_anywhere_is_made_or_taken_back() {
    let old = Place::new().contents();
    at_every_call(
        "undo",
        |place, changes| assert_eq!(place.commit(changes), committed()),
        |place, changes, told| {
            let swept = place.tree.sweep().unwrap();
            let found = place.contents();
            assert!(found == after() || found == old, "{told}: {swept:?}\n{found:#?}");
            if found != old {
                assert!(matches!(place.tree.undo(changes), Ok(UndoOutcome::Undone { .. })), "{told}");
            }
            assert_eq!(place.contents(), old, "{told}");
        },
    );
}

/// The process that holds the folder of a commit lives until it is told to end.
#[test]
#[ignore = "it is the process that another test starts"]
fn the_process_that_waits() {
    let Some([folder]) = order() else { return };
    let changes = fs::read(format!("{folder}/changes.json")).unwrap();
    let changes: ChangeSet = serde_json::from_slice(&changes).unwrap();
    let tree = open(folder.as_ref());
    let ready = PathBuf::from(&folder).join("ready");
    arm(move |point| {
        // All is journalled, and nothing is moved yet.
        if point.call == "link" || point.call == "plain rename" || point.call == "move" {
            fs::write(&ready, "").unwrap();
            std::thread::sleep(std::time::Duration::from_secs(120));
        }
        FailAction::GoOn
    });
    let _ = block_on(tree.commit(&changes, CommitOptions::default()));
}

#[test]
fn a_commit_of_a_living_process_is_waited_for_and_that_of_a_killed_one_is_taken_back() {
    let place = Place::new();
    let changes = place.staged();
    let old = place.contents();
    fs::write(place.folder.path().join("changes.json"), serde_json::to_vec(&changes).unwrap()).unwrap();
    let folder = place.folder.path().display().to_string();
    let mut other = process("the_process_that_waits", &folder).spawn().unwrap();
    while !place.folder.path().join("ready").exists() {
        assert!(other.try_wait().unwrap().is_none(), "it waits");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(Process::with_id(other.id()).is_alive());
    let error = place.commit(&changes).unwrap_err().to_string();
    assert!(error.contains("another process is committing"), "{error}");
    assert_eq!(place.contents(), old);
    let noted = Process::with_id(other.id());
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(!noted.is_alive());
    assert_eq!(place.commit(&changes), committed());
    assert_eq!(place.contents(), after());
    assert!(place.tree.recovered().iter().all(|swept| swept.outcome != SweepOutcome::Damaged));
}

#[test]
fn a_staging_folder_that_came_with_the_project_is_nothing_to_recover() {
    let place = Place::new();
    let changes = place.staged();
    assert_eq!(place.commit(&changes), committed());
    let kept = fs::read_dir(place.root()).unwrap().map(|entry| entry.unwrap());
    let kept =
        kept.into_iter().find(|entry| entry.file_name().to_string_lossy().starts_with(".headstart-staging-"));
    let other = Place::new();
    let brought = other.root().join(format!(".headstart-staging-{:032x}", 7));
    fs::create_dir(&brought).unwrap();
    for entry in
        fs::read_dir(kept.unwrap().path()).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file())
    {
        fs::copy(entry.path(), brought.join(entry.file_name())).unwrap();
    }
    fs::rename(brought.join("committed"), brought.join("applying")).unwrap();
    let old = other.contents();
    other.tree.sweep().unwrap();
    assert_eq!(other.contents(), old);
}
