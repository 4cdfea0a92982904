//! Everything that git can do in a view is in the user's repository after an accept, together with the files, and is
//! gone after an undo.

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{CommitOptions, CommitOutcome, OsTree, UndoOutcome};

use crate::world::{World, accept, tables};

/// A script that prepares the repository, the script that runs in the view, and the summary of its work.
type Row = (&'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    ("", "echo more >> a.txt; git commit -qam second", "1 commit on main"),
    ("", "echo new > new.txt; git add new.txt; git commit -qm new", "1 commit on main"),
    ("", "git rm -q src/b.txt; git commit -qm less", "1 commit on main"),
    ("", "git mv a.txt c.txt; git commit -qm moved", "1 commit on main"),
    ("", "chmod +x a.txt; git commit -qam bits; chmod -x a.txt; git commit -qam back", "2 commits on main"),
    ("", "for i in 1 2 3; do echo $i >> a.txt; git commit -qam $i; done", "3 commits on main"),
    ("", "git commit -q --allow-empty -m nothing", "1 commit on main"),
    ("", "git commit -q --amend -m other", "1 commit on main"),
    ("", "git tag v1; git tag -a v2 -m two", "tag v1, tag v2"),
    ("git tag v1; git tag -a v2 -m two", "git tag -d v1 v2", "tag v1 removed, tag v2 removed"),
    ("", "git branch topic", "branch topic"),
    ("git branch topic", "git branch -q -D topic", "branch topic removed"),
    ("", "git notes add -m note", "1 commit on notes/commits"),
    ("", "echo more >> a.txt; git stash -q", "1 stash"),
    ("", "echo new > new.txt; git add new.txt", "1 path staged for git"),
    ("", "echo new > new.txt; echo more >> a.txt; git add .", "2 paths staged for git"),
    ("echo more >> a.txt; git add a.txt", "git commit -qm staged", "1 commit on main"),
    ("echo more >> a.txt", "git commit -qam theirs", "1 commit on main"),
    (
        "git branch topic; git checkout -q topic; echo t > t.txt; git add .; git commit -qm t; git checkout -q main",
        "echo m > m.txt; git add .; git commit -qm m; git merge -q --no-edit topic",
        "2 commits on main",
    ),
    ("git checkout -q --detach", "echo more >> a.txt; git commit -qam detached", "1 commit on HEAD"),
    (
        "git commit -q --allow-empty -m b; git pack-refs --all; git gc -q",
        "git tag v1; git commit -q --allow-empty -m x",
        "",
    ),
    ("git tag v1; git pack-refs --all", "git tag -d v1; git pack-refs --all", "tag v1 removed"),
    (
        "",
        "echo more >> a.txt; git commit -qam more; git gc -q --prune=now; git pack-refs --all",
        "1 commit on main",
    ),
    (
        "",
        "for i in $(seq 150); do echo $i > f$i.txt; done; git add .; git commit -qm many",
        "1 commit on main",
    ),
    (
        "",
        "git checkout -q -b topic; echo t > t.txt; git add .; git commit -qm t; git checkout -q main",
        "1 commit on topic",
    ),
    ("", "git switch -q -c topic", "branch topic, switched to topic"),
    (
        "",
        "git checkout -q -b fix/a; echo more >> a.txt; git commit -qam more",
        "1 commit on fix/a, switched to fix/a",
    ),
    (
        "git tag v1; git commit -q --allow-empty -m b",
        "git switch -q -c old v1",
        "branch old, switched to old",
    ),
    ("", "echo more >> a.txt; git commit -qam a; git reset -q --hard HEAD~1", "nothing"),
];

fn play(init: &[&str]) {
    let is_reftable = init.contains(&"--ref-format=reftable");
    for (before, script, told) in ROWS.iter().filter(|row| !is_reftable || !row.2.contains("switched to")) {
        let world = World::with(init);
        if !before.is_empty() {
            let ran = std::process::Command::new("sh")
                .args(["-euc", before])
                .current_dir(world.user())
                .envs([
                    ("GIT_CONFIG_GLOBAL", "/dev/null"),
                    ("GIT_AUTHOR_NAME", "A"),
                    ("GIT_AUTHOR_EMAIL", "a@b"),
                ])
                .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@b")])
                .status();
            assert!(ran.unwrap().success(), "{before}");
        }
        let (old, whole) = (world.seen(), world.whole());
        let work = world.work(script);
        assert_eq!(world.whole(), whole, "nothing changed before the accept: {script}");
        let Some(git) = &work.git else {
            assert_eq!(*told, "nothing", "{script}");
            continue;
        };
        assert_eq!(git.boundary(), None, "{script}");
        assert!(told.is_empty() || git.summary() == *told, "{script}: {}", git.summary());
        world.accepted(&work);
        let new = world.seen();
        assert_ne!(new, old, "{script}");
        assert_eq!(new, World::of_view(&world).seen(), "as in the view: {script}");
        // The accept is repeated, because the caller may have died before it could note that the first one was done.
        let again = CommitOptions { repeated: true, ..CommitOptions::default() };
        assert!(matches!(accept(&world.tree(), &work, again), Ok(CommitOutcome::Committed(_))), "{script}");
        assert_eq!(world.seen(), new, "{script}");
        world.undone(&work);
        assert_eq!(world.seen(), old, "undone: {script}");
        world.accepted(&work);
        assert_eq!(world.seen(), new, "and made again: {script}");
    }
}

#[test]
fn everything_that_git_does_is_accepted_undone_and_accepted_again() {
    play(&["init", "-q", "-b", "main"]);
}

#[test]
fn the_same_where_objects_are_named_by_sha_256() {
    play(&["init", "-q", "-b", "main", "--object-format=sha256"]);
}

#[test]
fn the_same_where_refs_are_in_tables() {
    if let Some(init) = tables() {
        play(init);
    }
}

/// The first commit makes the branch, so an undo must remove it again.
#[test]
fn the_first_commit_of_a_repository_is_one_like_any_other() {
    for init in [Some(&["init", "-q", "-b", "main"][..]), tables()].into_iter().flatten() {
        let world = World::empty(init);
        let old = world.seen();
        let work = world.work("echo one > a.txt; git add .; git commit -qm first");
        assert_eq!(work.git.as_ref().unwrap().summary(), "1 commit on main");
        world.accepted(&work);
        assert_eq!(world.status(), "");
        assert_eq!(world.git(&["log", "--format=%s"]), "first\n");
        world.undone(&work);
        assert_eq!(world.seen(), old);
    }
}

#[test]
fn the_last_accept_is_undone_without_being_named() {
    let world = World::new();
    let old = world.seen();
    let work = world.work("echo more >> a.txt; git commit -qam second");
    world.accepted(&work);
    assert!(matches!(world.tree().undo_last(), Ok(UndoOutcome::Undone { .. })));
    assert_eq!(world.seen(), old);
}

/// Two accepts may change no file, so the digest by which an undo finds them must depend on git's changes too.
#[test]
fn two_accepts_of_no_file_are_told_apart() {
    let world = World::new();
    let (one, two) = (world.work("git tag one"), world.work("git tag two"));
    let digest = |work: &crate::world::Work| {
        work.changes.digest_with(work.git.as_ref().map(GitChange::beside).as_deref())
    };
    assert_ne!(digest(&one), digest(&two));
    world.accepted(&one);
    world.accepted(&two);
    world.undone(&one);
    assert_eq!(world.git(&["tag"]), "two\n");
}

/// As after the user's own `git switch -c`, `git switch -` leads back.
#[test]
fn the_way_back_from_a_new_branch_is_known() {
    let world = World::new();
    let work = world.work("git switch -q -c topic; echo more >> a.txt; git commit -qam more");
    world.accepted(&work);
    assert_eq!(world.git(&["branch", "--show-current"]), "topic\n");
    world.git(&["switch", "-q", "-"]);
    assert_eq!(
        (world.git(&["branch", "--show-current"]), world.status()),
        ("main\n".to_owned(), String::new())
    );
    world.git(&["switch", "-q", "-"]);
    world.undone(&work);
    assert_eq!((world.git(&["branch"]), world.status()), ("* main\n".to_owned(), String::new()));
}

#[test]
fn a_reflog_tells_of_an_accept() {
    let world = World::new();
    world.accepted(&world.work("echo more >> a.txt; git commit -qam second"));
    let log = world.git(&["reflog", "-1", "--format=%gs"]);
    assert_eq!(log, "headstart: accept\n");
}

/// The objects of a commit are in a pack in the state folder. If the pack was changed or removed, nothing is applied.
#[test]
fn a_pack_that_was_changed_is_no_accept() {
    let world = World::new();
    let old = world.seen();
    let work = world.work("echo more >> a.txt; git commit -qam second");
    let pack = world.state().join("work.pack");
    let mut bytes = std::fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&pack, bytes).unwrap();
    assert!(world.accept(&work).unwrap_err().to_string().contains("work.pack"));
    assert_eq!(world.seen(), old);
    std::fs::remove_file(&pack).unwrap();
    assert!(world.accept(&work).is_err());
    assert_eq!(world.seen(), old);
    world.check();
}

/// A tree that was opened without a participant for git must not accept the files alone.
#[test]
fn a_tree_without_a_participant_says_so_and_changes_nothing() {
    let world = World::new();
    let old = world.seen();
    let work = world.work("echo more >> a.txt; git commit -qam second");
    let tree = OsTree::open(world.user()).unwrap();
    assert!(accept(&tree, &work, CommitOptions::default()).is_err());
    assert_eq!(world.seen(), old);
}
