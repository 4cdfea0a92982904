//! Contents that git-LFS keeps come along with the commits that point to them, and no commit is accepted whose content
//! would be missing.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use headstart_git_ahead::GitError;

use crate::world::{World, files};

/// Keeps contents as git-LFS does: a pointer in the commit, the content below its SHA-256.
const CLEAN: &str = r#"#!/bin/sh
set -e
storage=$(git config lfs.storage || echo .git/lfs)
mkdir -p "$storage/tmp"
cat >"$storage/tmp/new"
oid=$(sha256sum <"$storage/tmp/new" | cut -d' ' -f1)
size=$(wc -c <"$storage/tmp/new")
folder=$storage/objects/$(echo $oid | cut -c1-2)/$(echo $oid | cut -c3-4)
mkdir -p "$folder"
mv "$storage/tmp/new" "$folder/$oid"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n' $oid $size
"#;
const SMUDGE: &str = r"#!/bin/sh
oid=$(sed -n 's/^oid sha256://p')
cat .git/lfs/objects/$(echo $oid | cut -c1-2)/$(echo $oid | cut -c3-4)/$oid
";

const CONTENT: &str = "a large picture\n";
const OID: &str = "e065b3974a992618da899205c2ae7de5c447e295a598de0055bbc035bbda4c61";

fn world() -> World {
    let world = World::new();
    for (name, script) in [("clean", CLEAN), ("smudge", SMUDGE)] {
        let file = world.path.join(name);
        fs::write(&file, script).unwrap();
        world.git(&["config", &format!("filter.lfs.{name}"), &format!("sh {}", file.display())]);
    }
    world.git(&["config", "filter.lfs.required", "true"]);
    world.write(".gitattributes", "*.bin filter=lfs -text\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "large files"]);
    world
}

const COMMITS: &str = "printf 'a large picture\\n' > big.bin; git add big.bin; git commit -q -m picture";

fn contents(world: &World) -> Vec<(String, Vec<u8>)> {
    let folder = world.user().join(".git/lfs");
    let all = folder.exists().then(|| files(&folder)).into_iter().flatten();
    all.map(|(path, (_, content))| (path, content)).filter(|(path, _)| !path.starts_with("cache")).collect()
}

#[test]
fn a_commit_brings_the_content_that_it_points_to() {
    let world = world();
    let before = world.seen();
    let work = world.work(COMMITS);
    let change = work.git.as_ref().unwrap();
    assert_eq!((change.boundary(), change.large.len(), change.large[0].oid.as_str()), (None, 1, OID));
    assert_eq!(contents(&world), [], "nothing before the accept");
    world.accepted(&work);
    let path = format!("objects/{}/{}/{OID}", &OID[..2], &OID[2..4]);
    assert_eq!(contents(&world), [(path, CONTENT.as_bytes().to_vec())]);
    assert!(world.git(&["show", "HEAD:big.bin"]).contains(OID), "the commit has the pointer");
    fs::remove_file(world.user().join("big.bin")).unwrap();
    world.git(&["checkout", "-q", "--", "big.bin"]);
    assert_eq!((world.read("big.bin").as_str(), world.status().as_str()), (CONTENT, ""));
    world.undone(&work);
    assert_eq!(world.seen(), before);
    // Once more: the content is there already, and nothing is missing.
    let work = world.work(COMMITS);
    assert_eq!(work.git.as_ref().unwrap().large, []);
    world.accepted(&work);
}

/// Work that follows in another view finds the content, too.
#[test]
fn a_later_view_has_the_content() {
    let world = world();
    let work = world.work(COMMITS);
    world.start_view();
    let reader = headstart_git_ahead::Reader::new(crate::world::program(), &world.user(), &world.state());
    let view = || File::open(world.view()).unwrap();
    reader.apply_to_view(view(), &world.state(), work.git.as_ref().unwrap()).unwrap();
    let before = reader.snapshot(view()).unwrap();
    world.run("git checkout -q -- big.bin; grep -q picture big.bin; git mv big.bin other.bin; git commit -q -m moved");
    let later = reader.read(before.as_ref(), view(), &world.state(), "later.pack").unwrap().unwrap();
    assert_eq!((later.boundary(), later.large), (None, Vec::new()));
}

#[test]
fn no_commit_is_taken_whose_content_would_be_missing() {
    // Each git of the script keeps contents in a folder outside of the repository.
    let elsewhere = "mkdir ../elsewhere-$$; export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=lfs.storage \
        GIT_CONFIG_VALUE_0=../elsewhere-$$; git add big.bin; git commit -q -m picture";
    for script in [
        format!("printf 'a large picture\\n' > big.bin; {elsewhere}"),
        format!("{COMMITS}; rm -r .git/lfs/objects"),
        "printf 'a large picture\\n' > big.bin; git add big.bin; rm -r .git/lfs/objects".to_owned(),
    ] {
        let world = world();
        let whole = world.whole();
        let refused = world.try_work(&script);
        assert!(
            matches!(&refused, Err(GitError::Unsupported { reason }) if reason.contains("git-LFS")),
            "{script}: {refused:?}"
        );
        assert_eq!(world.whole(), whole, "{script}");
    }
    // A content under the name of another one.
    let world = world();
    let damaged = format!("{COMMITS}; echo other > .git/lfs/objects/{}/{}/{OID}", &OID[..2], &OID[2..4]);
    assert!(matches!(world.try_work(&damaged), Err(GitError::Hostile { .. })));
    // One of the user's that the work removes.
    world.git(&["config", "user.name", "A User"]);
    let work = world.work(COMMITS);
    world.accepted(&work);
    let work = world.work("echo x >> a.txt; git commit -qam x; rm -r .git/lfs/objects");
    assert!(work.git.as_ref().unwrap().boundary().is_some_and(|why| why.contains(".git/lfs/objects/")));
}

/// The real program, with the hooks that it installs.
#[test]
#[ignore = "needs git-lfs: .ci/install programs"]
fn what_git_lfs_itself_keeps_comes_along() {
    let found = Command::new("git-lfs").arg("version").output();
    assert!(found.is_ok_and(|found| found.status.success()), "this test needs git-lfs: .ci/install programs");
    let world = World::new();
    world.git(&["lfs", "install", "--local"]);
    world.git(&["lfs", "track", "*.bin"]);
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "large files"]);
    let work = world.work(COMMITS);
    assert_eq!((work.git.as_ref().unwrap().boundary(), work.git.as_ref().unwrap().large.len()), (None, 1));
    world.accepted(&work);
    let kept: PathBuf = [".git/lfs/objects", &OID[..2], &OID[2..4], OID].iter().collect();
    assert_eq!(fs::read_to_string(world.user().join(kept)).unwrap(), CONTENT);
    world.git(&["lfs", "fsck"]);
    assert!(world.git(&["lfs", "ls-files"]).contains(" * big.bin"), "the content is there");
}
