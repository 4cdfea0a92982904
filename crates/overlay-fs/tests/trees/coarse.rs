//! A host whose times are so coarse that no edit changes them: a look at a file only shows its kind, length and bits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, DirEntry, Fingerprint, Metadata, Overlay, Quota, Resolution,
    Tree, TreeError, Workspace, WorkspacePath, Writer, commit_through, resolve,
};

use crate::later::Later;
use crate::world::{Node, Nodes, World, file, path};

/// Such a tree. It says of every look that the file may still have changed in the same tick, unless `is_old` is set,
/// which is for comparison.
#[derive(Default)]
pub(crate) struct Coarse {
    host: Later,
    is_old: bool,
    /// How often a file was read.
    reads: AtomicU32,
}

#[async_trait]
impl Tree for Coarse {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        let found = self.host.metadata(path).await?;
        let (inode, modified_ns, changed_ns, racy) = (0, 0, 0, !self.is_old);
        let fingerprint = Fingerprint { inode, modified_ns, changed_ns, racy, ..found.fingerprint };
        Ok(Metadata { fingerprint, ..found })
    }
    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.host.read(path).await
    }
    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.host.list(path).await
    }
    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.host.read_link(path).await
    }
}

#[async_trait]
impl Writer for Coarse {
    async fn write(&self, path: &WorkspacePath, content: &[u8], executable: bool) -> Result<(), TreeError> {
        self.host.write(path, content, executable).await
    }
    async fn symlink(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), TreeError> {
        self.host.symlink(path, target).await
    }
    async fn create_dir(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        self.host.create_dir(path).await
    }
    async fn remove(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        Writer::remove(&self.host, path).await
    }
}

#[async_trait]
impl Workspace for Coarse {
    async fn commit(&self, set: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        commit_through(self, set, options).await
    }
}

impl World for Coarse {
    fn empty() -> Self {
        Self::default()
    }
    fn put(&self, at: &WorkspacePath, node: &Node) {
        self.host.put(at, node);
    }
    fn remove(&self, at: &WorkspacePath) {
        World::remove(&self.host, at);
    }
}

/// How many files are read again to check that nobody changed them, after a thousand were read and one was written.
fn read_again(is_old: bool) -> u32 {
    let nodes: Nodes = (0..1_000).map(|number| (path(&format!("d/{number}")), file("content\n"))).collect();
    let world = Arc::new(Coarse { is_old, ..Coarse::of(&nodes) });
    let overlay = Overlay::new(world.clone(), Quota::default());
    for at in nodes.keys() {
        block_on(overlay.read(at)).unwrap();
    }
    block_on(overlay.write(&path("d/7"), b"other\n".to_vec())).unwrap();
    let changes = overlay.change_set();
    world.reads.store(0, Ordering::Relaxed);
    let resolved = block_on(resolve(&*world, &changes, CommitOptions::default())).unwrap();
    assert!(matches!(resolved, Resolution::Apply { .. }));
    world.reads.load(Ordering::Relaxed)
}

/// Only racy files are read again, because for the others the look shows whether they changed.
#[test]
fn only_what_was_young_is_read_again() {
    assert_eq!((read_again(true), read_again(false)), (0, 1_000));
}

/// An edit that keeps the length, made between the first look and the write, is not what the agent read. It must be
/// noticed.
#[test]
fn an_edit_between_the_first_look_and_the_write_is_seen() {
    let world = Arc::new(Coarse::of(&Nodes::from([(path("f"), file("one\n"))])));
    let overlay = Overlay::new(world.clone(), Quota::default());
    block_on(overlay.read(&path("f"))).unwrap();
    world.put(&path("f"), &file("two\n"));
    block_on(overlay.write(&path("f"), b"three\n".to_vec())).unwrap();
    let outcome = block_on(world.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Conflict(_)), "{outcome:?}");
}
