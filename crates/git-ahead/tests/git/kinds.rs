//! What an accept never applies is reported, and repositories of other kinds are left alone with the reason.

use std::fs;

use headstart_git_ahead::{GitError, Snapshot};

use crate::world::{World, git_in, tables};

/// Changes of files that decide what git does, such as hooks and configuration, are reported and refuse the accept.
#[test]
fn what_steers_git_is_told_and_never_applied() {
    let rows = [
        ("git config core.fsmonitor ./evil", ".git/config"),
        (
            "echo '#!/bin/sh' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
            ".git/hooks/post-commit",
        ),
        ("echo '* filter=x' > .git/info/attributes", ".git/info/attributes"),
        ("echo secret >> .git/info/exclude", ".git/info/exclude"),
        ("echo ../../../elsewhere > .git/objects/info/alternates", ".git/objects/info/alternates"),
        ("mkdir -p .git/modules/x; echo x > .git/modules/x/config", ".git/modules/x/config"),
        ("git branch -m other", ".git/HEAD"),
        ("git commit -q --allow-empty -m x; git switch -q -c other", ".git/HEAD"),
        ("git symbolic-ref HEAD refs/heads/other", ".git/HEAD"),
        (
            "git symbolic-ref HEAD refs/tags/other; git update-ref refs/tags/other $(git rev-parse main)",
            ".git/HEAD",
        ),
        ("git branch -q there; git -c advice.x=0 checkout -q there; git branch -q -D main", ".git/HEAD"),
        ("git checkout -q --detach", ".git/HEAD"),
        ("git update-ref refs/remotes/origin/main HEAD", ".git/refs/remotes/origin/main"),
        ("git replace -f $(git rev-parse HEAD) $(git commit-tree -m x HEAD^{tree})", ".git/refs/replace/"),
        ("git symbolic-ref refs/heads/alias refs/heads/main", ".git/refs/heads/alias"),
        ("git reflog expire --expire=now --all", ".git/logs/HEAD"),
        (
            "git branch -q x; git checkout -q x; echo 1 > a.txt; git commit -qam 1; git checkout -q main; echo 2 > a.txt; \
          git commit -qam 2; git merge -q x || true",
            ".git/MERGE_HEAD",
        ),
        ("echo 1 >> a.txt; git stash -q; echo 2 >> a.txt; git stash -q", ".git/refs/stash"),
        ("git worktree add -q ../linked-$$ 2>/dev/null", ".git/worktrees/"),
        ("rm -rf .git", ".git"),
        ("touch .git/index.lock", ".git/index.lock"),
    ];
    for (script, told) in rows {
        let world = World::new();
        let (seen, whole) = (world.seen(), world.whole());
        let work = world.work(script);
        let change = work.git.as_ref().unwrap_or_else(|| panic!("{script}"));
        assert!(change.other.iter().any(|path| path.starts_with(told)), "{script}: {:?}", change.other);
        assert!(change.boundary().is_some(), "{script}");
        assert_eq!(world.whole(), whole, "{script}");
        assert!(world.accept(&work).is_err(), "{script}");
        assert_eq!(world.seen(), seen, "{script}");
        world.check();
    }
}

/// Git cannot make a branch in a folder of refs whose name is a branch of the user, so this is reported.
#[test]
fn a_branch_in_the_place_of_anothers_folder_is_told() {
    let world = World::new();
    world.git(&["branch", "a"]);
    let work = world.work("git branch -q -D a; git branch a/b");
    assert!(work.git.unwrap().boundary().unwrap().contains(".git/refs/heads/a/b"));
}

/// Commands that change neither refs nor the meaning of the index are no change.
#[test]
fn what_says_nothing_to_git_is_no_change() {
    let world = World::new();
    for script in ["true", "git status", "git log", "echo x > .git/COMMIT_EDITMSG", "git gc -q", "git add ."]
    {
        assert_eq!(world.work(script).git, None, "{script}");
    }
}

/// A switch to a branch that the user has is not done for them, nor any where git keeps refs in tables.
#[test]
fn another_switch_is_told() {
    let world = World::new();
    world.git(&["branch", "theirs"]);
    let work = world.work("git switch -q theirs");
    assert!(work.git.unwrap().boundary().unwrap().contains("another branch"));
    let Some(init) = tables() else { return };
    let work = World::with(init).work("git switch -q -c topic");
    assert!(work.git.unwrap().boundary().unwrap().contains("another branch"));
}

#[test]
fn a_folder_without_a_repository_has_no_change() {
    let world = World::new();
    fs::remove_dir_all(world.user().join(".git")).unwrap();
    assert!(world.snapshot().is_none());
    world.start_view();
    assert_eq!(world.read_view(None).unwrap(), None);
    world.run("git init -q");
    let change = world.read_view(None).unwrap().unwrap();
    assert!(change.boundary().is_some(), "a new repository may hold hooks");
}

/// Linked worktrees, partial clones and repositories behind a link are not supported, and the error says so.
#[test]
fn other_kinds_of_repositories_are_left_alone() {
    let world = World::new();
    let linked = world.path.join("linked");
    git_in(&world.user(), &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let partial = world.path.join("partial");
    fs::create_dir(&partial).unwrap();
    git_in(&partial, &["init", "-q"]);
    git_in(&partial, &["config", "core.repositoryformatversion", "1"]);
    git_in(&partial, &["config", "extensions.partialClone", "origin"]);
    let elsewhere = world.path.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(world.user().join(".git"), elsewhere.join(".git")).unwrap();
    for folder in [linked, partial, elsewhere] {
        let taken = Snapshot::take(fs::File::open(&folder).unwrap(), &world.state());
        assert!(matches!(taken, Err(GitError::Unsupported { .. })), "{}: {taken:?}", folder.display());
    }
}

#[test]
fn a_shallow_clone_takes_commits() {
    let world = World::new();
    world.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let clone = World::empty(&["init", "-q"]);
    fs::remove_dir_all(clone.user()).unwrap();
    let from = format!("file://{}", world.user().display());
    git_in(&clone.path, &["clone", "-q", "--depth=1", &from, "user"]);
    let work = clone.work("echo more >> a.txt; git commit -qam third");
    clone.accepted(&work);
    assert_eq!(clone.git(&["log", "--format=%s"]), "third\nsecond\n");
}

/// An index in two files, one of which several indexes share, is read and written as a whole one.
#[test]
fn a_split_index_takes_commits() {
    let world = World::new();
    world.git(&["config", "core.splitIndex", "true"]);
    world.git(&["update-index", "--split-index"]);
    let shared = || {
        let names = fs::read_dir(world.user().join(".git")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("sharedindex.")).count()
    };
    assert_eq!(shared(), 1);
    let before = world.seen();
    let work = world
        .work("echo more >> a.txt; git add a.txt; echo new > new.txt; git add new.txt; git commit -qm x");
    world.accepted(&work);
    assert_eq!(world.status(), "");
    assert_eq!(world.git(&["ls-files"]), "a.txt\nnew.txt\nsrc/b.txt\n");
    assert!(matches!(world.undo(&work), Ok(headstart_overlay_fs::UndoOutcome::Undone { .. })));
    assert_eq!(world.seen(), before);
}
