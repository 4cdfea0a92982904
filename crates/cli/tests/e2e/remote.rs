//! Holds how views on another machine work. A real process with a home of its own serves them, and other ones lie.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::shadow::{edit, events, session, shell};
use crate::support::{Outcome, PATIENCE, Session};

/// Much longer than anything here takes.
/// The home of the other machine. For the binary it is another machine, because it has another environment and home.
fn remote_home(session: &Session) -> PathBuf {
    session.home().with_file_name("there")
}

/// Writes the program that reaches the other machine into the user's own configuration file.
fn set_remote_command(session: &Session, words: &[&str]) {
    let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    session
        .write("home/.config/headstart/config.toml", format!("[shadow]\nremote = [{}]\n", words.join(", ")));
}

/// A session whose views are in another process of this machine. What is sent to that process is noted, and its process
/// id.
fn served() -> Session {
    let session = session();
    let there = remote_home(&session);
    fs::create_dir(&there).unwrap();
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let tool = |name: &str, below: &str| {
        std::env::var_os(name).map_or_else(|| home.join(below), PathBuf::from).display().to_string()
    };
    let script = format!(
        "cd '{there}' && tee -a asked | {{ echo $BASHPID > pid; exec env -i HOME='{there}' PATH=\"$PATH\" CARGO_HOME='{}' RUSTUP_HOME='{}' '{}' shadow serve; }}",
        tool("CARGO_HOME", ".cargo"),
        tool("RUSTUP_HOME", ".rustup"),
        env!("CARGO_BIN_EXE_headstart"),
        there = there.display(),
    );
    set_remote_command(&session, &["bash", "-c", &script]);
    session
}

/// A session whose other machine greets, says that it has the workspace, and answers a command with these lines.
fn session_with_remote_answer(answer: &str) -> Session {
    let session = session();
    session.write("project/a.txt", "a\n").write("answer", answer);
    let script = format!(
        "echo '{}'; while read -r line; do case $line in *'\"type\":\"tree\"'*) echo '{}';; *'\"type\":\"run\"'*) cat '{}';; esac; done",
        json!({"type": "hello", "version": 1, "program": "p", "tier": "kernel", "notes": []}),
        json!({"type": "ready", "id": 1}),
        session.home().with_file_name("answer").display(),
    );
    set_remote_command(&session, &["bash", "-c", &script]);
    session
}

fn received_requests(session: &Session) -> String {
    fs::read_to_string(remote_home(session).join("asked")).unwrap()
}

/// Waits until the serving process has ended and has left nothing but the copy on its disk.
fn wait_until_over(session: &Session) {
    let folder = remote_home(session);
    let pid = fs::read_to_string(folder.join("pid")).unwrap();
    let is_over = || {
        let rooms =
            fs::read_dir(folder.join(".local/state/headstart/shadow")).into_iter().flatten().flatten();
        let rooms = rooms.flat_map(|rooms| fs::read_dir(rooms.path()).into_iter().flatten().flatten());
        let is_left = rooms.into_iter().any(|room| room.file_name().to_string_lossy().starts_with("view-"));
        !Path::new("/proc").join(pid.trim()).exists() && !is_left
    };
    let started = Instant::now();
    while !is_over() {
        assert!(started.elapsed() < PATIENCE, "process {pid} of the other side is left, or what it kept");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn finished(outcome: &Outcome) -> (Value, Value) {
    let finished = outcome.finished();
    (finished["status"].clone(), finished["boundary"]["verdict"]["detail"].clone())
}

#[test]
fn tests_run_ahead_on_another_machine_and_are_accepted_here() {
    let mut session = served();
    session
        .write(
            "project/Cargo.toml",
            "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        )
        .write("project/.gitignore", "target\nignored.txt\n")
        .write(
            "project/src/lib.rs",
            "pub fn one() -> u32 { 1 }\n\n#[test]\nfn it_is_one() { assert_eq!(one(), 1); }\n",
        )
        .write("project/make.sh", "cat src/lib.rs > made.txt; pwd; ls -A\n")
        .write("project/old/gone.txt", "gone\n")
        .write("project/ignored.txt", "stays-here-1\n")
        .write("project/.env", "stays-here-2\n")
        .write("project/.git/config", "stays-here-3\n")
        .write("project/sub/.git/config", "stays-here-4\n");
    let before = session.hash();
    let recording = json!({"turns": [
        {"toolCalls": [
            shell("rm -r old"), edit("{ 1 }", "{ 2 }"), shell("cargo test --lib"), shell("sh make.sh"),
        ]},
        {"toolCalls": [edit("one(), 1", "one(), 2"), shell("cargo test --lib")]},
        {"text": "It gives two."},
    ]});
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert_eq!(session.hash(), before, "nothing changes before an accept");
    let told: Vec<_> = events(&outcome, "shadowRan")
        .iter()
        .map(|ran| (ran["view"].clone(), ran["exitCode"].clone(), ran["tests"].clone()))
        .collect();
    assert_eq!(
        told,
        [
            (json!("remote"), json!(0), Value::Null),
            (json!("remote"), json!(101), json!("1 failed, 0 passed")),
            (json!("remote"), json!(0), Value::Null),
            (json!("remote"), json!(0), json!("1 passed")),
        ],
        "{outcome}"
    );
    // The model reads the paths of the workspace, and none of the other machine.
    let results = serde_json::to_string(&events(&outcome, "toolResult")).unwrap();
    let workspace = session.workspace().canonicalize().unwrap();
    assert!(results.contains(workspace.to_str().unwrap()) && !results.contains("copies"), "{results}");
    assert!(!results.contains("ignored.txt") && !results.contains(".env"), "{results}");
    assert!(
        !received_requests(&session).contains("stays-here"),
        "what git ignores, what rules close and git's own stay here"
    );

    let accepted = session.run(&["accept", &id, "--json"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert!(session.text("made.txt").unwrap().contains("{ 2 }") && session.text("old/gone.txt").is_none());
    assert!(!session.workspace().join("target").exists(), "build output stays there");
    wait_until_over(&session);
}

#[test]
fn only_what_changed_is_sent_again() {
    let session = served();
    session.write("project/a.txt", "sent-once\n").write("project/b/c.txt", "sent-once-too\n");
    let run = |line: &str| {
        let ran = session.run(&["shadow", "run", "--", "bash", "-c", line]);
        assert_eq!(ran.code, Some(0), "{ran}");
        (ran.stdout, received_requests(&session))
    };
    let (said, first) = run("cat a.txt b/c.txt");
    assert_eq!(said, "sent-once\nsent-once-too\n");
    let (_, second) = run("cat a.txt");
    let second = &second[first.len()..];
    assert!(!second.contains("\"type\":\"tree\"") && !second.contains("sent-once"), "{second}");
    session.write("project/a.txt", "sent-later\n");
    fs::rename(session.workspace().join("b"), session.workspace().join("d")).unwrap();
    let before = received_requests(&session).len();
    let (said, third) = run("cat a.txt d/c.txt; ls");
    let third = &third[before..];
    assert_eq!(said, "sent-later\nsent-once-too\na.txt\nd\n");
    assert!(
        third.contains("sent-later") && !third.contains("sent-once"),
        "a moved file is there already: {third}"
    );
    // The serving process died in the middle of a change. The next one checks its copy, and asks for what it lacks.
    let copies = remote_home(&session).join(".local/state/headstart/copies");
    let copy = fs::read_dir(&copies).unwrap().next().unwrap().unwrap().path();
    fs::write(copy.join("tree/d/c.txt"), "half").unwrap();
    let log = fs::read_to_string(copy.join("log.jsonl")).unwrap();
    fs::write(copy.join("log.jsonl"), &log[..=log.trim_end().rfind('\n').unwrap()]).unwrap();
    assert_eq!(run("cat d/c.txt").0, "sent-once-too\n");
}

#[test]
fn what_cannot_be_reached_is_a_boundary_with_its_reason() {
    let hello = |version: u32| json!({"type": "hello", "version": version}).to_string();
    let none =
        json!({"type": "hello", "version": 1, "program": "p", "tier": null, "notes": ["no namespaces"]});
    let cases = [
        ("exit 0".to_owned(), "the connection ended"),
        ("echo 'no route to host' >&2; exit 255".to_owned(), "the connection ended: no route to host"),
        ("echo Welcome".to_owned(), "it began with \"Welcome\", which is no greeting"),
        (
            format!("echo '{}'; sleep 9", hello(2)),
            "it speaks version 2 of the exchange, and this side version 1",
        ),
        (
            format!("echo '{}'; sleep 9", hello(0)),
            "it speaks version 0 of the exchange, and this side version 1",
        ),
        (format!("echo '{none}'; sleep 9"), "it has no views: no namespaces"),
        ("head -c 20000000 /dev/zero; sleep 9".to_owned(), "a message is longer than"),
    ];
    for (script, why) in cases {
        let mut session = session();
        session.write("project/a.txt", "a\n");
        set_remote_command(&session, &["bash", "-c", &script]);
        let before = session.hash();
        let recording = json!({"turns": [{"toolCalls": [shell("echo x > a.txt")]}, {"text": "never said"}]});
        let (outcome, _) = session.speculate(&recording, "auto-edit");
        let (status, detail) = finished(&outcome);
        assert_eq!(status, "boundary", "{script}: {outcome}");
        assert!(detail.as_str().unwrap().contains(why), "{script}: {detail}");
        assert_eq!(session.hash(), before, "{script}");
    }
    let session = session();
    set_remote_command(&session, &["no-such-program"]);
    let ran = session.run(&["shadow", "run", "--", "true"]);
    ran.assert_refused(1, &["no-such-program is not installed where PATH can find it"]);
    session.write("project/here", "#!/bin/sh\ntouch ran\n");
    let path = format!(".:{}:/usr/bin:/bin", session.workspace().display());
    let session = session.variable("PATH", &path);
    set_remote_command(&session, &["here"]);
    session.run(&["shadow", "run", "--", "true"]).assert_refused(1, &["here is not installed"]);
    assert!(session.text("ran").is_none(), "no program of the workspace is started");
}

/// The answer to a command that made these changes.
fn changes_answer(changes: &Value) -> String {
    json!({"type": "ran", "id": 2, "output": "", "exitCode": 0, "changes": changes, "timeUs": 0, "processorUs": 0, "peakBytes": 0})
        .to_string()
        + "\n"
}

fn written(path: &str) -> Value {
    // The hash of empty content.
    let content = "99aa06d3014798d86001c324468d497f";
    json!([{"path": path, "kind": {"type": "write", "content": content, "executable": true}}])
}

/// Whatever another machine says, no file of this machine changes.
#[test]
fn a_machine_that_lies_is_not_believed() {
    let empty = json!({"type": "content", "id": 2, "hash": "99aa06d3014798d86001c324468d497f", "bytes": ""});
    let with = |path: &str| format!("{empty}\n{}", changes_answer(&written(path)));
    let link = |path: &str, target: &str| {
        changes_answer(&json!([{"path": path, "kind": {"type": "link", "target": target}}]))
    };
    let wrong_hash =
        json!({"type": "content", "id": 2, "hash": "99aa06d3014798d86001c324468d497f", "bytes": "x"});
    let other = json!({"type": "missing", "id": 2, "hashes": ["00000000000000000000000000000000"]});
    let cases = [
        (with("../outside.txt"), "is outside the workspace"),
        (with("/etc/cron.d/x"), "is outside the workspace"),
        (with("a/../../outside.txt"), "is outside the workspace"),
        (with(".git/hooks/post-checkout"), "which is git's own"),
        (with(".Git/hooks/post-checkout"), "which is git's own"),
        (with(".env"), "which your rules close"),
        (link("l", "/etc/passwd"), "a link that leads out of the workspace"),
        (link("l", "../../x"), "a link that leads out of the workspace"),
        (changes_answer(&written("new.txt")), "did not come"),
        (format!("{wrong_hash}\n"), "as it was announced"),
        (format!("{other}\n"), "which no staged file has"),
        ("nonsense\n".to_owned(), "\"nonsense\" is no message"),
        (
            format!("{}\n", json!({"type": "hello", "version": 1, "program": "", "tier": null, "notes": []})),
            "it says hello twice",
        ),
        (format!("{}\n", json!({"type": "ready", "id": 2})), "a message that is no answer to a command"),
        (
            format!("{}\n", json!({"type": "failed", "id": 2, "failure": "noView", "why": "a\u{1b}[2J\nb"})),
            "a [2J b",
        ),
        ("x".repeat(17 << 20), "a message is longer than"),
        (
            format!("{}\n", json!({"type": "alive"})).repeat(3)
                + &format!("{}\n", json!({"type": "ready", "id": 99})).repeat(10_001),
            "it answers what nobody asked",
        ),
    ];
    for (answer, why) in cases {
        let session = session_with_remote_answer(&answer);
        let before = session.hash();
        let result = session.run(&["shadow", "run", "--apply", "--", "true"]);
        let start: String = answer.chars().take(120).collect();
        assert!(result.code != Some(0) && result.stderr.contains(why), "{start}: {result}");
        assert_eq!(session.hash(), before, "{start}");
        assert!(!session.home().with_file_name("outside.txt").exists(), "{start}");
    }
    // What a view on this machine would not be allowed to do is not allowed here either.
    for (path, reason) in [(".env", "secret_path"), (".headstart/config.toml", "protected_path")] {
        let mut session = session_with_remote_answer(&with(path));
        let before = session.hash();
        let recording = json!({"turns": [{"toolCalls": [shell("touch x")]}, {"text": "never said"}]});
        let (outcome, _) = session.speculate(&recording, "auto-edit");
        assert_eq!(outcome.finished()["boundary"]["verdict"]["reason"], reason, "{path}: {outcome}");
        assert_eq!(session.hash(), before, "{path}");
    }
}

#[test]
fn a_connection_that_breaks_in_a_command_is_a_boundary_and_nothing_is_staged() {
    let session = served();
    session.write("project/wait.sh", "touch new; sleep 63.5\n");
    let before = session.hash();
    let model = session
        .recording(&json!({"turns": [{"toolCalls": [shell("bash wait.sh")]}, {"text": "never said"}]}));
    let arguments = ["speculate", "--json", "--mode", "auto-edit", "--model", &model, "wait"];
    let child = session.command(&arguments).spawn().unwrap();
    let pid = remote_home(&session).join("pid");
    wait_for("the command runs", || is_running("sleep\u{0}63.5"));
    let served = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let served = rustix::process::Pid::from_raw(served).unwrap();
    rustix::process::kill_process(served, rustix::process::Signal::KILL).unwrap();
    let outcome = session.outcome(&arguments, child);
    let (status, detail) = finished(&outcome);
    assert_eq!(status, "boundary", "{outcome}");
    assert!(detail.as_str().unwrap().contains("the connection ended"), "{detail}");
    assert_eq!((session.hash(), &outcome.finished()["changes"]), (before, &json!([])));
}

/// If this side is killed, everything on the other side ends: the command, its view, and the serving process.
#[test]
fn a_command_ends_with_the_one_who_asked_for_it() {
    let session = served();
    session.write("project/wait.sh", "sleep 61.5 & sleep 61.5\n");
    let model = session
        .recording(&json!({"turns": [{"toolCalls": [shell("bash wait.sh")]}, {"text": "never said"}]}));
    let live = session.live(&["speculate", "--json", "--mode", "auto-edit", "--model", &model, "wait"]);
    let runs = || is_running("sleep\u{0}61.5");
    wait_for("the command runs", runs);
    live.kill();
    wait_for("the command has ended", || !is_running("sleep\u{0}61.5"));
    wait_until_over(&session);
    // The other side keeps the limit of time.
    session.write(
        "home/.config/headstart/config.toml",
        fs::read_to_string(session.home().join(".config/headstart/config.toml")).unwrap() + "time = '1s'\n",
    );
    let ran = session.run(&["shadow", "run", "--json", "--", "bash", "-c", "sleep 62.5 & sleep 62.5"]);
    assert_eq!(ran.json()[0]["end"]["type"], "timeUp", "{ran}");
    assert!(!is_running("sleep\u{0}62.5"));
    wait_until_over(&session);
}

#[test]
fn git_runs_here_for_the_repository_stays_here() {
    let mut session = served();
    session.write("project/a.txt", "a\n");
    for arguments in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ] {
        assert!(
            std::process::Command::new("git")
                .args(arguments)
                .current_dir(session.workspace())
                .status()
                .unwrap()
                .success()
        );
    }
    let call = crate::support::project::call;
    let read = call("read_file", &json!({"file_path": "a.txt"}));
    let write = call("write_file", &json!({"file_path": "a.txt", "content": "b\n"}));
    let recording = json!({"turns": [
        {"toolCalls": [read, write, shell("git status --short > s.txt; cat s.txt"), shell("cat a.txt s.txt > all.txt; cat all.txt")]},
        {"text": "Done."},
    ]});
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let views: Vec<_> = events(&outcome, "shadowRan").iter().map(|ran| ran["view"].clone()).collect();
    assert_eq!(views, [json!("kernel"), json!("remote")], "{outcome}");
    let results = serde_json::to_string(&events(&outcome, "toolResult")).unwrap();
    assert!(results.contains("b\\\\n M a.txt") || results.contains("b\\n M a.txt"), "{results}");
    // That a program asks git itself cannot be known before it runs.
    session.write("project/ask.sh", "g=gi; ${g}t log\n");
    let recording = json!({"turns": [{"toolCalls": [shell("bash ask.sh")]}, {"text": "never said"}]});
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    let (status, detail) = finished(&outcome);
    assert_eq!(status, "boundary", "{outcome}");
    assert!(detail.as_str().unwrap().contains("the repository is not sent to the other machine"), "{detail}");
}

#[test]
fn what_is_there_is_told_and_removed() {
    let session = served();
    session.write("project/a.txt", "a\n").write("project/.env", "x\n");
    let check = session.run(&["shadow", "check", "--json"]);
    assert_eq!(check.code, Some(0), "{check}");
    let remote = &check.json()[0]["remote"];
    assert_eq!(
        (&remote["files"], &remote["bytes"], &remote["problem"]),
        (&json!(1), &json!(2), &Value::Null),
        "{check}"
    );
    assert!(remote["program"].as_str().unwrap().ends_with("(kernel)"), "{check}");
    wait_until_over(&session);
    let other = Session::new().variable("HOME", remote_home(&session).to_str().unwrap());
    let list = other.run(&["shadow", "list", "--json"]);
    assert_eq!((&list.json()[0]["type"], &list.json()[0]["bytes"]), (&json!("copy"), &json!(2)), "{list}");
    let clean = other.run(&["shadow", "clean", "--all"]);
    assert!(clean.code == Some(0) && clean.stdout.contains("removed"), "{clean}");
    assert_eq!(fs::read_dir(remote_home(&session).join(".local/state/headstart/copies")).unwrap().count(), 0);
    // The other side has a new copy from now on, and is sent all of it.
    assert_eq!(session.run(&["shadow", "run", "--", "cat", "a.txt"]).stdout, "a\n");
    // `shadow check` also says if the other machine cannot be reached.
    set_remote_command(&session, &["false"]);
    let check = session.run(&["shadow", "check"]);
    assert!(
        check.code == Some(1) && check.stdout.contains("FAILED: remote: false: the connection ended"),
        "{check}"
    );
    assert!(check.stdout.starts_with("no views: the other machine gives none"), "{check}");
}

/// An SSH server drops some of the connections that are made at the same time. This one takes one at a time, until it
/// has greeted.
#[test]
fn connections_are_made_one_after_the_other() {
    let session = session();
    let there = remote_home(&session);
    fs::create_dir(&there).unwrap();
    session.write("project/a.txt", "a\n");
    let script = format!(
        "cd '{there}'; mkdir busy || exit 255; env -i HOME='{there}' PATH=\"$PATH\" '{}' shadow serve | {{ read -r hello; rmdir busy; printf '%s\\n' \"$hello\"; cat; }}",
        env!("CARGO_BIN_EXE_headstart"),
        there = there.display(),
    );
    set_remote_command(&session, &["bash", "-c", &script]);
    let run = ["shadow", "run", "--", "cat", "a.txt"];
    let all: Vec<_> = (0..6).map(|_| session.command(&run).spawn().unwrap()).collect();
    for child in all {
        let outcome = session.outcome(&run, child);
        assert_eq!((outcome.code, &*outcome.stdout), (Some(0), "a\n"), "{outcome}");
    }
}

/// Each process makes the copy's folder for incoming contents anew, which another one may be filling: that is only done
/// below the lock of the copy.
#[test]
fn processes_that_send_something_new_at_the_same_time_all_find_it_there() {
    const PROCESSES: usize = 6;
    let session = session();
    let there = remote_home(&session);
    fs::create_dir(&there).unwrap();
    let script = format!(
        "exec env -i HOME='{}' PATH=\"$PATH\" '{}' shadow serve",
        there.display(),
        env!("CARGO_BIN_EXE_headstart"),
    );
    set_remote_command(&session, &["bash", "-c", &script]);
    for round in 0..3 {
        let names: Vec<_> = (0..PROCESSES).map(|number| format!("{round}-{number}.txt")).collect();
        let started: Vec<_> = names
            .iter()
            .map(|name| {
                // The next process has more to send than this one.
                session.write(&format!("project/{name}"), format!("in {name}\n").repeat(2_000));
                let arguments = ["shadow", "run", "--", "tail", "-n", "1", name];
                (arguments, session.command(&arguments).spawn().unwrap())
            })
            .collect();
        for (name, (arguments, child)) in names.iter().zip(started) {
            let outcome = session.outcome(&arguments, child);
            assert_eq!(
                (outcome.code, outcome.stdout),
                (Some(0), format!("in {name}\n")),
                "{}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn what_was_built_ahead_there_is_there_for_all_views() {
    let session = served();
    session.write("project/src.txt", "x\n").write("project/.gitignore", "target\n");
    session.write(
        "project/make.sh",
        "test target/lib -nt src.txt || { mkdir -p target; echo built; cp src.txt target/lib; }\n",
    );
    session.write("project/Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\n");
    let warmed = session.run(&["shadow", "warm", "--json", "--", "sh", "make.sh"]);
    assert_eq!((warmed.code, &warmed.json()[0]["kept"]), (Some(0), &json!(true)), "{warmed}");
    let ran = session.run(&["shadow", "run", "--", "sh", "make.sh"]);
    assert!(ran.code == Some(0) && !ran.stdout.contains("built"), "{ran}");
    assert!(session.text("target/lib").is_none());
    session.write("project/src.txt", "y\n");
    let ran = session.run(&["shadow", "run", "--", "bash", "-c", "sh make.sh; cat target/lib"]);
    assert!(
        ran.stdout.contains("built") && ran.stdout.ends_with("y\n"),
        "what changed since is newer: {ran}"
    );
    wait_until_over(&session);
}

fn is_running(words: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        fs::read(process.path().join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).starts_with(words))
    })
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A side that stops in the middle is given up after a minute, and its program is killed.
#[test]
#[ignore = "takes a minute and a half; .ci/long runs it"]
fn a_side_that_hangs_is_given_up() {
    let session = served();
    session.write("project/wait.sh", "sleep 64.5\n");
    let arguments = ["shadow", "run", "--", "bash", "wait.sh"];
    let child = session.command(&arguments).spawn().unwrap();
    wait_for("the command runs", || is_running("sleep\u{0}64.5"));
    let served = fs::read_to_string(remote_home(&session).join("pid")).unwrap().trim().parse().unwrap();
    let served = rustix::process::Pid::from_raw(served).unwrap();
    rustix::process::kill_process(served, rustix::process::Signal::STOP).unwrap();
    let started = Instant::now();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("nothing was heard of it for 60 s"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(80));
    wait_for("the command has ended", || !is_running("sleep\u{0}64.5"));
    // What the killed side kept on its disk is removed by the next process that serves.
    assert_eq!(session.run(&["shadow", "run", "--", "true"]).code, Some(0));
    wait_until_over(&session);
}

/// Holds the same with a real `sshd` on the loopback interface.
#[test]
#[ignore = "needs openssh-server; .ci/long installs it"]
fn commands_run_over_ssh() {
    let sshd = Path::new("/usr/sbin/sshd");
    assert!(sshd.exists(), "install openssh-server, or leave this test out");
    let session = served();
    session.write("project/a.txt", "a\n").write("project/wait.sh", "sleep 65.5\n");
    let folder = remote_home(&session).join("ssh");
    fs::create_dir(&folder).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let run = |program: &str, arguments: &[&str]| {
        assert!(std::process::Command::new(program).args(arguments).status().unwrap().success(), "{program}");
    };
    for name in ["host", "key"] {
        run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &at(name)]);
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    fs::write(at("config"), "StrictModes no\nUsePAM no\nPidFile none\n").unwrap();
    if rustix::process::geteuid().is_root() {
        fs::create_dir_all("/run/sshd").unwrap();
    }
    let mut server = std::process::Command::new(sshd)
        .args(["-D", "-f", &at("config"), "-h", &at("host"), "-p", &port, "-oListenAddress=127.0.0.1"])
        .args([&format!("-oAuthorizedKeysFile={}", at("key.pub")), "-oPermitRootLogin=yes", "-E", &at("log")])
        .spawn()
        .unwrap();
    let script = format!(
        "cd '{there}' && echo $$ > pid && exec env HOME='{there}' '{}' shadow serve",
        env!("CARGO_BIN_EXE_headstart"),
        there = remote_home(&session).display(),
    );
    let key = at("key");
    let known = format!("-oUserKnownHostsFile={}", at("known"));
    let options = ["-oBatchMode=yes", "-oStrictHostKeyChecking=accept-new", &known];
    let words =
        [&["ssh", "-F", "none"][..], &options, &["-i", &key, "-p", &port, "127.0.0.1", &script]].concat();
    set_remote_command(&session, &words);
    let connected = || session.run(&["shadow", "check", "--json"]).json()[0]["remote"]["problem"].is_null();
    wait_for("sshd listens", connected);
    let ran = session.run(&["shadow", "run", "--", "bash", "-c", "cat a.txt; echo b > b.txt"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "a\n"), "{ran}");
    assert!(ran.stderr.contains("create           b.txt"), "{ran}");
    wait_until_over(&session);
    // The asking process is killed, and the command on the other side ends with it.
    let mut child = session.command(&["shadow", "run", "--", "bash", "wait.sh"]).spawn().unwrap();
    wait_for("the command runs", || is_running("sleep\u{0}65.5"));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the command has ended", || !is_running("sleep\u{0}65.5"));
    wait_until_over(&session);
    server.kill().unwrap();
    server.wait().unwrap();
    let refused = session.run(&["shadow", "run", "--", "true"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("Connection refused"), "{refused}");
}
