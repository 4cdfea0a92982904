//! Holds that a commit which work ahead made in a view can be accepted and undone by other processes than the one that
//! kept it.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use headstart_git_ahead::{Git, GitChange, Reader, Snapshot};
use headstart_overlay_fs::ChangeSet;

use crate::support::Session;
use crate::support::records::{self, completed, written};

const ID: &str = "aaaa000000";

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Keeps a record of work that changed a file and committed the change.
fn store_finished_work(session: &Session) {
    let (user, view) = (session.workspace().canonicalize().unwrap(), session.home().join("view"));
    session.write("project/greeting.txt", "hello\n");
    git(&user, &["init", "-q", "-b", "main"]);
    git(&user, &["add", "."]);
    git(&user, &["commit", "-qm", "first"]);
    let private = session.home().join("private");
    fs::create_dir(&private).unwrap();
    let before = Snapshot::take(File::open(&user).unwrap(), &private).unwrap();
    assert!(Command::new("cp").arg("-a").args([&user, &view]).status().unwrap().success());
    fs::write(view.join("greeting.txt"), "hello\nbye\n").unwrap();
    git(&view, &["commit", "-qam", "second"]);

    let changes = vec![written("greeting.txt", Some("hello\n"), "hello\nbye\n")];
    let mut finished = completed(ID);
    finished.changes = ChangeSet { changes, reads: Vec::new() };
    records::store(session, &records::finished(session, &finished));
    let program = Git::find(&std::env::var_os("PATH").unwrap()).unwrap();
    let state = session.store().parent().unwrap().to_owned();
    let pack = format!("speculations/{ID}/objects.pack");
    let change: Option<GitChange> = Reader::new(program, &user, &private)
        .read(before.as_ref(), File::open(&view).unwrap(), &state, &pack)
        .unwrap();
    assert_eq!(change.as_ref().unwrap().summary(), "1 commit on main");
    finished.git = change;
    records::store(session, &records::finished(session, &finished));
}

#[test]
fn a_commit_that_is_kept_is_accepted_and_taken_back() {
    let session = Session::new();
    store_finished_work(&session);
    let user = session.workspace();
    for undo in [&["undo", ID][..], &["undo"]] {
        let outcome = session.run(&["accept", ID, "--mode", "auto-edit"]);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert_eq!(git(&user, &["log", "--format=%s"]), "second\nfirst\n");
        assert_eq!(git(&user, &["status", "--porcelain"]), "");
        let outcome = session.run(undo);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert_eq!(git(&user, &["log", "--format=%s"]), "first\n");
        assert_eq!(git(&user, &["status", "--porcelain"]), "");
    }
    assert_eq!(fs::read_to_string(user.join("greeting.txt")).unwrap(), "hello\n");
}

#[test]
fn a_commit_of_the_users_meanwhile_is_a_conflict() {
    let session = Session::new();
    store_finished_work(&session);
    let user = session.workspace();
    git(&user, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    let outcome = session.run(&["accept", ID, "--mode", "auto-edit", "--json"]);
    assert_eq!(outcome.code, Some(4), "{outcome}");
    let conflict = &outcome.json()[0]["conflicts"][0];
    assert_eq!((&conflict["path"], &conflict["kind"]), (&".git/refs/heads/main".into(), &"ref".into()));
    assert_eq!(git(&user, &["log", "--format=%s"]), "theirs\nfirst\n");
    assert_eq!(git(&user, &["status", "--porcelain"]), "");

    // The commit can be kept next to the user's, and nothing of the user's is touched.
    let told = session.run(&["accept", ID, "--mode", "auto-edit"]);
    assert_eq!(told.code, Some(4), "{told}");
    assert!(told.stderr.contains("the branch main has moved since the work began"), "{told}");
    assert!(
        told.stderr.contains(&format!("--keep-commits keeps its commit as refs/headstart/{ID}")),
        "{told}"
    );
    assert_eq!(git(&user, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
    let result = session.run(&["accept", ID, "--mode", "auto-edit", "--keep-commits", "--json"]);
    let commits = &result.json()[0]["commits"];
    assert_eq!((&commits["merge"], &commits["kept"]), (&"clean".into(), &true.into()), "{result}");
    assert_eq!(git(&user, &["log", "--format=%s"]), "theirs\nfirst\n");
    assert_eq!(git(&user, &["log", "--format=%s", &format!("refs/headstart/{ID}")]), "second\nfirst\n");
    git(&user, &["merge", "-q", "--no-edit", &format!("refs/headstart/{ID}")]);
    assert_eq!(fs::read_to_string(user.join("greeting.txt")).unwrap(), "hello\nbye\n");
    assert_eq!(git(&user, &["status", "--porcelain"]), "");
}

/// If a process dies at any moment of an accept, the files and the refs are both changed or both unchanged, because the
/// next process finishes what was begun.
#[test]
fn an_accept_that_is_killed_leaves_files_and_refs_together() {
    let session = Session::new();
    store_finished_work(&session);
    let user = session.workspace();
    let (mut before, mut after, mut millis) = (0, 0, 0);
    // How long an accept takes depends on the machine, so it gets more and more time until it is through.
    while after < 10 {
        let mut child = session.command(&["accept", ID, "--mode", "auto-edit"]).spawn().unwrap();
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(millis) && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        let _ = child.kill();
        child.wait().unwrap();
        // The next process that opens the workspace finishes what was begun.
        let undone = session.run(&["undo", ID]);
        let is_taken = undone.code == Some(0);
        *if is_taken { &mut after } else { &mut before } += 1;
        assert_eq!(git(&user, &["log", "--format=%s"]), "first\n", "{millis} ms: {undone}");
        assert_eq!(
            fs::read_to_string(user.join("greeting.txt")).unwrap(),
            "hello\n",
            "{millis} ms: {undone}"
        );
        assert_eq!(git(&user, &["status", "--porcelain"]), "", "{millis} ms");
        git(&user, &["fsck", "--strict", "--no-dangling", "--no-progress"]);
        git(&user, &["commit", "-q", "--allow-empty", "-m", "no lock is left"]);
        git(&user, &["reset", "-q", "--soft", "HEAD~1"]);
        millis += 3 + millis / 20;
    }
    assert!(0 < before, "never killed before it was through");
    let accepted = session.run(&["accept", ID, "--mode", "auto-edit"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert_eq!(git(&user, &["log", "--format=%s"]), "second\nfirst\n");
}
