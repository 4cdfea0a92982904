//! Holds how `headstart run --read-only` runs a command, both directly and in place of a command that a hook answered.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{LOOP, asks, hook, line_of, session};
use crate::support::{PATIENCE, Session};

#[test]
fn output_exit_code_and_signals_are_the_commands() {
    let session = session();
    session.write("project/a.txt", "one\ntwo\n").write("project/b.txt", "one\n");
    let ran = session.run(&["run", "--read-only", "--", &format!("{LOOP}; ls missing; exit 7")]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("2\n1\n", Some(7)), "{ran}");
    assert!(ran.stderr.contains("missing"), "{ran}");
    let words = session.run(&["run", "--read-only", "--", "grep", "-c", "o", "a.txt"]);
    assert_eq!((words.stdout.as_str(), words.code), ("2\n", Some(0)), "{words}");

    let arguments = ["run", "--read-only", "--", "echo ready; sleep 20"];
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut child = session.command(&arguments).spawn().unwrap();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        let started = Instant::now();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(ended.signal(), Some(signal.as_raw()), "{ended}");
        assert!(started.elapsed() < PATIENCE);
    }
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_it_began() {
    let session = session();
    let marker = format!("20.{}", std::process::id());
    let command = format!("echo begun; sleep {marker} | cat");
    let ran = session.run(&["run", "--read-only", "--timeout", "1", "--", &command]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("begun\n", Some(124)), "{ran}");
    assert!(ran.stderr.contains("ended after 1 s (--timeout)"), "{ran}");
    wait_until("its processes end", || running(&marker) == 0);
    // What it leaves in the background could still write, so the output is not whole before that has ended.
    let behind = format!("sleep {marker} & echo begun");
    let ran = session.run(&["run", "--read-only", "--json", "--timeout", "1", "--", &behind]);
    let told = &ran.json()[0];
    assert_eq!((told["timedOut"].as_bool(), ran.code), (Some(true), Some(124)), "{ran}");
    assert_eq!(told["output"].as_str(), Some("begun\n"), "{ran}");
    wait_until("its processes end", || running(&marker) == 0);
}

/// Processes that run and whose command line contains `marker`.
fn running(marker: &str) -> usize {
    let marker = marker.as_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(marker.len()).any(|part| part == marker)).count()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn all_processes_of_the_command_end_with_a_signal() {
    let session = session();
    session.write("project/a.txt", "one\n");
    // The number holds the id of this process, so no other test counts to it. It is not reached.
    let number = format!("9999999{:07}", std::process::id());
    let command = format!("seq 1 {number} | wc -l; wc -l a.txt");
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::KILL] {
        let mut child = session.command(&["run", "--read-only", "--", &command]).spawn().unwrap();
        let counts = format!("seq\u{0}1\u{0}{number}");
        wait_until("it starts", || running(&counts) == 1);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = child.wait().unwrap();
        assert_eq!(ended.signal(), Some(signal.as_raw()), "{ended}");
        wait_until("all of it ends", || running(&number) == 0);
    }
}

#[test]
fn what_does_more_than_read_does_not_run() {
    let session = session();
    session.write("project/.env", "KEY=1").write("home/x", "");
    let before = session.tree();
    for command in
        ["touch x", "cat /etc/passwd", "cat .env", "curl example.org", "python3 x.py", "cat ../home/x"]
    {
        let ran = session.run(&["run", "--read-only", "--", command]);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(125)), "{ran}");
        assert!(ran.stderr.contains("was not run"), "{ran}");
    }
    assert_eq!(session.tree(), before);
    let other = session.home();
    let outside = session.run(&["run", "--read-only", "--workspace", other.to_str().unwrap(), "--", "ls"]);
    assert_eq!(outside.code, Some(125), "{outside}");
    assert!(outside.stderr.contains("outside"), "{outside}");
    // It is the only way, so the flag may be left out, and what does more runs no more than with it.
    assert_eq!(session.run(&["run", "--", "ls"]).code, Some(0));
    assert_eq!(session.run(&["run", "--", "touch", "x"]).code, Some(125));
    assert_eq!(session.tree(), before);
}

#[test]
fn rules_of_both_files_count() {
    let session = session();
    session.write("project/a.txt", "a").write("project/b.txt", "b").write("project/c.txt", "c");
    session.write("home/.config/headstart/config.toml", "deny = ['a.txt']");
    session.write("project/.headstart/config.toml", "deny = ['b.txt']");
    for (file, allowed) in [("a.txt", false), ("b.txt", false), ("c.txt", true)] {
        let command = format!("cat {file}");
        let ran = session.run(&["run", "--read-only", "--", &command]);
        assert_eq!(ran.code == Some(0), allowed, "{ran}");
        let answer = hook(&session, &["claude-code"], &asks(&session, &command));
        assert_eq!(line_of(&answer).is_some(), allowed, "{answer}");
    }
}

/// A shell with nothing of the machine's environment.
fn bash(session: &Session) -> Command {
    let mut bash = Command::new("bash");
    bash.env_clear().env("HOME", session.home()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    bash
}

/// Does what the shell of a product would do: reads the files of its user, and then runs the line.
fn in_users_shell(session: &Session, line: &str) -> std::process::Output {
    let line = format!(". \"$HOME/.bashrc\"\neval '{}'", line.replace('\'', r"'\''"));
    let mut shell = bash(session);
    shell.args(["-O", "expand_aliases", "-c", &line]).current_dir(session.workspace()).stdin(Stdio::null());
    shell.output().unwrap()
}

#[test]
fn aliases_and_functions_of_the_users_shell_do_nothing() {
    let session = session();
    session.write("project/a.txt", "one\ntwo\n");
    session.write(
        "home/.bashrc",
        "alias awk='touch pwned; awk'\nalias headstart='touch pwned; headstart'\n\
         wc() { touch pwned; }\n",
    );
    let before = session.tree();
    for (command, printed) in [(LOOP, "2\n"), ("wc -l < a.txt", "2\n")] {
        let line = line_of(&hook(&session, &["claude-code"], &asks(&session, command))).unwrap();
        let ran = in_users_shell(&session, &line);
        assert_eq!(String::from_utf8_lossy(&ran.stdout), printed, "{ran:?}");
        assert_eq!(session.tree(), before, "{command}");
    }
    // This is why the hook exists: the text of the command itself would have written.
    in_users_shell(&session, "wc -l < a.txt");
    assert_ne!(session.tree(), before);
}

#[test]
fn git_runs_hardened() {
    let session = session();
    let project = session.workspace();
    session.write("project/a.txt", "one\n").make_repository(&["init", "-q"]);
    // Programs that the repository's own configuration would start.
    session.git(&["config", "core.fsmonitor", "touch pwned; false"]);
    session.git(&["config", "core.pager", "touch pwned; cat"]);
    session.git(&["config", "pager.log", "touch pwned; cat"]);
    session.git(&["config", "alias.st", "!touch pwned"]);
    for (command, printed) in [("git log -1", "first"), ("git status --short", "")] {
        let answer = hook(&session, &["claude-code"], &asks(&session, command));
        let line = line_of(&answer).unwrap_or_else(|| panic!("{answer}"));
        let ran = in_users_shell_without_files(&session, &line);
        assert!(String::from_utf8_lossy(&ran.stdout).contains(printed), "{ran:?}");
        assert!(ran.status.success(), "{ran:?}");
        assert!(!project.join("pwned").exists(), "{command}");
    }
    let plain = hook(&session, &["claude-code", "--text"], &asks(&session, "git log -1"));
    assert_eq!((plain.stdout.as_str(), plain.code), ("", Some(0)), "{plain}");
    let alias = hook(&session, &["claude-code"], &asks(&session, "git st"));
    assert_eq!(alias.stdout, "", "{alias}");
}

/// The product would run a command that fails although the plain one, about which it asks, works.
#[test]
fn the_hook_is_silent_where_git_would_not_run_hardened() {
    let session = session();
    session.write("project/a.txt", "one\n").make_repository(&["init", "-q"]);
    let silent = |expected: &str| {
        let answer = hook(&session, &["claude-code"], &asks(&session, "git log -1"));
        assert_eq!((answer.stdout.as_str(), answer.code), ("", Some(0)), "{answer}");
        let check = session.run(&["hook", "claude-code", "--check", "git log -1"]);
        assert!(check.stdout.contains("no answer") && check.stdout.contains(expected), "{check}");
        // Commands without git are not concerned.
        let other = hook(&session, &["claude-code"], &asks(&session, "cat a.txt"));
        assert!(line_of(&other).is_some(), "{other}");
    };
    session.write("project/.git/info/attributes", "* filter=x\n");
    silent(".git/info/attributes may name programs for git to run");
    session.write("project/.git/info/attributes", "");
    session.git(&["config", "core.worktree", "/"]);
    silent("sets core.worktree");
    session.git(&["config", "--unset", "core.worktree"]);
    // As `git init --separate-git-dir` leaves it.
    let project = session.workspace();
    std::fs::rename(project.join(".git"), session.home().join("apart")).unwrap();
    session.write("project/.git", format!("gitdir: {}\n", session.home().join("apart").display()));
    silent("does not name this folder as its own");
    let run = session.run(&["run", "--read-only", "--", "git log -1"]);
    assert_eq!(run.code, Some(125), "{run}");
    assert!(
        run.stderr.contains("does not name this folder as its own")
            && !run.stderr.contains("not a git repository"),
        "{run}"
    );
}

fn in_users_shell_without_files(session: &Session, line: &str) -> std::process::Output {
    session.write("home/.bashrc", "");
    in_users_shell(session, line)
}

#[test]
fn the_workspace_is_the_products_project_or_headstarts_and_never_reached_through_a_link() {
    let session = session();
    session.write("project/src/a.txt", "a").write("project/b.txt", "b").write("home/c.txt", "c");
    let place = session.workspace().canonicalize().unwrap();
    let allows = |session: &Session, folder: &str, command: &str| {
        let mut message = asks(session, command);
        message["cwd"] = folder.into();
        line_of(&hook(session, &["claude-code"], &message))
    };
    let (root, src) = (place.to_str().unwrap(), place.join("src"));
    let src = src.to_str().unwrap();
    // Without `CLAUDE_PROJECT_DIR`, nothing says that the folder is part of a larger project.
    assert_eq!(allows(&session, src, "cat ../b.txt"), None);
    let told = session.variable("CLAUDE_PROJECT_DIR", root);
    let line = allows(&told, src, "cat ../b.txt").unwrap();
    assert!(line.contains(&format!("--workspace {root}")), "{line}");
    let ran = bash(&told).args(["-c", &line]).current_dir(src).output().unwrap();
    assert_eq!(ran.stdout, b"b", "{ran:?}");
    assert_eq!(allows(&told, src, "cat ../../home/c.txt"), None);
    // A project that does not contain the folder is ignored.
    assert_eq!(
        allows(&told, told.home().canonicalize().unwrap().to_str().unwrap(), "cat ../project/b.txt"),
        None
    );

    let linked = place.join("linked");
    std::os::unix::fs::symlink("../home", &linked).unwrap();
    for folder in [linked.to_str().unwrap(), &format!("{root}/src/.."), &format!("{root}//src")] {
        assert_eq!(allows(&told, folder, "ls"), None, "{folder}");
    }

    // Rules of the project also hold in its subfolders, even if `CLAUDE_PROJECT_DIR` does not name the project.
    let session = super::session();
    session.write("project/.headstart/config.toml", "deny = ['src/a.txt']").write("project/src/a.txt", "a");
    let src = session.workspace().canonicalize().unwrap().join("src");
    assert_eq!(allows(&session, src.to_str().unwrap(), "cat a.txt"), None);
    assert!(allows(&session, src.to_str().unwrap(), "ls").is_some());
}
