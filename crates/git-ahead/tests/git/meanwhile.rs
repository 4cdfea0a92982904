//! What users do while the work is under way, or after it was accepted, is never lost.

use headstart_git_ahead::MergeCheck;
use headstart_overlay_fs::{CommitOutcome, UndoOutcome};

use crate::world::{Work, World, git_in, program, tables};

const COMMITS: &str = "echo more >> a.txt; git commit -qam second";
const SWITCHES: &str = "git switch -q -c topic; echo more >> a.txt; git commit -qam second";

fn work(world: &World) -> Work {
    world.work(COMMITS)
}

/// If the user commits meanwhile, the work is a conflict about the branch, and nothing is written.
#[test]
fn a_commit_of_the_users_is_a_conflict_and_nothing_is_written() {
    let worlds = [World::new(), World::with(&["init", "-q", "-b", "main", "--object-format=sha256"])];
    for world in worlds.into_iter().chain(tables().map(World::with)) {
        let work = work(&world);
        world.write("src/b.txt", "theirs\n");
        world.git(&["commit", "-qam", "theirs"]);
        let seen = world.seen();
        assert_eq!(world.conflicts(&work), [".git/refs/heads/main"]);
        assert_eq!(world.seen(), seen);
        world.check();
    }
}

/// Whatever the user does to a ref that the work moved, or to `HEAD`, is a conflict.
#[test]
fn every_move_of_a_ref_is_a_conflict() {
    let rows: &[(&[&str], &str, &[&str], &str)] = &[
        (&[], COMMITS, &["commit", "-q", "--amend", "-m", "other"], ".git/refs/heads/main"),
        (&[], "git tag v1", &["tag", "v1", "-m", "theirs"], ".git/refs/tags/v1"),
        (&["branch", "topic"], "git branch -q -D topic", &["branch", "-f", "topic", "HEAD^{/none}~0"], ""),
        (
            &["branch", "topic"],
            "git branch -q -D topic",
            &["branch", "-q", "-D", "topic"],
            ".git/refs/heads/topic",
        ),
        (&[], "git branch topic", &["branch", "topic", "HEAD"], ""),
        (
            &["checkout", "-q", "--detach"],
            COMMITS,
            &["commit", "-q", "--allow-empty", "-m", "theirs"],
            ".git/HEAD",
        ),
        (&["checkout", "-q", "--detach"], COMMITS, &["checkout", "-q", "main"], ".git/HEAD"),
        (&[], COMMITS, &["checkout", "-q", "-b", "elsewhere"], ".git/HEAD"),
        (&[], COMMITS, &["checkout", "-q", "--detach"], ".git/HEAD"),
        (&[], SWITCHES, &["checkout", "-q", "--detach"], ".git/HEAD"),
        (&[], SWITCHES, &["checkout", "-q", "-b", "elsewhere"], ".git/HEAD"),
        (&[], SWITCHES, &["branch", "topic"], ".git/refs/heads/topic"),
    ];
    for (before, script, meanwhile, at) in rows.iter().filter(|row| !row.3.is_empty()) {
        let world = World::new();
        if !before.is_empty() {
            world.git(before);
        }
        let work = world.work(script);
        world.git(meanwhile);
        let seen = world.seen();
        assert_eq!(world.conflicts(&work), [*at], "{script} and {meanwhile:?}");
        assert_eq!(world.seen(), seen, "{script} and {meanwhile:?}");
        world.check();
    }
}

#[test]
fn a_first_commit_of_theirs_in_a_new_repository_stays() {
    let world = World::empty(&["init", "-q", "-b", "main"]);
    let work = world.work("echo one > a.txt; git add .; git commit -qm first");
    world.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    assert_eq!(world.conflicts(&work), [".git/refs/heads/main"]);
    assert_eq!(world.git(&["log", "--format=%s"]), "theirs\n");
}

/// What the user has staged for other files stays staged after an accept and after an undo.
#[test]
fn a_file_that_they_staged_stays_staged() {
    let world = World::new();
    let work = work(&world);
    world.write("src/b.txt", "theirs\n");
    world.git(&["add", "src/b.txt"]);
    world.write("new.txt", "theirs\n");
    world.git(&["add", "new.txt"]);
    world.accepted(&work);
    assert_eq!(world.status(), "A  new.txt\nM  src/b.txt\n");
    world.undone(&work);
    assert_eq!(world.status(), "A  new.txt\nM  src/b.txt\n");
    assert_eq!(world.git(&["log", "--format=%s"]), "first\n");
}

#[test]
fn what_they_staged_for_a_file_of_the_work_stays_staged() {
    let world = World::new();
    let work = work(&world);
    // The user stages a change and restores the file, so that only the index has the change.
    world.write("a.txt", "staged by its user\n");
    world.git(&["add", "a.txt"]);
    world.write("a.txt", "one\n");
    world.accepted(&work);
    assert_eq!(world.git(&["show", ":a.txt"]), "staged by its user\n");
    assert_eq!(world.git(&["show", "HEAD:a.txt"]), "one\nmore\n");
    assert_eq!(world.read("a.txt"), "one\nmore\n");
}

/// If git only refreshed its index, this is no change of the user, and the index is up to date after the accept.
#[test]
fn an_index_that_was_only_refreshed_is_none_that_was_changed() {
    let world = World::new();
    let work = work(&world);
    world.git(&["update-index", "--force-write-index"]);
    world.accepted(&work);
    assert_eq!(world.status(), "");
    let stat = world.git(&["diff-files"]);
    assert_eq!(stat, "", "what git keeps of the files is up to date");
}

/// If the user's edit of a file can be merged, the merged file is in the workspace, and the user's part is not
/// committed.
#[test]
fn an_edit_in_another_place_is_merged_and_is_theirs_to_commit() {
    let world = World::new();
    world.write("long.txt", &"line\n".repeat(30));
    world.git(&["add", "."]);
    world.git(&["commit", "-qm", "long"]);
    let work = world.work("sed -i '1s/.*/work/' long.txt; git commit -qam work");
    world.write("long.txt", &format!("{}theirs\n", "line\n".repeat(29)));
    match world.accept(&work).unwrap() {
        CommitOutcome::Committed(committed) => assert_eq!(committed.merged.len(), 1),
        outcome @ CommitOutcome::Conflict(_) => panic!("{outcome:?}"),
    }
    assert_eq!(world.git(&["show", "HEAD:long.txt"]).lines().next(), Some("work"));
    assert!(world.read("long.txt").starts_with("work\n") && world.read("long.txt").ends_with("theirs\n"));
    assert_eq!(world.status(), " M long.txt\n");
}

/// A conflict about a file must not leave the refs moved.
#[test]
fn a_conflict_of_files_leaves_the_refs() {
    let world = World::new();
    let work = work(&world);
    world.write("a.txt", "other\n");
    let seen = world.seen();
    assert!(matches!(world.accept(&work), Ok(CommitOutcome::Conflict(_))));
    assert_eq!(world.seen(), seen);
    world.check();
}

#[test]
fn what_they_do_in_git_before_the_work_is_read_is_not_the_works() {
    let world = World::new();
    let before = world.snapshot();
    world.start_view();
    world.run("git tag works");
    // The user tags meanwhile. The view shows the tag too, because it shows the user's changes in all places that it
    // did not write itself.
    for folder in [world.user(), world.view()] {
        git_in(&folder, &["tag", "theirs"]);
    }
    let change = world.read_view(before.as_ref()).unwrap().unwrap();
    assert_eq!(change.summary(), "tag works");
}

/// A lock of another git may disappear soon, so it is waited for. If it stays, it is reported and left alone.
#[test]
fn another_git_at_work_in_the_index_is_waited_for_and_then_told() {
    let world = World::new();
    let work = work(&world);
    let lock = world.user().join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let seen = world.seen();
    assert_eq!(world.conflicts(&work), [".git/index"]);
    assert_eq!(world.seen(), seen);
    assert!(lock.exists(), "it is theirs");
    std::fs::remove_file(&lock).unwrap();
    world.accepted(&work);
}

#[test]
fn another_git_at_work_on_the_ref_is_told() {
    let world = World::new();
    let work = work(&world);
    let lock = world.user().join(".git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let seen = world.seen();
    let error = world.accept(&work).unwrap_err().to_string();
    assert!(error.contains("main.lock"), "{error}");
    assert_eq!(world.seen(), seen);
    assert!(lock.exists(), "it is theirs");
    std::fs::remove_file(&lock).unwrap();
    world.accepted(&work);
}

/// An undo would take back the user's later commit, so it is a conflict until that commit is gone.
#[test]
fn an_undo_is_refused_where_a_ref_has_moved_on() {
    let world = World::new();
    let work = work(&world);
    world.accepted(&work);
    world.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    let seen = world.seen();
    match world.undo(&work).unwrap() {
        UndoOutcome::Conflict(conflicts) => {
            assert_eq!(conflicts[0].path.to_string(), ".git/refs/heads/main");
        }
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(world.seen(), seen);
    world.check();
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.undone(&work);
    assert_eq!(world.status(), "");
}

#[test]
fn an_undo_is_refused_where_its_user_is_on_another_branch() {
    let world = World::new();
    let work = work(&world);
    world.accepted(&work);
    world.git(&["checkout", "-q", "-b", "elsewhere"]);
    let seen = world.seen();
    assert!(matches!(world.undo(&work), Ok(UndoOutcome::Conflict(_))));
    assert_eq!(world.seen(), seen);
    world.check();
}

/// Work that conflicts with the user's commits can be kept under a ref of its own, which the user may merge.
#[test]
fn refused_work_is_offered_under_a_ref_of_its_own() {
    let world = World::new();
    let work = work(&world);
    world.write("src/b.txt", "theirs\n");
    world.git(&["commit", "-qam", "theirs"]);
    world.conflicts(&work);
    let (repository, change) = (world.repository(), work.git.as_ref().unwrap());
    let whole = world.whole();
    let offer = repository.offer(change, "0a1b").unwrap().unwrap();
    assert_eq!(world.whole(), whole, "looking writes nothing");
    assert_eq!((offer.name.as_str(), offer.merge), ("refs/headstart/0a1b", known(MergeCheck::Clean)));
    for _ in 0..2 {
        assert_eq!(repository.keep(change, "0a1b").unwrap().unwrap(), offer.name);
    }
    world.git(&["merge", "-q", "--no-edit", offer.name.as_str()]);
    assert_eq!((world.read("a.txt"), world.read("src/b.txt")), ("one\nmore\n".into(), "theirs\n".into()));
    world.check();
    assert!(repository.offer(change, "../../heads/main").is_err());
}

/// What a git that can merge without a work tree finds out; an older one says that it does not know.
fn known(merge: MergeCheck) -> MergeCheck {
    if program().version() < (2, 38) { MergeCheck::Unknown } else { merge }
}

#[test]
fn an_offer_says_where_a_merge_has_conflicts() {
    let world = World::new();
    let work = work(&world);
    world.write("a.txt", "theirs\n");
    world.git(&["commit", "-qam", "theirs"]);
    let offer = world.repository().offer(work.git.as_ref().unwrap(), "1").unwrap().unwrap();
    assert_eq!(offer.merge, known(MergeCheck::Conflicts));
}
