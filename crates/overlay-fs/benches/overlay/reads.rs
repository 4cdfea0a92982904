use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{EntryKind, OsTree, Overlay, Quota, Tree, WorkspacePath};

use crate::measure::{Parts, Way, compare, timed};
use crate::place::{FILE, path};

const DEEP: &str = "one/two/three/file";

fn overlay(tree: &Arc<OsTree>) -> Overlay {
    Overlay::new(tree.clone(), Quota::default())
}

pub(crate) fn reads(parts: &Parts) {
    let part = "read 4 KB";
    if !parts.has(part) {
        return;
    }
    let folder = parts.folder();
    let deep = folder.join(DEEP);
    fs::create_dir_all(deep.parent().unwrap()).unwrap();
    fs::write(&deep, vec![b'x'; FILE]).unwrap();
    let tree = Arc::new(OsTree::open(&folder).unwrap());
    let [untouched, staged, elsewhere] = [(); 3].map(|()| overlay(&tree));
    block_on(staged.write(&path(DEEP), vec![b'y'; FILE])).unwrap();
    block_on(elsewhere.write(&path("other"), vec![b'y'; FILE])).unwrap();
    let at = path(DEEP);
    let read = |tree: &dyn Tree| assert_eq!(block_on(tree.read(&at)).unwrap().len(), FILE);
    let ways = vec![
        Way::quick("std::fs", 1_000, || assert_eq!(fs::read(&deep).unwrap().len(), FILE)),
        Way::quick("OsTree", 1_000, || read(&*tree)),
        Way::quick("staged", 1_000, || read(&staged)),
        Way::quick("not staged", 1_000, || read(&elsewhere)),
        Way::quick("nothing staged at all", 1_000, || read(&untouched)),
    ];
    compare(part, ways);
}

pub(crate) fn lists(parts: &Parts) {
    let part = "list 100 names";
    if !parts.has(part) {
        return;
    }
    let folder = parts.folder();
    let listed = folder.join("listed");
    fs::create_dir(&listed).unwrap();
    for number in 0..100 {
        fs::write(listed.join(number.to_string()), "").unwrap();
    }
    let tree = Arc::new(OsTree::open(&folder).unwrap());
    let (untouched, staged) = (overlay(&tree), overlay(&tree));
    block_on(staged.write(&path("listed/staged"), vec![b'y'; FILE])).unwrap();
    block_on(staged.remove(&path("listed/50"))).unwrap();
    let at = path("listed");
    let list = |tree: &dyn Tree| assert_eq!(block_on(tree.list(&at)).unwrap().len(), 100);
    let ways = vec![
        Way::quick("std::fs", 200, || assert_eq!(names(&listed).len(), 100)),
        Way::quick("OsTree", 200, || list(&*tree)),
        Way::quick("merged", 200, || list(&staged)),
        Way::quick("nothing staged", 200, || list(&untouched)),
        Way::quick("nothing staged, for the first time", 200, || list(&overlay(&tree))),
    ];
    compare(part, ways);
}

fn names(folder: &Path) -> Vec<(OsString, bool)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut names: Vec<_> =
        entries.map(|entry| (entry.file_name(), entry.file_type().unwrap().is_dir())).collect();
    names.sort();
    names
}

/// Walks 10,000 files in 100 folders; in every tenth folder one file is staged anew and one is removed.
pub(crate) fn walks(parts: &Parts) {
    let part = "walk 10,000 files";
    if !parts.has(part) {
        return;
    }
    let folder = parts.folder();
    for number in 0..10_000 {
        let at = folder.join(format!("folder{}/file{number}", number % 100));
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, "").unwrap();
    }
    let tree = Arc::new(OsTree::open(&folder).unwrap());
    let (untouched, staged) = (overlay(&tree), overlay(&tree));
    for number in (0..100).step_by(10) {
        block_on(staged.write(&path(&format!("folder{number}/staged")), b"new".to_vec())).unwrap();
        block_on(staged.remove(&path(&format!("folder{number}/file{number}")))).unwrap();
    }
    let walk = |tree: &dyn Tree| timed(|| assert_eq!(walk_tree(tree), 10_000)).0;
    let ways = vec![
        Way::new("std::fs", || timed(|| assert_eq!(walk_folder(&folder), 10_000)).0),
        Way::new("OsTree", || walk(&*tree)),
        Way::new("merged", || walk(&staged)),
        Way::new("nothing staged", || walk(&untouched)),
        Way::new("nothing staged, for the first time", || walk(&overlay(&tree))),
    ];
    compare(part, ways);
}

/// How many files are in a folder and below it; the names of each folder are read in order.
fn walk_folder(folder: &Path) -> usize {
    let names = names(folder).into_iter();
    names.map(|(name, is_folder)| if is_folder { walk_folder(&folder.join(name)) } else { 1 }).sum()
}

fn walk_tree(tree: &dyn Tree) -> usize {
    let mut files = 0;
    let mut folders = vec![WorkspacePath::root()];
    while let Some(folder) = folders.pop() {
        for entry in block_on(tree.list(&folder)).unwrap() {
            if entry.kind == EntryKind::Directory {
                folders.push(folder.join_bytes(&entry.name).unwrap());
            } else {
                files += 1;
            }
        }
    }
    files
}

pub(crate) fn writes(parts: &Parts) {
    for (size, told) in [(FILE, "4 KB"), (1 << 20, "1 MB")] {
        let part = format!("write {told}");
        if parts.has(&part) {
            writes_of(parts, &part, size);
        }
    }
}

fn writes_of(parts: &Parts, part: &str, size: usize) {
    let folder = parts.folder();
    let existing = folder.join("existing");
    fs::write(&existing, vec![b'x'; size]).unwrap();
    let tree = Arc::new(OsTree::open(&folder).unwrap());
    let content = vec![b'y'; size];
    let write = |overlay: &Overlay, at: &WorkspacePath| {
        let content = content.clone();
        timed(|| block_on(overlay.write(at, content)).unwrap()).0
    };
    let again = overlay(&tree);
    let ways = vec![
        Way::new("std::fs, over existing", || timed(|| fs::write(&existing, &content).unwrap()).0),
        Way::new("staged for the first time, new", || write(&overlay(&tree), &path("new"))),
        Way::new("staged for the first time, over existing", || write(&overlay(&tree), &path("existing"))),
        Way::new("staged again", || write(&again, &path("existing"))),
    ];
    compare(part, ways);
}
