//! Random histories of staging, stacking, user edits and commits, against a plain map.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, Committed, EntryKind, MemoryTree, Overlay,
    Quota, Tree, Workspace, WorkspacePath,
};
use proptest::prelude::*;

/// What is at a path: a folder, or a file with its content and executable bit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Folder,
    File(u8, bool),
}

use Node::{File, Folder};

/// The reference: a map, in which a folder that was not made for itself is there while something is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Model(BTreeMap<String, Node>);

#[derive(Debug, Clone)]
enum Op {
    Write(String, u8),
    Delete(String),
    Rename(String, String),
    MakeFolder(String),
    Executable(String, bool),
}

fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn is_in(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Model {
    fn at(&self, path: &str) -> Option<Node> {
        let is_above = self.0.keys().any(|other| other != path && is_in(other, path));
        self.0.get(path).cloned().or(is_above.then_some(Folder))
    }

    fn has_file_above(&self, path: &str) -> bool {
        parents(path).any(|parent| matches!(self.0.get(parent), Some(File(..))))
    }

    /// Applies an operation as the overlay promises to; `false`: it is refused.
    fn apply(&mut self, op: &Op) -> bool {
        match op {
            Op::Write(path, _) | Op::MakeFolder(path) | Op::Rename(_, path) if self.has_file_above(path) => {
                false
            }
            Op::Write(path, content) => match self.at(path) {
                Some(Folder) => false,
                Some(File(_, executable)) => {
                    self.0.insert(path.clone(), File(*content, executable)).is_some()
                }
                None => self.0.insert(path.clone(), File(*content, false)).is_none(),
            },
            Op::MakeFolder(path) => {
                let is_free = self.at(path).is_none();
                if is_free {
                    self.0.insert(path.clone(), Folder);
                }
                is_free
            }
            Op::Delete(path) => {
                let is_there = self.at(path).is_some();
                self.0.retain(|other, _| !is_in(other, path));
                is_there
            }
            Op::Rename(from, to) => {
                if self.at(from).is_none() || self.at(to).is_some() || is_in(to, from) {
                    return false;
                }
                let moved: Vec<_> = self.0.keys().filter(|path| is_in(path, from)).cloned().collect();
                for path in moved {
                    let node = self.0.remove(&path).unwrap();
                    self.0.insert(format!("{to}{}", &path[from.len()..]), node);
                }
                true
            }
            Op::Executable(path, executable) => match self.at(path) {
                Some(File(content, _)) => self.0.insert(path.clone(), File(content, *executable)).is_some(),
                _ => false,
            },
        }
    }

    /// With a folder for everything that something is in.
    fn full(&self) -> BTreeMap<String, Node> {
        let mut full = self.0.clone();
        for path in self.0.keys() {
            full.extend(parents(path).map(|parent| (parent.to_owned(), Folder)));
        }
        full
    }

    fn children(&self, folder: &str) -> BTreeSet<String> {
        let full = self.full();
        let inside = full.keys().filter(|path| *path != folder && is_in(path, folder));
        inside.filter(|path| parents(path).last() == Some(folder)).cloned().collect()
    }
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn stage(overlay: &Overlay, op: &Op) -> bool {
    let staged = block_on(async {
        match op {
            Op::Write(at, content) => overlay.write(&path(at), bytes(*content)).await,
            Op::Delete(at) => overlay.remove(&path(at)).await,
            Op::Rename(from, to) => overlay.rename(&path(from), &path(to)).await,
            Op::MakeFolder(at) => overlay.create_dir(&path(at)).await,
            Op::Executable(at, executable) => overlay.set_executable(&path(at), *executable).await,
        }
    });
    staged.is_ok()
}

fn bytes(content: u8) -> Vec<u8> {
    format!("{content}\n").into_bytes()
}

/// The whole tree as another walker would see it.
fn walk(tree: &dyn Tree) -> BTreeMap<String, Node> {
    let mut found = BTreeMap::new();
    let mut todo = vec![WorkspacePath::root()];
    while let Some(folder) = todo.pop() {
        for entry in block_on(tree.list(&folder)).unwrap() {
            let at = folder.join_bytes(&entry.name).unwrap();
            let metadata = block_on(tree.metadata(&at)).unwrap();
            assert_eq!(metadata.kind, entry.kind, "{at}");
            let node = match entry.kind {
                EntryKind::Directory => Folder,
                EntryKind::File => {
                    let content = block_on(tree.read(&at)).unwrap();
                    assert_eq!(metadata.len, content.len() as u64, "{at}");
                    File(String::from_utf8(content).unwrap().trim().parse().unwrap(), metadata.executable)
                }
                kind => panic!("{at} is a {kind:?}"),
            };
            todo.extend((node == Folder).then(|| at.clone()));
            found.insert(at.to_string(), node);
        }
    }
    found
}

/// A workspace and its user.
trait World: Workspace + 'static {
    fn new(nodes: &BTreeMap<String, Node>) -> Self;
    fn put(&self, at: &str, node: &Node);
    fn remove(&self, at: &str);
}

impl World for MemoryTree {
    fn new(nodes: &BTreeMap<String, Node>) -> Self {
        let tree = Self::default();
        for (at, node) in nodes {
            tree.put(at, node);
        }
        tree
    }

    fn put(&self, at: &str, node: &Node) {
        match node {
            Folder => self.make_dir(&path(at)),
            File(content, executable) => {
                self.write(&path(at), bytes(*content));
                self.make_executable(&path(at), *executable);
            }
        }
    }

    fn remove(&self, at: &str) {
        MemoryTree::remove(self, &path(at));
    }
}

#[cfg(all(feature = "os", unix))]
mod disk {
    #![expect(
        clippy::disallowed_methods,
        reason = "the tests are the workspace's user, who edits it directly"
    )]

    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use async_trait::async_trait;
    use headstart_overlay_fs::{DirEntry, Metadata, OsTree, TreeError};

    use super::*;

    pub(super) struct Disk {
        folder: tempfile::TempDir,
        tree: OsTree,
    }

    impl World for Disk {
        fn new(nodes: &BTreeMap<String, Node>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let disk = Self { tree: OsTree::open(folder.path()).unwrap(), folder };
            for (at, node) in nodes {
                disk.put(at, node);
            }
            disk
        }

        fn put(&self, at: &str, node: &Node) {
            let at = self.folder.path().join(at);
            match node {
                Folder => fs::create_dir_all(at).unwrap(),
                File(content, executable) => {
                    fs::create_dir_all(at.parent().unwrap()).unwrap();
                    fs::write(&at, bytes(*content)).unwrap();
                    let mode = if *executable { 0o755 } else { 0o644 };
                    fs::set_permissions(at, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
        }

        fn remove(&self, at: &str) {
            let at = self.folder.path().join(at);
            if at.is_dir() { fs::remove_dir_all(at).unwrap() } else { fs::remove_file(at).unwrap() }
        }
    }

    #[async_trait]
    impl Tree for Disk {
        async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
            self.tree.metadata(path).await
        }
        async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
            self.tree.read(path).await
        }
        async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
            self.tree.list(path).await
        }
        async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
            self.tree.read_link(path).await
        }
    }

    #[async_trait]
    impl Workspace for Disk {
        async fn commit(
            &self,
            changes: &ChangeSet,
            options: CommitOptions,
        ) -> Result<CommitOutcome, TreeError> {
            self.tree.commit(changes, options).await
        }
    }
}

/// Few names, so that histories meet: nested ones, and one that sorts between a folder and its content.
fn any_path() -> impl Strategy<Value = String> {
    const PATHS: [&str; 10] = ["a", "a-", "a/b", "a/b/c", "a/b/d", "a/e", "f", "f/a", "f/a/b", "g"];
    proptest::sample::select(&PATHS[..]).prop_map(str::to_owned)
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (any_path(), 0..4_u8).prop_map(|(at, content)| Op::Write(at, content)),
        2 => any_path().prop_map(Op::Delete),
        3 => (any_path(), any_path()).prop_map(|(from, to)| Op::Rename(from, to)),
        1 => any_path().prop_map(Op::MakeFolder),
        1 => (any_path(), any::<bool>()).prop_map(|(at, executable)| Op::Executable(at, executable)),
    ]
}

fn any_ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    proptest::collection::vec(any_op(), 0..most)
}

fn start(ops: &[Op]) -> Model {
    let mut model = Model::default();
    for op in ops {
        model.apply(op);
    }
    Model(model.full())
}

/// What the workspace becomes when the changes are made to what its user left.
fn merged(user: &Model, changes: &ChangeSet) -> BTreeMap<String, Node> {
    let mut result = user.full();
    for change in &changes.changes {
        let at = change.path.to_string();
        match &change.kind {
            ChangeKind::Delete => {
                result.remove(&at);
            }
            ChangeKind::CreateDirectory => {
                result.insert(at, Folder);
            }
            ChangeKind::Write { content, executable, .. } => {
                let content = String::from_utf8(content.clone()).unwrap().trim().parse().unwrap();
                let executable = match (&change.base, user.at(&at)) {
                    (Some(base), Some(File(_, now))) if base.is_executable() == *executable => now,
                    _ => *executable,
                };
                result.insert(at, File(content, executable));
            }
            ChangeKind::Link { .. } => panic!("no links here"),
        }
    }
    Model(result).full()
}

/// Whether the user changed what the change of this path rests on.
fn is_lost(before: &Model, user: &Model, changes: &ChangeSet, change: &Change) -> bool {
    let at = change.path.to_string();
    let strip = |node| if let Some(File(content, _)) = node { Some(File(content, false)) } else { node };
    let (old, now) = (strip(before.at(&at)), strip(user.at(&at)));
    let is_made_twice = change.kind == ChangeKind::CreateDirectory && now == Some(Folder);
    let has_new_inside = old == Some(Folder) && !user.children(&at).is_subset(&before.children(&at));
    let is_changed = |at: &str| changes.changes.iter().any(|change| change.path.to_string() == at);
    let has_file_above =
        parents(&at).any(|above| matches!(user.at(above), Some(File(..))) && !is_changed(above));
    (old != now && !is_made_twice) || has_file_above || has_new_inside
}

fn check<W: World>(base: &[Op], below: &[Op], above: &[Op], edits: &[Op]) -> Result<(), TestCaseError> {
    let before = start(base);
    let world = Arc::new(W::new(&before.0));
    let mut model = before.clone();
    let lower = Arc::new(Overlay::new(world.clone(), Quota::default()));
    for op in below {
        prop_assert_eq!(stage(&lower, op), model.apply(op), "{:?}", op);
    }
    let lower_model = model.clone();
    let upper = Overlay::new(lower.clone(), Quota::default());
    // To the overlay above, the folders below are there for themselves.
    let mut model = Model(model.full());
    for op in above {
        prop_assert_eq!(stage(&upper, op), model.apply(op), "{:?}", op);
    }
    let (lower_changes, upper_changes) = (lower.change_set(), upper.change_set());
    prop_assert_eq!(walk(&*lower), lower_model.full());
    prop_assert_eq!(walk(&upper), model.full());
    prop_assert_eq!(walk(&*world), before.full(), "the workspace is not touched");
    for (changes, overlay) in [(&lower_changes, &*lower), (&upper_changes, &upper)] {
        let json = serde_json::to_string(changes).unwrap();
        let back: ChangeSet = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&back, changes);
        let is_lower = std::ptr::eq(overlay, &raw const *lower);
        let under: Arc<dyn Tree> = if is_lower { world.clone() } else { lower.clone() };
        let again = Overlay::from_change_set(under, Quota::default(), &back).unwrap();
        prop_assert_eq!(&again.change_set(), changes);
        prop_assert_eq!(walk(&again), walk(overlay));
    }

    let mut user = Model(before.full());
    for op in edits {
        let earlier = user.clone();
        if user.apply(op) {
            user = Model(user.full());
            let gone: Vec<_> = earlier.0.keys().filter(|at| !user.0.contains_key(*at)).collect();
            gone.iter().rev().for_each(|at| world.remove(at));
            let changed = user.0.iter().filter(|(at, node)| earlier.0.get(*at) != Some(node));
            changed.for_each(|(at, node)| world.put(at, node));
        }
    }
    prop_assert_eq!(walk(&*world), user.full(), "the test's own user");
    let outcome = block_on(world.commit(&lower_changes, CommitOptions::default())).unwrap();
    let CommitOutcome::Conflict(found) = outcome else {
        for change in &lower_changes.changes {
            prop_assert!(
                !is_lost(&before, &user, &lower_changes, change),
                "the user's edit of {} is lost",
                change.path
            );
        }
        prop_assert_eq!(walk(&*world), merged(&user, &lower_changes));
        if edits.is_empty() {
            prop_assert_eq!(walk(&*world), lower_model.full());
            prop_assert_eq!(
                block_on(world.commit(&upper_changes, CommitOptions::default())).unwrap(),
                CommitOutcome::Committed(Committed::default())
            );
            prop_assert_eq!(walk(&*world), model.full());
        }
        return Ok(());
    };
    prop_assert_eq!(walk(&*world), user.full(), "a conflict changes nothing");
    for conflict in found {
        let at = conflict.path.to_string();
        let is_real = before.at(&at) != user.at(&at)
            || before.children(&at) != user.children(&at)
            || user.has_file_above(&at);
        prop_assert!(is_real, "nobody touched {}", at);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_memory(base in any_ops(8), below in any_ops(8), above in any_ops(6), edits in any_ops(3)) {
        check::<MemoryTree>(&base, &below, &above, &edits)?;
    }

    #[test]
    fn in_memory_without_a_user(base in any_ops(8), below in any_ops(12), above in any_ops(10)) {
        check::<MemoryTree>(&base, &below, &above, &[])?;
    }
}

#[cfg(all(feature = "os", unix))]
proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_disk(base in any_ops(8), below in any_ops(8), above in any_ops(6), edits in any_ops(3)) {
        check::<disk::Disk>(&base, &below, &above, &edits)?;
    }

    #[test]
    fn on_disk_without_a_user(base in any_ops(8), below in any_ops(12), above in any_ops(10)) {
        check::<disk::Disk>(&base, &below, &above, &[])?;
    }
}
