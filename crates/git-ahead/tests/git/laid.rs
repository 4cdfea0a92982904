//! Work that builds on other work: its view shows what the earlier work did to the repository, and each is accepted by
//! itself.

use std::fs::{self, File};

use headstart_git_ahead::{GitChange, Reader, Snapshot};
use headstart_overlay_fs::ChangeSet;

use crate::world::{Work, World, git_in, program, tables};

impl World {
    fn reader(&self) -> Reader {
        Reader::new(program(), &self.user(), &self.state())
    }

    /// The changes that a script makes in a view which shows the changes `below`. The files are those of the
    /// repository's own tree, so that only changes of git count.
    fn work_on(
        &self,
        below: &[&GitChange],
        script: &str,
        pack: &str,
    ) -> (Option<GitChange>, Option<Snapshot>) {
        self.start_view();
        let view = || File::open(self.view()).unwrap();
        for change in below {
            self.reader().apply_to_view(view(), &self.state(), change).unwrap();
        }
        let before = self.reader().snapshot(view()).unwrap();
        git_in(&self.view(), &["fsck", "--strict", "--no-dangling", "--no-progress"]);
        self.run(script);
        let change = self.reader().read(before.as_ref(), view(), &self.state(), pack).unwrap();
        (change, before)
    }
}

fn of(git: Option<GitChange>) -> Work {
    Work { changes: ChangeSet::default(), git }
}

const FIRST: &str = "b=$(echo one | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$b,one.txt; git commit -qm one; git tag v1";
const SECOND: &str = "test \"$(git log --format=%s -1)\" = one; git show HEAD:one.txt; \
    b=$(echo two | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$b,two.txt; git commit -qm two";

/// A commit on top of work that was not accepted yet is a change of its own, with its own commit and files.
#[test]
fn a_commit_on_a_commit_made_ahead_is_one_of_its_own() {
    let kinds = [
        (&["init", "-q", "-b", "main"][..], "true"),
        (&["init", "-q", "-b", "main"], "git pack-refs --all --prune; git gc -q"),
        (&["init", "-q", "-b", "main"], "git checkout -q --detach"),
        (&["init", "-q", "-b", "main", "--object-format=sha256"], "true"),
    ];
    for (init, then) in kinds.into_iter().chain(tables().map(|init| (init, "true"))) {
        let world = World::with(init);
        let then: Vec<_> = then.split("; ").filter(|line| *line != "true").collect();
        for line in then {
            world.git(&line.split(' ').skip(1).collect::<Vec<_>>());
        }
        let (seen, whole) = (world.seen(), world.whole());
        let first = of(world.work_on(&[], FIRST, "first.pack").0);
        let below = first.git.as_ref().unwrap();
        let second = of(world.work_on(&[below], SECOND, "second.pack").0);
        let change = second.git.as_ref().unwrap();
        assert_eq!(
            change.refs[0].old,
            below.refs.iter().find(|one| one.name == change.refs[0].name).unwrap().new
        );
        assert_eq!((change.refs.len(), change.refs[0].commits), (1, 1), "{change:?}");
        assert_eq!(change.paths.iter().map(ToString::to_string).collect::<Vec<_>>(), ["two.txt"]);
        assert_eq!(world.whole(), whole, "the user's repository is as it was");

        // The second work cannot be accepted before the first one.
        assert!(world.accept(&second).is_err());
        assert_eq!(world.seen(), seen);
        world.accepted(&first);
        world.accepted(&second);
        assert_eq!(world.git(&["log", "--format=%s"]), "two\none\nfirst\n");
        assert_eq!(world.git(&["ls-files"]), "a.txt\none.txt\nsrc/b.txt\ntwo.txt\n");
        world.undone(&second);
        world.undone(&first);
        assert_eq!(world.seen(), seen);
    }
}

/// If a view ended, its work can be shown in a new view, which then has everything that the commands did.
#[test]
fn what_was_done_in_a_view_is_done_in_the_next() {
    let world = World::new();
    let scripts = [
        FIRST,
        "echo x >> a.txt; git stash -q",
        "git branch side; git branch -q -m side other; git rm -q --cached a.txt",
        "git commit -q --amend -m other",
    ];
    for script in scripts {
        let (first, _) = world.work_on(&[], script, "first.pack");
        let first = first.unwrap();
        world.start_view();
        let view = || File::open(world.view()).unwrap();
        let before = world.snapshot();
        world.reader().apply_to_view(view(), &world.state(), &first).unwrap();
        let again =
            world.reader().read(before.as_ref(), view(), &world.state(), "again.pack").unwrap().unwrap();
        assert!(again.is_same(&first), "{script}: {again:?}\n{first:?}");
        git_in(&world.view(), &["fsck", "--strict", "--no-dangling", "--no-progress"]);
        if script.contains("stash") {
            assert_eq!(git_in(&world.view(), &["stash", "list"]).lines().count(), 1);
        }
    }
}

/// If the user has moved a ref, earlier work no longer fits, so its view is refused and not changed.
#[test]
fn what_its_user_moved_meanwhile_is_not_laid_over() {
    let world = World::new();
    let first = world.work_on(&[], FIRST, "first.pack").0.unwrap();
    world.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    world.start_view();
    let before = fs::read(world.view().join(".git/refs/heads/main")).unwrap();
    let refused = world.reader().apply_to_view(File::open(world.view()).unwrap(), &world.state(), &first);
    assert!(refused.is_err());
    assert_eq!(fs::read(world.view().join(".git/refs/heads/main")).unwrap(), before);
}

/// Every change of a repository since a moment must be noticed, except new objects and notes.
#[test]
fn a_repository_says_whether_it_changed_since_a_moment() {
    let now = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    };
    let world = World::new();
    let user = || File::open(world.user()).unwrap();
    // A change within the same tick of the clock counts as a change, so the test waits for the next tick.
    let mut since = now();
    while Snapshot::changed_since(user(), since).unwrap() {
        since = now();
    }
    // New objects and notes alone do not count as a change of a repository.
    fs::write(world.user().join("blob"), "x").unwrap();
    world.git(&["hash-object", "-w", "blob"]);
    assert!(!Snapshot::changed_since(user(), since).unwrap());
    for change in [&["branch", "x"][..], &["add", "blob"], &["config", "x.y", "z"], &["branch", "-D", "x"]] {
        world.git(change);
        assert!(Snapshot::changed_since(user(), since).unwrap(), "{change:?}");
        while Snapshot::changed_since(user(), since).unwrap() {
            since = now();
        }
    }
}
