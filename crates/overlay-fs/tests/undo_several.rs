//! Several commits that are undone together.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "the tests are the workspace's user")]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::fs;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    CommitOptions, CommitOutcome, ContentHash, OsOptions, OsTree, Overlay, Quota, SeveralUndone, UndoLimit,
    UndoOutcome, Workspace as _, WorkspacePath,
};

struct Place {
    folder: tempfile::TempDir,
    tree: Arc<OsTree>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), "1\n").unwrap();
        let options = OsOptions {
            state: Some(folder.path().join("state")),
            undo: UndoLimit { accepts: 20, bytes: 1 << 30 },
            ..OsOptions::default()
        };
        let tree = Arc::new(OsTree::open_with(root, options).unwrap());
        Self { folder, tree }
    }

    /// Commits one file with this content.
    fn write(&self, path: &str, content: &str) -> ContentHash {
        self.write_in(None, path, content)
    }

    /// Commits one file with this content in a turn.
    fn write_in(&self, turn: Option<&str>, path: &str, content: &str) -> ContentHash {
        let overlay = Overlay::new(self.tree.clone(), Quota::default());
        let path = WorkspacePath::parse(path).unwrap();
        block_on(overlay.write(&path, content.as_bytes().to_vec())).unwrap();
        let changes = overlay.change_set();
        let turn = turn.map(|turn| ContentHash::of(turn.as_bytes()));
        let options = CommitOptions { turn, ..CommitOptions::default() };
        let outcome = block_on(self.tree.commit(&changes, options)).unwrap();
        assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
        changes.digest()
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder.path().join("workspace").join(path)).ok()
    }

    fn edit(&self, path: &str, content: &str) {
        fs::write(self.folder.path().join("workspace").join(path), content).unwrap();
    }
}

/// The commits are undone as if they were one, also if they changed the same files.
#[test]
fn all_of_them_are_taken_back_also_where_they_changed_one_file_again_and_again() {
    let place = Place::new();
    let commits = [("a", "2\n"), ("b", "new\n"), ("a", "1\n"), ("a", "2\n"), ("b", "newer\n")];
    let commits = commits.map(|(path, content)| place.write(path, content));
    let undone = place.tree.undo_several(&commits).unwrap();
    let paths = ["a", "b"].map(|path| WorkspacePath::parse(path).unwrap()).to_vec();
    assert_eq!(undone, SeveralUndone { commits: 5, paths, ..SeveralUndone::default() });
    assert_eq!((place.read("a").as_deref(), place.read("b")), (Some("1\n"), None));
    // They are no longer kept.
    assert_eq!(place.tree.undo_several(&commits).unwrap().stopped, Some(UndoOutcome::NotKept));
}

/// If one of the commits conflicts with an edit of the user, none is undone.
#[test]
fn an_edit_of_one_file_keeps_all_of_them() {
    let place = Place::new();
    let commits = [("b", "new\n"), ("a", "2\n")].map(|(path, content)| place.write(path, content));
    place.edit("b", "mine\n");
    let undone = place.tree.undo_several(&commits).unwrap();
    let Some(UndoOutcome::Conflict(conflicts)) = undone.stopped else { panic!("{undone:?}") };
    assert_eq!((undone.commits, conflicts.len(), conflicts[0].path.to_string().as_str()), (0, 1, "b"));
    assert_eq!((place.read("a").as_deref(), place.read("b").as_deref()), (Some("2\n"), Some("mine\n")));
}

/// If one of the commits is not kept, none is undone.
#[test]
fn one_that_is_not_kept_keeps_all_of_them() {
    let place = Place::new();
    let elsewhere = Place::new().write("a", "other\n");
    let commits = [place.write("a", "2\n"), elsewhere, place.write("b", "new\n")];
    let undone = place.tree.undo_several(&commits).unwrap();
    assert_eq!(undone, SeveralUndone { stopped: Some(UndoOutcome::NotKept), ..SeveralUndone::default() });
    assert_eq!((place.read("a").as_deref(), place.read("b").as_deref()), (Some("2\n"), Some("new\n")));
    assert_eq!(place.tree.undo_several(&commits[2..]).unwrap().commits, 1);
    assert_eq!((place.read("a").as_deref(), place.read("b")), (Some("2\n"), None));
}

/// A program can ask whether its work was committed, even after another edit, until the commit is undone.
#[test]
fn a_commit_is_known_until_it_is_taken_back_also_where_its_user_went_on() {
    let place = Place::new();
    let changes = place.write("a", "2\n");
    place.edit("a", "3\n");
    // Another process is asked, because the one that committed is gone.
    let root = place.folder.path().join("workspace");
    let options = OsOptions { state: Some(place.folder.path().join("state")), ..OsOptions::default() };
    let tree = OsTree::open_with(root, options).unwrap();
    assert!(tree.has_committed(changes).unwrap());
    assert!(!tree.has_committed(ContentHash::of(b"others")).unwrap());
    place.edit("a", "2\n");
    assert_eq!(place.tree.undo_several(&[changes]).unwrap().commits, 1);
    assert!(!tree.has_committed(changes).unwrap());
}

/// Each turn that is kept: its name if it is one of these, how many of its commits are in force, whether its first one
/// is among them, and whether one was taken back.
fn turns(tree: &OsTree) -> Vec<(Option<&'static str>, usize, bool, bool)> {
    let name =
        |turn: ContentHash| ["one", "two"].into_iter().find(|name| ContentHash::of(name.as_bytes()) == turn);
    let kept = tree.kept_turns().unwrap();
    kept.iter()
        .map(|kept| (kept.turn.and_then(name), kept.commits.len(), kept.is_whole, kept.is_undone))
        .collect()
}

#[test]
fn the_commits_of_a_turn_are_known_as_one_to_every_later_process() {
    let place = Place::new();
    place.write_in(Some("one"), "a", "2\n");
    place.write_in(Some("one"), "b", "new\n");
    place.write("c", "by itself\n");
    place.write_in(Some("two"), "a", "3\n");
    let options = OsOptions {
        state: Some(place.folder.path().join("state")),
        undo: UndoLimit { accepts: 20, bytes: 1 << 30 },
        ..OsOptions::default()
    };
    let later = OsTree::open_with(place.folder.path().join("workspace"), options).unwrap();
    let expected = [(Some("one"), 2, true, false), (None, 1, true, false), (Some("two"), 1, true, false)];
    assert_eq!(turns(&later), expected);
    let kept = later.kept_turns().unwrap();
    let written: Vec<_> =
        kept[0].written.iter().map(|(path, contents)| (path.to_string(), contents.clone())).collect();
    assert_eq!(
        written,
        [("a".to_owned(), vec![ContentHash::of(b"2\n")]), ("b".to_owned(), vec![ContentHash::of(b"new\n")])]
    );
    for (at, left) in [(2, Some("2\n")), (0, Some("1\n"))] {
        assert_eq!(later.undo_several(&kept[at].commits).unwrap().commits, kept[at].commits.len());
        assert_eq!(place.read("a").as_deref(), left);
    }
    assert_eq!((place.read("b"), place.read("c").as_deref()), (None, Some("by itself\n")));
    let in_force: Vec<_> = turns(&later).into_iter().filter(|(_, commits, ..)| 0 < *commits).collect();
    assert_eq!(in_force, [(None, 1, true, false)]);
    assert!(turns(&later).contains(&(Some("one"), 0, false, true)), "{:?}", turns(&later));
}

#[test]
fn a_turn_whose_first_commits_are_kept_no_more_is_known_not_to_be_whole() {
    let place = Place::new();
    for number in 0..45 {
        place.write_in(Some("one"), "a", &format!("{number}\n"));
    }
    assert_eq!(turns(&place.tree), [(Some("one"), 45, true, false)], "the last turn is kept as a whole");
    place.write_in(Some("two"), "a", "more\n");
    // Room for the next accept is made while work ahead waits for it.
    let overlay = Overlay::new(place.tree.clone(), Quota::default());
    block_on(overlay.write(&WorkspacePath::parse("c").unwrap(), b"c\n".to_vec())).unwrap();
    block_on(place.tree.prepare(&overlay.change_set())).unwrap();
    let [(Some("one"), kept, false, false), (Some("two"), 1, true, false)] = turns(&place.tree)[..] else {
        panic!("{:?}", turns(&place.tree))
    };
    assert_eq!(kept, 18);
    let two = place.tree.kept_turns().unwrap().remove(1);
    assert_eq!(place.tree.undo_several(&two.commits).unwrap().commits, 1);
    assert_eq!(place.read("a").as_deref(), Some("44\n"));
}
