//! What a file has besides its content: permission bits, owner, group, times, extended attributes and access lists.
//!
//! Run by the superuser, the tests also give files away and write attributes that only the superuser may write; run by
//! anybody else, they do the rest.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests are the workspace's user"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown, lchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::executor::block_on;
use headstart_overlay_fs::{
    CommitOptions, CommitOutcome, OsOptions, OsTree, Overlay, Quota, TreeError, UndoLimit, UndoOutcome,
    Workspace, WorkspacePath,
};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// An entry of an access list, in the kernel's order: its tag, the user or group that it is about (`None` for owner,
/// owning group, mask and others), and its bits.
type Entry = (Tag, Option<u32>, u16);

#[derive(Clone, Copy)]
enum Tag {
    Owner = 0x01,
    User = 0x02,
    OwningGroup = 0x04,
    Group = 0x08,
    Mask = 0x10,
    Others = 0x20,
}

const ACCESS_LIST: &str = "system.posix_acl_access";
const DEFAULT_LIST: &str = "system.posix_acl_default";

/// Gives a file or folder an access list in the form of Linux: version 2, then eight bytes for each entry.
fn set_list(at: &Path, name: &str, entries: &[Entry]) {
    let mut value = 2_u32.to_le_bytes().to_vec();
    for (tag, of, bits) in entries {
        value.extend((*tag as u16).to_le_bytes());
        value.extend(bits.to_le_bytes());
        value.extend(of.unwrap_or(u32::MAX).to_le_bytes());
    }
    set(at, name, &value);
}

fn set(at: &Path, name: &str, value: &[u8]) {
    let set = rustix::fs::lsetxattr(at, name, value, rustix::fs::XattrFlags::empty());
    set.unwrap_or_else(|error| panic!("{name} of {}: {error}", at.display()));
}

/// Removes an attribute if it is there.
fn unset(at: &Path, name: &str) {
    match rustix::fs::lremovexattr(at, name) {
        Ok(()) | Err(rustix::io::Errno::NODATA) => {}
        Err(error) => panic!("{name} of {}: {error}", at.display()),
    }
}

/// The attributes and access lists, sorted, each with the bytes of its value.
fn attributes(at: &Path) -> Vec<String> {
    let mut names = vec![0; 64 * 1024];
    let len = rustix::fs::llistxattr(at, &mut names[..]).unwrap();
    let names = names[..len].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut attributes: Vec<_> = names
        .map(|name| {
            let mut value = vec![0; 64 * 1024];
            let len = rustix::fs::lgetxattr(at, name, &mut value[..]).unwrap();
            format!("{}={:02x?}", String::from_utf8_lossy(name), &value[..len])
        })
        .collect();
    attributes.sort();
    attributes
}

fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn own_group() -> u32 {
    rustix::process::getegid().as_raw()
}

/// Another user, if this process may give files away.
fn other_user() -> u32 {
    if is_superuser() { 12_345 } else { own_user() }
}

fn other_group() -> u32 {
    if is_superuser() { 23_456 } else { own_group() }
}

/// A workspace, with the state folder and a folder in which the test makes by hand what a commit should make.
struct Place {
    temporary: tempfile::TempDir,
    state: bool,
}

impl Place {
    fn new(state: bool) -> Self {
        let place = Self { temporary: tempfile::tempdir().unwrap(), state };
        for folder in ["workspace", "by hand", "state"] {
            fs::create_dir(place.at(folder)).unwrap();
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    fn tree(&self) -> Arc<OsTree> {
        let options = OsOptions {
            state: self.state.then(|| self.at("state")),
            undo: UndoLimit { accepts: 5, bytes: 1 << 20 },
            ..OsOptions::default()
        };
        Arc::new(OsTree::open_with(self.at("workspace"), options).unwrap())
    }
}

/// Everything about a file except its content, inode and times.
fn told(at: &Path) -> String {
    let found = fs::symlink_metadata(at).unwrap();
    let owner = format!("{:o} {}:{}", found.mode(), found.uid(), found.gid());
    if found.is_symlink() {
        return owner;
    }
    format!("{owner}\n{}", attributes(at).join("\n"))
}

fn commit(tree: &OsTree, overlay: &Overlay) {
    let outcome = block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
}

/// Prepares a folder: its group, bits and access lists.
type Prepare = fn(&Path);

fn folders() -> [(&'static str, Prepare); 6] {
    let group = |at: &Path| {
        chown(at, None, Some(other_group())).unwrap();
        fs::set_permissions(at, fs::Permissions::from_mode(0o2775)).unwrap();
    };
    let list = |at: &Path| {
        let named =
            [(Tag::User, Some(12_345), 7), (Tag::OwningGroup, None, 5), (Tag::Group, Some(23_456), 5)];
        let rest = [(Tag::Mask, None, 7), (Tag::Others, None, 0)];
        set_list(at, DEFAULT_LIST, &[&[(Tag::Owner, None, 7)], &named[..], &rest[..]].concat());
    };
    [
        ("plain", |_| {}),
        ("private", |at| fs::set_permissions(at, fs::Permissions::from_mode(0o700)).unwrap()),
        ("with a group", group),
        ("with a list", list),
        ("with a short list", |at| {
            let entries = [(Tag::Owner, None, 7), (Tag::OwningGroup, None, 4), (Tag::Others, None, 0)];
            set_list(at, DEFAULT_LIST, &entries);
        }),
        ("with both", |at| {
            chown(at, None, Some(other_group())).unwrap();
            fs::set_permissions(at, fs::Permissions::from_mode(0o2775)).unwrap();
            let named = [(Tag::Owner, None, 7), (Tag::User, Some(12_345), 7), (Tag::OwningGroup, None, 7)];
            let rest = [(Tag::Mask, None, 4), (Tag::Others, None, 4)];
            set_list(at, DEFAULT_LIST, &[&named[..], &rest[..]].concat());
        }),
    ]
}

/// What a commit makes in a folder has exactly the owner, bits and access lists that a user's program would give it
/// there, wherever it was staged.
#[test]
fn what_is_new_gets_what_its_folder_gives() {
    let made = ["file", "program", "new", "new/deep", "new/deep/file", "empty", "link"];
    for (kind, prepare) in folders() {
        for (home_kind, prepare_home) in folders() {
            for state in [true, false] {
                let place = Place::new(state);
                // What the folders above the staging folder would give to new files must not appear in the workspace.
                prepare_home(&place.at(if state { "state" } else { "workspace" }));
                for folder in ["workspace/d", "by hand/d"].map(|name| place.at(name)) {
                    fs::create_dir(&folder).unwrap();
                    unset(&folder, ACCESS_LIST);
                    unset(&folder, DEFAULT_LIST);
                    chown(&folder, None, Some(own_group())).unwrap();
                    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
                    prepare(&folder);
                }
                let by_hand = place.at("by hand/d");
                fs::write(by_hand.join("file"), "x").unwrap();
                fs::File::options()
                    .write(true)
                    .create_new(true)
                    .mode(0o777)
                    .open(by_hand.join("program"))
                    .unwrap();
                fs::create_dir_all(by_hand.join("new/deep")).unwrap();
                fs::write(by_hand.join("new/deep/file"), "x").unwrap();
                fs::create_dir(by_hand.join("empty")).unwrap();
                std::os::unix::fs::symlink("file", by_hand.join("link")).unwrap();

                let tree = place.tree();
                let overlay = Overlay::new(tree.clone(), Quota::default());
                block_on(async {
                    for file in ["d/file", "d/program", "d/new/deep/file"] {
                        overlay.write(&path(file), b"x".to_vec()).await.unwrap();
                    }
                    overlay.set_executable(&path("d/program"), true).await.unwrap();
                    overlay.create_dir(&path("d/empty")).await.unwrap();
                    overlay.symlink(&path("d/link"), b"file").await.unwrap();
                });
                if state {
                    block_on(tree.prepare(&overlay.change_set())).unwrap();
                }
                commit(&tree, &overlay);
                for name in made {
                    let (expected, found) =
                        (told(&by_hand.join(name)), told(&place.at("workspace/d").join(name)));
                    assert_eq!(
                        found, expected,
                        "{name} in a folder {kind}, staged in one {home_kind}, {state}"
                    );
                }
            }
        }
    }
}

/// Gives a file everything that its user can give it. Its content stays, because the work knows it.
fn dress(at: &Path) {
    fs::set_permissions(at, fs::Permissions::from_mode(0o640)).unwrap();
    lchown(at, Some(other_user()), Some(other_group())).unwrap();
    let named = [(Tag::Owner, None, 6), (Tag::User, Some(777), 6), (Tag::OwningGroup, None, 4)];
    let rest = [(Tag::Group, Some(778), 0), (Tag::Mask, None, 6), (Tag::Others, None, 0)];
    set_list(at, ACCESS_LIST, &[named, rest].concat());
    set(at, "user.note", b"mine");
    if is_superuser() {
        set(at, "trusted.note", b"too");
        set(at, "security.note", b"and this");
    }
}

/// A user's changes of the attributes of a file are kept when the work replaces the file, except capabilities.
#[test]
fn a_replaced_file_keeps_what_its_user_gave_it_meanwhile() {
    for state in [true, false] {
        let place = Place::new(state);
        let file = place.at("workspace/file");
        fs::write(&file, "one\n").unwrap();
        let tree = place.tree();
        let overlay = Overlay::new(tree.clone(), Quota::default());
        block_on(overlay.write(&path("file"), b"two\n".to_vec())).unwrap();
        if state {
            block_on(tree.prepare(&overlay.change_set())).unwrap();
        }
        dress(&file);
        let expected = told(&file);
        // A capability lets a program do more than its user may. It was given to the old content, so the new one must
        // not get it.
        if is_superuser() {
            set(&file, "security.capability", &[1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        commit(&tree, &overlay);
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), told(&file)), ("two\n", expected));
        assert!(matches!(tree.undo_last().unwrap(), UndoOutcome::Undone { .. }));
        let is_back = told(&file).contains("security.capability");
        assert_eq!(is_back, is_superuser(), "the old file is back");
    }
}

/// A moved file or folder keeps its attributes, also those that the user changed meanwhile. It gets a new time, so that
/// builds notice the move.
#[test]
fn what_moves_keeps_what_is_its_own() {
    for state in [true, false] {
        let place = Place::new(state);
        let root = place.at("workspace");
        let long_ago = SystemTime::now() - Duration::from_secs(1_000_000);
        fs::create_dir_all(root.join("secret/deep")).unwrap();
        for (name, content) in [("file", "one\n"), ("edited", "one\n"), ("secret/deep/key", "key\n")] {
            fs::write(root.join(name), content).unwrap();
        }
        let tree = place.tree();
        let overlay = Overlay::new(tree.clone(), Quota::default());
        block_on(async {
            overlay.rename(&path("file"), &path("d/file")).await.unwrap();
            overlay.rename(&path("edited"), &path("d/edited")).await.unwrap();
            overlay.write(&path("d/edited"), b"two\n".to_vec()).await.unwrap();
            overlay.rename(&path("secret"), &path("d/hidden")).await.unwrap();
        });
        if state {
            block_on(tree.prepare(&overlay.change_set())).unwrap();
        }
        let moved = [
            ("file", "d/file"),
            ("edited", "d/edited"),
            ("secret", "d/hidden"),
            ("secret/deep", "d/hidden/deep"),
        ];
        let expected = moved.map(|(from, _)| {
            let at = root.join(from);
            if at.is_dir() {
                fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).unwrap();
                lchown(&at, Some(other_user()), Some(other_group())).unwrap();
                let named = [(Tag::Owner, None, 7), (Tag::User, Some(777), 6), (Tag::OwningGroup, None, 0)];
                let rest = [(Tag::Mask, None, 6), (Tag::Others, None, 0)];
                set_list(&at, DEFAULT_LIST, &[&named[..], &rest[..]].concat());
            } else {
                dress(&at);
                fs::File::options().write(true).open(&at).unwrap().set_modified(long_ago).unwrap();
            }
            told(&at)
        });
        commit(&tree, &overlay);
        assert_eq!(moved.map(|(_, to)| told(&root.join(to))), expected);
        let modified = |name: &str| fs::metadata(root.join(name)).unwrap().modified().unwrap();
        for moved in ["d/file", "d/edited"] {
            assert!(long_ago + Duration::from_secs(1_000) < modified(moved), "a build has to see {moved}");
        }
        assert_eq!(fs::read_to_string(root.join("d/hidden/deep/key")).unwrap(), "key\n");
        assert!(matches!(tree.undo_last().unwrap(), UndoOutcome::Undone { .. }));
        assert_eq!(moved.map(|(from, _)| told(&root.join(from))), expected);
    }
}

/// The prepared file that waits for the commit.
fn waiting(place: &Place) -> PathBuf {
    let inside = |at: &Path| fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let homes = inside(&place.at("state/staging"));
    let staging =
        inside(&homes[0]).into_iter().find(|at| at.to_string_lossy().contains("-staging-")).unwrap();
    ["0", "1"].map(|name| staging.join(name)).into_iter().find(|at| at.exists()).unwrap()
}

/// Attributes are given to the prepared file while the user still reads. What the file has at the accept counts,
/// nevertheless.
#[test]
fn what_its_user_takes_away_after_the_preparation_does_not_come_back() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit); 6] = [
        ("nothing", |_| {}),
        ("its bits", |at| fs::set_permissions(at, fs::Permissions::from_mode(0o600)).unwrap()),
        ("its list", |at| unset(at, ACCESS_LIST)),
        ("an attribute", |at| unset(at, "user.note")),
        ("another value", |at| set(at, "user.note", b"else")),
        ("its owner", |at| lchown(at, Some(own_user()), Some(own_group())).unwrap()),
    ];
    for (name, edit) in edits {
        for is_moved in [false, true] {
            let place = Place::new(true);
            let file = place.at("workspace/file");
            fs::write(&file, "one\n").unwrap();
            dress(&file);
            // A change within the tick of the clock in which the file is looked at would not be noticed.
            std::thread::sleep(Duration::from_millis(30));
            let tree = place.tree();
            let overlay = Overlay::new(tree.clone(), Quota::default());
            block_on(overlay.write(&path("file"), b"two\n".to_vec())).unwrap();
            let mut new = file.clone();
            if is_moved {
                block_on(overlay.rename(&path("file"), &path("a"))).unwrap();
                new = place.at("workspace/a");
            }
            block_on(tree.prepare(&overlay.change_set())).unwrap();
            assert_eq!(told(&waiting(&place)), told(&file), "it is ready, {name}");
            edit(&file);
            let expected = told(&file);
            commit(&tree, &overlay);
            assert_eq!(
                (fs::read_to_string(&new).unwrap().as_str(), told(&new)),
                ("two\n", expected),
                "{name}"
            );
        }
    }
}

/// Replacing a file needs no permission for the file itself. A commit therefore checks that its user may write it.
#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    // Permission bits do not stop the superuser, so the superuser tries it as another user, too.
    type Guard = fn(&Path);
    let cases: [(&str, bool, Guard); 4] = [
        ("read-only, by root", true, |at| {
            fs::set_permissions(at, fs::Permissions::from_mode(0o444)).unwrap();
        }),
        ("read-only, by its owner", false, |at| {
            chown(at, Some(other_user()), None).unwrap();
            fs::set_permissions(at, fs::Permissions::from_mode(0o444)).unwrap();
        }),
        ("another user's", false, |at| fs::set_permissions(at, fs::Permissions::from_mode(0o644)).unwrap()),
        ("its owner may not", false, |at| {
            chown(at, Some(other_user()), None).unwrap();
            fs::set_permissions(at, fs::Permissions::from_mode(0o464)).unwrap();
        }),
    ];
    for (name, is_root, guard) in cases {
        if name == "another user's" && !is_superuser() {
            continue; // Nobody else can make such a file.
        }
        for prepared in [false, true] {
            let place = Place::new(true);
            let file = place.at("workspace/file");
            fs::write(&file, "one\n").unwrap();
            fs::write(place.at("workspace/other"), "one\n").unwrap();
            let stage = |tree: &Arc<OsTree>, files: &[&str]| {
                let overlay = Overlay::new(tree.clone(), Quota::default());
                for file in files {
                    block_on(overlay.write(&path(file), b"two\n".to_vec()))?;
                }
                Ok::<_, TreeError>(overlay.change_set())
            };
            let changes = stage(&place.tree(), &["file", "other", "new"]).unwrap();
            guard(&file);
            let before = told(&file);
            for at in [place.at(""), place.at("workspace"), place.at("state"), place.at("workspace/other")] {
                chown(at, (!is_root).then_some(other_user()), None).unwrap();
            }
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    if !is_root {
                        let user = rustix::fs::Uid::from_raw(other_user());
                        rustix::thread::set_thread_res_uid(user, user, user).unwrap();
                    }
                    let tree = place.tree();
                    if prepared {
                        block_on(tree.prepare(&changes)).unwrap();
                    }
                    let outcome = block_on(tree.commit(&changes, CommitOptions::default()));
                    let said = "file cannot be read or changed: the file is read-only; make it writable and try again";
                    assert_eq!(outcome.unwrap_err().to_string(), said, "{name}");
                    // What is staged from now on is refused at once, and the rest can be taken without it.
                    assert_eq!(stage(&tree, &["other", "file"]).unwrap_err().to_string(), said, "{name}");
                    let rest = stage(&tree, &["other", "new"]).unwrap();
                    let outcome = block_on(tree.commit(&rest, CommitOptions::default())).unwrap();
                    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{name}: {outcome:?}");
                    assert!(matches!(tree.undo_last().unwrap(), UndoOutcome::Undone { .. }));
                });
            });
            let contents =
                ["file", "other"].map(|file| fs::read_to_string(place.at("workspace").join(file)).unwrap());
            assert_eq!((contents, told(&file)), (["one\n".into(), "one\n".into()], before), "{name}");
            assert!(!place.at("workspace/new").exists());
        }
    }
}

#[test]
fn a_file_that_was_made_writable_is_replaced_after_all() {
    let place = Place::new(true);
    let file = place.at("workspace/file");
    fs::write(&file, "one\n").unwrap();
    let tree = place.tree();
    let overlay = Overlay::new(tree.clone(), Quota::default());
    block_on(overlay.write(&path("file"), b"two\n".to_vec())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).is_err());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    commit(&tree, &overlay);
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
}
