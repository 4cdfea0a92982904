//! Holds how an editor on this machine has commands run in views over its folder itself (`shadow serve --here`). What a
//! command can do to the machine from there, the tests of `editors/vscode` and of `headstart-shadow` attack.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::shadow::session;
use crate::support::{PATIENCE, Session};

/// A serving process and its greeting.
struct Served {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    greeting: Value,
}

impl Served {
    fn start(session: &Session, arguments: &[&str]) -> Self {
        let mut child =
            session.command(arguments).stdin(std::process::Stdio::piped()).spawn().expect("it starts");
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut served = Self { child, input, output, greeting: Value::Null };
        let workspace = session.workspace();
        served.send(&json!({"type": "hello", "version": 1, "program": "editor", "client": "editor", "workspace": workspace}));
        served.greeting = served.next().expect("a greeting");
        served
    }

    fn here(session: &Session) -> Self {
        Self::start(session, &["shadow", "serve", "--here", session.workspace().to_str().unwrap()])
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The next message that says something; `None` at the end.
    fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["type"] != "alive" {
                return Some(message);
            }
        }
    }

    fn run(&mut self, command: &str, with: &Value) -> Value {
        let mut message = json!({
            "type": "runLocal", "id": 1, "view": "one", "command": command, "directory": ".",
            "below": changes(&[]), "staged": changes(&[]), "deny": [], "secretsOpen": false,
            "timeMs": 30_000, "outputBytes": 32_768,
        });
        message.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        self.send(&message);
        self.next().expect("an answer")
    }

    /// Closes its input, and waits until it has ended.
    fn close(mut self) {
        drop(self.input.take());
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < PATIENCE, "it stays");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn changes(files: &[(&str, &str)]) -> Value {
    let change = |(path, content): &(&str, &str)| json!({"path": path, "base": null, "kind": {"type": "write", "content": content, "executable": false}});
    json!({"changes": files.iter().map(change).collect::<Vec<_>>(), "reads": []})
}

/// What an answer stages: paths with their contents, or with the kind of change.
fn staged(ran: &Value) -> Vec<(&str, &str)> {
    fn row(change: &Value) -> (&str, &str) {
        let (path, kind) = (&change["path"], &change["kind"]);
        (path.as_str().unwrap(), kind["content"].as_str().or_else(|| kind["type"].as_str()).unwrap())
    }
    ran["staged"]["changes"].as_array().unwrap_or_else(|| panic!("{ran}")).iter().map(row).collect()
}

#[test]
fn a_rule_that_is_written_down_meanwhile_counts_for_the_next_command() {
    let config = "home/.config/headstart/config.toml";
    let session = session();
    session.write("project/private/x", "closed\n").write("project/a.txt", "a\n").write(config, "");
    let mut served = Served::here(&session);
    let look = |served: &mut Served| served.run("cat a.txt private/x", &json!({}))["output"].to_string();
    assert!(look(&mut served).contains("closed"));
    session.write(config, "deny = ['private']\n");
    assert!(!look(&mut served).contains("closed"));
    // A file that an editor has half saved takes no rule away.
    for text in ["deny = [", ""] {
        session.write(config, text);
        let output = look(&mut served);
        assert!(output.contains("a\\n") && !output.contains("closed"), "{output}");
    }
}

#[test]
fn a_command_sees_what_is_staged_and_what_it_writes_is_in_the_answer_only() {
    let session = session();
    session
        .write("project/a.txt", "a\n")
        .write("project/.env", "KEY=1\n")
        .write("project/private/x", "closed\n")
        .write("project/users/x", "closed\n")
        .write("project/.gitignore", "out\n")
        .write("project/run.sh", "#!/bin/sh\necho old\n")
        .write("home/.config/headstart/config.toml", "deny = [\"users\"]\n");
    let script = session.workspace().join("run.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = session.hash();
    let mut served = Served::here(&session);
    assert_eq!((&served.greeting["type"], &served.greeting["tier"]), (&json!("hello"), &json!("kernel")));

    let mut shown = json!({
        "below": changes(&[("below.txt", "below\n"), (".env.local", "KEY=2\n"), ("private/y", "closed\n")]),
        "staged": changes(&[("staged.txt", "staged\n"), ("run.sh", "#!/bin/sh\necho new\n")]),
        "deny": ["private"],
    });
    shown["staged"]["changes"][1]["kind"]["executable"] = json!(true);
    let command = "cat below.txt staged.txt .env .env.local private/* users/x; ./run.sh; ls -A private users; \
                   echo more >> a.txt; mkdir out; echo built > out/x; rm staged.txt";
    let ran = served.run(command, &shown);
    let output = ran["output"].as_str().unwrap();
    assert!(output.starts_with("below\nstaged\n") && output.contains("new\n"), "{output}");
    assert!(!output.contains("KEY") && !output.contains("closed"), "{output}");
    assert_eq!(staged(&ran), [("a.txt", "a\nmore\n"), ("run.sh", "#!/bin/sh\necho new\n")], "{ran}");
    assert_eq!((&ran["warm"], &ran["changes"]), (&json!(["out"]), &json!([])), "{ran}");
    let (executable, base) =
        (&ran["staged"]["changes"][1]["kind"]["executable"], &ran["staged"]["changes"][0]);
    assert_eq!((executable, &base["baseContent"]), (&json!(true), &json!("a\n")));

    // The view stays for the next command, which finds what is not staged only if git ignores it.
    let same = json!({"below": shown["below"], "deny": shown["deny"]});
    let ran = served.run("cat out/x a.txt; mkdir new; printf '\\377' > new/b", &same);
    assert_eq!(ran["output"], "built\na\n");
    let [folder, file] = [0, 1].map(|at| &ran["staged"]["changes"][at]);
    assert_eq!(
        (&folder["path"], &folder["kind"]["type"]),
        (&json!("new"), &json!("createDirectory")),
        "{ran}"
    );
    assert_eq!(
        (&file["path"], &file["kind"]["content"]),
        (&json!("new/b"), &json!({"base64": "/w=="})),
        "{ran}"
    );
    assert_eq!(session.hash(), before);

    let ran = served.run(
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        &json!({}),
    );
    assert_eq!(ran["git"]["other"], json!([".git"]), "{ran}");
    let failed = served.run("true", &json!({"deny": ["!x"]}));
    assert_eq!((&failed["type"], &failed["failure"]), (&json!("failed"), &json!("call")), "{failed}");
    served.close();
    assert_eq!(session.hash(), before);
}

#[test]
fn files_that_changed_since_a_command_are_named() {
    let session = session();
    session.write("project/a.txt", "a\n").write("project/.gitignore", "out\n");
    let mut served = Served::here(&session);
    std::thread::sleep(Duration::from_millis(20));
    let began = served.run("cat a.txt", &json!({}))["beganMs"].as_u64().unwrap();
    let mut changed = |since: u64| {
        served.send(&json!({"type": "changedSince", "id": 2, "sinceMs": since}));
        served.next().unwrap()
    };
    assert_eq!(changed(began), json!({"type": "changed", "id": 2, "paths": []}));
    session.write("project/a.txt", "b\n").write("project/out", "ignored\n");
    assert_eq!(changed(began)["paths"], json!(["a.txt"]));
    assert_eq!(changed(u64::MAX)["paths"], json!([]));
    served.close();
    // Over a copy nobody knows.
    let mut served = Served::start(&session, &["shadow", "serve"]);
    served.send(&json!({"type": "changedSince", "id": 2, "sinceMs": 0}));
    assert_eq!(served.next().unwrap()["failure"], "noView");
    served.close();
}

#[test]
fn a_folder_itself_is_given_only_where_the_command_line_names_it() {
    let session = session();
    session.write("project/a.txt", "a\n");
    // Over a copy there is no view of the folder itself, whatever the client calls its workspace.
    let mut served = Served::start(&session, &["shadow", "serve"]);
    let failed = served.run("cat a.txt", &json!({}));
    assert_eq!((&failed["type"], &failed["failure"]), (&json!("failed"), &json!("noView")), "{failed}");
    served.close();
    // Over the folder itself there is no copy.
    let mut served = Served::here(&session);
    let hash = "0".repeat(32);
    for message in [
        json!({"type": "tree", "id": 7, "digest": hash, "edits": []}),
        json!({"type": "warm", "id": 7, "tree": hash, "lines": ["true"]}),
        json!({"type": "run", "id": 7, "tree": hash, "view": "one", "command": "true", "directory": ".",
               "below": [], "staged": [], "timeMs": 1_000, "outputBytes": 1_000}),
    ] {
        served.send(&message);
        let failed = served.next().unwrap();
        assert_eq!((&failed["type"], &failed["failure"]), (&json!("failed"), &json!("noView")), "{failed}");
        assert!(failed["why"].as_str().unwrap().contains("over the workspace itself"), "{failed}");
    }
    served.close();
}

#[test]
fn where_its_user_turned_views_off_there_are_none() {
    let session = session();
    session.write("home/.config/headstart/config.toml", "[shadow]\nenabled = false\n");
    let mut served = Served::here(&session);
    assert_eq!(served.greeting["tier"], Value::Null);
    assert!(served.greeting["notes"][0].as_str().unwrap().contains("turned off"), "{}", served.greeting);
    assert_eq!(served.next(), None);
    served.close();
}

#[test]
fn a_command_ends_with_the_input() {
    let session = session();
    let mut served = Served::here(&session);
    let seconds = format!("27.{}3", std::process::id());
    served.send(&json!({
        "type": "runLocal", "id": 1, "view": "one", "command": format!("(setsid sleep {seconds} &); sleep {seconds}"),
        "directory": ".", "below": changes(&[]), "staged": changes(&[]), "deny": [], "secretsOpen": false,
        "timeMs": 60_000, "outputBytes": 1_000,
    }));
    let is_running = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.any(|line| line == format!("sleep\0{seconds}\0").into_bytes())
    };
    let wait_until = |wanted: bool| {
        let started = Instant::now();
        while is_running() != wanted {
            assert!(started.elapsed() < PATIENCE, "running: {wanted}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    wait_until(true);
    served.close();
    wait_until(false);
}

/// A change of an accept: a path, what is there before, and what is there afterwards.
fn change(path: &str, before: &Value, after: &Value) -> Value {
    json!({"path": path, "before": before, "after": after})
}

fn file(content: &str, executable: bool) -> Value {
    json!({"type": "file", "content": content, "executable": executable})
}

fn link(target: &str) -> Value {
    json!({"type": "link", "target": target})
}

#[test]
fn links_and_executable_bits_are_written_as_a_whole_and_taken_back() {
    let session = session();
    session.write("project/run.sh", "#!/bin/sh\n").write("project/folder/a", "a\n");
    std::os::unix::fs::symlink("run.sh", session.workspace().join("old")).unwrap();
    let before = session.hash();
    let mut served = Served::here(&session);
    let changes = json!([
        change("new/link", &Value::Null, &link("../run.sh")),
        change("old", &link("run.sh"), &Value::Null),
        change("run.sh", &file("#!/bin/sh\n", false), &file("#!/bin/sh\n", true)),
        change("folder/a", &file("a\n", false), &Value::Null),
        change("folder", &json!({"type": "folder"}), &link("new")),
    ]);
    served.send(&json!({"type": "accept", "id": 3, "changes": changes}));
    assert_eq!(served.next().unwrap(), json!({"type": "accepted", "id": 3, "conflicts": []}));
    let leads_to = |name: &str| std::fs::read_link(session.workspace().join(name)).unwrap();
    assert_eq!((leads_to("new/link"), leads_to("folder")), ("../run.sh".into(), "new".into()));
    let mode = || session.workspace().join("run.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode() & 0o100, 0o100);
    assert!(!session.workspace().join("old").is_symlink());

    served.send(&json!({"type": "takeBack", "id": 4, "accept": 2}));
    assert_eq!(served.next().unwrap()["type"], "failed", "another accept");
    served.send(&json!({"type": "takeBack", "id": 5, "accept": 3}));
    assert_eq!(served.next().unwrap(), json!({"type": "accepted", "id": 5, "conflicts": []}));
    assert_eq!(session.hash(), before);
    served.send(&json!({"type": "takeBack", "id": 6, "accept": 3}));
    assert_eq!(served.next().unwrap()["type"], "failed", "it was taken back");
    served.close();
}

#[test]
fn an_accept_that_does_not_fit_or_leads_out_writes_nothing() {
    let session = session();
    session
        .write("project/a.txt", "a\n")
        .write("project/full/a", "a\n")
        .write("project/full/of-its-user", "b\n")
        .write("project/users/x", "x\n")
        .write("beside/file", "beside\n")
        .write("home/.config/headstart/config.toml", "deny = [\"users\"]\n");
    std::os::unix::fs::symlink("../beside", session.workspace().join("out")).unwrap();
    let before = session.hash();
    let mut served = Served::here(&session);
    let good = change("fits", &Value::Null, &link("a.txt"));
    let mut answer = |changes: Vec<Value>| {
        let changes: Vec<Value> = std::iter::once(good.clone()).chain(changes).collect();
        served.send(&json!({"type": "accept", "id": 3, "changes": changes}));
        let answer = served.next().unwrap();
        assert_eq!(session.hash(), before, "{answer}");
        answer
    };
    for (path, was, is) in [
        ("a.txt", Value::Null, link("x")),
        ("a.txt", file("other\n", false), link("x")),
        ("a.txt", link("x"), Value::Null),
        ("gone", file("x", false), Value::Null),
        ("full", json!({"type": "folder"}), link("a.txt")),
    ] {
        assert_eq!(answer(vec![change(path, &was, &is)])["conflicts"], json!([path]));
    }
    // Someone else's file in a folder that becomes a link stays.
    let emptied = vec![
        change("full/a", &file("a\n", false), &Value::Null),
        change("full", &json!({"type": "folder"}), &link("a.txt")),
    ];
    assert_eq!(answer(emptied)["conflicts"], json!(["full"]));
    // Through a link of the user's nothing is written.
    assert_ne!(
        answer(vec![change("out/file", &file("beside\n", false), &file("x", true))])["conflicts"],
        json!([])
    );
    assert_ne!(answer(vec![change("out/new", &Value::Null, &link("file"))])["conflicts"], json!([]));
    for (path, is) in [
        ("l", link("/etc/passwd")),
        ("l", link("../beside")),
        ("l", link("fits/../../beside")),
        (".git/hooks/pre-commit", file("#!/bin/sh\n", true)),
        ("sub/.git/config", file("x", false)),
        ("users/x", link("../a.txt")),
    ] {
        let answer = answer(vec![change(path, &Value::Null, &is)]);
        assert_eq!(answer["type"], "failed", "{path}: {answer}");
    }
    served.close();
    // Nothing of an accept is for a copy.
    let mut served = Served::start(&session, &["shadow", "serve"]);
    for message in [
        json!({"type": "accept", "id": 3, "changes": [good]}),
        json!({"type": "takeBack", "id": 3, "accept": 2}),
    ] {
        served.send(&message);
        assert_eq!(served.next().unwrap()["failure"], "noView");
    }
    served.close();
}

#[test]
fn a_commit_is_accepted_with_the_files_or_not_at_all_and_taken_back() {
    let session = session();
    session
        .write("project/a.txt", "a\n")
        .write("project/users/x", "x\n")
        .write("home/.config/headstart/config.toml", "deny = [\"users\"]\n");
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=u", "-c", "user.email=u@v"]).args(words).current_dir(session.workspace());
        let output = git.env("HOME", session.workspace().join("../home")).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q", "-b", "main", "."]);
    git(&["add", "a.txt"]);
    git(&["commit", "-q", "-m", "first"]);
    let mut served = Served::here(&session);
    let commit = "echo b > b.txt; git add -A; git -c user.name=a -c user.email=a@b commit -q -m second";
    let change = served.run(commit, &json!({}))["git"].take();
    assert_eq!(change["refs"][0]["name"], "refs/heads/main", "{change}");
    // Another view shows what was done before.
    let shown = served.run("git log --format=%s", &json!({"view": "two", "git": {"step": change}}));
    assert_eq!(shown["output"], "second\nfirst\n", "{shown}");

    let beside = |change: &Value| json!({"change": change}).to_string();
    let mut forged = change.clone();
    forged["other"] = json!([".git/config"]);
    let mut closed = change.clone();
    closed["paths"] = json!(["users/x"]);
    let mut elsewhere = change.clone();
    elsewhere["refs"][0]["name"] = json!("refs/heads/../../config");
    let mut accept = |id: u64, changes: Vec<Value>, beside: String| {
        served.send(&json!({"type": "accept", "id": id, "changes": changes, "beside": beside}));
        served.next().unwrap()
    };
    for beside in [beside(&forged), beside(&closed), beside(&elsewhere), "{}".to_owned()] {
        let answer = accept(3, Vec::new(), beside);
        assert_eq!(answer["type"], "failed", "{answer}");
        assert_eq!(git(&["log", "--format=%s", "--all"]), "first");
    }
    // A link that does not fit is as good a reason as a ref that moved.
    let misfit = vec![self::change("a.txt", &Value::Null, &link("b.txt"))];
    assert_eq!(accept(4, misfit, beside(&change))["conflicts"], json!(["a.txt"]));
    assert_eq!(git(&["log", "--format=%s", "--all"]), "first");

    let fits = || vec![self::change("link", &Value::Null, &link("a.txt"))];
    assert_eq!(accept(5, fits(), beside(&change))["conflicts"], json!([]));
    assert_eq!(git(&["log", "--format=%s"]), "second\nfirst");
    served.send(&json!({"type": "takeBack", "id": 6, "accept": 5}));
    assert_eq!(served.next().unwrap()["conflicts"], json!([]));
    assert_eq!(
        (git(&["log", "--format=%s"]), git(&["status", "--porcelain"])),
        ("first".into(), "?? users/".into())
    );
    assert!(!session.workspace().join("link").is_symlink());

    git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    served.send(&json!({"type": "accept", "id": 7, "changes": fits(), "beside": beside(&change)}));
    assert_eq!(served.next().unwrap()["conflicts"], json!([".git/refs/heads/main"]));
    assert_eq!(git(&["log", "--format=%s"]), "theirs\nfirst");
    assert!(!session.workspace().join("link").is_symlink());
    served.close();
}
