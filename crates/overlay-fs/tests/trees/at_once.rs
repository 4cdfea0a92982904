//! A host that makes a whole commit in one call.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::executor::block_on;
use headstart_overlay_fs::{
    AtomicWriter, ChangeSet, CommitOptions, CommitOutcome, ConflictKind, DirEntry, Entry, MemoryTree,
    Metadata, Overlay, Quota, Step, Tree, TreeError, Workspace, WorkspacePath, commit_atomically,
};

use crate::world::{Node, Nodes, World, file, path, snapshot};

/// What the host's user does before the call.
type Meanwhile = Box<dyn Fn(&MemoryTree) + Send + Sync>;

#[derive(Default)]
pub(crate) struct AtOnce {
    tree: MemoryTree,
    meanwhile: Option<Meanwhile>,
    fails: bool,
    calls: Mutex<Vec<Vec<Step>>>,
}

/// What the participant of this host commits. Of any other text it says that the path of that name has changed.
const AGREES: &str = "agrees";

impl AtOnce {
    fn now<T>(answer: impl Future<Output = Result<T, TreeError>>) -> Option<T> {
        answer.now_or_never().unwrap().ok()
    }

    fn at(&self, path: &WorkspacePath) -> Option<Node> {
        let found = Self::now(self.tree.metadata(path))?;
        Some(match Self::now(self.tree.read_link(path)) {
            Some(target) => Node::Link(target),
            None => match Self::now(self.tree.read(path)) {
                Some(content) => Node::File(content, found.executable),
                None => Node::Folder,
            },
        })
    }

    fn is_as(&self, path: &WorkspacePath, entry: Option<&Entry>) -> bool {
        match (self.at(path), entry) {
            (None, None) | (Some(Node::Folder), Some(Entry::Directory)) => true,
            (Some(Node::File(now, _)), Some(Entry::File { content, .. })) => now == content[..],
            (Some(Node::Link(now)), Some(Entry::Link(target))) => now == *target,
            _ => false,
        }
    }
}

#[async_trait]
impl AtomicWriter for AtOnce {
    async fn make(&self, steps: Vec<Step>, beside: Option<&str>) -> Result<Vec<WorkspacePath>, TreeError> {
        if let Some(beside) = beside.filter(|beside| *beside != AGREES) {
            return Ok(vec![WorkspacePath::parse(beside).unwrap()]);
        }
        self.calls.lock().unwrap().push(steps.clone());
        if let Some(meanwhile) = &self.meanwhile {
            meanwhile(&self.tree);
        }
        if self.fails {
            return Err(TreeError::failed(steps[0].path.clone(), "the host is gone"));
        }
        // If an earlier step makes the folder, what is in it cannot be checked yet.
        let made = |path: &WorkspacePath| steps.iter().any(|step| step.path == path.parent().unwrap());
        let changed = |step: &&Step| {
            !(self.is_as(&step.path, step.before.as_ref()) || step.before.is_none() && made(&step.path))
        };
        let changed: Vec<_> = steps.iter().filter(changed).map(|step| step.path.clone()).collect();
        if !changed.is_empty() {
            return Ok(changed);
        }
        for step in steps {
            let parent = step.path.parent().unwrap();
            assert!(
                parent.is_root() || self.at(&parent) == Some(Node::Folder),
                "{} has no folder",
                step.path
            );
            if step.before == Some(Entry::Directory) {
                assert!(
                    Self::now(self.tree.list(&step.path)).unwrap().is_empty(),
                    "{} is not empty",
                    step.path
                );
            }
            if step.before.is_some() {
                self.tree.remove(&step.path);
            }
            match step.after {
                None => {}
                Some(Entry::Directory) => self.tree.make_dir(&step.path),
                Some(Entry::Link(target)) => self.tree.link(&step.path, target),
                Some(Entry::File { content, executable }) => {
                    self.tree.write(&step.path, content.to_vec());
                    self.tree.make_executable(&step.path, executable);
                }
            }
        }
        Ok(Vec::new())
    }
}

#[async_trait]
impl Tree for AtOnce {
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
impl Workspace for AtOnce {
    async fn commit(&self, set: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        commit_atomically(self, set, None, options).await
    }

    async fn commit_with(
        &self,
        set: &ChangeSet,
        beside: &str,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        commit_atomically(self, set, Some(beside), options).await
    }
}

impl World for AtOnce {
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
        (path("was a file"), file("f\n")),
        (path("was a folder/x"), file("x\n")),
        (path("was a link"), Node::Link(b"b".to_vec())),
    ])
}

fn changes(world: &Arc<AtOnce>) -> ChangeSet {
    let overlay = Overlay::new(world.clone(), Quota::default());
    block_on(async {
        overlay.write(&path("a"), b"A\n".to_vec()).await.unwrap();
        overlay.set_executable(&path("b"), false).await.unwrap();
        overlay.rename(&path("folder"), &path("moved")).await.unwrap();
        overlay.symlink(&path("new link"), b"b").await.unwrap();
        overlay.remove(&path("was a file")).await.unwrap();
        overlay.write(&path("was a file/now/folder"), b"in\n".to_vec()).await.unwrap();
        overlay.remove(&path("was a folder")).await.unwrap();
        overlay.symlink(&path("was a folder"), b"a").await.unwrap();
        overlay.remove(&path("was a link")).await.unwrap();
        overlay.write(&path("was a link"), b"a file\n".to_vec()).await.unwrap();
    });
    overlay.change_set()
}

/// The host gets all steps of a commit in one call, so that it can make all of them or none.
#[test]
fn a_commit_is_one_call_and_holds_all_of_it() {
    let world = Arc::new(AtOnce::of(&start()));
    let changes = changes(&world);
    let view = snapshot(&Overlay::from_change_set(world.clone(), Quota::default(), &changes).unwrap());
    let outcome = block_on(world.commit(&changes, CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    assert_eq!(snapshot(&*world), view);
    let calls = world.calls.lock().unwrap();
    assert_eq!(calls.len(), 1);
    let moved = calls[0].iter().find(|step| step.path == path("moved/inside/x")).unwrap();
    assert_eq!(moved.moved_from, Some(path("folder/inside/x")));
}

/// If the tree is already as the work wants it, the host is not called.
#[test]
fn what_is_in_the_tree_already_is_no_call() {
    let world = Arc::new(AtOnce::of(&start()));
    let overlay = Overlay::new(world.clone(), Quota::default());
    block_on(overlay.create_dir(&path("new"))).unwrap();
    world.put(&path("new"), &Node::Folder);
    let outcome = block_on(world.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)));
    assert!(world.calls.lock().unwrap().is_empty());
}

#[test]
fn what_the_host_finds_changed_is_a_conflict_and_nothing_else_is_done() {
    let edits: [(&str, Node, ConflictKind); 3] = [
        ("a", file("the user's\n"), ConflictKind::Modified),
        ("was a link", file("the user's\n"), ConflictKind::Replaced),
        ("moved", file("the user's\n"), ConflictKind::Created),
    ];
    for (edited, node, kind) in edits {
        let (at, put) = (path(edited), node.clone());
        let meanwhile: Meanwhile = Box::new(move |tree| tree.put(&at, &put));
        let world = Arc::new(AtOnce { meanwhile: Some(meanwhile), ..AtOnce::of(&start()) });
        let changes = changes(&world);
        let outcome = block_on(world.commit(&changes, CommitOptions::default())).unwrap();
        let CommitOutcome::Conflict(conflicts) = outcome else { panic!("{edited}: {outcome:?}") };
        assert!(
            conflicts.iter().any(|conflict| conflict.path == path(edited) && conflict.kind == kind),
            "{conflicts:?}"
        );
        let mut expected = snapshot(&AtOnce::of(&start()));
        expected.insert(path(edited), node);
        assert_eq!(snapshot(&*world), expected, "{edited}");
    }
}

#[test]
fn a_host_that_fails_is_an_error() {
    let world = Arc::new(AtOnce { fails: true, ..AtOnce::of(&start()) });
    let changes = changes(&world);
    let failed = block_on(world.commit(&changes, CommitOptions::default()));
    assert!(matches!(failed, Err(TreeError::Io { .. })), "{failed:?}");
}

#[test]
fn what_is_beside_the_files_is_part_of_the_call() {
    let world = Arc::new(AtOnce::of(&start()));
    let (set, none) = (changes(&world), ChangeSet::default());
    let commit = |set: &ChangeSet, beside: &str| {
        let options = CommitOptions::default();
        world.commit_with(set, beside, options).now_or_never().unwrap().unwrap()
    };
    let before = snapshot(&*world);
    for set in [&set, &none] {
        let CommitOutcome::Conflict(conflicts) = commit(set, ".git/refs/heads/main") else {
            panic!("it fits")
        };
        let expected = WorkspacePath::parse(".git/refs/heads/main").unwrap();
        assert_eq!(conflicts, [headstart_overlay_fs::Conflict::new(expected, ConflictKind::Ref)]);
    }
    assert_eq!(snapshot(&*world), before);
    assert!(matches!(commit(&none, AGREES), CommitOutcome::Committed(_)));
    assert!(matches!(commit(&set, AGREES), CommitOutcome::Committed(_)));
    assert_ne!(snapshot(&*world), before);
}
