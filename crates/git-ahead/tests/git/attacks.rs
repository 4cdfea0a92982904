//! A view is written by commands of a model and may contain anything. Nothing of it may be applied that git itself
//! would not have made, nobody may have to wait forever, and nothing outside may be read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::world::{World, git_in};

type Attack = fn(&Path);

fn main_of(git: &Path) -> String {
    fs::read_to_string(git.join("refs/heads/main")).unwrap().trim().to_owned()
}

fn object(git: &Path, name: &str) -> std::path::PathBuf {
    git.join("objects").join(&name[..2]).join(&name[2..])
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Makes an object with these bytes, which may be invalid, and returns the name that git gives it.
fn forge(git: &Path, kind: &str, bytes: &[u8]) -> String {
    let file = git.join("forged");
    fs::write(&file, bytes).unwrap();
    let name = git_in(git, &["hash-object", "-w", "-t", kind, "--literally", file.to_str().unwrap()]);
    fs::remove_file(file).unwrap();
    name.trim().to_owned()
}

fn tree_with(git: &Path, entry: &str) -> String {
    let blob = forge(git, "blob", b"x");
    let mut bytes = format!("100644 {entry}\0").into_bytes();
    bytes.extend((0..20).map(|at| u8::from_str_radix(&blob[at * 2..at * 2 + 2], 16).unwrap()));
    forge(git, "tree", &bytes)
}

fn commit_of(git: &Path, tree: &str) {
    let bytes = format!("tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n");
    let commit = forge(git, "commit", bytes.as_bytes());
    fs::write(git.join("refs/heads/main"), format!("{commit}\n")).unwrap();
}

const REFUSED: &[(&str, Attack)] = &[
    ("a link for HEAD", |git| {
        fs::remove_file(git.join("HEAD")).unwrap();
        symlink("/etc/passwd", git.join("HEAD")).unwrap();
    }),
    ("a link for a ref", |git| symlink("/etc/passwd", git.join("refs/heads/x")).unwrap()),
    ("a link for a folder of refs", |git| symlink("/etc", git.join("refs/heads/x")).unwrap()),
    ("a link for all refs", |git| {
        fs::rename(git.join("refs"), git.join("refs2")).unwrap();
        symlink("refs2", git.join("refs")).unwrap();
    }),
    ("a link for the index", |git| {
        fs::remove_file(git.join("index")).unwrap();
        symlink("/etc/passwd", git.join("index")).unwrap();
    }),
    ("a link for an object", |git| {
        fs::create_dir_all(git.join("objects/aa")).unwrap();
        symlink("/etc/passwd", git.join("objects/aa").join("b".repeat(38))).unwrap();
    }),
    ("a link for a folder of objects", |git| symlink("/etc", git.join("objects/0f")).unwrap()),
    ("a FIFO for HEAD", |git| {
        fs::remove_file(git.join("HEAD")).unwrap();
        fifo(&git.join("HEAD"));
    }),
    ("a FIFO for a ref", |git| fifo(&git.join("refs/heads/x"))),
    ("a FIFO among objects", |git| fifo(&git.join("objects/pack/pack-1.pack"))),
    ("a FIFO for the configuration", |git| {
        fs::remove_file(git.join("config")).unwrap();
        fifo(&git.join("config"));
    }),
    ("a FIFO somewhere", |git| fifo(&git.join("somewhere"))),
    ("a file of gigabytes without content", |git| {
        fs::File::create(git.join("index")).unwrap().set_len(1 << 40).unwrap();
    }),
    ("an object of gigabytes", |git| {
        fs::create_dir_all(git.join("objects/aa")).unwrap();
        let file = fs::File::create(git.join("objects/aa").join("b".repeat(38))).unwrap();
        file.set_len(1 << 40).unwrap();
    }),
    ("a ref that is no object", |git| fs::write(git.join("refs/heads/x"), "nonsense\n").unwrap()),
    ("a ref to nothing", |git| fs::write(git.join("refs/heads/x"), format!("{}\n", "1".repeat(40))).unwrap()),
    ("a ref with an odd name", |git| {
        fs::write(git.join("refs/heads/a..b"), format!("{}\n", main_of(git))).unwrap();
    }),
    ("a ref with an end of line", |git| {
        fs::write(git.join("refs/heads/a\nb"), format!("{}\n", main_of(git))).unwrap();
    }),
    ("a ref that is no text", |git| {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::OsStr::from_bytes(b"refs/heads/\xff");
        fs::write(git.join(name), format!("{}\n", main_of(git))).unwrap();
    }),
    ("packed refs that cannot be read", |git| {
        fs::write(git.join("packed-refs"), "nonsense nonsense\n").unwrap();
    }),
    ("a HEAD that is nonsense", |git| fs::write(git.join("HEAD"), "ref: ../../elsewhere\n").unwrap()),
    ("an object under the name of another", |git| {
        let (one, other) = (forge(git, "blob", b"good"), "d".repeat(40));
        fs::create_dir_all(git.join("objects/dd")).unwrap();
        fs::copy(object(git, &one), object(git, &other)).unwrap();
        let tree = format!("100644 x\0{}", "\u{0}");
        let mut bytes = tree.into_bytes();
        bytes.truncate(9);
        bytes.extend([0xdd; 20]);
        let tree = forge(git, "tree", &bytes);
        commit_of(git, &tree);
    }),
    ("a commit whose tree is missing", |git| commit_of(git, &"e".repeat(40))),
    ("a tree that is cut", |git| {
        let tree = forge(git, "tree", b"100644 x\0short");
        commit_of(git, &tree);
    }),
    ("a tree that holds a repository", |git| {
        let tree = tree_with(git, ".git");
        commit_of(git, &tree);
    }),
    ("a tree that leads out", |git| {
        let tree = tree_with(git, "..");
        commit_of(git, &tree);
    }),
    ("an object that is no zlib", |git| {
        fs::create_dir_all(git.join("objects/ee")).unwrap();
        fs::write(git.join("objects/ee").join("e".repeat(38)), "x").unwrap();
        fs::write(git.join("refs/tags/x"), format!("{}\n", "e".repeat(40))).unwrap();
    }),
    ("an index that is nonsense", |git| fs::write(git.join("index"), "DIRCnonsense").unwrap()),
    ("folders that go too deep", |git| {
        let mut folder = git.join("refs/heads");
        for _ in 0..100 {
            folder.push("d");
        }
        fs::create_dir_all(folder).unwrap();
    }),
    ("a repository that is a file", |git| {
        fs::rename(git, git.with_file_name("elsewhere")).unwrap();
        fs::write(git, "gitdir: elsewhere\n").unwrap();
    }),
    ("a repository that is a link", |git| {
        fs::rename(git, git.with_file_name("elsewhere")).unwrap();
        symlink("elsewhere", git).unwrap();
    }),
    ("a common folder elsewhere", |git| fs::write(git.join("commondir"), "../../user/.git\n").unwrap()),
    ("an unknown extension", |git| {
        fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tnew = 1\n")
            .unwrap();
    }),
];

/// Every attack is refused with an error, and the user's repository stays as it was. The error does not show the path
/// of the state folder.
#[test]
fn a_hostile_repository_is_refused_with_its_place_and_nothing_is_applied() {
    for (name, attack) in REFUSED {
        let world = World::new();
        let (before, whole) = (world.snapshot(), world.whole());
        world.start_view();
        attack(&world.view().join(".git"));
        let read = world.read_view(before.as_ref());
        let error = match read {
            Ok(change) => panic!("{name}: {change:?}"),
            Err(error) => error.to_string(),
        };
        let state = world.state().display().to_string();
        assert!(!error.is_empty() && !error.contains(&state), "{name}: {error}");
        assert_eq!(world.whole(), whole, "{name}");
        world.check();
    }
}

/// In the view an object has another content under the name of an object of the user. It must not reach the user's
/// repository.
#[test]
fn an_object_of_the_users_is_never_replaced_by_one_of_the_same_name() {
    let world = World::new();
    let blob = world.git(&["rev-parse", "HEAD:a.txt"]).trim().to_owned();
    let (before, whole) = (world.snapshot(), world.whole());
    world.start_view();
    let git = world.view().join(".git");
    let other = forge(&git, "blob", b"replaced");
    fs::remove_file(object(&git, &blob)).unwrap();
    fs::copy(object(&git, &other), object(&git, &blob)).unwrap();
    world.run("git tag x");
    let change = world.read_view(before.as_ref()).unwrap().unwrap();
    assert_eq!((change.summary(), change.objects), ("tag x".to_owned(), None));
    assert_eq!(world.whole(), whole);
}

/// With such an index git could write into the repository itself, or outside of the workspace.
#[test]
fn a_path_in_the_index_that_leads_into_the_repository_is_refused() {
    let world = World::new();
    for path in [".git/hooks/post-checkout", "../elsewhere", ".GIT/config"] {
        let before = world.snapshot();
        world.start_view();
        // `git add` refuses such a path. So the index gets a harmless name of the same length, which is then
        // overwritten.
        let plain = "x".repeat(path.len());
        world.run(&format!("echo x > {plain}; git add {plain}; rm {plain}"));
        let index = world.view().join(".git/index");
        let mut bytes = fs::read(&index).unwrap();
        let at = bytes.windows(plain.len()).position(|bytes| bytes == plain.as_bytes()).unwrap();
        bytes[at..at + path.len()].copy_from_slice(path.as_bytes());
        // Git does not check an index whose checksum is zero.
        let end = bytes.len() - 20;
        bytes[end..].fill(0);
        fs::write(&index, bytes).unwrap();
        assert!(world.read_view(before.as_ref()).is_err(), "{path}");
    }
}

/// A record of work may be forged, so it is checked again at the accept.
#[test]
fn a_forged_record_is_refused_at_the_accept() {
    let world = World::new();
    let work = world.work("echo more >> a.txt; git commit -qam second");
    let seen = world.seen();
    let plain = work.git.as_ref().unwrap();
    let forged = |change: &dyn Fn(&mut headstart_git_ahead::GitChange)| {
        let mut forged = plain.clone();
        change(&mut forged);
        crate::world::Work { changes: work.changes.clone(), git: Some(forged) }
    };
    let away = |pack: &str| pack.to_owned();
    let all = [
        forged(&|change| change.objects.as_mut().unwrap().pack = away("../user/.git/index")),
        forged(&|change| change.objects.as_mut().unwrap().pack = away("/etc/passwd")),
        forged(&|change| change.objects = None),
        forged(&|change| change.other.push(".git/config".to_owned())),
        forged(&|change| change.index.entries[0].path = b".git/hooks/post-checkout".to_vec()),
    ];
    for work in &all[..4] {
        assert!(world.accept(work).is_err());
        assert_eq!(world.seen(), seen);
        world.check();
    }
}
