//! What an undo of files asks of the repository around them.

use std::collections::BTreeMap;
use std::path::Path;

use headstart_git_ahead::{Git, ObjectName, Surroundings};
use headstart_overlay_fs::{ContentHash, WorkspacePath};

use crate::world::{World, git_in};

fn around(workspace: &Path) -> Surroundings {
    let git = Git::find(&std::env::var_os("PATH").unwrap()).unwrap();
    Surroundings::find(git, workspace).unwrap().unwrap()
}

fn path(path: &str) -> WorkspacePath {
    WorkspacePath::parse(path).unwrap()
}

/// What work wrote: one content for each path, none for one that it removed.
fn written(files: &[(&str, Option<&str>)]) -> BTreeMap<WorkspacePath, Vec<ContentHash>> {
    let hash = |content: &str| ContentHash::of(content.as_bytes());
    files.iter().map(|(name, content)| (path(name), content.map(hash).into_iter().collect())).collect()
}

fn unstaged(world: &World, files: &[(&str, Option<&str>)]) -> Vec<(String, bool)> {
    let unstaged = around(&world.user()).unstage(&written(files)).unwrap();
    unstaged.into_iter().map(|one| (one.path.to_string(), one.is_staged)).collect()
}

#[test]
fn a_commit_of_these_files_is_found_and_none_of_others_nor_an_older_one() {
    let world = World::new();
    let git = around(&world.user());
    let since = |files: &[&str], seconds, except: &[ObjectName]| {
        let files: Vec<_> = files.iter().map(|file| (*file, Some("of the work"))).collect();
        git.committed_since(&written(&files), seconds, except).unwrap()
    };
    let first = since(&["src/b.txt"], 0, &[]).unwrap();
    assert!(first.ends_with(" first"), "{first}");
    assert_eq!(since(&["src/c.txt"], 0, &[]), None);
    assert_eq!(since(&[], 0, &[]), None);
    assert_eq!(since(&["a.txt"], 4_000_000_000, &[]), None);
    let own = ObjectName::parse(world.git(&["rev-parse", "HEAD"]).trim()).unwrap();
    assert_eq!(since(&["a.txt"], 0, std::slice::from_ref(&own)), None, "the work made this commit itself");
    world.write("a.txt", "mine\n");
    world.git(&["commit", "-qam", "it is good"]);
    assert!(since(&["a.txt"], 0, &[own]).unwrap().ends_with(" it is good"));
    // A pattern is a name like any other.
    assert_eq!(since(&["*.txt"], 0, &[]), None);
}

/// Git's times are whole seconds.
#[test]
fn a_commit_of_the_same_second_counts_if_it_has_what_the_work_wrote() {
    let world = World::new();
    let git = around(&world.user());
    let made: u64 = world.git(&["log", "-1", "--format=%ct"]).trim().parse().unwrap();
    let since = |content| git.committed_since(&written(&[("a.txt", content)]), made, &[]).unwrap();
    assert_eq!(since(Some("what it wrote\n")), None, "the commit was there before");
    assert!(since(Some("one\n")).unwrap().ends_with(" first"));
    assert_eq!(since(None), None);
}

#[test]
fn a_repository_above_the_workspace_and_a_linked_work_tree_are_asked_as_well() {
    let world = World::new();
    let below = around(&world.user().join("src"));
    assert!(below.committed_since(&written(&[("b.txt", Some("x"))]), 0, &[]).unwrap().is_some());
    assert_eq!(below.committed_since(&written(&[("a.txt", Some("x"))]), 0, &[]).unwrap(), None);
    world.write("src/new.txt", "new\n");
    world.git(&["add", "src/new.txt"]);
    std::fs::remove_file(world.user().join("src/new.txt")).unwrap();
    let unstaged = below.unstage(&written(&[("new.txt", Some("new\n"))])).unwrap();
    assert_eq!((unstaged.len(), world.git(&["status", "--porcelain"]).as_str()), (1, ""));

    let linked = world.path.join("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    std::fs::write(linked.join("a.txt"), "there\n").unwrap();
    git_in(&linked, &["commit", "-qam", "in the other one"]);
    let told = around(&linked).committed_since(&written(&[("a.txt", Some("x"))]), 0, &[]).unwrap().unwrap();
    assert!(told.ends_with(" in the other one"), "{told}");
    let empty = tempfile::tempdir().unwrap();
    let git = Git::find(&std::env::var_os("PATH").unwrap()).unwrap();
    assert!(Surroundings::find(git, empty.path()).unwrap().is_none());
}

#[test]
fn what_work_wrote_is_not_staged_after_its_undo_and_what_the_user_staged_is() {
    for init in [&["init", "-q", "-b", "main"][..], &["init", "-q", "-b", "main", "--object-format=sha256"]] {
        let world = World::with(init);
        for (file, content) in
            [("new.txt", "new\n"), ("a.txt", "work\n"), ("mine.txt", "mine\n"), ("draft.txt", "1\n")]
        {
            world.write(file, content);
        }
        world.git(&["add", "--all"]);
        world.write("draft.txt", "2\n");
        world.git(&["add", "draft.txt"]);
        // The undo: files are as before the work, which wrote all of these but the staged content of `mine.txt`.
        std::fs::remove_file(world.user().join("new.txt")).unwrap();
        world.write("a.txt", "one\n");
        world.write("draft.txt", "1\n");
        let files = [
            ("new.txt", Some("new\n")),
            ("a.txt", Some("work\n")),
            ("mine.txt", Some("other\n")),
            ("draft.txt", Some("2\n")),
            ("src/b.txt", None),
        ];
        let expected =
            [("a.txt".to_owned(), false), ("draft.txt".to_owned(), true), ("new.txt".to_owned(), false)];
        assert_eq!(unstaged(&world, &files), expected);
        assert_eq!(world.git(&["status", "--porcelain"]), "A  draft.txt\nA  mine.txt\n");
        assert_eq!(unstaged(&world, &files), []);
    }
}

/// What the user had written and not staged stays in the work tree; the index holds what the last commit has.
#[test]
fn a_file_with_edits_that_were_never_staged_is_as_committed_in_the_index() {
    let world = World::new();
    world.write("a.txt", "work over mine\n");
    world.git(&["add", "a.txt"]);
    world.write("a.txt", "mine\n");
    assert_eq!(unstaged(&world, &[("a.txt", Some("work over mine\n"))]), [("a.txt".to_owned(), false)]);
    assert_eq!(world.git(&["status", "--porcelain"]), " M a.txt\n");
}

#[test]
fn before_the_first_commit_nothing_is_committed_and_everything_can_be_unstaged() {
    let world = World::empty(&["init", "-q"]);
    world.write("new.txt", "new\n");
    world.git(&["add", "new.txt"]);
    assert_eq!(
        around(&world.user()).committed_since(&written(&[("new.txt", Some("new\n"))]), 0, &[]).unwrap(),
        None
    );
    std::fs::remove_file(world.user().join("new.txt")).unwrap();
    assert_eq!(unstaged(&world, &[("new.txt", Some("new\n"))]), [("new.txt".to_owned(), false)]);
    assert_eq!(world.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_commit_was_pushed_if_a_branch_of_another_repository_has_it() {
    let world = World::new();
    let git = around(&world.user());
    let head = || ObjectName::parse(world.git(&["rev-parse", "HEAD"]).trim()).unwrap();
    let first = head();
    assert_eq!(git.pushed_to(&first).unwrap(), None);
    let other = world.path.join("other");
    world.git(&["init", "-q", "--bare", other.to_str().unwrap()]);
    world.git(&["remote", "add", "shared", other.to_str().unwrap()]);
    world.git(&["push", "-q", "shared", "HEAD:refs/heads/there"]);
    assert_eq!(git.pushed_to(&first).unwrap().as_deref(), Some("shared/there"));
    world.write("a.txt", "mine\n");
    world.git(&["commit", "-qam", "not pushed"]);
    assert_eq!(git.pushed_to(&head()).unwrap(), None);
    let unknown = ObjectName::parse(&"1".repeat(40)).unwrap();
    assert_eq!(git.pushed_to(&unknown).unwrap(), None);
}
