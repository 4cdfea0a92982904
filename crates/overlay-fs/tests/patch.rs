//! The diff of a change set, applied by the real git.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "git works on a real folder")]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, Committed, EntryKind, MemoryTree, Overlay, Quota, Tree,
    Workspace, WorkspacePath,
};
use proptest::prelude::*;

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// Files and links by path. Folders are left out, because git does not know them.
type Files = BTreeMap<Vec<u8>, (&'static str, Vec<u8>)>;

fn files(tree: &MemoryTree) -> Files {
    let mut found = Files::new();
    let mut todo = vec![WorkspacePath::root()];
    while let Some(folder) = todo.pop() {
        for entry in block_on(tree.list(&folder)).unwrap() {
            let at = folder.join_bytes(&entry.name).unwrap();
            let (kind, content) = match entry.kind {
                EntryKind::Directory => {
                    todo.push(at);
                    continue;
                }
                EntryKind::Symlink => ("link", block_on(tree.read_link(&at)).unwrap()),
                _ => {
                    let executable = block_on(tree.metadata(&at)).unwrap().executable;
                    (if executable { "executable" } else { "file" }, block_on(tree.read(&at)).unwrap())
                }
            };
            found.insert(at.as_bytes().to_vec(), (kind, content));
        }
    }
    found
}

fn files_on_disk(root: &Path) -> Files {
    let mut found = Files::new();
    let mut todo = vec![root.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let at = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&at).unwrap();
            if metadata.is_dir() {
                todo.push(at);
                continue;
            }
            let row = if metadata.is_symlink() {
                ("link", fs::read_link(&at).unwrap().as_os_str().as_bytes().to_vec())
            } else {
                let kind = if metadata.permissions().mode() & 0o100 == 0 { "file" } else { "executable" };
                (kind, fs::read(&at).unwrap())
            };
            found.insert(at.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec(), row);
        }
    }
    found
}

/// Writes the files to a folder, applies the patch there with git, and reads the files back.
fn applied(before: &Files, patch: &str) -> Result<Files, String> {
    git_apply(before, patch, &[])
}

fn git_apply(before: &Files, patch: &str, options: &[&str]) -> Result<Files, String> {
    let folder = tempfile::tempdir().unwrap();
    for (at, (kind, content)) in before {
        let at = folder.path().join(std::ffi::OsStr::from_bytes(at));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        if *kind == "link" {
            symlink(std::ffi::OsStr::from_bytes(content), &at).unwrap();
            continue;
        }
        fs::write(&at, content).unwrap();
        let mode = if *kind == "executable" { 0o755 } else { 0o644 };
        fs::set_permissions(&at, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut git = Command::new("git")
        .args(["apply", "--whitespace=nowarn"])
        .args(options)
        .arg("-")
        .current_dir(folder.path())
        .env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
    let output = git.wait_with_output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(files_on_disk(folder.path()))
}

fn start() -> Arc<MemoryTree> {
    let long = (0..40).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    let tree = MemoryTree::from_files([
        ("long.txt", long.as_str()),
        ("src/old name.rs", "fn main() {\n    run();\n}\n"),
        ("no newline", "one\ntwo"),
        ("empty", ""),
        ("gone.txt", "gone\n"),
        ("carriage", "a\r\nb\rc\r\n"),
        ("folder/inside", "in\n"),
    ])
    .unwrap();
    tree.link(&path("link"), "long.txt");
    tree.write(&WorkspacePath::from_bytes(b"odd \"\\\t\n\xff").unwrap(), "odd\n");
    Arc::new(tree)
}

fn staged(tree: &Arc<MemoryTree>) -> ChangeSet {
    let overlay = Overlay::new(tree.clone(), Quota::default());
    let odd = WorkspacePath::from_bytes(b"odd \"\\\t\n\xff").unwrap();
    block_on(async {
        let long = String::from_utf8(overlay.read(&path("long.txt")).await.unwrap()).unwrap();
        let long =
            long.replace("line 3\n", "LINE 3\n").replace("line 30\n", "").replace("line 39\n", "line 39");
        overlay.write(&path("long.txt"), long.into()).await.unwrap();
        overlay.rename(&path("src/old name.rs"), &path("src/sub dir/new name.rs")).await.unwrap();
        overlay
            .write(&path("src/sub dir/new name.rs"), b"fn main() {\n    walk();\n}\n".to_vec())
            .await
            .unwrap();
        overlay.set_executable(&path("src/sub dir/new name.rs"), true).await.unwrap();
        overlay.write(&path("no newline"), b"one\ntwo\n".to_vec()).await.unwrap();
        overlay.write(&path("empty"), b"no longer\n".to_vec()).await.unwrap();
        overlay.remove(&path("gone.txt")).await.unwrap();
        overlay.write(&path("carriage"), b"a\r\nB\rc\r\n".to_vec()).await.unwrap();
        overlay.write(&path("new/file.txt"), b"new".to_vec()).await.unwrap();
        overlay.write(&path("new/empty"), vec![]).await.unwrap();
        overlay.rename(&path("link"), &path("moved link")).await.unwrap();
        overlay.write(&odd, b"odder\n".to_vec()).await.unwrap();
        overlay.remove(&path("folder")).await.unwrap();
        overlay.write(&path("folder"), b"a file now\n".to_vec()).await.unwrap();
        overlay.create_dir(&path("only a folder")).await.unwrap();
    });
    overlay.change_set()
}

/// Git makes the same tree of the diff as a commit makes.
#[test]
fn git_applies_every_kind_of_change() {
    let tree = start();
    let changes = staged(&tree);
    let before = files(&tree);
    assert_eq!(
        block_on(tree.commit(&changes, CommitOptions::default())).unwrap(),
        CommitOutcome::Committed(Committed::default())
    );
    assert_eq!(applied(&before, &changes.diff()).unwrap(), files(&tree), "{}", changes.diff());
}

#[test]
fn the_patch_and_the_summary_read_well() {
    let changes = staged(&start());
    insta::assert_snapshot!("patch", changes.diff());
    insta::assert_json_snapshot!("summary", changes.summary());
}

#[test]
fn binary_content_is_said_to_differ() {
    let tree = start();
    let overlay = Overlay::new(tree, Quota::default());
    block_on(overlay.write(&path("picture"), vec![0, 1, 2])).unwrap();
    let changes = overlay.change_set();
    assert!(changes.diff().contains("Binary files /dev/null and b/picture differ"), "{}", changes.diff());
    assert!(changes.summary()[0].binary);
}

fn odd(name: &[u8]) -> WorkspacePath {
    WorkspacePath::from_bytes(name).unwrap()
}

/// Git makes the same tree of a binary patch as a commit makes, and takes it back.
#[test]
fn git_makes_binary_content_of_a_patch_and_takes_it_back() {
    let noise: Vec<u8> = (0..100_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let tree = MemoryTree::from_files([
        ("picture", &b"\0old"[..]),
        ("gone", b"\0gone"),
        ("old name", b"\0\x01\x02"),
        ("folder/latin", b"caf\xe9\n"),
        ("text", b"text\n"),
        ("tool", b"\x7fELF\0"),
        ("link to be", b"\0"),
    ])
    .unwrap();
    let tree = Arc::new(tree);
    let overlay = Overlay::new(tree.clone(), Quota::default());
    block_on(async {
        overlay.write(&path("picture"), noise.clone()).await.unwrap();
        overlay.write(&path("new/noise"), noise[1..].to_vec()).await.unwrap();
        for len in [1, 3, 4, 25, 26, 27, 51, 52, 53, 54, 103, 104, 105] {
            overlay.write(&path(&format!("length/{len}")), noise[len..2 * len].to_vec()).await.unwrap();
        }
        overlay.remove(&path("gone")).await.unwrap();
        overlay.rename(&path("old name"), &path("new name")).await.unwrap();
        overlay.write(&path("new name"), b"\0\x01\x02\x03".to_vec()).await.unwrap();
        overlay.write(&path("folder/latin"), b"caf\xe9s\n".to_vec()).await.unwrap();
        overlay.write(&path("text"), b"\0text\n".to_vec()).await.unwrap();
        overlay.set_executable(&path("tool"), true).await.unwrap();
        overlay.write(&odd(b"-odd \"\xff\n"), b"\0odd".to_vec()).await.unwrap();
        overlay.remove(&path("link to be")).await.unwrap();
        overlay.symlink(&path("link to be"), b"caf\xe9").await.unwrap();
        overlay.symlink(&path("new/link"), b"../text").await.unwrap();
    });
    let changes = overlay.change_set();
    let patch = changes.patch();
    let before = files(&tree);
    let outcome = block_on(tree.commit(&changes, CommitOptions::default())).unwrap();
    assert_eq!(outcome, CommitOutcome::Committed(Committed::default()));
    let after = files(&tree);
    assert_eq!(applied(&before, &patch).unwrap(), after);
    assert_eq!(git_apply(&after, &patch, &["--reverse"]).unwrap(), before);
    // If the user has another picture, the patch is refused and nothing is overwritten.
    let mut other = before.clone();
    other.insert(b"picture".to_vec(), ("file", b"\0mine".to_vec()));
    assert!(applied(&other, &patch).is_err());
}

/// The patch is not reversed here, because git restores a link that became a file as a file, from its own patches too.
#[test]
fn git_makes_a_binary_file_of_a_link() {
    let tree = MemoryTree::from_files([("text", "text\n")]).unwrap();
    tree.link(&path("linked"), "text");
    let tree = Arc::new(tree);
    let overlay = Overlay::new(tree.clone(), Quota::default());
    block_on(async {
        overlay.remove(&path("linked")).await.unwrap();
        overlay.write(&path("linked"), b"a file now\0".to_vec()).await.unwrap();
    });
    let (changes, before) = (overlay.change_set(), files(&tree));
    block_on(tree.commit(&changes, CommitOptions::default())).unwrap();
    assert_eq!(applied(&before, &changes.patch()).unwrap(), files(&tree), "{}", changes.patch());
}

/// The merge that git finds, if there is one.
fn merged_by_git(base: &str, ours: &str, theirs: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let names = ["ours", "base", "theirs"];
    for (name, content) in names.into_iter().zip([ours, base, theirs]) {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let output = Command::new("git")
        .args(["merge-file", "--stdout"])
        .args(names)
        .current_dir(folder.path())
        .env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    output.status.success().then_some(output.stdout)
}

/// The merge that an accept makes of a file that both sides changed.
fn merged(base: &str, ours: &str, theirs: &str) -> Option<Vec<u8>> {
    let tree = Arc::new(MemoryTree::from_files([("text", base)]).unwrap());
    let overlay = Overlay::new(tree.clone(), Quota::default());
    block_on(overlay.write(&path("text"), ours.into())).unwrap();
    tree.write(&path("text"), theirs);
    let outcome = block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
    matches!(outcome, CommitOutcome::Committed(_)).then(|| block_on(tree.read(&path("text"))).unwrap())
}

fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&["a\n", "b\n", "c\n", "\n", "d", "\r"][..]), 0..12)
        .prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// Git applies the patch of any bytes, moved or not.
    #[test]
    fn git_applies_any_bytes(
        old in proptest::collection::vec(any::<u8>(), 0..200),
        new in proptest::collection::vec(any::<u8>(), 0..200),
        moved: bool,
        executable: bool,
    ) {
        let tree = Arc::new(MemoryTree::from_files([("one", old)]).unwrap());
        let overlay = Overlay::new(tree.clone(), Quota::default());
        block_on(async {
            overlay.write(&path("one"), new).await.unwrap();
            overlay.set_executable(&path("one"), executable).await.unwrap();
            if moved {
                overlay.rename(&path("one"), &path("two")).await.unwrap();
            }
        });
        let changes = overlay.change_set();
        let before = files(&tree);
        block_on(tree.commit(&changes, CommitOptions::default())).unwrap();
        if !changes.is_empty() {
            prop_assert_eq!(applied(&before, &changes.patch()), Ok(files(&tree)), "{}", changes.patch());
        }
    }

    /// If an accept merges two edits, git finds the same merge.
    #[test]
    fn where_there_is_a_merge_git_finds_the_same(
        base in proptest::collection::vec(0..8_u8, 4..14),
        ours in small_edits(),
        theirs in small_edits(),
    ) {
        let (ours, theirs) = (edited(&base, &ours), edited(&base, &theirs));
        let base = shown(&base);
        if let Some(found) = merged(&base, &ours, &theirs) {
            let found = String::from_utf8(found).unwrap();
            let by_git = merged_by_git(&base, &ours, &theirs).map(|text| String::from_utf8(text).unwrap());
            prop_assert_eq!(by_git, Some(found), "{:?} {:?} {:?}", base, ours, theirs);
        }
    }

    /// Git applies the diff of any edits of several files.
    #[test]
    fn git_applies_any_edit(old in proptest::collection::vec(any_text(), 3), new in proptest::collection::vec(any_text(), 3), moved: bool) {
        let names = ["one", "two words", "three"];
        let tree = Arc::new(MemoryTree::from_files(names.into_iter().zip(old)).unwrap());
        let overlay = Overlay::new(tree.clone(), Quota::default());
        block_on(async {
            for (name, content) in names.into_iter().zip(new) {
                overlay.write(&path(name), content.into()).await.unwrap();
            }
            if moved {
                overlay.rename(&path("one"), &path("two")).await.unwrap();
                overlay.rename(&path("three"), &path("one")).await.unwrap();
            }
        });
        let changes = overlay.change_set();
        let before = files(&tree);
        prop_assert_eq!(block_on(tree.commit(&changes, CommitOptions::default())).unwrap(), CommitOutcome::Committed(Committed::default()));
        if !changes.is_empty() {
            prop_assert_eq!(applied(&before, &changes.diff()), Ok(files(&tree)), "{}", changes.diff());
        }
    }
}

/// For each edit: the line, what replaces it (`None` removes it), and whether it is put in front of the line instead.
type Edits = Vec<(usize, Option<u8>, bool)>;

fn small_edits() -> impl Strategy<Value = Edits> {
    proptest::collection::vec((0..14_usize, proptest::option::of(0..8_u8), any::<bool>()), 0..3)
}

fn shown(lines: &[u8]) -> String {
    lines.iter().map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat()
}

fn edited(base: &[u8], edits: &Edits) -> String {
    let mut lines = base.to_vec();
    for &(at, new, in_front) in edits {
        let at = at.min(lines.len());
        match new {
            Some(new) if in_front || at == lines.len() => lines.insert(at, new),
            Some(new) => lines[at] = new,
            None if at < lines.len() => {
                lines.remove(at);
            }
            None => {}
        }
    }
    shown(&lines)
}
