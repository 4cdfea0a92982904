//! A host whose files are reached by calls that are answered later, one path at a time.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, DirEntry, EntryKind, MemoryTree, Metadata, Overlay, Quota, Tree,
    TreeError, Workspace, WorkspacePath, Writer, commit_through,
};

use crate::world::{Node, Nodes, World, file, path, snapshot};

/// What the host's user does before a call.
type Meanwhile = Box<dyn Fn(&MemoryTree) + Send + Sync>;

/// A tree in memory whose answers all take a while.
#[derive(Default)]
pub(crate) struct Later {
    tree: MemoryTree,
    /// The paths of all writing calls.
    calls: Mutex<Vec<WorkspacePath>>,
    /// The writing call that fails, if any, and whether it has written before it fails.
    fails_at: Option<(u32, bool)>,
    /// Whether all later writing calls for that path fail as well.
    keeps_failing: bool,
    /// The writing call before which the user does something.
    meanwhile: Option<(u32, Meanwhile)>,
}

/// A future that is ready when it is polled for the third time.
struct Wait(u32);

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Later {
    async fn asked(&self) -> &MemoryTree {
        Wait(2).await;
        &self.tree
    }

    async fn written(
        &self,
        path: &WorkspacePath,
        write: impl FnOnce(&MemoryTree) -> Result<(), TreeError> + Send,
    ) -> Result<(), TreeError> {
        let tree = self.asked().await;
        let call = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(path.clone());
            u32::try_from(calls.len() - 1).unwrap()
        };
        if let Some((at, meanwhile)) = &self.meanwhile
            && *at == call
        {
            meanwhile(tree);
        }
        let fails = |at: u32| {
            let first = self.calls.lock().unwrap().get(at as usize).cloned();
            at == call || self.keeps_failing && first.is_some_and(|first| first == *path)
        };
        let failure = self.fails_at.filter(|(at, _)| fails(*at));
        if failure.is_none_or(|(_, has_written)| has_written) {
            write(tree)?;
        }
        match failure {
            Some(_) => Err(TreeError::failed(path.clone(), "the host is gone")),
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Tree for Later {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.asked().await.metadata(path).await
    }
    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.asked().await.read(path).await
    }
    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.asked().await.list(path).await
    }
    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.asked().await.read_link(path).await
    }
}

fn expect_folder_above(tree: &MemoryTree, path: &WorkspacePath) -> Result<(), TreeError> {
    let above = path.parent().unwrap();
    let found = tree.metadata(&above).now_or_never().unwrap()?;
    if found.kind == EntryKind::Directory { Ok(()) } else { Err(TreeError::NotADirectory { path: above }) }
}

fn expect_free(tree: &MemoryTree, path: &WorkspacePath) -> Result<(), TreeError> {
    expect_folder_above(tree, path)?;
    match tree.metadata(path).now_or_never().unwrap() {
        Err(TreeError::NotFound { .. }) => Ok(()),
        _ => Err(TreeError::AlreadyExists { path: path.clone() }),
    }
}

#[async_trait]
impl Writer for Later {
    async fn write(&self, path: &WorkspacePath, content: &[u8], executable: bool) -> Result<(), TreeError> {
        let write = |tree: &MemoryTree| {
            expect_folder_above(tree, path)?;
            tree.write(path, content);
            tree.make_executable(path, executable);
            Ok(())
        };
        self.written(path, write).await
    }
    async fn symlink(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), TreeError> {
        let link = |tree: &MemoryTree| {
            expect_free(tree, path)?;
            tree.link(path, target);
            Ok(())
        };
        self.written(path, link).await
    }
    async fn create_dir(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        let make = |tree: &MemoryTree| {
            expect_free(tree, path)?;
            tree.make_dir(path);
            Ok(())
        };
        self.written(path, make).await
    }
    async fn remove(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        let remove = |tree: &MemoryTree| {
            let kind = tree.metadata(path).now_or_never().unwrap()?.kind;
            let inside = tree.list(path).now_or_never().unwrap();
            if kind == EntryKind::Directory && !inside?.is_empty() {
                return Err(TreeError::failed(path.clone(), "the folder is not empty"));
            }
            tree.remove(path);
            Ok(())
        };
        self.written(path, remove).await
    }
}

#[async_trait]
impl Workspace for Later {
    async fn commit(&self, set: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        commit_through(self, set, options).await
    }
}

impl World for Later {
    fn empty() -> Self {
        Self::default()
    }
    fn put(&self, at: &WorkspacePath, node: &Node) {
        self.tree.put(at, node);
    }
    fn remove(&self, at: &WorkspacePath) {
        self.tree.remove(at);
    }
}

fn start() -> Nodes {
    Nodes::from([
        (path("a"), file("a\n")),
        (path("b"), Node::File(b"b\n".to_vec(), true)),
        (path("folder/inside/x"), file("x\n")),
        (path("link"), Node::Link(b"a".to_vec())),
        (path("was a file"), file("f\n")),
        (path("was a folder/x"), file("x\n")),
        (path("was a link"), Node::Link(b"b".to_vec())),
    ])
}

fn changes(world: Arc<Later>) -> ChangeSet {
    let overlay = Overlay::new(world, Quota::default());
    block_on(async {
        overlay.write(&path("a"), b"A\n".to_vec()).await.unwrap();
        overlay.set_executable(&path("b"), false).await.unwrap();
        overlay.rename(&path("folder"), &path("moved")).await.unwrap();
        overlay.remove(&path("link")).await.unwrap();
        overlay.symlink(&path("new link"), b"b").await.unwrap();
        overlay.remove(&path("was a file")).await.unwrap();
        overlay.write(&path("was a file/now/folder"), b"in\n".to_vec()).await.unwrap();
        overlay.remove(&path("was a folder")).await.unwrap();
        overlay.symlink(&path("was a folder"), b"a").await.unwrap();
        overlay.remove(&path("was a link")).await.unwrap();
        overlay.write(&path("was a link"), b"a file\n".to_vec()).await.unwrap();
        overlay.create_dir(&path("empty")).await.unwrap();
    });
    overlay.change_set()
}

fn writes() -> u32 {
    let world = Arc::new(Later::of(&start()));
    let changes = changes(world.clone());
    let view = snapshot(&Overlay::from_change_set(world.clone(), Quota::default(), &changes).unwrap());
    let outcome = block_on(world.commit(&changes, CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)));
    assert_eq!(snapshot(&*world), view);
    u32::try_from(world.calls.lock().unwrap().len()).unwrap()
}

/// If a call fails, whether it has written or not, everything before it is taken back.
#[test]
fn a_call_that_fails_takes_all_back() {
    let writes = writes();
    assert!(15 < writes, "{writes}");
    for at in 0..writes {
        for has_written in [false, true] {
            let world = Arc::new(Later { fails_at: Some((at, has_written)), ..Later::of(&start()) });
            let changes = changes(world.clone());
            let before = snapshot(&*world);
            let failed = block_on(world.commit(&changes, CommitOptions::default()));
            assert!(matches!(failed, Err(TreeError::Io { .. })), "call {at}: {failed:?}");
            assert_eq!(snapshot(&*world), before, "call {at}, written: {has_written}");
        }
    }
}

/// Damage is reported if there is some, and only then.
#[test]
fn a_path_that_goes_on_failing_is_told_as_damage_only_if_it_stays_changed() {
    let mut damaged = 0;
    for at in 0..writes() {
        for has_written in [false, true] {
            let fails_at = Some((at, has_written));
            let world = Arc::new(Later { fails_at, keeps_failing: true, ..Later::of(&start()) });
            let changes = changes(world.clone());
            let before = snapshot(&*world);
            let failed = block_on(world.commit(&changes, CommitOptions::default())).unwrap_err();
            let refused = world.calls.lock().unwrap()[at as usize].clone();
            let is_told = failed.to_string().contains("this could not be taken back");
            assert_eq!(is_told, snapshot(&*world) != before, "call {at}, written: {has_written}: {failed}");
            assert!(matches!(failed, TreeError::Io { path, .. } if path == refused));
            damaged += u32::from(is_told);
        }
    }
    assert!(0 < damaged && damaged < writes(), "{damaged}");
}

/// The user edits between any two calls. The user's text must be there afterwards.
#[test]
fn an_edit_between_two_calls_is_not_lost() {
    for at in 0..writes() {
        for edited in ["a", "b", "moved", "folder/inside/x", "new link", "was a link", "folder/inside/new"] {
            let edit = path(edited);
            let meanwhile: Meanwhile = Box::new(move |tree| tree.write(&edit, "the user's\n"));
            let world = Arc::new(Later { meanwhile: Some((at, meanwhile)), ..Later::of(&start()) });
            let changes = changes(world.clone());
            let outcome = block_on(world.commit(&changes, CommitOptions::default()));
            let after = snapshot(&*world);
            let users = matches!(after.get(&path(edited)), Some(Node::File(content, _)) if content == b"the user's\n");
            // The call right after the edit cannot know of it, and no sequence of calls could.
            let is_overtaken = world.calls.lock().unwrap()[at as usize] == path(edited);
            assert!(users || is_overtaken, "call {at}, {edited}: {outcome:?}");
        }
    }
}
