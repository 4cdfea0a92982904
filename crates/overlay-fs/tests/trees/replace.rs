//! The result of a command that ran over what an overlay shows replaces what the overlay had staged.

use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, MemoryTree, Overlay, Quota, Tree, TreeError, Workspace,
};
use proptest::prelude::*;

use crate::world::{Nodes, World, file, path, snapshot};

on_every_tree!(
    it_is_staged_whole_and_commits_to_the_same_tree,
    what_was_staged_before_rests_on_what_it_rested_on,
    what_is_taken_back_is_still_rested_on,
    too_much_stages_nothing,
);

fn start() -> Nodes {
    Nodes::from([
        (path("a"), file("a\n")),
        (path("b"), file("b\n")),
        (path("src/c"), file("c\n")),
        (path("src/deep/d"), file("d\n")),
    ])
}

/// The overlay of a view: the changes of `of`, staged over the same tree.
fn view_of<W: World>(tree: &Arc<W>, of: &Overlay) -> Overlay {
    Overlay::from_change_set(Arc::clone(tree) as Arc<dyn Tree>, Quota::default(), &of.change_set()).unwrap()
}

fn it_is_staged_whole_and_commits_to_the_same_tree<W: World>() {
    let tree = Arc::new(W::of(&start()));
    let overlay = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, Quota::default());
    block_on(overlay.write(&path("a"), b"staged\n".to_vec())).unwrap();
    block_on(overlay.write(&path("new/x"), b"x\n".to_vec())).unwrap();
    let view = view_of(&tree, &overlay);
    block_on(view.write(&path("a"), b"by the command\n".to_vec())).unwrap();
    block_on(view.remove(&path("new"))).unwrap();
    block_on(view.rename(&path("b"), &path("src/b"))).unwrap();
    block_on(view.set_executable(&path("src/c"), true)).unwrap();
    block_on(view.symlink(&path("link"), b"src")).unwrap();
    block_on(view.remove(&path("src/deep"))).unwrap();
    let changes = ChangeSet { reads: Vec::new(), ..view.change_set() };
    overlay.replace(&changes).unwrap();
    assert_eq!(overlay.change_set().changes, changes.changes);
    let expected = snapshot(&view);
    assert_eq!(snapshot(&overlay), expected);
    let outcome = block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    assert_eq!(snapshot(&*tree), expected);
}

/// The user saves a file between its staging and the command. The command sees a newer disk than the staged work did,
/// but the work still depends on what it saw.
fn what_was_staged_before_rests_on_what_it_rested_on<W: World>() {
    let tree = Arc::new(W::of(&start()));
    let overlay = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, Quota::default());
    block_on(overlay.write(&path("a"), b"staged\n".to_vec())).unwrap();
    tree.put(&path("a"), &file("the user's\n"));
    let view = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, Quota::default());
    block_on(view.write(&path("a"), b"staged, formatted\n".to_vec())).unwrap();
    block_on(view.write(&path("b"), b"formatted\n".to_vec())).unwrap();
    overlay.replace(&ChangeSet { reads: Vec::new(), ..view.change_set() }).unwrap();
    let outcome = block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
    let CommitOutcome::Conflict(conflicts) = outcome else { panic!("{outcome:?}") };
    assert_eq!(conflicts.iter().map(|conflict| conflict.path.to_string()).collect::<Vec<_>>(), ["a"]);
}

fn what_is_taken_back_is_still_rested_on<W: World>() {
    let tree = Arc::new(W::of(&start()));
    let overlay = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, Quota::default());
    block_on(overlay.write(&path("a"), b"staged\n".to_vec())).unwrap();
    overlay.replace(&ChangeSet::default()).unwrap();
    let changes = overlay.change_set();
    assert!(changes.is_empty());
    assert_eq!(changes.reads.iter().map(|read| read.path.to_string()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(block_on(overlay.read(&path("a"))).unwrap(), b"a\n");
}

fn too_much_stages_nothing<W: World>() {
    let tree = Arc::new(W::of(&start()));
    let quota = Quota { files: 2, bytes: 64, file_bytes: 16, depth: 2 };
    let overlay = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, quota);
    block_on(overlay.write(&path("a"), b"staged\n".to_vec())).unwrap();
    let before = overlay.change_set();
    let too_much: [&[(&str, usize)]; 4] = [
        &[("x", 1), ("y", 1), ("z", 1)],
        &[("x", 17)],
        &[("src/deep/new", 1)],
        &[("x", 16), ("b", 16), ("a", 16)],
    ];
    for files in too_much {
        let view = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, Quota::default());
        for (name, bytes) in files {
            block_on(view.write(&path(name), vec![b'x'; *bytes])).unwrap();
        }
        let refused = overlay.replace(&view.change_set());
        assert!(matches!(refused, Err(TreeError::Quota { .. })), "{files:?}: {refused:?}");
        assert_eq!(overlay.change_set(), before, "{files:?}");
    }
    // A replacement that is as large as the old one is never too much.
    overlay.replace(&before).unwrap();
    assert_eq!(overlay.change_set(), before);
}

/// A savepoint that was made before takes back the whole replacement.
#[test]
fn it_is_one_staging_that_a_savepoint_takes_back() {
    let tree = Arc::new(MemoryTree::of(&start()));
    let overlay = Overlay::new(tree, Quota::default());
    block_on(overlay.write(&path("a"), b"staged\n".to_vec())).unwrap();
    let before = (overlay.savepoint(), overlay.change_set());
    overlay.replace(&ChangeSet::default()).unwrap();
    overlay.roll_back(before.0);
    assert_eq!(overlay.change_set().changes, before.1.changes);
}

#[derive(Debug, Clone)]
enum Edit {
    Write(usize, u8),
    Remove(usize),
    Rename(usize, usize),
    Folder(usize),
    Link(usize),
    Run(usize, bool),
}

const PLACES: [&str; 9] = ["a", "b", "src", "src/c", "src/deep", "src/deep/d", "new", "new/x", "new/x/y"];

fn edit() -> impl Strategy<Value = Edit> {
    let place = || 0..PLACES.len();
    prop_oneof![
        4 => (place(), 0..3_u8).prop_map(|(at, content)| Edit::Write(at, content)),
        2 => place().prop_map(Edit::Remove),
        2 => (place(), place()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => place().prop_map(Edit::Folder),
        1 => place().prop_map(Edit::Link),
        1 => (place(), any::<bool>()).prop_map(|(at, runs)| Edit::Run(at, runs)),
    ]
}

/// Plays the edits. An edit that is impossible is left out, as a command would report an error.
async fn play(overlay: &Overlay, edits: &[Edit]) {
    for edit in edits {
        let at = |place: &usize| path(PLACES[*place]);
        let _ = match edit {
            Edit::Write(place, content) => overlay.write(&at(place), vec![b'0' + content, b'\n']).await,
            Edit::Remove(place) => overlay.remove(&at(place)).await,
            Edit::Rename(from, to) => overlay.rename(&at(from), &at(to)).await,
            Edit::Folder(place) => overlay.create_dir(&at(place)).await,
            Edit::Link(place) => overlay.symlink(&at(place), b"b").await,
            Edit::Run(place, runs) => overlay.set_executable(&at(place), *runs).await,
        };
    }
}

proptest! {
    /// For everything that was staged and everything that a command makes of it: the overlay shows what the view
    /// showed, and a commit makes exactly that.
    #[test]
    fn an_overlay_shows_what_came_back(
        staged in prop::collection::vec(edit(), 0..8),
        command in prop::collection::vec(edit(), 0..8),
    ) {
        let tree = Arc::new(MemoryTree::of(&start()));
        let overlay = Overlay::new(Arc::clone(&tree) as Arc<dyn Tree>, Quota::default());
            block_on(play(&overlay, &staged));
            let view = view_of(&tree, &overlay);
            block_on(play(&view, &command));
            // The changes that come back have the present disk as their base, and nothing that was read.
            overlay.replace(&ChangeSet { reads: Vec::new(), ..view.change_set() }).unwrap();
            let expected = snapshot(&view);
            prop_assert_eq!(snapshot(&overlay), expected.clone());
            let outcome = block_on(tree.commit(&overlay.change_set(), CommitOptions::default())).unwrap();
            prop_assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
            prop_assert_eq!(snapshot(&*tree), expected);
    }
}
