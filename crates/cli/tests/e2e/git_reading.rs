//! Holds that git which only reads answers as it does outside, in a confined command and in a view: in a linked worktree,
//! in a folder below the top of a repository, in a submodule, and beside closed files that it tracks; and that a
//! repository which only a `.git` claims stays closed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::shadow::{session, shell};
use crate::support::{Outcome, Session};

const SECRET: &str = "never-to-be-told-4711";

/// Commands that only read, whose answer must be git's own.
const READ: [&str; 5] = [
    "git log --format=%s",
    "git status --short --branch",
    "git diff --stat",
    "git show --stat --format=%s HEAD",
    "git ls-files",
];

/// A repository `main` with a package, and three folders that belong to it.
fn session_with_places() -> (Session, [PathBuf; 3]) {
    let session = session();
    session
        .write("home/.gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n")
        .write("main/lib/a.txt", "one\n")
        .write("main/package/b.txt", "one\n")
        .write("main/.gitignore", "*.log\n")
        .write("other/c.txt", "one\n");
    let home = session.home();
    let (main, other) = (home.with_file_name("main"), home.with_file_name("other"));
    for folder in [&main, &other] {
        session.git_at(folder, &["init", "-q"]);
        session.git_at(folder, &["add", "-A"]);
        session.git_at(folder, &["commit", "-qm", "first"]);
    }
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../other", "sub"];
    session.git_at(&main, &add);
    session.git_at(&main, &["commit", "-qm", "second"]);
    session.git_at(&main, &["worktree", "add", "-q", "../linked", "-b", "topic"]);
    session
        .write("main/lib/a.txt", "two\n")
        .write("main/lib/new.txt", "")
        .write("main/package/b.txt", "two\n")
        .write("linked/lib/a.txt", "three\n");
    let places = [main.join("package"), home.with_file_name("linked"), main.join("sub")];
    (session, places)
}

fn run_in(session: &Session, folder: &Path, arguments: &[&str]) -> Outcome {
    let mut command = session.command(arguments);
    session.outcome(arguments, command.current_dir(folder).spawn().unwrap())
}

/// How work ahead in a folder ends that runs these commands.
fn ahead(session: &Session, folder: &Path, commands: &[&str]) -> Value {
    let calls: Vec<_> = commands.iter().map(|command| shell(command)).collect();
    let model = session.recording(&json!({"turns": [{"toolCalls": calls}, {"text": "Done."}]}));
    let arguments = ["speculate", "--json", "--mode", "auto-edit", "--model", &model, "go on"];
    run_in(session, folder, &arguments).finished()
}

#[test]
fn git_that_only_reads_answers_as_outside() {
    let (session, places) = session_with_places();
    for place in &places {
        for command in READ {
            let words: Vec<_> = command.split(' ').skip(1).collect();
            let expected = session.git_at(place, &words);
            let confined = run_in(&session, place, &["run", "--read-only", "--", command]);
            assert_eq!(confined.stdout.trim_end(), expected.trim_end(), "{command} in {place:?}: {confined}");
            let view = run_in(&session, place, &["shadow", "run", "--", "sh", "-c", command]);
            assert_eq!(view.stdout.trim_end(), expected.trim_end(), "{command} in {place:?}: {view}");
        }
    }
}

/// The tool for differences names paths of the workspace, where git names those of the repository.
#[test]
fn differences_are_those_below_the_workspace() {
    let (session, [package, ..]) = session_with_places();
    session.write("main/package/new.txt", "");
    let call = json!({"turns": [{"toolCalls": [{"name": "view_diff", "args": {}}]}, {"text": "Done."}]});
    let model = session.recording(&call);
    let ran = run_in(&session, &package, &["speculate", "--json", "--model", &model, "go on"]);
    assert!(ran.stdout.contains("a/b.txt") && ran.stdout.contains("[untracked: new.txt]"), "{ran}");
    assert!(!ran.stdout.contains("lib/"), "{ran}");
}

#[test]
fn a_change_of_such_a_repository_is_left_to_its_user() {
    let (session, places) = session_with_places();
    for place in &places {
        let state = || {
            [&["rev-parse", "HEAD"][..], &["status", "--porcelain"]].map(|words| session.git_at(place, words))
        };
        let before = state();
        let finished = ahead(&session, place, &["git add -A && git commit -qm third"]);
        assert_eq!(finished["status"], "boundary", "{finished:#}");
        assert!(finished.to_string().contains("lies outside the workspace"), "{finished:#}");
        assert_eq!(state(), before);
    }
}

#[test]
fn what_a_folder_above_ignores_is_ignored() {
    let (session, [package, ..]) = session_with_places();
    let finished = ahead(&session, &package, &["echo x > x.log; echo y > y.txt"]);
    let paths: Vec<_> =
        finished["changes"].as_array().unwrap().iter().map(|change| &change["path"]).collect();
    assert_eq!(paths, ["y.txt"], "{finished:#}");
}

#[test]
fn what_is_closed_around_the_workspace_stays_closed() {
    let (session, [package, ..]) = session_with_places();
    session.write("main/.env", SECRET).write("main/keys/id_rsa", SECRET).write("main/lib/open.txt", "open\n");
    let view = run_in(
        &session,
        &package,
        &["shadow", "run", "--", "sh", "-c", "cat ../lib/open.txt ../.env ../keys/*"],
    );
    assert!(view.stdout.contains("open") && !view.to_string().contains(SECRET), "{view}");
    // What git says of the rest is still true.
    let status = run_in(&session, &package, &["shadow", "run", "--", "git", "status", "--short"]);
    assert!(status.stdout.contains(" M ../lib/a.txt"), "{status}");
    // Where git tracks a closed file it would be told to be gone, so git is not shown; the neighbours are.
    let main = package.parent().unwrap();
    session.git_at(main, &["add", "-f", ".env"]);
    let status = run_in(&session, &package, &["shadow", "run", "--", "git", "status", "--short"]);
    assert!(!status.stdout.contains(".env"), "{status}");
    let view = run_in(
        &session,
        &package,
        &[
            "shadow",
            "run",
            "--",
            "sh",
            "-c",
            "cat ../lib/open.txt ../.env ../keys/*; ls ../.git; git show :.env",
        ],
    );
    assert!(view.stdout == "open\n" && !view.to_string().contains(SECRET), "{view}");
}

#[test]
fn a_repository_that_does_not_name_the_folder_is_nobodys() {
    let (session, [_, linked, _]) = session_with_places();
    session.write("project/a.txt", "");
    let own = fs::read_to_string(linked.join(".git")).unwrap();
    session.write("project/.git", own);
    let run = session.run(&["run", "--read-only", "--", "git log"]);
    assert!(run.code == Some(125) && run.stderr.contains("does not name this folder"), "{run}");
    let check = session.run(&["hook", "claude-code", "--check", "git log"]);
    assert!(check.stdout.contains("no answer"), "{check}");
    let view = session.run(&["shadow", "run", "--", "git", "log"]);
    assert!(!view.to_string().contains("first"), "{view}");
}

/// Right after a clone git reads every file again to tell whether it changed, and may not read one that holds a secret.
#[test]
fn a_closed_file_that_git_tracks_is_not_called_changed() {
    let session = session();
    session
        .write("project/.npmrc", "fund=false\n")
        .write("project/a.txt", "one\n")
        .make_repository(&["init", "-q"]);
    session.write("project/sub/b.txt", "");
    for name in [".npmrc", "a.txt", "sub/b.txt"] {
        // The times in the index are no longer those of the files.
        let file = File::options().write(true).open(session.workspace().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
    }
    let read = |command: &str| session.run(&["run", "--read-only", "--", command]);
    let before = session.tree();
    for (command, expected) in [
        ("git status --short", "?? sub/\n"),
        ("git diff --stat", ""),
        ("git -C sub status --short", "?? ./\n"),
        ("git diff HEAD; git status --short | wc -l", "1\n"),
    ] {
        let ran = read(command);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (expected, ""), "{command}: {ran}");
    }
    assert_eq!(session.tree(), before, "the user's own index is as it was");
    session.write("project/a.txt", "two\n").write("project/.npmrc", "fund=true\n");
    let ran = read("git status --short");
    assert_eq!(ran.stdout, " M .npmrc\n M a.txt\n?? sub/\n", "{ran}");
    // What changed in it is not told.
    let ran = read("git diff");
    assert!(!ran.to_string().contains("fund"), "{ran}");
}

/// A package finds its neighbours, and what is installed for all of them; what a manifest names beyond the top of the
/// repository waits for the user.
#[test]
fn what_lies_beside_a_package_is_found_or_asked_for() {
    let (session, [package, ..]) = session_with_places();
    session
        .write("main/node_modules/tool/run.sh", "echo tool\n")
        .write("main/keys/id_rsa", SECRET)
        .write("beyond/lib.txt", "beyond\n");
    // What a command names itself is told by the gate, so these name nothing.
    let run = |script: &str| {
        session.write("main/package/run.sh", script);
        ahead(&session, &package, &["sh run.sh"])
    };
    let finished = run("sh ../node_modules/tool/run.sh && cat ../lib/a.txt");
    assert_eq!(finished["status"], "completed", "{finished:#}");
    let finished = run("cat ../../beyond/lib.txt");
    assert_eq!(finished["status"], "boundary", "{finished:#}");
    let detail = finished["boundary"]["verdict"]["detail"].as_str().unwrap();
    assert!(detail.contains("beyond/lib.txt, which lies outside the workspace"), "{detail}");
    // A failure over what is nowhere is the command's own.
    let finished = run("cat ../../beyond/gone.txt");
    assert_eq!(finished["status"], "completed", "{finished:#}");
}
