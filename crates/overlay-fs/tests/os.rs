//! The tree on a real disk: what its commit does, and that attacks do not lead it out of the workspace.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "the tests are the workspace's user, who edits it directly")]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::executor::block_on;
use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, Committed, Conflict, ConflictKind,
    OsOptions, OsTree, Overlay, Quota, SweepOutcome, Tree, TreeError, Workspace, WorkspacePath,
};
use tempfile::TempDir;

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// A temporary folder with a workspace, and a neighbour outside of it that nothing may touch.
struct Place {
    _temporary: TempDir,
    root: PathBuf,
    outside: PathBuf,
    tree: Arc<OsTree>,
}

impl Place {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let (root, outside) = (temporary.path().join("workspace"), temporary.path().join("outside"));
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        fs::write(root.join("a.txt"), "one\n").unwrap();
        fs::write(root.join("b.txt"), "two\n").unwrap();
        fs::write(root.join("src/lib.rs"), "lib\n").unwrap();
        fs::write(root.join("src/deep/x.rs"), "x\n").unwrap();
        let tree = Arc::new(OsTree::open(&root).unwrap());
        Self { _temporary: temporary, root, outside, tree }
    }

    fn overlay(&self) -> Overlay {
        Overlay::new(self.tree.clone(), Quota::default())
    }

    fn commit(&self, overlay: &Overlay) -> Result<CommitOutcome, TreeError> {
        block_on(self.tree.commit(&overlay.change_set(), CommitOptions::default()))
    }

    fn read(&self, at: &str) -> String {
        fs::read_to_string(self.root.join(at)).unwrap()
    }
}

/// Everything in a folder: the path, kind, permission bits and content of each entry.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (String, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(at) = todo.pop() {
        let metadata = fs::symlink_metadata(&at).unwrap();
        let kind = metadata.file_type();
        let content = if kind.is_file() {
            fs::read(&at).unwrap()
        } else if kind.is_symlink() {
            fs::read_link(&at).unwrap().into_os_string().into_encoded_bytes()
        } else {
            Vec::new()
        };
        if kind.is_dir() {
            todo.extend(fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.insert(at, (format!("{kind:?} {:o}", metadata.mode() & 0o7777), content));
    }
    found
}

fn conflicts(outcome: Result<CommitOutcome, TreeError>) -> Vec<(String, ConflictKind)> {
    match outcome.unwrap() {
        CommitOutcome::Conflict(found) => {
            found.into_iter().map(|Conflict { path, kind, .. }| (path.to_string(), kind)).collect()
        }
        CommitOutcome::Committed(_) => panic!("committed"),
    }
}

#[test]
fn a_commit_makes_every_kind_of_change_and_nothing_before() {
    let place = Place::new();
    let odd = WorkspacePath::from_bytes(b"-odd \xff\nname").unwrap();
    symlink("src/lib.rs", place.root.join("link")).unwrap();
    let before = snapshot(&place.root);
    let overlay = place.overlay();
    block_on(async {
        overlay.write(&path("a.txt"), b"changed\n".to_vec()).await.unwrap();
        overlay.write(&path("new/deep/file"), b"new\n".to_vec()).await.unwrap();
        overlay.write(&odd, vec![0, 255]).await.unwrap();
        overlay.remove(&path("b.txt")).await.unwrap();
        overlay.rename(&path("src/deep"), &path("moved")).await.unwrap();
        overlay.create_dir(&path("empty")).await.unwrap();
        overlay.set_executable(&path("src/lib.rs"), true).await.unwrap();
        overlay.rename(&path("link"), &path("other link")).await.unwrap();
    });
    assert_eq!(snapshot(&place.root), before);
    assert_eq!(place.commit(&overlay).unwrap(), CommitOutcome::Committed(Committed::default()));
    assert_eq!(place.read("a.txt"), "changed\n");
    assert_eq!(place.read("new/deep/file"), "new\n");
    assert_eq!(place.read("moved/x.rs"), "x\n");
    assert_eq!(fs::read_link(place.root.join("other link")).unwrap(), Path::new("src/lib.rs"));
    assert!(fs::metadata(place.root.join("src/lib.rs")).unwrap().mode() & 0o100 != 0);
    let mut names: Vec<_> =
        fs::read_dir(&place.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let listed = block_on(place.tree.list(&WorkspacePath::root())).unwrap();
    assert_eq!(
        names.iter().map(|name| name.as_encoded_bytes()).collect::<Vec<_>>(),
        listed.iter().map(|entry| entry.name.as_slice()).collect::<Vec<_>>(),
        "no staging folder is left"
    );
    assert_eq!(
        names,
        [
            std::ffi::OsString::from_vec_checked(b"-odd \xff\nname"),
            "a.txt".into(),
            "empty".into(),
            "moved".into(),
            "new".into(),
            "other link".into(),
            "src".into()
        ]
    );
}

trait FromVecChecked {
    fn from_vec_checked(bytes: &[u8]) -> Self;
}

impl FromVecChecked for std::ffi::OsString {
    fn from_vec_checked(bytes: &[u8]) -> Self {
        std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
    }
}

/// A replaced file keeps the bits that the user gave it meanwhile, and only the executable bit comes from the work.
#[test]
fn a_replaced_file_keeps_the_mode_its_user_gave_it_meanwhile() {
    let place = Place::new();
    fs::write(place.root.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(place.root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let overlay = place.overlay();
    block_on(async {
        overlay.write(&path("a.txt"), b"changed\n".to_vec()).await.unwrap();
        overlay.write(&path("b.txt"), b"changed\n".to_vec()).await.unwrap();
        overlay.set_executable(&path("b.txt"), true).await.unwrap();
        overlay.write(&path("run.sh"), b"#!/bin/bash\n".to_vec()).await.unwrap();
    });
    fs::set_permissions(place.root.join("a.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(place.root.join("b.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(place.commit(&overlay).unwrap(), CommitOutcome::Committed(Committed::default()));
    let mode = |at: &str| fs::metadata(place.root.join(at)).unwrap().mode() & 0o7777;
    assert_eq!([mode("a.txt"), mode("b.txt"), mode("run.sh")], [0o600, 0o750, 0o755]);
}

/// For each edit of the user: the conflict has the right kind, and neither the workspace nor the folder outside is
/// changed.
#[test]
fn a_users_edit_is_a_conflict_and_everything_stays() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit, ConflictKind); 10] = [
        ("a.txt", |root| fs::write(root.join("a.txt"), "user").unwrap(), ConflictKind::Modified),
        ("a.txt", |root| fs::write(root.join("a.txt"), "onE\n").unwrap(), ConflictKind::Modified),
        ("a.txt", |root| fs::remove_file(root.join("a.txt")).unwrap(), ConflictKind::Deleted),
        (
            "a.txt",
            |root| {
                fs::remove_file(root.join("a.txt")).unwrap();
                symlink("b.txt", root.join("a.txt")).unwrap();
            },
            ConflictKind::Replaced,
        ),
        (
            "a.txt",
            |root| fs::hard_link(root.join("a.txt"), root.join("twin")).unwrap(),
            ConflictKind::Modified,
        ),
        (
            "new/file",
            |root| {
                fs::create_dir(root.join("new")).unwrap();
                fs::write(root.join("new/file"), "user").unwrap();
            },
            ConflictKind::Created,
        ),
        ("new/file", |root| fs::write(root.join("new"), "user").unwrap(), ConflictKind::Replaced),
        ("new/file", |root| symlink("../outside", root.join("new")).unwrap(), ConflictKind::Replaced),
        ("src/deep", |root| fs::write(root.join("src/deep/more"), "user").unwrap(), ConflictKind::Modified),
        ("src/lib.rs", |root| fs::write(root.join("src/lib.rs"), "user").unwrap(), ConflictKind::StaleRead),
    ];
    for (index, (at, edit, kind)) in edits.into_iter().enumerate() {
        let place = Place::new();
        let overlay = place.overlay();
        block_on(async {
            overlay.read(&path("src/lib.rs")).await.unwrap();
            overlay.write(&path("a.txt"), b"mine".to_vec()).await.unwrap();
            overlay.write(&path("new/file"), b"mine".to_vec()).await.unwrap();
            overlay.remove(&path("src/deep")).await.unwrap();
        });
        edit(&place.root);
        let (before, outside) = (snapshot(&place.root), snapshot(&place.outside));
        assert_eq!(conflicts(place.commit(&overlay)), [(at.to_owned(), kind)], "number {index}");
        assert_eq!(snapshot(&place.root), before, "number {index}");
        assert_eq!(snapshot(&place.outside), outside, "number {index}");
    }
}

/// A file whose content is the same as before is no conflict, even if it was written again.
#[test]
fn a_file_that_was_only_touched_is_no_conflict() {
    let place = Place::new();
    let overlay = place.overlay();
    block_on(async {
        overlay.read(&path("src/lib.rs")).await.unwrap();
        overlay.write(&path("a.txt"), b"mine".to_vec()).await.unwrap();
    });
    fs::write(place.root.join("src/lib.rs"), "lib\n").unwrap();
    fs::remove_file(place.root.join("a.txt")).unwrap();
    fs::write(place.root.join("a.txt"), "one\n").unwrap();
    assert_eq!(place.commit(&overlay).unwrap(), CommitOutcome::Committed(Committed::default()));
}

/// Reading and writing through links that lead out of the workspace is refused with its own error.
#[test]
fn what_leads_out_is_refused() {
    let place = Place::new();
    symlink(&place.outside, place.root.join("absolute")).unwrap();
    symlink("../outside", place.root.join("folder")).unwrap();
    symlink("../outside/secret", place.root.join("file")).unwrap();
    symlink("src/../../outside", place.root.join("winding")).unwrap();
    symlink("circle", place.root.join("circle")).unwrap();
    symlink("/proc/self/root/etc", place.root.join("magic")).unwrap();
    let before = snapshot(&place.outside);
    let overlay = place.overlay();
    let below = ["absolute/secret", "folder/secret", "folder/new", "winding/secret", "magic/passwd"];
    for at in ["absolute", "folder", "file", "winding", "circle"].into_iter().chain(below) {
        let at = path(at);
        block_on(async {
            for outcome in [
                place.tree.read(&at).await.map(drop),
                place.tree.list(&at).await.map(drop),
                overlay.read(&at).await.map(drop),
                overlay.list(&at).await.map(drop),
                overlay.write(&at, b"attack".to_vec()).await,
                overlay.set_executable(&at, true).await,
            ] {
                assert!(matches!(outcome, Err(TreeError::Escapes { .. })), "{at}: {outcome:?}");
            }
        });
    }
    for at in below.map(path) {
        let looked = block_on(place.tree.metadata(&at));
        assert!(matches!(looked, Err(TreeError::Escapes { .. })), "{at}: {looked:?}");
        let deleted = block_on(overlay.remove(&at));
        assert!(matches!(deleted, Err(TreeError::Escapes { .. })), "{at}: {deleted:?}");
    }
    assert!(overlay.change_set().is_empty());
    assert_eq!(snapshot(&place.outside), before);
    assert!(WorkspacePath::parse("../outside/secret").is_err());
}

#[test]
fn links_inside_are_followed_and_removed_as_links() {
    let place = Place::new();
    symlink("src", place.root.join("inside")).unwrap();
    symlink("../outside", place.root.join("out")).unwrap();
    let overlay = place.overlay();
    block_on(async {
        overlay.write(&path("inside/lib.rs"), b"through\n".to_vec()).await.unwrap();
        overlay.remove(&path("out")).await.unwrap();
    });
    assert_eq!(place.commit(&overlay).unwrap(), CommitOutcome::Committed(Committed::default()));
    assert_eq!(place.read("src/lib.rs"), "through\n");
    assert!(fs::symlink_metadata(place.root.join("inside")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(place.root.join("out")).is_err());
    assert_eq!(fs::read_to_string(place.outside.join("secret")).unwrap(), "secret");
}

#[test]
fn a_folder_swapped_for_a_link_between_staging_and_commit_is_a_conflict() {
    let place = Place::new();
    let overlay = place.overlay();
    block_on(async {
        overlay.write(&path("src/lib.rs"), b"mine".to_vec()).await.unwrap();
        overlay.write(&path("src/secret"), b"mine".to_vec()).await.unwrap();
    });
    for target in ["../outside", "."] {
        let _ = fs::rename(place.root.join("src"), place.root.join("real"));
        let _ = fs::remove_file(place.root.join("src"));
        symlink(target, place.root.join("src")).unwrap();
        let before = (snapshot(&place.root), snapshot(&place.outside));
        let found = conflicts(place.commit(&overlay));
        assert!(
            found.iter().all(|(_, kind)| *kind == ConflictKind::Replaced) && found.len() == 2,
            "{found:?}"
        );
        assert_eq!((snapshot(&place.root), snapshot(&place.outside)), before);
    }
}

/// A thread exchanges a folder and a link that leads out, again and again. Nothing outside may be touched.
#[test]
fn a_link_swapped_in_all_the_time_never_leads_a_commit_out() {
    let place = Place::new();
    fs::create_dir(place.root.join("target")).unwrap();
    let before = snapshot(&place.outside);
    let stop = AtomicBool::new(false);
    let (mut committed, mut rounds) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (target, aside) = (place.root.join("target"), place.root.join("aside"));
            symlink("../outside", &aside).unwrap();
            let mut swaps = 0;
            while !stop.load(Ordering::Relaxed) {
                let (cwd, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
                rustix::fs::renameat_with(cwd, &target, cwd, &aside, flags).unwrap();
                swaps += 1;
                std::thread::sleep(Duration::from_micros(swaps % 100));
            }
        });
        for round in 0..20_000 {
            if 400 <= round && 0 < committed && committed < round {
                break;
            }
            rounds = round;
            let change = Change {
                path: path(&format!("target/{round}")),
                base: None,
                base_content: None,
                kind: ChangeKind::Write {
                    content: b"mine".to_vec().into(),
                    executable: false,
                    moved_from: None,
                },
                mode: None,
            };
            let changes = ChangeSet { changes: vec![change], reads: Vec::new() };
            let outcome = block_on(place.tree.commit(&changes, CommitOptions::default()));
            committed += usize::from(outcome == Ok(CommitOutcome::Committed(Committed::default())));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(0 < committed && committed < rounds, "{committed} of {rounds} commits found the folder in place");
    assert_eq!(snapshot(&place.outside), before);
}

/// Files with several names, pipes, sockets and impossible names are refused when they are staged, and not only at the
/// commit.
#[test]
fn what_cannot_be_staged_is_refused_when_it_is_staged() {
    let place = Place::new();
    fs::hard_link(place.root.join("a.txt"), place.root.join("twin")).unwrap();
    let pipe = place.root.join("src/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    let _socket = std::os::unix::net::UnixListener::bind(place.root.join("socket")).unwrap();
    let overlay = place.overlay();
    block_on(async {
        let refused = [
            overlay.write(&path("a.txt"), b"mine".to_vec()).await,
            overlay.remove(&path("twin")).await,
            overlay.set_executable(&path("twin"), true).await,
            overlay.rename(&path("a.txt"), &path("c.txt")).await,
            overlay.write(&path("src/pipe"), b"mine".to_vec()).await,
            overlay.read(&path("src/pipe")).await.map(drop),
            place.tree.read(&path("src/pipe")).await.map(drop),
            overlay.remove(&path("src")).await,
            overlay.rename(&path("src"), &path("moved")).await,
            overlay.read(&path("socket")).await.map(drop),
            place.tree.read(&path("socket")).await.map(drop),
        ];
        for (index, outcome) in refused.into_iter().enumerate() {
            assert!(matches!(outcome, Err(TreeError::Unsupported { .. })), "number {index}: {outcome:?}");
        }
        let long = WorkspacePath::parse(&"n".repeat(256)).unwrap();
        assert!(matches!(overlay.write(&long, vec![]).await, Err(TreeError::Io { .. })));
        overlay.write(&WorkspacePath::parse(&"n".repeat(255)).unwrap(), vec![]).await.unwrap();
    });
    assert_eq!(overlay.change_set().changes.len(), 1);
}

/// A workspace that was opened through a link stays the same folder, even if the link is changed.
#[test]
fn a_workspace_behind_a_link_is_opened_once() {
    let place = Place::new();
    let link = place.root.with_file_name("link");
    symlink(&place.root, &link).unwrap();
    let tree = OsTree::open(&link).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&place.outside, &link).unwrap();
    assert_eq!(block_on(tree.read(&path("a.txt"))).unwrap(), b"one\n");
    let missing = OsTree::open(place.root.join("none")).unwrap_err().to_string();
    assert!(missing.contains("none"), "{missing}");
    assert!(OsTree::open(place.root.join("a.txt")).is_err());
}

/// A folder that looks empty may contain a staging folder, so it is not removed.
#[test]
fn a_folder_that_holds_what_no_listing_shows_is_not_removed() {
    let place = Place::new();
    let hidden = format!("src/.headstart-staging-{:032x}", 7);
    fs::create_dir(place.root.join(&hidden)).unwrap();
    fs::write(place.root.join(&hidden).join("content"), "needed").unwrap();
    let mine = path(&hidden).join("mine").unwrap();
    assert!(matches!(block_on(place.tree.metadata(&path(&hidden))), Err(TreeError::Unsupported { .. })));
    let staged = place.overlay();
    assert!(matches!(block_on(staged.write(&mine, vec![])), Err(TreeError::Unsupported { .. })));
    block_on(staged.write(&path("mine"), vec![])).unwrap();
    let mut reserved = staged.change_set();
    reserved.changes[0].path = mine;
    let outcome = block_on(place.tree.commit(&reserved, CommitOptions::default()));
    assert!(matches!(outcome, Err(TreeError::Unsupported { .. })));
    let overlay = place.overlay();
    block_on(async {
        overlay.write(&path("a.txt"), b"mine".to_vec()).await.unwrap();
        overlay.remove(&path("src")).await.unwrap();
    });
    let before = snapshot(&place.root);
    assert_eq!(conflicts(place.commit(&overlay)), [("src".to_owned(), ConflictKind::Modified)]);
    assert_eq!(snapshot(&place.root), before, "the steps before it are taken back");
}

/// On a file system that opens a name by either case of its letters, `.LOCAL/State` is the host's folder, too, and the
/// name in capitals of a staging folder is that folder.
#[test]
fn what_no_view_shows_has_no_other_spelling() {
    let place = Place::new();
    let state = place.root.join(".local/state");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("journal"), "ours").unwrap();
    let options = OsOptions { state: Some(state), ..OsOptions::default() };
    let tree = Arc::new(OsTree::open_with(&place.root, options).unwrap());
    let staging = format!(".HEADSTART-Staging-{:032X}/committed", 0xabc);
    for name in [".local/state", ".local/state/journal", ".LOCAL/State/journal", ".local/STATE/new", &staging]
    {
        let at = path(name);
        assert!(matches!(block_on(tree.read(&at)), Err(TreeError::Unsupported { .. })), "{name}");
        assert!(matches!(block_on(tree.list(&at)), Err(TreeError::Unsupported { .. })), "{name}");
        let overlay = Overlay::new(tree.clone(), Quota::default());
        // Below a folder that does not exist, only the commit looks at the names.
        let refused = match block_on(overlay.write(&at, b"theirs".to_vec())) {
            Ok(()) => block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).map(drop),
            refused => refused,
        };
        assert!(matches!(refused, Err(TreeError::Unsupported { .. })), "{name}: {refused:?}");
    }
    assert!(block_on(tree.list(&path(".local"))).unwrap().is_empty());
    assert!(
        block_on(tree.metadata(&path(".locals")))
            .is_err_and(|error| matches!(error, TreeError::NotFound { .. }))
    );
}

/// Of several commits that were made from the same state of a file, one goes through, so that no edit is lost.
#[test]
fn two_commits_from_one_base_cannot_both_win() {
    let place = Place::new();
    for _ in 0..20 {
        let overlays: Vec<_> = (0..4).map(|_| place.overlay()).collect();
        for (index, overlay) in overlays.iter().enumerate() {
            let old = block_on(overlay.read(&path("a.txt"))).unwrap();
            let new = [old.as_slice(), format!("{index}\n").as_bytes()].concat();
            block_on(overlay.write(&path("a.txt"), new)).unwrap();
        }
        let committed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = overlays
                .iter()
                .map(|overlay| {
                    let tree = OsTree::open(&place.root).unwrap();
                    scope.spawn(move || {
                        block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap()
                    })
                })
                .collect();
            let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
            outcomes.filter(|outcome| *outcome == CommitOutcome::Committed(Committed::default())).count()
        });
        assert_eq!(committed, 1);
    }
    assert_eq!(place.read("a.txt").lines().count(), 21);
}

/// A sweep removes staging folders of processes that have ended. Everything that it does not recognise stays.
#[test]
fn a_sweep_removes_what_the_dead_left_and_nothing_else() {
    let place = Place::new();
    let name = |number: u32| format!(".headstart-staging-{number:032x}");
    let folder = |number, mode, files: &[(&str, &str)]| {
        let folder = place.root.join(name(number));
        fs::create_dir(&folder).unwrap();
        for (file, content) in files {
            fs::write(folder.join(file), content).unwrap();
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    let parent = std::os::unix::process::parent_id();
    let own = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap();
    let start = own.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned();
    let owner = |start: &str, boot: &str| {
        format!("*\n# {{\"process\":{{\"pid\":{parent},\"start\":\"{start}\",\"boot\":\"{boot}\"}}}}\n")
    };
    let (alive, recycled, rebooted) = (owner(&start, &boot), owner("1", &boot), owner(&start, "another"));
    let expected = [
        (1, SweepOutcome::Alive),
        (2, SweepOutcome::Removed),
        (3, SweepOutcome::Removed),
        (4, SweepOutcome::Damaged),
        (5, SweepOutcome::Kept),
        (6, SweepOutcome::Foreign),
        (7, SweepOutcome::Foreign),
        (8, SweepOutcome::Removed),
        (9, SweepOutcome::Foreign),
        (10, SweepOutcome::Foreign),
        (11, SweepOutcome::Foreign),
    ];
    folder(1, 0o700, &[(".gitignore", &alive), ("0", "new")]);
    folder(2, 0o700, &[(".gitignore", &recycled), ("0", "new")]);
    folder(3, 0o700, &[(".gitignore", &rebooted)]);
    folder(4, 0o700, &[(".gitignore", &recycled), ("applying", ""), ("0", "old")]);
    folder(5, 0o700, &[(".gitignore", &recycled), ("kept", ""), ("0", "old")]);
    folder(6, 0o755, &[(".gitignore", &recycled)]);
    folder(7, 0o700, &[("something", "not ours")]);
    folder(8, 0o700, &[]);
    folder(11, 0o700, &[(".gitignore", "*\n"), ("0", "of whom nothing is told")]);
    fs::write(place.root.join(name(9)), "a file").unwrap();
    symlink("../outside", place.root.join(name(10))).unwrap();
    fs::create_dir(place.root.join(".headstart-staging-mine")).unwrap();

    let swept = place.tree.sweep().unwrap();
    let swept: Vec<_> = swept.into_iter().map(|swept| (swept.name, swept.outcome)).collect();
    assert_eq!(swept, expected.map(|(number, outcome)| (name(number), outcome)));
    for (number, outcome) in expected {
        let is_there = fs::symlink_metadata(place.root.join(name(number))).is_ok();
        assert_eq!(is_there, outcome != SweepOutcome::Removed, "number {number}");
    }
    assert!(place.root.join(".headstart-staging-mine").exists());
    assert!(place.outside.join("secret").exists());
}
