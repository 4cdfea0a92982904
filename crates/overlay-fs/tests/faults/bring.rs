//! What a view left out is brought by moving its files: all of it, or nothing, whatever happens in the middle.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::rc::Rc;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{
    CommitOptions, ContentHash, HeldOutput, KeepObstacle, OsTree, UndoOutcome, Workspace as _, file_times,
};
use rustix::fs::{FileType, Mode, XattrFlags};
use rustix::io::Errno;

use crate::child::{order, process};
use crate::place::{Home, Place, committed, contents, open, path, wait_a_tick};

/// A workspace with build output, and what a view wrote over it, as overlayfs keeps it.
struct Output {
    place: Place,
    held: HeldOutput,
}

impl Output {
    fn new() -> Self {
        let place = Place::new(Home::State);
        let target = place.root().join("target");
        for folder in ["deps", "gone", "again"] {
            fs::create_dir_all(target.join(folder)).unwrap();
        }
        for file in
            ["deps/old", "deps/stays", "deps/removed", "gone/a", "again/below", "again/both", "closed"]
        {
            fs::write(target.join(file), format!("old {file}\n")).unwrap();
        }
        symlink("deps/old", target.join("link")).unwrap();
        wait_a_tick();
        let since = file_times::since_now_ns();
        wait_a_tick();
        let upper = place.folder.path().join("upper");
        for folder in ["deps", "again", "new/inner"] {
            fs::create_dir_all(upper.join(folder)).unwrap();
        }
        for file in ["deps/old", "deps/new", "again/both", "new/inner/program"] {
            fs::write(upper.join(file), format!("new {file}\n")).unwrap();
        }
        fs::hard_link(upper.join("deps/new"), upper.join("new/same")).unwrap();
        symlink("../deps/new", upper.join("new/link")).unwrap();
        fs::set_permissions(upper.join("new/inner/program"), fs::Permissions::from_mode(0o4750)).unwrap();
        for gone in ["deps/removed", "gone", "link", "closed"] {
            removal(&upper.join(gone));
        }
        mark(&upper.join("again"), "user.overlay.opaque", b"y");
        mark(&upper.join("deps/old"), "user.overlay.origin", b"\0\xfb");
        let held = HeldOutput {
            path: path("target"),
            files: upper.to_str().unwrap().to_owned(),
            overlay: true,
            since,
            existed: true,
            hidden: vec![path("target/closed")],
        };
        fs::write(place.folder.path().join("held.json"), serde_json::to_vec(&held).unwrap()).unwrap();
        Self { place, held }
    }

    fn bring(&self) -> Option<KeepObstacle> {
        bring(&self.place.tree, &self.held, None).unwrap()
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.place.root().join("target").join(file)).ok()
    }

    /// Fails unless all of it is there.
    fn is_brought(&self, told: &str) {
        let new = |file: &str| Some(format!("new {file}\n"));
        for file in ["deps/old", "deps/new", "again/both", "new/inner/program"] {
            assert_eq!(self.read(file), new(file), "{told}");
        }
        assert_eq!(self.read("new/link"), new("deps/new"), "{told}");
        assert_eq!(self.read("deps/stays").unwrap(), "old deps/stays\n", "{told}");
        assert_eq!(self.read("closed").unwrap(), "old closed\n", "what was closed stays, {told}");
        for gone in ["deps/removed", "gone", "link", "again/below"] {
            assert!(
                self.place.root().join("target").join(gone).symlink_metadata().is_err(),
                "{gone}, {told}"
            );
        }
    }
}

fn bring(
    tree: &OsTree,
    held: &HeldOutput,
    after: Option<ContentHash>,
) -> Result<Option<KeepObstacle>, headstart_overlay_fs::TreeError> {
    block_on(tree.bring(held, after, CommitOptions::default(), &|_| true))
}

fn removal(at: &std::path::Path) {
    rustix::fs::mknodat(rustix::fs::CWD, at, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

fn mark(at: &std::path::Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(at, name, value, XattrFlags::empty()).unwrap();
}

fn inode(at: PathBuf) -> u64 {
    fs::symlink_metadata(at).unwrap().ino()
}

#[test]
fn what_was_held_is_moved_and_an_undo_moves_it_back() {
    let output = Output::new();
    let (before, upper) = (output.place.snapshot(), PathBuf::from(&output.held.files));
    let old = inode(output.place.root().join("target/deps/old"));
    let new = inode(upper.join("deps/old"));
    assert_eq!(output.bring(), None);
    output.is_brought("brought");
    let target = output.place.root().join("target");
    assert_eq!(inode(target.join("deps/old")), new, "no byte is copied");
    assert!(!upper.exists(), "it has one name");
    assert_eq!(inode(target.join("deps/new")), inode(target.join("new/same")), "one file with two names");
    let program = fs::metadata(target.join("new/inner/program")).unwrap();
    assert_eq!(program.mode() & 0o7777, 0o750, "without what gives others' rights");
    let names = rustix::fs::listxattr(target.join("deps/old"), &mut [0_u8; 4096][..]).unwrap();
    assert_eq!(names, 0, "no mark of overlayfs is left");
    assert!(matches!(output.place.tree.undo_last(), Ok(UndoOutcome::Undone { .. })));
    assert_eq!(contents(&output.place.snapshot()), contents(&before));
    assert_eq!(inode(target.join("deps/old")), old);
}

#[test]
fn what_changed_on_disk_meanwhile_stays_and_nothing_is_brought() {
    type Change = fn(&std::path::Path);
    let changes: [(&str, Change); 6] = [
        ("a file that is replaced", |target| fs::write(target.join("deps/old"), "user\n").unwrap()),
        ("one with the same length and time", |target| {
            let at = target.join("deps/old");
            let time = fs::metadata(&at).unwrap().modified().unwrap();
            fs::write(&at, "mine deps/o\n").unwrap();
            fs::File::options().write(true).open(&at).unwrap().set_modified(time).unwrap();
        }),
        ("a file that is removed", |target| fs::write(target.join("deps/removed"), "user\n").unwrap()),
        ("a file in a folder that is removed", |target| fs::write(target.join("gone/b"), "user\n").unwrap()),
        ("a file at a new place", |target| fs::write(target.join("deps/new"), "user\n").unwrap()),
        ("all of it is gone", |target| fs::remove_dir_all(target).unwrap()),
    ];
    for (told, change) in changes {
        let output = Output::new();
        change(&output.place.root().join("target"));
        let before = output.place.snapshot();
        assert_eq!(output.bring(), Some(KeepObstacle::Changed), "{told}");
        assert_eq!(output.place.snapshot(), before, "{told}");
        assert_eq!(output.place.stagings(), Vec::<PathBuf>::new(), "{told}");
    }
}

#[test]
fn what_may_not_be_written_or_cannot_be_moved_is_an_obstacle() {
    let output = Output::new();
    let closed = |at: &headstart_overlay_fs::WorkspacePath| *at != path("target/deps/new");
    let refused = block_on(output.place.tree.bring(&output.held, None, CommitOptions::default(), &closed));
    assert_eq!(refused, Ok(Some(KeepObstacle::Closed)));
    let hidden = HeldOutput { hidden: vec![path("target/gone/a")], ..output.held.clone() };
    assert_eq!(
        bring(&output.place.tree, &hidden, None),
        Ok(Some(KeepObstacle::Closed)),
        "in a removed folder"
    );
    symlink("/etc/passwd", PathBuf::from(&output.held.files).join("out")).unwrap();
    assert_eq!(output.bring(), Some(KeepObstacle::Unfit));
    let gone = HeldOutput { files: "/nonexistent/upper".to_owned(), ..output.held.clone() };
    assert_eq!(bring(&output.place.tree, &gone, None), Ok(Some(KeepObstacle::Gone)));
    assert_eq!(output.read("closed").unwrap(), "old closed\n");
}

/// An undo of the commit takes along what was brought with it, unless something there has changed since.
#[test]
fn it_goes_back_with_its_commit_or_stays_and_that_is_told() {
    for is_edited in [false, true] {
        let output = Output::new();
        let before = output.place.snapshot();
        let changes = output.place.staged();
        assert_eq!(output.place.commit(&changes), committed());
        assert_eq!(bring(&output.place.tree, &output.held, Some(changes.digest())), Ok(None));
        let turns = output.place.tree.kept_turns().unwrap();
        assert_eq!(turns.len(), 1, "it belongs to the commit: {turns:?}");
        if is_edited {
            fs::write(output.place.root().join("target/deps/old"), "built anew\n").unwrap();
        }
        let Ok(UndoOutcome::Undone { stayed, changes: undone, .. }) = output.place.tree.undo_last() else {
            panic!("it is undone")
        };
        assert_eq!(undone, changes.digest());
        if is_edited {
            assert_eq!(stayed, [path("target")]);
            assert_eq!(output.read("deps/old").unwrap(), "built anew\n");
            assert_eq!(output.read("deps/new").unwrap(), "new deps/new\n");
        } else {
            assert_eq!(stayed, []);
            assert_eq!(contents(&output.place.snapshot()), contents(&before));
        }
        assert!(matches!(output.place.tree.undo_last(), Ok(UndoOutcome::NotKept)));
    }
}

#[test]
fn an_error_anywhere_leaves_all_or_nothing() {
    for number in 0.. {
        let output = Output::new();
        let before = output.place.snapshot();
        let failed = Rc::new(Cell::new(false));
        let hit = Rc::clone(&failed);
        arm(move |point| {
            if point.number == number {
                hit.set(true);
                return FailAction::Fail(Errno::IO.raw_os_error());
            }
            FailAction::GoOn
        });
        let outcome = bring(&output.place.tree, &output.held, None);
        disarm();
        if outcome != Ok(None) {
            let swept = output.place.tree.sweep().unwrap();
            assert_eq!(output.place.snapshot(), before, "{number}: {outcome:?}, {swept:?}");
            assert_eq!(output.bring(), None, "{number}: it can be tried again after {outcome:?}");
        }
        output.is_brought(&format!("{number}"));
        if !failed.get() {
            assert!(50 < number, "it has more system calls than {number}");
            return;
        }
    }
}

#[test]
#[ignore = "it is the process that the other test starts, and it dies"]
fn the_process_that_dies() {
    let Some([folder, number]) = order() else { return };
    let number: usize = number.parse().unwrap();
    let held = fs::read(format!("{folder}/held.json")).unwrap();
    let held: HeldOutput = serde_json::from_slice(&held).unwrap();
    let tree = open(folder.as_ref(), Home::State);
    arm(move |point| if point.number == number { FailAction::Die } else { FailAction::GoOn });
    assert_eq!(bring(&tree, &held, None), Ok(None));
    disarm();
}

#[test]
fn a_process_killed_anywhere_leaves_all_or_nothing_and_it_can_be_brought_again() {
    for number in (0..).step_by(2) {
        let output = Output::new();
        let before = output.place.snapshot();
        let order = format!("{}|{number}", output.place.folder.path().display());
        let died = process("bring::the_process_that_dies", &order).output().unwrap();
        let is_dead = died.status.signal() == Some(9);
        let told = format!("killed before call {number}: {is_dead}");
        assert!(is_dead || died.status.success(), "{told}: {}", String::from_utf8_lossy(&died.stderr));
        output.place.tree.sweep().unwrap();
        if output.read("deps/new").is_none() {
            assert_eq!(output.place.snapshot(), before, "{told}");
        }
        assert_eq!(output.bring(), None, "{told}");
        output.is_brought(&told);
        assert!(matches!(output.place.tree.undo_last(), Ok(UndoOutcome::Undone { .. })), "{told}");
        assert_eq!(contents(&output.place.snapshot()), contents(&before), "{told}");
        if !is_dead {
            assert!(50 < number, "it has more system calls than {number}");
            return;
        }
    }
}

/// Twenty thousand files take a moment, because none is read.
#[test]
fn many_files_are_brought_at_once() {
    let output = Output::new();
    let many = PathBuf::from(&output.held.files).join("many");
    fs::create_dir(&many).unwrap();
    for number in 0..20_000 {
        fs::write(many.join(number.to_string()), "x").unwrap();
    }
    let began = std::time::Instant::now();
    assert_eq!(output.bring(), None);
    println!("20,000 files were brought in {:?}", began.elapsed());
    assert_eq!(fs::read_dir(output.place.root().join("target/many")).unwrap().count(), 20_000);
}
