//! Many processes work on one workspace at once: eight that commit, one that edits as an editor saves, one that runs
//! git, and a reader that watches. Nothing may be lost or torn.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    CommitOptions, CommitOutcome, Durability, Merge, OsOptions, OsTree, Overlay, Quota, Tree as _, UndoLimit,
    Workspace as _,
};

use crate::child::{order, process};
use crate::place::{path, temporary};

const PROCESSES: usize = 8;
const COMMITS: usize = 6;
/// The length of the long file, which is more than a page, so that a torn write would be noticed.
const LONG: usize = 96 * 1024;

fn tree(folder: &Path) -> Arc<OsTree> {
    let options = OsOptions {
        state: Some(folder.join("state")),
        durability: Durability::Fast,
        undo: UndoLimit { accepts: 5, bytes: u64::MAX },
        ..OsOptions::default()
    };
    Arc::new(OsTree::open_with(folder.join("workspace"), options).unwrap())
}

/// Adds `COMMITS` lines to a shared text, one per commit, and rewrites a long file. Every conflict is tried again.
#[test]
#[ignore = "it is the process that another test starts"]
fn the_process_that_commits() {
    let Some([folder, number]) = order() else { return };
    let tree = tree(folder.as_ref());
    let options = CommitOptions { merge: Merge::Never, ..CommitOptions::default() };
    let (mut made, mut conflicts) = (0, 0);
    while made < COMMITS {
        let overlay = Overlay::new(tree.clone(), Quota::default());
        let changes = block_on(async {
            let mut text = overlay.read(&path("shared")).await.unwrap();
            text.extend_from_slice(format!("{number} {made}\n").as_bytes());
            overlay.write(&path("shared"), text).await.unwrap();
            let letter = b'a' + u8::try_from(made).unwrap();
            overlay.write(&path("long"), vec![letter; LONG]).await.unwrap();
            overlay.write(&path(&format!("of {number}/{made}")), b"new\n".to_vec()).await.unwrap();
            // Every third commit also marks the file that the editor saves.
            if made % 3 != 0 {
                return overlay.change_set();
            }
            let saved = overlay.read(&path("edited")).await.unwrap();
            let count = saved.split(|byte| *byte == b' ').next().unwrap().to_vec();
            overlay
                .write(&path("edited"), [&count, &b" seen by "[..], number.as_bytes()].concat())
                .await
                .unwrap();
            overlay.change_set()
        });
        if made % 2 == 0 {
            block_on(tree.prepare(&changes)).unwrap();
        }
        match block_on(tree.commit(&changes, options)) {
            Ok(CommitOutcome::Committed(_)) => made += 1,
            Ok(CommitOutcome::Conflict(_)) => {
                conflicts += 1;
                tree.forget(&changes);
            }
            // The editor saved twice while the commit was taken back. Its first save is kept and named in the error.
            Err(error) => assert!(error.to_string().contains("the former content is kept"), "{error}"),
        }
    }
    fs::write(format!("{folder}/conflicts of {number}"), conflicts.to_string()).unwrap();
}

/// Saves a number that only grows, as an editor does: a new file takes the place of the old one.
#[test]
#[ignore = "it is the process that another test starts"]
fn the_process_that_edits() {
    let Some([folder]) = order() else { return };
    let (file, draft) = (format!("{folder}/workspace/edited"), format!("{folder}/workspace/.edited.draft"));
    let mut saved: usize = 0;
    while !Path::new(&format!("{folder}/stop")).exists() {
        // The file may briefly have another number, because a commit that has just noticed the last save takes itself
        // back.
        let read =
            |_| fs::read_to_string(&file).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
        let wait = |count: &usize| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            *count == saved
        };
        assert!(
            (0..500).map(read).any(|count| wait(&count)),
            "{saved} was saved, and is there with a mark or without"
        );
        saved += 1;
        fs::write(&draft, saved.to_string()).unwrap();
        fs::rename(&draft, &file).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    fs::write(format!("{folder}/saved"), saved.to_string()).unwrap();
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=user", "-c", "user.email=user@localhost", "-c", "gc.auto=0"]);
    git.args(arguments).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = git.output().unwrap();
    // Git may refuse to add a file that disappears meanwhile, but what it has written must be whole.
    String::from_utf8(output.stdout).unwrap()
}

/// Whether every line is one that a process wrote.
fn is_whole(shared: &str) -> bool {
    let is_line = |line: &str| line.split(' ').filter(|part| part.parse::<usize>().is_ok()).count() == 2;
    (shared.is_empty() || shared.ends_with('\n')) && shared.lines().all(is_line)
}

fn start(test: &str, order: &str) -> Child {
    process(test, order).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn eight_that_commit_one_that_edits_one_git_and_a_reader_lose_and_tear_nothing() {
    let temporary = temporary();
    let folder = temporary.path();
    let root = folder.join("workspace");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("shared"), "").unwrap();
    fs::write(root.join("long"), vec![b'a'; LONG]).unwrap();
    fs::write(root.join("edited"), "0").unwrap();
    git(&root, &["init", "--quiet"]);

    let place = folder.to_str().unwrap();
    let committing: Vec<_> = (0..PROCESSES)
        .map(|number| start("together::the_process_that_commits", &format!("{place}|{number}")))
        .collect();
    let mut editing = start("together::the_process_that_edits", place);
    let stop = folder.join("stop");
    let (reads, committed) = std::thread::scope(|scope| {
        let running_git = scope.spawn(|| {
            while !stop.exists() {
                git(&root, &["add", "--all"]);
                git(&root, &["commit", "--quiet", "--message", "as it is"]);
                git(&root, &["status", "--porcelain"]);
            }
        });
        let reading = scope.spawn(|| {
            let mut reads = 0;
            while !stop.exists() {
                let content = fs::read(root.join("long")).unwrap();
                assert_eq!(content.len(), LONG, "torn");
                assert!(content.iter().all(|byte| *byte == content[0]), "torn");
                let shared = fs::read_to_string(root.join("shared")).unwrap();
                assert!(is_whole(&shared), "torn: {shared:?}");
                reads += 1;
            }
            reads
        });
        let committed: Vec<_> =
            committing.into_iter().map(|mut child| child.wait().unwrap().success()).collect();
        fs::write(&stop, "").unwrap();
        running_git.join().unwrap();
        (reading.join().unwrap(), committed)
    });
    assert!(editing.wait().unwrap().success(), "the editor found what it had saved");
    assert_eq!(committed, [true; PROCESSES]);
    assert!(0 < reads);
    let number = |name: &str| fs::read_to_string(folder.join(name)).unwrap().parse::<usize>().unwrap();
    let conflicts: usize = (0..PROCESSES).map(|process| number(&format!("conflicts of {process}"))).sum();
    assert!(0 < conflicts, "they met");
    let saved = number("saved");
    let edited = fs::read_to_string(root.join("edited")).unwrap();
    assert!(
        0 < saved && edited.split(' ').next() == Some(&saved.to_string()),
        "{saved} was saved last: {edited}"
    );

    let shared = fs::read_to_string(root.join("shared")).unwrap();
    let mut lines: Vec<_> = shared.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), PROCESSES * COMMITS, "no update is lost:\n{shared}");
    for number in 0..PROCESSES {
        assert_eq!(fs::read_dir(root.join(format!("of {number}"))).unwrap().count(), COMMITS);
    }
    let tree = tree(folder);
    tree.sweep().unwrap();
    let names: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("staging")), "{names:?}");
    assert_eq!(fs::metadata(root.join("shared")).unwrap().nlink(), 1);
    assert!(!git(&root, &["log", "--all", "--name-only"]).contains("staging"));
    assert_eq!(git(&root, &["fsck", "--strict", "--no-dangling"]), "");
    // The commits of git must not contain torn files.
    let history = git(&root, &["log", "--format=%H"]);
    assert!(1 < history.lines().count(), "git was at work: {history}");
    for commit in history.lines() {
        assert!(is_whole(&git(&root, &["show", &format!("{commit}:shared")])), "{commit}");
        let long = git(&root, &["show", &format!("{commit}:long")]);
        assert!(long.len() == LONG && long.bytes().all(|byte| byte == long.as_bytes()[0]), "{commit}");
    }
}
