//! Finds out what a user has undone since the model last heard of its files.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    CommitOptions, CommitOutcome, MemoryTree, Overlay, Quota, Tree as _, Workspace as _, WorkspacePath,
};
use headstart_speculation::{UndoReport, UndoWatch};

struct Project {
    tree: Arc<MemoryTree>,
    watch: Arc<UndoWatch>,
}

impl Project {
    fn of(files: &[(&str, &str)]) -> Self {
        let tree = Arc::new(MemoryTree::from_files(files.iter().copied()).unwrap());
        let watch = Arc::new(UndoWatch::new(tree.clone()));
        Self { tree, watch }
    }

    fn work(&self, edit: impl AsyncFnOnce(&Overlay)) -> Overlay {
        let overlay = Overlay::new(self.watch.clone(), Quota::default());
        block_on(edit(&overlay));
        overlay
    }

    fn commit(&self, work: &Overlay) {
        let outcome = block_on(self.watch.commit(&work.change_set(), CommitOptions::default())).unwrap();
        assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    }

    /// Writes these files as accepted work.
    fn write(&self, files: &[(&str, &str)]) {
        self.commit(&self.work(async |overlay| {
            for (at, content) in files {
                overlay.write(&path(at), content.as_bytes().to_vec()).await.unwrap();
            }
        }));
    }

    /// Changes a file as the user would.
    fn edit(&self, at: &str, content: &str) {
        self.tree.write(&path(at), content);
    }

    fn undo_report(&self) -> UndoReport {
        block_on(self.watch.undo_report())
    }

    /// The news as `-path` (undone) and `+path` (redone), followed by `!` if the file does not exist.
    fn shown(&self) -> String {
        let report = self.undo_report();
        let undone = report.undone.iter().map(|file| ('-', file));
        let all = undone.chain(report.redone.iter().map(|file| ('+', file)));
        let words =
            all.map(|(sign, file)| format!("{sign}{}{}", file.path, if file.exists { "" } else { "!" }));
        words.collect::<Vec<_>>().join(" ")
    }
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

#[test]
fn what_is_back_as_it_was_is_told_once_and_so_is_its_return() {
    let project = Project::of(&[("a", "1\n"), ("b", "1\n")]);
    assert_eq!(project.shown(), "");
    project.write(&[("a", "2\n"), ("new/c", "c\n")]);
    assert_eq!(project.shown(), "");
    project.edit("a", "1\n");
    project.tree.remove(&path("new/c"));
    assert_eq!(project.shown(), "-a -new/c!");
    // A file that was redone before the model was told is not reported at all.
    project.edit("a", "2\n");
    assert_eq!(project.shown(), "-new/c!");
    let report = project.undo_report();
    project.watch.acknowledge(&report);
    assert_eq!(project.shown(), "");
    project.edit("new/c", "c\n");
    assert_eq!(project.shown(), "+new/c");
    // A text that is the user's own is not reported, and neither is another file.
    project.edit("new/c", "mine\n");
    project.edit("b", "mine\n");
    assert_eq!(project.shown(), "");
}

#[test]
fn of_several_commits_some_or_all_are_undone() {
    let project = Project::of(&[("a", "1\n")]);
    project.write(&[("a", "2\n")]);
    project.write(&[("a", "3\n")]);
    project.edit("a", "2\n");
    assert_eq!(project.shown(), "-a");
    project.watch.acknowledge(&project.undo_report());
    project.edit("a", "1\n");
    assert_eq!(project.shown(), "-a");
    project.edit("a", "3\n");
    assert_eq!(project.shown(), "+a");
    // New work is based on what was undone: earlier contents of the file no longer count.
    project.edit("a", "1\n");
    project.watch.acknowledge(&project.undo_report());
    project.write(&[("a", "other\n")]);
    project.edit("a", "3\n");
    assert_eq!(project.shown(), "");
    project.edit("a", "1\n");
    assert_eq!(project.shown(), "-a");
    // News that are reported when their turn has ended say nothing of what that turn wrote.
    let report = project.undo_report();
    project.write(&[("a", "made in the turn\n")]);
    project.watch.acknowledge(&report);
    assert_eq!(project.shown(), "");
    project.edit("a", "1\n");
    assert_eq!(project.shown(), "-a");
    // Work that itself restored the earlier content is no undo.
    let project = Project::of(&[("a", "1\n")]);
    project.write(&[("a", "2\n")]);
    project.write(&[("a", "1\n")]);
    assert_eq!(project.shown(), "");
}

#[test]
fn a_merged_file_is_undone_when_the_users_own_text_is_back() {
    let project = Project::of(&[("a", "1\n2\n3\n4\n5\n")]);
    let work = project.work(async |overlay| {
        overlay.write(&path("a"), "one\n2\n3\n4\n5\n".into()).await.unwrap();
    });
    project.edit("a", "1\n2\n3\n4\nfive\n");
    project.commit(&work);
    assert_eq!(block_on(project.tree.read(&path("a"))).unwrap(), b"one\n2\n3\n4\nfive\n");
    assert_eq!(project.shown(), "");
    project.edit("a", "1\n2\n3\n4\nfive\n");
    assert_eq!(project.shown(), "-a");
    project.edit("a", "1\n2\n3\n4\n5\n");
    assert_eq!(project.shown(), "", "that was never there between the two");
}

#[test]
fn an_editor_may_write_the_line_endings_anew() {
    let project = Project::of(&[("a", "1\r\n2\n3\r")]);
    project.write(&[("a", "one\n2\n3\n")]);
    project.edit("a", "one\r\n2\r\n3\r\n");
    assert_eq!(project.shown(), "");
    project.edit("a", "1\r\n2\r\n3\r\n");
    assert_eq!(project.shown(), "-a");
    let project = Project::of(&[("a", "1\r\n2\r\n")]);
    project.write(&[("a", "1\n2\n")]);
    project.edit("a", "1\r\n2\r\n");
    assert_eq!(project.shown(), "", "nothing but the line endings was changed");
}

#[test]
fn a_move_that_is_undone_is_both_its_files() {
    let project = Project::of(&[("old", "x\n")]);
    project.commit(&project.work(async |overlay| overlay.rename(&path("old"), &path("new")).await.unwrap()));
    project.tree.remove(&path("new"));
    project.edit("old", "x\n");
    assert_eq!(project.shown(), "-new! -old");
}

#[test]
fn what_is_no_file_any_more_is_no_news() {
    let project = Project::of(&[("a", "1\n"), ("b", "1\n")]);
    project.write(&[("a", "2\n"), ("b", "2\n")]);
    project.tree.remove(&path("a"));
    project.tree.make_dir(&path("a"));
    project.tree.remove(&path("b"));
    project.tree.link(&path("b"), "elsewhere");
    assert_eq!(project.shown(), "");
}

#[test]
fn what_was_not_committed_is_not_followed() {
    let project = Project::of(&[("a", "1\n")]);
    let work = project.work(async |overlay| overlay.write(&path("a"), "2\n".into()).await.unwrap());
    project.edit("a", "mine\n");
    let outcome = block_on(project.watch.commit(&work.change_set(), CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Conflict(_)));
    project.edit("a", "1\n");
    assert_eq!(project.shown(), "");
    project.write(&[("a", "2\n")]);
    project.watch.forget_all();
    project.edit("a", "1\n");
    assert_eq!(project.shown(), "");
}

#[test]
fn the_words_name_every_file_and_stand_before_the_prompt() {
    let project = Project::of(&[("a", "1\n"), ("b", "1\n")]);
    assert_eq!(project.undo_report().prepend_to("go on"), "go on");
    assert_eq!(project.undo_report().user_message(), "");
    project.write(&[("a", "2\n"), ("b", "2\n"), ("c", "new\n")]);
    project.edit("b", "1\n");
    project.watch.acknowledge(&project.undo_report());
    project.edit("b", "2\n");
    project.edit("a", "1\n");
    project.tree.remove(&path("c"));
    assert_eq!(
        project.undo_report().prepend_to("go on"),
        "[Note: the user has undone changes that you made. These files are as they were before them:\n\
         - a\n\
         - c (there is no such file now)\n\
         The user has made changes of yours again that were undone. These files hold them now:\n\
         - b]\n\
         \n\
         go on"
    );
    assert_eq!(
        project.undo_report().user_message(),
        "The model is told that you have undone its changes of a, c, and you have redone its changes of b."
    );
    let many = Project::of(&[]);
    let names: Vec<_> = (0..25).map(|number| format!("{number:02}")).collect();
    many.write(&names.iter().map(|name| (name.as_str(), "x\n")).collect::<Vec<_>>());
    for name in &names {
        many.tree.remove(&path(name));
    }
    let note = many.undo_report().note();
    assert!(note.ends_with("- 19 (there is no such file now)\n- and 5 more]"), "{note}");
}
