//! Tests with upper layers that the kernel would not write.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use headstart_overlay_fs::{ChangeKind, MemoryTree, Quota};
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};
use tempfile::TempDir;

use super::{Original, ReadSource, folder, read};
use crate::os::copied::Listing;
use crate::{NotStagedReason, ReadBack, ReadRules, ShadowError, Tier};

/// An upper folder in memory, because it is filled with many files.
fn upper() -> TempDir {
    tempfile::Builder::new().prefix("shadow-upper-").tempdir_in("/dev/shm").unwrap()
}

fn read_upper(upper: &Path, files: &[(&str, &str)], quota: Quota) -> Result<ReadBack, ShadowError> {
    read_with(upper, files, quota, &Original::default())
}

fn read_with(
    upper: &Path,
    files: &[(&str, &str)],
    quota: Quota,
    original: &Original,
) -> Result<ReadBack, ShadowError> {
    let base = MemoryTree::from_files(files.iter().copied()).unwrap();
    let view = TempDir::new().unwrap();
    let view = fs::File::open(view.path()).unwrap();
    let from = ReadSource {
        upper: folder(fs::File::open(upper).unwrap().as_fd(), ".")?,
        original,
        separate: BTreeMap::new(),
        view: view.as_fd(),
        base: &base,
        workspace: upper,
        since: i64::MAX,
        known: &BTreeMap::new(),
        hidden: &BTreeSet::new(),
        ran_at: 0,
        forgotten: &|_| Vec::new(),
        settled: None,
    };
    read(&from, &ReadRules::new(quota)).map(|(back, _)| back)
}

fn kinds(back: &ReadBack) -> Vec<String> {
    let word = |kind: &ChangeKind| match kind {
        ChangeKind::Write { .. } => "write",
        ChangeKind::Link { .. } => "link",
        ChangeKind::CreateDirectory => "folder",
        ChangeKind::Delete => "delete",
    };
    back.changes.changes.iter().map(|change| format!("{} {}", word(&change.kind), change.path)).collect()
}

fn mark(path: &Path, name: &str, value: &[u8]) {
    setxattr(path, format!("user.overlay.{name}"), value, XattrFlags::empty()).unwrap();
}

fn whiteout(path: &Path) {
    mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

#[test]
fn in_a_copy_a_device_is_a_device() {
    let (workspace, copy) = (TempDir::new().unwrap(), upper());
    for file in ["a", "b"] {
        fs::write(workspace.path().join(file), file).unwrap();
    }
    let open = |folder: &TempDir| fs::File::open(folder.path()).unwrap();
    let listing = Listing::of(&open(&workspace), workspace.path(), Tier::Copy, &[]).unwrap();
    let original = Original::copy(&listing, &open(&workspace), open(&copy).as_fd()).unwrap();
    let read = || read_with(copy.path(), &[("a", "a"), ("b", "b")], Quota::default(), &original).unwrap();
    assert_eq!(read(), ReadBack::default());
    fs::remove_file(copy.path().join("a")).unwrap();
    whiteout(&copy.path().join("a"));
    whiteout(&copy.path().join("new"));
    let back = read();
    assert_eq!(kinds(&back), ["delete a"]);
    let named: Vec<_> = back.not_staged.iter().map(|row| (row.path.to_string(), row.why)).collect();
    assert_eq!(
        named,
        [("a".to_owned(), NotStagedReason::Device), ("new".to_owned(), NotStagedReason::Device)]
    );
}

#[test]
fn both_kinds_of_whiteouts_remove_what_is_there() {
    let upper = upper();
    whiteout(&upper.path().join("a"));
    whiteout(&upper.path().join("not-there"));
    fs::create_dir(upper.path().join("sub")).unwrap();
    mark(&upper.path().join("sub"), "opaque", b"x");
    fs::write(upper.path().join("sub/b"), "").unwrap();
    mark(&upper.path().join("sub/b"), "whiteout", b"y");
    let back =
        read_upper(upper.path(), &[("a", "a"), ("sub/b", "b"), ("sub/c", "c")], Quota::default()).unwrap();
    assert_eq!(kinds(&back), ["delete sub/b", "delete a"]);
}

#[test]
fn an_opaque_folder_hides_also_in_the_folders_in_it() {
    let upper = upper();
    fs::create_dir_all(upper.path().join("sub/deep")).unwrap();
    mark(&upper.path().join("sub"), "opaque", b"y");
    fs::write(upper.path().join("sub/deep/kept"), "k").unwrap();
    let files = [("sub/a", "a"), ("sub/deep/b", "b"), ("sub/deep/kept", "k")];
    let back = read_upper(upper.path(), &files, Quota::default()).unwrap();
    assert_eq!(kinds(&back), ["delete sub/deep/b", "delete sub/a"]);
}

#[test]
fn forged_marks_are_errors_that_name_the_path() {
    for name in ["redirect", "metacopy"] {
        for is_folder in [false, true] {
            let upper = upper();
            let path = upper.path().join("forged");
            if is_folder {
                fs::create_dir(&path).unwrap();
            } else {
                fs::write(&path, "x").unwrap();
            }
            mark(&path, name, b"/etc");
            let error = read_upper(upper.path(), &[("a", "a")], Quota::default()).unwrap_err().to_string();
            let expected = format!(
                "forged cannot be staged: it has the attribute user.overlay.{name}, which no view writes"
            );
            assert_eq!(error, expected);
        }
    }
}

#[test]
fn what_is_no_file_is_named_and_not_opened() {
    let upper = upper();
    // Opening a FIFO for reading would wait for a writer.
    mknodat(CWD, upper.path().join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(upper.path().join("socket")).unwrap();
    symlink("/etc/passwd", upper.path().join("out")).unwrap();
    symlink("loop", upper.path().join("loop")).unwrap();
    let back = read_upper(upper.path(), &[("fifo", "was a file")], Quota::default()).unwrap();
    let named: Vec<_> = back.not_staged.iter().map(|not| (not.path.to_string(), not.why)).collect();
    let expected = [
        ("fifo", NotStagedReason::Fifo),
        ("out", NotStagedReason::LinkLeadsOut),
        ("socket", NotStagedReason::Socket),
    ];
    assert_eq!(named, expected.map(|(path, why)| (path.to_owned(), why)));
    assert_eq!(kinds(&back), ["delete fifo", "link loop"]);
}

#[test]
fn special_bits_are_dropped_and_several_names_refused() {
    let upper = upper();
    let file = upper.path().join("file");
    fs::write(&file, "x").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o7755)).unwrap();
    let back = read_upper(upper.path(), &[], Quota::default()).unwrap();
    assert!(matches!(back.changes.changes[0].kind, ChangeKind::Write { executable: true, .. }));
    assert_eq!(back.not_staged[0].why, NotStagedReason::SpecialBits);
    fs::hard_link(&file, upper.path().join("other")).unwrap();
    let error = read_upper(upper.path(), &[], Quota::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "file cannot be staged: it has several names (hard links), and a change would part them"
    );
}

#[test]
fn names_are_bytes() {
    let upper = upper();
    let names: [&[u8]; 6] = [b"\xff\xfe", b"a\nb", b"-rf", b" ", "ü".as_bytes(), &[b'n'; 255]];
    for name in names {
        fs::write(upper.path().join(OsStr::from_bytes(name)), name).unwrap();
    }
    let back = read_upper(upper.path(), &[], Quota::default()).unwrap();
    assert_eq!(back.changes.changes.len(), names.len());
    for change in &back.changes.changes {
        assert!(
            matches!(&change.kind, ChangeKind::Write { content, .. } if **content == *change.path.as_bytes()),
            "{change:?}"
        );
    }
}

#[test]
fn depth_is_bounded() {
    let upper = upper();
    let mut at = fs::File::open(upper.path()).unwrap();
    // This path is longer than the system permits, so only handles reach it.
    for _ in 0..2_000 {
        rustix::fs::mkdirat(&at, "folder", Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
        at = fs::File::from(rustix::fs::openat(&at, "folder", flags, Mode::empty()).unwrap());
    }
    let error = read_upper(upper.path(), &[], Quota::default()).unwrap_err().to_string();
    assert!(error.contains("limit of 128 names in a path"), "{error}");
    let home = fs::File::open("/dev/shm").unwrap();
    let name = upper.keep();
    crate::os::show::remove_tree(home.as_fd(), name.file_name().unwrap().as_bytes(), None).unwrap();
}

#[test]
fn a_flood_of_files_is_seen_while_walking() {
    let upper = upper();
    for folder in 0..20 {
        let folder = upper.path().join(folder.to_string());
        fs::create_dir(&folder).unwrap();
        for file in 0..10_000 {
            mknodat(CWD, folder.join(file.to_string()), FileType::RegularFile, Mode::RUSR, 0).unwrap();
        }
    }
    let error = read_upper(upper.path(), &[], Quota::default()).unwrap_err();
    // The first folder already exceeds the limit, so no other one was looked at.
    let ShadowError::Tree(headstart_overlay_fs::TreeError::Quota { path, limit: 10_000, .. }) = error else {
        panic!("{error}")
    };
    assert!(path.starts_with(&WorkspacePath::parse("0").unwrap()), "{path}");
}

#[test]
fn a_file_of_holes_is_not_read() {
    let upper = upper();
    fs::File::create(upper.path().join("holes")).unwrap().set_len(1 << 45).unwrap();
    let error = read_upper(upper.path(), &[], Quota::default()).unwrap_err().to_string();
    assert!(error.contains("bytes in one file"), "{error}");
}
