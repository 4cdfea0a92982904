//! The user's answers to conflicts, on every tree: the user's version, the work's, or both with markers.

use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, Choice, CommitOptions, CommitOutcome, Conflict, Keep, MemoryTree, Overlay, Quota, Tree,
    WorkspacePath, resolve_conflicts,
};

use crate::world::{Node, Nodes, World, file, path, snapshot};

const BASE: &str = "one\ntwo\nthree\nfour\nfive\n";
const WORKS: &str = "ONE\ntwo\nthree\nfour\nfive\n";
const YOURS: &str = "1\ntwo\nthree\nfour\n5\n";
const MARKED: &str =
    "<<<<<<< yours\n1\n||||||| base\none\n=======\nONE\n>>>>>>> the work\ntwo\nthree\nfour\n5\n";

/// A workspace, and what the work would change. The test then edits the workspace as its user.
struct Story<W> {
    world: Arc<W>,
    changes: ChangeSet,
}

impl<W: World> Story<W> {
    fn new(nodes: &[(&str, Node)], work: impl AsyncFnOnce(&Overlay)) -> Self {
        let nodes: Nodes = nodes.iter().map(|(at, node)| (path(at), node.clone())).collect();
        let world = Arc::new(W::of(&nodes));
        let overlay = Overlay::new(world.clone(), Quota::default());
        block_on(work(&overlay));
        Self { world, changes: overlay.change_set() }
    }

    fn commit(&self) -> Vec<Conflict> {
        commit(&*self.world, &self.changes)
    }

    /// Commits with the same answer to every conflict. Returns the conflicts that are reported again.
    fn keep(&self, keep: Keep) -> Vec<Conflict> {
        let choices: Vec<_> = self.commit().into_iter().map(|conflict| Choice { conflict, keep }).collect();
        self.choose(&choices)
    }

    fn choose(&self, choices: &[Choice]) -> Vec<Conflict> {
        let choices: Vec<Choice> = serde_json::from_str(&serde_json::to_string(choices).unwrap()).unwrap();
        let before = snapshot(&*self.world);
        let changes = block_on(resolve_conflicts(&*self.world, &self.changes, &choices)).unwrap();
        assert_eq!(snapshot(&*self.world), before, "to choose writes nothing");
        commit(&*self.world, &changes)
    }

    fn put(&self, at: &str, node: &Node) {
        self.world.put(&path(at), node);
    }

    fn expect(&self, nodes: &[(&str, Node)]) {
        let nodes: Nodes = nodes.iter().map(|(at, node)| (path(at), node.clone())).collect();
        assert_eq!(snapshot(&*self.world), nodes);
    }
}

fn commit<W: World>(world: &W, changes: &ChangeSet) -> Vec<Conflict> {
    match block_on(world.commit(changes, CommitOptions::default())).unwrap() {
        CommitOutcome::Committed(_) => Vec::new(),
        CommitOutcome::Conflict(conflicts) => conflicts,
    }
}

fn paths(conflicts: &[Conflict]) -> Vec<&WorkspacePath> {
    conflicts.iter().map(|conflict| &conflict.path).collect()
}

/// Both sides edit the first line of `a`; the work also makes `new`.
fn both_edit<W: World>() -> Story<W> {
    let story = Story::new(&[("a", file(BASE))], async |overlay| {
        overlay.read(&path("a")).await.unwrap();
        overlay.write(&path("a"), WORKS.into()).await.unwrap();
        overlay.write(&path("new"), b"new\n".to_vec()).await.unwrap();
    });
    story.put("a", &file(YOURS));
    story
}

fn the_answer_counts_and_the_rest_is_committed_with_it<W: World>() {
    for (keep, content) in [(Keep::Yours, YOURS), (Keep::Work, WORKS), (Keep::Markers, MARKED)] {
        let story = both_edit::<W>();
        let conflicts = story.commit();
        assert_eq!(paths(&conflicts), [&path("a")]);
        assert!(conflicts[0].markers);
        assert_eq!(story.keep(keep), []);
        story.expect(&[("a", file(content)), ("new", file("new\n"))]);
    }
}

fn an_edit_after_the_choice_is_a_conflict_again<W: World>() {
    let story = both_edit::<W>();
    let conflict = story.commit().remove(0);
    story.put("a", &file("1!\ntwo\nthree\nfour\n5\n"));
    let again = story.choose(&[Choice { conflict, keep: Keep::Work }]);
    assert_eq!(paths(&again), [&path("a")]);
    story.expect(&[("a", file("1!\ntwo\nthree\nfour\n5\n"))]);

    // The user edits between the answer and its commit.
    let conflict = story.commit().remove(0);
    let choice = Choice { conflict, keep: Keep::Work };
    let changes = block_on(resolve_conflicts(&*story.world, &story.changes, &[choice])).unwrap();
    story.put("a", &file("1?\ntwo\nthree\nfour\nfive\n"));
    assert_eq!(paths(&commit(&*story.world, &changes)), [&path("a")]);
}

fn a_file_that_both_made_is_chosen_too<W: World>() {
    let marked = "<<<<<<< yours\nmine\n||||||| base\n=======\nnew\n>>>>>>> the work\n";
    for (keep, content) in [(Keep::Yours, "mine\n"), (Keep::Work, "new\n"), (Keep::Markers, marked)] {
        let story = Story::<W>::new(&[], async |overlay| {
            overlay.write(&path("new"), b"new\n".to_vec()).await.unwrap();
        });
        story.put("new", &file("mine\n"));
        assert_eq!(story.keep(keep), []);
        story.expect(&[("new", file(content))]);
    }
}

fn what_is_no_text_gets_no_markers<W: World>() {
    let story = Story::<W>::new(&[("a", file("\0base"))], async |overlay| {
        overlay.write(&path("a"), b"\0work".to_vec()).await.unwrap();
    });
    story.put("a", &file("\0mine"));
    assert!(!story.commit()[0].markers);
    assert_eq!(paths(&story.keep(Keep::Markers)), [&path("a")]);
    assert_eq!(story.keep(Keep::Work), []);
    story.expect(&[("a", file("\0work"))]);
}

fn what_is_gone_stays_gone_or_comes_back<W: World>() {
    for keep in [Keep::Yours, Keep::Work] {
        let story = Story::<W>::new(&[("d", Node::Folder), ("d/a", file(BASE))], async |overlay| {
            overlay.write(&path("d/a"), WORKS.into()).await.unwrap();
        });
        story.world.remove(&path("d"));
        assert_eq!(story.keep(keep), []);
        match keep {
            Keep::Yours => story.expect(&[]),
            _ => story.expect(&[("d", Node::Folder), ("d/a", file(WORKS))]),
        }
    }
}

fn what_the_work_removed_stays_or_goes<W: World>() {
    for keep in [Keep::Yours, Keep::Work] {
        let nodes = [("d", Node::Folder), ("d/a", file(BASE)), ("d/b", file("b\n"))];
        let story = Story::<W>::new(&nodes, async |overlay| {
            overlay.remove(&path("d")).await.unwrap();
        });
        story.put("d/a", &file(YOURS));
        assert_eq!(story.keep(keep), []);
        match keep {
            Keep::Yours => story.expect(&[("d", Node::Folder), ("d/a", file(YOURS))]),
            _ => story.expect(&[]),
        }
    }
}

fn a_new_name_in_a_folder_that_goes_is_never_removed<W: World>() {
    let story = Story::<W>::new(&[("d", Node::Folder), ("d/a", file(BASE))], async |overlay| {
        overlay.remove(&path("d")).await.unwrap();
    });
    story.put("d/mine", &file("mine\n"));
    assert_eq!(paths(&story.keep(Keep::Work)), [&path("d")]);
    assert_eq!(story.keep(Keep::Yours), []);
    story.expect(&[("d", Node::Folder), ("d/mine", file("mine\n"))]);
}

fn a_move_goes_as_a_whole<W: World>() {
    let expected =
        [("a", "b", Keep::Yours, YOURS), ("b", "a", Keep::Work, WORKS), ("b", "a", Keep::Markers, MARKED)];
    for (there, gone, keep, content) in expected {
        let story = Story::<W>::new(&[("a", file(BASE))], async |overlay| {
            overlay.rename(&path("a"), &path("b")).await.unwrap();
            overlay.write(&path("b"), WORKS.into()).await.unwrap();
        });
        story.put("a", &file(YOURS));
        assert_eq!(story.keep(keep), [], "{keep:?}");
        story.expect(&[(there, file(content))]);
        assert!(!snapshot(&*story.world).contains_key(&path(gone)));
    }
    // The file that the user made at the new place is chosen together with the move; otherwise it would be lost.
    let story = Story::<W>::new(&[("a", file(BASE))], async |overlay| {
        overlay.rename(&path("a"), &path("b")).await.unwrap();
    });
    story.put("b", &file("mine\n"));
    assert_eq!(story.keep(Keep::Yours), []);
    story.expect(&[("a", file(BASE)), ("b", file("mine\n"))]);
}

fn a_file_where_a_folder_was_to_be_is_chosen_with_all_that_is_in_it<W: World>() {
    for keep in [Keep::Yours, Keep::Work] {
        let story = Story::<W>::new(&[], async |overlay| {
            overlay.create_dir(&path("d")).await.unwrap();
            overlay.write(&path("d/a"), b"a\n".to_vec()).await.unwrap();
            overlay.write(&path("e"), b"e\n".to_vec()).await.unwrap();
        });
        story.put("d", &file("mine\n"));
        assert_eq!(story.keep(keep), []);
        match keep {
            Keep::Yours => story.expect(&[("d", file("mine\n")), ("e", file("e\n"))]),
            _ => story.expect(&[("d", Node::Folder), ("d/a", file("a\n")), ("e", file("e\n"))]),
        }
    }
}

fn a_link_where_a_file_was_is_not_replaced<W: World>() {
    let story = Story::<W>::new(&[("a", file(BASE)), ("b", file("b\n"))], async |overlay| {
        overlay.write(&path("a"), WORKS.into()).await.unwrap();
    });
    story.put("a", &Node::Link(b"b".to_vec()));
    assert_eq!(paths(&story.keep(Keep::Work)), [&path("a")]);
    assert_eq!(paths(&story.keep(Keep::Markers)), [&path("a")]);
    assert_eq!(story.keep(Keep::Yours), []);
}

fn what_was_only_read_no_longer_matters<W: World>() {
    let story = Story::<W>::new(&[("a", file(BASE)), ("b", file("b\n"))], async |overlay| {
        overlay.read(&path("a")).await.unwrap();
        overlay.write(&path("b"), b"B\n".to_vec()).await.unwrap();
    });
    story.put("a", &file(YOURS));
    assert_eq!(story.keep(Keep::Yours), []);
    story.expect(&[("a", file(YOURS)), ("b", file("B\n"))]);
}

on_every_tree! {
    the_answer_counts_and_the_rest_is_committed_with_it,
    an_edit_after_the_choice_is_a_conflict_again,
    a_file_that_both_made_is_chosen_too,
    what_is_no_text_gets_no_markers,
    what_is_gone_stays_gone_or_comes_back,
    what_the_work_removed_stays_or_goes,
    a_new_name_in_a_folder_that_goes_is_never_removed,
    a_move_goes_as_a_whole,
    a_file_where_a_folder_was_to_be_is_chosen_with_all_that_is_in_it,
    a_link_where_a_file_was_is_not_replaced,
    what_was_only_read_no_longer_matters,
}
