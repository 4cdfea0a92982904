//! Attacks on the folders that a commit works with.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{
    ChangeSet, CommitOutcome, SweepOutcome, Tree as _, TreeError, UndoOutcome, Workspace as _,
};

#[cfg(target_os = "linux")]
use crate::child::process_with_mounts;
use crate::child::{order, process, process_without_privileges};
use crate::place::{HOMES, Home, Place, committed, contents, is_staging, path, snapshot};

#[test]
#[ignore = "it is the process that another test starts, and it never ends"]
fn the_process_that_swaps() {
    let Some([root]) = order() else { return };
    let (target, aside) = (format!("{root}/target"), format!("{root}/aside"));
    loop {
        let (cwd, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
        rustix::fs::renameat_with(cwd, &target, cwd, &aside, flags).unwrap();
    }
}

/// Another process exchanges a folder and a link that leads out, again and again. Nothing outside may be touched.
#[test]
fn a_link_swapped_in_by_another_process_never_leads_a_commit_or_an_undo_out() {
    let place = Place::new(Home::State);
    fs::create_dir(place.root().join("target")).unwrap();
    symlink("../outside", place.root().join("aside")).unwrap();
    fs::write(place.outside().join("secret"), "secret").unwrap();
    let before = snapshot(&place.outside());
    let root = place.root();
    let mut swapping = process("attacks::the_process_that_swaps", root.to_str().unwrap())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (mut made, mut refused) = (0, 0);
    for round in 0..2_000 {
        let overlay = place.overlay();
        // If the folder is a link at this moment, staging is refused.
        let staged = block_on(overlay.write(&path(&format!("target/{round}")), b"mine".to_vec()));
        let changes = overlay.change_set();
        let outcome = staged.and_then(|()| place.commit(&changes));
        if outcome == committed() {
            made += 1;
            let _ = place.tree.undo(&changes);
        } else {
            refused += 1;
        }
        if 20 < made && 20 < refused && 200 < round {
            break;
        }
    }
    swapping.kill().unwrap();
    swapping.wait().unwrap();
    assert!(0 < made && 0 < refused, "{made} made, {refused} refused");
    assert_eq!(snapshot(&place.outside()), before);
}

fn staged_file(place: &Place, content: &str) -> PathBuf {
    let stagings = place.stagings();
    let files =
        stagings.iter().flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let mut found = files.filter(|file| fs::read_to_string(file).is_ok_and(|text| text == content));
    found.next().unwrap()
}

/// A prepared file that somebody changed, replaced or linked is not put into the workspace. A second commit stages it
/// anew.
#[test]
fn what_was_changed_in_a_staging_folder_is_not_accepted() {
    let attacks: [fn(&Path, &Path); 7] = [
        |file, _| fs::write(file, "NEW\n").unwrap(),
        |file, _| fs::write(file, "longer than before\n").unwrap(),
        |file, _| fs::remove_file(file).unwrap(),
        |file, outside| {
            fs::remove_file(file).unwrap();
            symlink(outside.join("secret"), file).unwrap();
        },
        |file, outside| {
            fs::remove_file(file).unwrap();
            fs::write(outside.join("secret"), "new\n").unwrap();
            fs::hard_link(outside.join("secret"), file).unwrap();
        },
        |file, _| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
        // A new file with the same content is as good.
        |file, _| {
            fs::remove_file(file).unwrap();
            fs::write(file, "new\n").unwrap();
        },
    ];
    for (number, attack) in attacks.into_iter().enumerate() {
        let place = Place::new(Home::State);
        let changes = place.staged();
        block_on(place.tree.prepare(&changes)).unwrap();
        attack(&staged_file(&place, "new\n"), &place.outside());
        let (before, outside) = (place.snapshot(), contents(&snapshot(&place.outside())));
        let outcome = place.commit(&changes);
        if number == 6 {
            assert_eq!(outcome, committed());
            continue;
        }
        let Err(TreeError::Io { path: at, message, .. }) = outcome else { panic!("{number}: {outcome:?}") };
        assert_eq!(at, path("changed"));
        assert!(message.contains("was changed by somebody else"), "{message}");
        assert_eq!(place.snapshot(), before, "number {number}");
        assert_eq!(contents(&snapshot(&place.outside())), outside, "number {number}");
        assert_eq!(place.commit(&changes), committed(), "number {number}: staged anew");
    }
}

/// An old file that was changed since it was kept for an undo is not put back.
#[test]
fn what_was_changed_in_what_is_kept_for_an_undo_is_not_put_back() {
    let place = Place::new(Home::State);
    let changes = place.staged();
    assert_eq!(place.commit(&changes), committed());
    fs::write(staged_file(&place, "old changed\n"), "OLD changed\n").unwrap();
    let before = place.snapshot();
    let outcome = place.tree.undo(&changes);
    assert!(matches!(&outcome, Err(TreeError::Io { path: at, .. }) if *at == path("changed")), "{outcome:?}");
    assert_eq!(place.snapshot(), before);
}

/// A damaged journal stops all work on the workspace with an error, because it is unknown which steps were made. When
/// it is whole again, it is followed.
#[test]
fn a_damaged_journal_is_told_and_nothing_is_guessed() {
    for home in HOMES {
        let place = Place::new(home);
        let changes = place.staged();
        // The disk fails in the middle of a commit and leaves it half done.
        let mut is_gone = false;
        arm(move |point| {
            is_gone |= point.call == "exchange";
            if is_gone { FailAction::Fail(rustix::io::Errno::IO.raw_os_error()) } else { FailAction::GoOn }
        });
        place.commit(&changes).unwrap_err();
        disarm();
        let half = place.snapshot();
        let folder = place.stagings().remove(0);
        let journal = fs::read(folder.join("applying")).unwrap();
        for damaged in [&journal[..journal.len() / 2], b"", b"{}\n", &[&journal[..], b"x"].concat()] {
            fs::write(folder.join("applying"), damaged).unwrap();
            let outcome = place.commit(&changes).unwrap_err().to_string();
            assert!(outcome.contains("damaged") && outcome.contains(".headstart-staging-"), "{outcome}");
            assert!(place.tree.undo_last().unwrap_err().to_string().contains("damaged"));
            assert_eq!(place.tree.sweep().unwrap()[0].outcome, SweepOutcome::Damaged);
            assert_eq!(place.snapshot(), half);
        }
        fs::write(folder.join("applying"), &journal).unwrap();
        assert_eq!(place.tree.sweep().unwrap()[0].outcome, SweepOutcome::RolledBack);
        assert_ne!(place.snapshot(), half);
        assert_eq!(place.commit(&changes), committed());
    }
}

/// If other users can write to the state folder, nothing is staged there.
#[test]
fn a_state_folder_that_others_can_write_is_not_used() {
    let place = Place::new(Home::State);
    let staging = place.folder.path().join("state/staging");
    fs::create_dir_all(&staging).unwrap();
    fs::set_permissions(&staging, fs::Permissions::from_mode(0o777)).unwrap();
    let changes = place.staged();
    block_on(place.tree.prepare(&changes)).unwrap();
    assert!(place.stagings().is_empty(), "before an accept nothing is in the workspace");
    assert_eq!(fs::read_dir(&staging).unwrap().count(), 0);
    assert_eq!(place.commit(&changes), committed());
    // A state folder that is a link is not used either.
    let place = Place::new(Home::State);
    fs::create_dir(place.folder.path().join("state")).unwrap();
    symlink(place.outside(), place.folder.path().join("state/staging")).unwrap();
    assert_eq!(place.commit(&place.staged()), committed());
    assert_eq!(fs::read_dir(place.outside()).unwrap().count(), 0);
}

/// A staging folder with a file that no commit makes may have something of the user, so it is not removed.
#[test]
fn a_sweep_leaves_a_folder_with_names_that_no_commit_gives() {
    let place = Place::new(Home::State);
    let changes = place.staged();
    assert_eq!(place.commit(&changes), committed());
    let folder = place.stagings().remove(0);
    fs::write(folder.join("mine.txt"), "user").unwrap();
    assert_eq!(place.tree.sweep().unwrap()[0].outcome, SweepOutcome::Foreign);
    assert_eq!(fs::read_to_string(folder.join("mine.txt")).unwrap(), "user");
}

/// Old accepts are removed, except if a program has written to a replaced file since, because that text exists only
/// there.
#[test]
fn the_oldest_accepts_go_and_what_was_written_to_late_is_kept() {
    let place = Place::new(Home::State);
    let accept = |text: &str| {
        let overlay = place.overlay();
        block_on(overlay.write(&path("changed"), text.into())).unwrap();
        assert_eq!(place.commit(&overlay.change_set()), committed());
        overlay.change_set()
    };
    // An editor that has the file open writes to it after it was replaced.
    let mut editor = fs::File::options().append(true).open(place.root().join("changed")).unwrap();
    let mut all = vec![accept("1\n")];
    std::io::Write::write_all(&mut editor, b"late").unwrap();
    all.extend(["2\n", "3\n", "4\n", "5\n"].map(accept));
    let swept: Vec<_> = place.tree.sweep().unwrap().into_iter().map(|one| one.outcome).collect();
    let count = |wanted| swept.iter().filter(|outcome| **outcome == wanted).count();
    assert_eq!([count(SweepOutcome::Undoable), count(SweepOutcome::Kept)], [3, 1], "{swept:?}");
    assert_eq!(place.tree.undo(&all[0]), Ok(UndoOutcome::NotKept));
    for (back, text) in all[2..].iter().rev().zip(["4\n", "3\n", "2\n"]) {
        let undone = place.tree.undo(back);
        assert!(matches!(undone, Ok(UndoOutcome::Undone { .. })), "back to {text}: {undone:?}");
        assert_eq!(fs::read_to_string(place.root().join("changed")).unwrap(), text);
    }
    assert_eq!(place.tree.undo_last(), Ok(UndoOutcome::NotKept));
}

/// A prepared file is older than a build that ran before the accept. The accept gives it a new time, so that the next
/// build notices it.
#[test]
fn a_file_keeps_its_attributes_and_is_newer_than_a_build_that_ran_meanwhile() {
    let place = Place::new(Home::State);
    let file = place.root().join("changed");
    let set = rustix::fs::setxattr(&file, "user.label", b"mine", rustix::fs::XattrFlags::empty());
    if let Err(error) = set {
        eprintln!("NOT TESTED: no extended attributes here ({error})");
    }
    let bits_before = fs::metadata(place.root().join("bits")).unwrap();
    let changes = place.staged();
    block_on(place.tree.prepare(&changes)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(place.outside().join("built"), "").unwrap();
    let time_of = |name: PathBuf| fs::metadata(name).unwrap().modified().unwrap();
    let build = time_of(place.outside().join("built"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(place.commit(&changes), committed());
    let mut label = [0; 16];
    if set.is_ok() {
        assert_eq!(rustix::fs::getxattr(&file, "user.label", &mut label[..]), Ok(4));
    }
    for file in ["changed", "new/folders/file", "moved/one"] {
        assert!(build < time_of(place.root().join(file)), "{file}");
    }
    let bits = fs::metadata(place.root().join("bits")).unwrap();
    assert_eq!(bits.mtime_nsec(), bits_before.mtime_nsec(), "only its bits changed");
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(place.outside().join("built"), "").unwrap();
    let build = time_of(place.outside().join("built"));
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
    assert!(build < time_of(place.root().join("changed")), "what comes back is newer, too");
}

/// Staging folders in the workspace are ignored by git, during an accept and as long as they are kept.
#[test]
fn git_does_not_see_what_is_staged_in_the_workspace() {
    let place = Place::new(Home::Workspace);
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(place.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = git.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    let overlay = place.overlay();
    block_on(overlay.write(&path("changed"), b"new\n".to_vec())).unwrap();
    let root = place.root();
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    arm(move |point| {
        if point.call == "exchange" {
            assert!(fs::read_dir(&root).unwrap().any(|entry| is_staging(&entry.unwrap().path())));
            let status =
                Command::new("git").args(["status", "--porcelain"]).current_dir(&root).output().unwrap();
            let status = String::from_utf8(status.stdout).unwrap();
            assert!(status.contains("changed") && !status.contains("headstart"), "{status}");
            counter.fetch_add(1, Ordering::Relaxed);
        }
        FailAction::GoOn
    });
    assert_eq!(place.commit(&overlay.change_set()), committed());
    disarm();
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    git(&["add", "--all"]);
    assert!(!place.stagings().is_empty(), "kept for an undo");
    assert!(!git(&["status", "--porcelain"]).contains("headstart"));
}

/// Files can only be moved within a file system. If the state folder is on another one, an accept stages in the
/// workspace.
#[cfg(target_os = "linux")]
#[test]
fn with_the_state_elsewhere_a_commit_stages_in_the_workspace() {
    let elsewhere = tempfile::tempdir_in("/dev/shm").expect("a second file system at /dev/shm");
    let place = Place::at(tempfile::tempdir().unwrap(), Home::State);
    symlink(elsewhere.path(), place.folder.path().join("state")).unwrap();
    let changes = place.staged();
    let before = contents(&place.snapshot());
    block_on(place.tree.prepare(&changes)).unwrap();
    assert!(place.stagings().is_empty(), "before an accept nothing is in the workspace");
    assert_eq!(place.commit(&changes), committed());
    assert!(place.stagings()[0].starts_with(place.root()));
    assert!(matches!(place.tree.undo_last(), Ok(UndoOutcome::Undone { .. })));
    assert_eq!(contents(&place.snapshot()), before);
}

/// Runs in a place over which the calling test has mounted file systems.
#[test]
#[ignore = "it is the process that other tests start with mounts of its own"]
fn the_process_with_mounts() {
    let Some([folder, what]) = order() else { return };
    let place = Place::in_folder(folder.as_ref(), Home::State);
    let overlay = place.overlay();
    match what.as_str() {
        "full" => {
            let old = place.snapshot();
            block_on(overlay.write(&path("changed"), b"small".to_vec())).unwrap();
            let is_full = |error: &TreeError| matches!(error, TreeError::Io { source: Some(of), .. } if of.kind == ErrorKind::StorageFull);
            let refused = block_on(overlay.write(&path("large"), vec![b'x'; 4 << 20])).unwrap_err();
            assert!(is_full(&refused), "{refused:?}");
            // There is room for each of them, and not for both.
            for name in ["half", "other half"] {
                block_on(overlay.write(&path(name), vec![b'x'; 700 << 10])).unwrap();
            }
            let outcome = place.commit(&overlay.change_set());
            assert!(outcome.as_ref().is_err_and(is_full), "{outcome:?}");
            assert_eq!(place.snapshot(), old);
            block_on(overlay.remove(&path("half"))).unwrap();
            block_on(overlay.remove(&path("other half"))).unwrap();
            assert_eq!(place.commit(&overlay.change_set()), committed());
        }
        what => {
            let inside = if what == "other" { "dir/new" } else { "dir/one" };
            let old = place.snapshot();
            block_on(overlay.write(&path("changed"), b"mine".to_vec())).unwrap();
            let staged = block_on(overlay.write(&path(inside), b"mine".to_vec()));
            let outcome = staged.and_then(|()| place.commit(&overlay.change_set()));
            let told = if what == "read-only" { "dir/one" } else { "another file system" };
            assert!(matches!(&outcome, Err(error) if error.to_string().contains(told)), "{outcome:?}");
            assert_eq!(place.snapshot(), old);
        }
    }
}

#[cfg(target_os = "linux")]
fn with_mounts(what: &str, setup: impl Fn(&Path) -> String) {
    let place = Place::new(Home::State);
    let folder = place.folder.path();
    let order = format!("{}|{what}", folder.display());
    let output =
        process_with_mounts("attacks::the_process_with_mounts", &order, &setup(folder)).output().unwrap();
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{what}: {said}{failed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_file_system_changes_nothing() {
    with_mounts("full", |folder| {
        let folder = folder.display();
        format!(
            "cp -a {folder}/workspace {folder}/copy && mount -t tmpfs -o size=1m none {folder}/workspace && \
             cp -a {folder}/copy/. {folder}/workspace"
        )
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_on_another_file_system_is_refused_and_nothing_changes() {
    with_mounts("other", |folder| format!("mount -t tmpfs none {}/workspace/dir", folder.display()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_behind_a_bind_mount_is_refused_and_nothing_changes() {
    with_mounts("bound", |folder| {
        let dir = folder.join("workspace/dir");
        format!("mount --bind {dir} {dir}", dir = dir.display())
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_folder_is_refused_and_nothing_changes() {
    with_mounts("read-only", |folder| {
        let dir = folder.join("workspace/dir");
        format!("mount --bind {dir} {dir} && mount -o remount,ro,bind {dir}", dir = dir.display())
    });
}

#[test]
#[ignore = "it is the process that another test starts without privileges"]
fn the_process_without_privileges() {
    let Some([folder]) = order() else { return };
    let place = Place::in_folder(folder.as_ref(), Home::State);
    let dir = place.root().join("dir");
    let refused = fs::write(dir.join("new"), "").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "bits count for this process");
    let old = place.snapshot();
    let changes = [("dir/one", "write"), ("dir/new", "write"), ("dir/one", "remove"), ("dir/deep", "rename")];
    for (at, what) in changes {
        let overlay = place.overlay();
        let staged = block_on(async {
            overlay.write(&path("changed"), b"mine".to_vec()).await.unwrap();
            match what {
                "write" => overlay.write(&path(at), b"mine".to_vec()).await,
                "remove" => overlay.remove(&path(at)).await,
                _ => overlay.rename(&path(at), &path("moved")).await,
            }
        });
        let told = staged.map_err(|error| error.to_string()).unwrap_err();
        assert!(told.contains("dir") && told.contains("Permission denied"), "{what} {at}: {told}");
        assert_eq!(place.snapshot(), old, "{what} {at}");
        assert_eq!(place.stagings(), Vec::<PathBuf>::new(), "{what} {at}");
    }
    let overlay = place.overlay();
    fs::set_permissions(place.root().join("bits"), fs::Permissions::from_mode(0o000)).unwrap();
    assert!(
        block_on(overlay.read(&path("bits"))).is_err(),
        "what cannot be read is not staged as if it were empty"
    );
    assert!(block_on(overlay.set_executable(&path("bits"), true)).is_err());
    assert!(overlay.change_set().is_empty());
}

#[test]
fn without_permission_nothing_changes() {
    let place = Place::new(Home::State);
    fs::set_permissions(place.root().join("dir"), fs::Permissions::from_mode(0o555)).unwrap();
    let order = place.folder.path().to_str().unwrap();
    let output =
        process_without_privileges("attacks::the_process_without_privileges", order).output().unwrap();
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}{failed}");
    for (name, mode) in [("dir", 0o755), ("bits", 0o644)] {
        fs::set_permissions(place.root().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(place.commit(&place.staged()), committed());
}

/// Chains of links are followed as far as the system would follow them, and a link is never replaced by a file.
#[test]
fn a_farm_of_links_is_followed_as_far_as_the_system_would_and_never_written_over() {
    let place = Place::new(Home::State);
    let root = place.root();
    for number in 0..60 {
        symlink(format!("farm {}", number + 1), root.join(format!("farm {number}"))).unwrap();
    }
    symlink("changed", root.join("farm 60")).unwrap();
    symlink("../dir", root.join("dir/up")).unwrap();
    let old = place.snapshot();
    let overlay = place.overlay();
    let far = path("farm 0");
    assert!(fs::read(root.join("farm 0")).is_err(), "too far for the system, too");
    assert!(block_on(overlay.read(&far)).is_err());
    assert!(block_on(overlay.write(&far, b"mine".to_vec())).is_err());
    assert!(overlay.change_set().is_empty());
    block_on(overlay.write(&path("farm 45"), b"near\n".to_vec())).unwrap();
    block_on(overlay.write(&path("dir/up/up/up/up/one"), b"round\n".to_vec())).unwrap();
    let changes = overlay.change_set();
    assert_eq!(place.commit(&changes), committed());
    let mut expected = contents(&old);
    expected.get_mut(Path::new("changed")).unwrap().1 = b"near\n".to_vec();
    expected.get_mut(Path::new("dir/one")).unwrap().1 = b"round\n".to_vec();
    assert_eq!(contents(&place.snapshot()), expected);
    assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
    assert_eq!(contents(&place.snapshot()), contents(&old));
}

/// A workspace that was opened through a link stays the same folder, even if the link is changed.
#[test]
fn a_workspace_that_is_a_link_is_the_folder_it_led_to_when_it_was_opened() {
    for home in HOMES {
        let mut place = Place::new(home);
        let link = place.folder.path().join("link");
        symlink("workspace", &link).unwrap();
        fs::write(place.outside().join("changed"), "old changed\n").unwrap();
        place.tree = Arc::new(crate::place::open_at(place.folder.path(), &link, home));
        let (old, outside) = (contents(&place.snapshot()), snapshot(&place.outside()));
        let changes = place.staged();
        block_on(place.tree.prepare(&changes)).unwrap();
        fs::remove_file(&link).unwrap();
        symlink("outside", &link).unwrap();
        assert_eq!(place.commit(&changes), committed());
        assert_ne!(contents(&place.snapshot()), old);
        // The kept accepts are also found by the folder's own path.
        place.tree = Arc::new(crate::place::open(place.folder.path(), home));
        assert!(matches!(place.tree.undo_last(), Ok(UndoOutcome::Undone { .. })));
        assert_eq!(contents(&place.snapshot()), old);
        assert_eq!(snapshot(&place.outside()), outside);
    }
}

/// A change set with two changes of one path is not well-defined, so it is refused.
#[test]
fn a_change_set_that_names_a_path_twice_is_refused() {
    let place = Place::new(Home::State);
    let mut changes: ChangeSet = place.staged();
    changes.changes.push(changes.changes[0].clone());
    assert!(matches!(place.commit(&changes), Err(TreeError::Unsupported { .. })));
    assert!(matches!(place.commit(&place.staged()), Ok(CommitOutcome::Committed(_))));
}
