//! Holds how the binary uses language servers, each in a view of its own. The servers are small and scripted, but for
//! one real one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::project::call;
use crate::support::{Outcome, Session};

const SERVER: &str = include_str!("../support/language_server.py");

/// A project with two files of a language whose server behaves as `part` says, with these settings.
pub(crate) fn session(part: &str, settings: &str) -> Session {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    session.write("server/mock", SERVER);
    let server = session.workspace().with_file_name("server").join("mock").canonicalize().unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let server = format!(
        "[code-intel]\nafter_edit = '25s'\n{settings}\n[code-intel.servers.mock]\ncommand = '{}'\nargs = ['{part}']\n\
         languages = {{ mock = 'mock' }}\nsettling = 'versions'\n",
        server.display()
    );
    session
        .write("home/.config/headstart/config.toml", server)
        .write("project/a.mock", "one\ntwo\n")
        .write("project/b.mock", "three\n")
        .write("project/.env", "TOKEN=hidden\n");
    session
}

pub(crate) fn edit(from: &str, to: &str) -> Value {
    call("edit", &json!({"file_path": "a.mock", "old_string": from, "new_string": to}))
}

pub(crate) fn at_one(tool: &str) -> Value {
    call(tool, &json!({"path": "a.mock", "line": 1, "symbol": "one"}))
}

pub(crate) fn diagnostics() -> Value {
    call("diagnostics", &json!({"paths": ["a.mock"]}))
}

/// What the model read, one text for each call.
pub(crate) fn read(outcome: &Outcome) -> Vec<String> {
    let results = outcome.json().into_iter().filter(|line| line["type"] == "toolResult");
    let said = |line: Value| {
        let result = &line["result"];
        let text = result["output"].as_str().or_else(|| result["error"].as_str());
        text.map_or_else(|| result.to_string(), str::to_owned)
    };
    results.map(said).collect()
}

pub(crate) fn turns(calls: &[Value]) -> Value {
    let calls = calls.iter().map(|call| json!({"toolCalls": [call]}));
    let turns: Vec<Value> = calls.chain([json!({"text": "Done."})]).collect();
    json!({ "turns": turns })
}

#[test]
fn work_ahead_reads_the_errors_of_its_own_edits_and_the_workspace_shows_nothing() {
    let mut session = session("good", "");
    let before = session.hash();
    let recording = turns(&[
        diagnostics(),
        edit("one", "ERR"),
        edit("two", "use c.mock"),
        call("write_file", &json!({"file_path": "c.mock", "content": "three\n"})),
        edit("ERR", "one"),
        diagnostics(),
    ]);
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert_eq!(session.hash(), before, "nothing changes before an accept");
    let read = read(&outcome);
    assert_eq!(read[0], "nothing new");
    let told = |text: &str| text.split_once('\n').map(|(_, told)| told.to_owned()).unwrap_or_default();
    assert_eq!(told(&read[1]), "[mock: 1 new error in a.mock]\na.mock:1:1: error: ERR");
    // An error that was reported is not reported again.
    assert_eq!(told(&read[2]), "[mock: 1 new error in a.mock]\na.mock:2:1: error: use c.mock");
    // The server finds a new file on the disk of its view.
    assert_eq!(
        (told(&read[3]).as_str(), told(&read[4]).as_str(), read[5].as_str()),
        ("", "", "nothing new"),
        "{outcome}"
    );
    // The accept judges the calls again and lets all of them pass.
    let accepted = session.run(&["accept", &id, "--json"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert_eq!(session.text("a.mock").as_deref(), Some("one\nuse c.mock\n"));
}

/// Where the project has no check of its own, a server looks at all that is staged before it is called done. It starts
/// with the first edit at the latest, and may still be loading then.
#[test]
fn what_is_staged_is_looked_at_before_it_is_called_done() {
    let settings = "start = 'lazy'";
    let works = |part: &str, calls: &[Value]| {
        let mut session = session(part, settings);
        let config = fs::read_to_string(session.home().join(".config/headstart/config.toml")).unwrap();
        // Nothing waits for a server after an edit.
        session.write("home/.config/headstart/config.toml", config.replace("'25s'", "'1ms'"));
        session.speculate(&turns(calls), "auto-edit").0
    };
    let outcome = works("good", &[edit("one", "ERR")]);
    let finished = outcome.finished();
    assert_eq!(finished["status"], "completed", "{outcome}");
    let check = &finished["check"];
    assert_eq!((&check["command"], &check["passed"]), (&json!("mock"), &json!(false)), "{outcome}");
    assert!(check.get("notRun").is_none(), "{outcome}");
    let outcome = works("good", &[edit("one", "uno")]);
    assert_eq!(outcome.finished()["check"]["passed"], true, "{outcome}");
    let outcome = works("crash", &[edit("one", "uno")]);
    let check = &outcome.finished()["check"];
    assert_eq!((&check["command"], &check["passed"]), (&json!("mock"), &json!(false)), "{outcome}");
    assert!(check["notRun"].as_str().is_some_and(|why| why.contains("out of luck")), "{outcome}");
    let unknown = call("write_file", &json!({"file_path": "notes.txt", "content": "ERR\n"}));
    let outcome = works("good", &[unknown]);
    assert!(outcome.finished().get("check").is_none(), "{outcome}");
}

#[test]
fn nothing_of_a_closed_file_is_answered_even_by_a_server_that_looks_for_it() {
    let mut session = session("good", "");
    session.write("project/.headstart/config.toml", "deny = ['keys']\n").write("project/keys/id", "hidden\n");
    let recording = turns(&[
        at_one("definition"),
        at_one("hover"),
        call("definition", &json!({"path": ".env", "line": 1, "symbol": "TOKEN"})),
    ]);
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    let read = read(&outcome);
    assert_eq!(
        read[0], "a closed file:1 (outside the workspace)\npasswd:1 (outside the workspace)\nb.mock:1: three",
        "{outcome}"
    );
    assert!(read[1].contains("b.mock: three") && !read[1].contains(".env"), "{outcome}");
    // A question about a closed file is a call that does not run ahead.
    assert_eq!(read.len(), 2, "{outcome}");
    assert_eq!(outcome.finished()["boundary"]["verdict"]["reason"], "secret_path", "{outcome}");
    assert!(!outcome.stdout.contains("hidden"), "{outcome}");
}

#[test]
fn a_rename_is_staged_in_one_step_and_one_that_leads_out_is_refused() {
    let rename = call("rename", &json!({"path": "a.mock", "line": 1, "symbol": "one", "to": "uno"}));
    for (part, expected, text) in [
        ("good", "edited a.mock", "uno\ntwo\n"),
        ("outside", "nothing was changed", "one\ntwo\n"),
        ("closed", "nothing was changed", "one\ntwo\n"),
    ] {
        let mut session = session(part, "");
        let before = session.hash();
        let (outcome, id) = session.speculate(&turns(std::slice::from_ref(&rename)), "auto-edit");
        assert!(read(&outcome)[0].starts_with(expected), "{part}: {outcome}");
        assert_eq!(session.hash(), before);
        let accepted = session.run(&["accept", &id, "--json"]);
        assert_eq!(accepted.code, Some(0), "{part}: {accepted}");
        assert_eq!(session.text("a.mock").as_deref(), Some(text));
    }
}

/// In `default` mode an edit of work ahead is asked about when it is taken, and so is a rename. In `plan` mode nothing
/// is staged.
#[test]
fn a_rename_asks_where_an_edit_would() {
    let rename =
        turns(&[call("rename", &json!({"path": "a.mock", "line": 1, "symbol": "one", "to": "uno"}))]);
    let mut session = session("good", "");
    let (staged, _) = session.speculate(&rename, "default");
    assert_eq!(staged.finished()["changes"][0]["path"], "a.mock", "{staged}");
    let (refused, _) = session.speculate(&rename, "plan");
    assert_eq!(refused.finished()["status"], "boundary", "{refused}");
    let (reads, _) = session.speculate(&turns(&[at_one("definition")]), "plan");
    assert_eq!(reads.finished()["status"], "completed", "{reads}");
}

#[test]
fn a_server_that_misbehaves_leaves_the_work_usable() {
    let again = call("read_file", &json!({"file_path": "a.mock"}));
    for (part, settings, expected) in [
        ("sleeps", "", "mock is still loading the project"),
        ("silent", "", "mock did not answer hover within 10 s"),
        ("flood", "", "mock "),
        ("crash", "", "mock ended; its last words: out of luck"),
        ("memory", "memory = '100MiB'", "mock "),
        ("outside", "", "a.mock: one"),
    ] {
        let mut session = session(part, settings);
        let before = (session.hash(), fs::read_to_string("/etc/hostname").ok());
        // The servers go on for a quarter of an hour, which is longer than a test waits for the binary.
        let (outcome, _) = session.speculate(&turns(&[at_one("hover"), again.clone()]), "auto-edit");
        assert_eq!(outcome.finished()["status"], "completed", "{part}: {outcome}");
        let read = read(&outcome);
        assert!(read[0].contains(expected), "{part}: {outcome}");
        assert!(read[1].contains("two"), "{part}: {outcome}");
        assert_eq!((session.hash(), fs::read_to_string("/etc/hostname").ok()), before, "{part}");
        assert!(
            !session.workspace().with_file_name("written").exists()
                && !session.home().join("written").exists()
        );
    }
}

/// A server that a project brings may come from anybody. So it runs in a view, and never in place of a program that the
/// user has.
#[test]
fn a_server_of_the_project_runs_in_a_view_and_the_users_own_comes_first() {
    let session = session("outside", "");
    let place = |name: &str| {
        let place = session.workspace().with_file_name(name);
        fs::create_dir_all(&place).unwrap();
        place.canonicalize().unwrap()
    };
    let users = place("bin");
    let path = format!("{}:{}", users.display(), std::env::var("PATH").unwrap());
    let config = fs::read_to_string(session.home().join(".config/headstart/config.toml")).unwrap();
    let named = config.replace(&format!("'{}'", place("server").join("mock").display()), "'mock-server'");
    assert_ne!(named, config);
    session
        .write("home/.config/headstart/config.toml", &named)
        .write("project/node_modules/.bin/mock-server", SERVER);
    let program = session.workspace().join("node_modules/.bin/mock-server");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut session = session.variable("PATH", &path);
    let before = (session.hash(), fs::read_to_string("/etc/hostname").ok());
    let ask = turns(&[at_one("hover"), call("read_file", &json!({"file_path": "b.mock"}))]);
    let (outcome, _) = session.speculate(&ask, "auto-edit");
    let told = read(&outcome);
    assert!(told[0].contains("a.mock: one"), "{outcome}");
    assert!(!told[0].contains("hidden") && told[1].contains("three"), "{outcome}");
    assert_eq!((session.hash(), fs::read_to_string("/etc/hostname").ok()), before);
    let written = [session.workspace().with_file_name("written"), session.home().join("written")];
    assert!(written.iter().all(|file| !file.exists()));
    session.write("bin/mock-server", "#!/bin/sh\necho the one of the user >&2; exit 1\n");
    fs::set_permissions(users.join("mock-server"), fs::Permissions::from_mode(0o755)).unwrap();
    let (outcome, _) = session.speculate(&ask, "auto-edit");
    assert!(read(&outcome)[0].contains("its last words: the one of the user"), "{outcome}");
}

#[test]
fn a_server_that_ends_with_each_edit_is_started_four_times() {
    let mut session = session("crashes on ERR", "");
    let mut calls = vec![edit("one", "ERR one")];
    // Repeating exactly the same call would end the work.
    let asked = |times| call("diagnostics", &json!({ "paths": vec!["a.mock"; times] }));
    calls.extend((1..=6).map(asked));
    let (outcome, _) = session.speculate(&turns(&calls), "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let last = read(&outcome).pop().unwrap();
    assert!(last.contains("mock ended 4 times within 10 min and is left alone"), "{outcome}");
}

/// Holds that there are no tools, and nothing runs, if servers are off, missing, not needed by any file, or too large
/// for the machine.
#[test]
fn without_a_server_there_are_no_tools() {
    let offered = |session: &mut Session| {
        let (outcome, _) = session.speculate(&turns(&[diagnostics()]), "auto-edit");
        !read(&outcome).first().is_some_and(|told| told.contains("there is no tool"))
            && outcome.finished()["status"] == "completed"
    };
    assert!(offered(&mut session("good", "")));
    assert!(!offered(&mut session("good", "mode = 'off'")));
    assert!(!offered(&mut session("good", "without = ['mock']")));
    assert!(!offered(&mut session("good", "").variable("HEADSTART_CODE_INTEL", "off")));
    assert!(!offered(&mut session("good", "").variable("HEADSTART_SHADOW", "off")));
    for (settings, expected) in [("", false), ("mode = 'servers'", true)] {
        let mut small = session("good", settings);
        small.write("machine/proc/meminfo", "MemTotal:        8000000 kB\n");
        assert_eq!(offered(&mut small), expected, "{settings}");
    }
    let mut gone = session("good", "");
    fs::remove_file(gone.workspace().with_file_name("server").join("mock")).unwrap();
    assert!(!offered(&mut gone));
    let mut other = session("good", "");
    for file in ["a.mock", "b.mock"] {
        fs::rename(other.workspace().join(file), other.workspace().join(file).with_extension("txt")).unwrap();
    }
    assert!(!offered(&mut other));
}

#[test]
fn diagnostics_of_files_and_of_a_speculation_are_printed() {
    let mut session = session("good", "");
    let (_, id) = session.speculate(&turns(&[edit("one", "ERR one")]), "auto-edit");
    let clean = session.run(&["shadow", "diagnostics", "a.mock"]);
    assert_eq!((clean.code, clean.stdout.as_str()), (Some(0), "nothing to tell\n"), "{clean}");
    let broken = session.run(&["shadow", "diagnostics", "--speculation", &id, "a.mock"]);
    assert_eq!(
        (broken.code, broken.stdout.as_str()),
        (Some(1), "new (1):\n  a.mock:1:1: error: ERR one\n"),
        "{broken}"
    );
    let line = session
        .run(&["shadow", "diagnostics", "--speculation", &id, "a.mock", "--json"])
        .json()
        .pop()
        .unwrap();
    assert_eq!(
        (&line["type"], &line["newErrors"], &line["new"][0]["line"]),
        (&json!("shadowDiagnostics"), &json!(1), &json!(1))
    );
    let closed = session.run(&["shadow", "diagnostics", ".env"]);
    assert!(closed.code == Some(1) && closed.stderr.contains(".env is closed"), "{closed}");
    let unknown = session.run(&["shadow", "diagnostics", "x.unknown"]);
    assert!(
        unknown.code == Some(1) && unknown.stderr.contains("no language server is configured"),
        "{unknown}"
    );
    let checked = session.run(&["shadow", "check", "--json"]).json().pop().unwrap();
    let servers = checked["servers"].as_array().unwrap();
    let mock = servers.iter().find(|server| server["name"] == "mock").unwrap();
    assert!(mock["program"].as_str().unwrap().ends_with("server/mock") && mock["wanted"] == true, "{mock}");
}

/// Speculates with a real language server. It works at the lowest priority, so on a busy machine its answers may come later
/// than the work waits for them. Until they are in the output, the work is done again.
fn speculate_until(
    session: &mut Session,
    recording: &Value,
    is_answered: impl Fn(&str) -> bool,
) -> (Outcome, String) {
    const TRIES: usize = 5;
    for _ in 1..TRIES {
        let (outcome, id) = session.speculate(recording, "auto-edit");
        if is_answered(&outcome.to_string()) {
            return (outcome, id);
        }
        session.run(&["abort", &id]);
    }
    session.speculate(recording, "auto-edit")
}

/// A crate without dependencies that nobody has built.
fn crate_for_rust_analyzer(settings: &str) -> Session {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let folder = |name: &str, below: &str| {
        let folder = std::env::var_os(name).map_or_else(|| home.join(below), PathBuf::from);
        folder.to_str().unwrap().to_owned()
    };
    let session = Session::new()
        .variable("HEADSTART_SHADOW", "")
        .variable("CARGO_HOME", &folder("CARGO_HOME", ".cargo"))
        .variable("RUSTUP_HOME", &folder("RUSTUP_HOME", ".rustup"));
    session
        .write("home/.config/headstart/config.toml", settings)
        .write(
            "project/Cargo.toml",
            "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        )
        .write("project/.gitignore", "target\nCargo.lock\n")
        .write("project/src/lib.rs", "pub fn one() -> u32 { 1 }\n");
    session
}

/// The server starts without anything prepared.
#[test]
fn rust_analyzer_tells_the_errors_of_work_ahead() {
    let mut session = crate_for_rust_analyzer("[code-intel]\nafter_edit = '25s'\n");
    let before = session.hash();
    let look = call("diagnostics", &json!({"paths": ["src/lib.rs"]}));
    let edit = |from: &str, to: &str| {
        call("edit", &json!({"file_path": "src/lib.rs", "old_string": from, "new_string": to}))
    };
    let calls = [look.clone(), look.clone(), edit("{ 1 }", "{ true }"), edit("true", "2"), look];
    let (outcome, _) = speculate_until(&mut session, &turns(&calls), |output| {
        output.contains("1 new error") && !output.contains("is still loading the project")
    });
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let read = read(&outcome);
    let needs = "this test needs rust-analyzer: .ci/install programs installs it";
    assert!(!read[0].contains("there is no tool"), "{needs}");
    assert!(
        read[2].contains("[rust-analyzer: 1 new error in src/lib.rs]") && read[2].contains("E0308"),
        "{outcome}"
    );
    assert!(!read[3].contains("new error") && read[4] == "nothing new", "{outcome}");
    assert_eq!(session.hash(), before);
}

/// The first work of a conversation, with the settings that everybody has: nobody has built the crate, so no command
/// checks it, and the server is still loading when the edit is answered.
#[test]
#[ignore = "rust-analyzer has to load the standard library within half a minute: .ci/long"]
fn rust_analyzer_looks_at_the_first_work_ahead() {
    let mut session = crate_for_rust_analyzer("");
    let edit =
        call("edit", &json!({"file_path": "src/lib.rs", "old_string": "{ 1 }", "new_string": "{ true }"}));
    let (outcome, _) = session.speculate(&turns(&[edit]), "auto-edit");
    let check = &outcome.finished()["check"];
    assert_eq!((&check["command"], &check["passed"]), (&json!("rust-analyzer"), &json!(false)), "{outcome}");
    assert!(check.get("notRun").is_none(), "{outcome}");
}

#[test]
fn pyright_tells_the_errors_of_work_ahead_and_renames() {
    let build = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let servers = build.join("servers/node_modules/.bin").canonicalize().unwrap_or_default();
    assert!(
        servers.join("pyright-langserver").exists(),
        "this test needs pyright-langserver: .ci/install programs installs it"
    );
    let path = format!("{}:{}", servers.display(), std::env::var("PATH").unwrap());
    let mut session = Session::new().variable("HEADSTART_SHADOW", "").variable("PATH", &path);
    session
        .write(
            "home/.config/headstart/config.toml",
            "[code-intel]\nafter_edit = '25s'\nwithout = ['basedpyright', 'ruff']\n",
        )
        .write("project/size.py", "def double(x: int) -> int:\n    return x * 2\n")
        .write("project/main.py", "from size import double\n\ndouble(2)\n");
    let before = session.hash();
    let edit = |from: &str, to: &str| {
        call("edit", &json!({"file_path": "main.py", "old_string": from, "new_string": to}))
    };
    let calls = [
        call("diagnostics", &json!({"paths": ["main.py"]})),
        edit("double(2)", "double('2')"),
        edit("double('2')", "double(3)"),
        call("rename", &json!({"path": "size.py", "line": 1, "symbol": "double", "to": "twice"})),
        call(
            "write_file",
            &json!({"file_path": "new.py", "content": "from size import twice\n\ntwice(4)\n"}),
        ),
    ];
    let (outcome, id) = speculate_until(&mut session, &turns(&calls), |output| {
        output.contains("1 new error") && !output.contains("had not settled after")
    });
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let read = read(&outcome);
    assert_eq!(read[0], "nothing new", "{outcome}");
    assert!(
        read[1].contains("[pyright: 1 new error in main.py]\nmain.py:3:8: error reportArgumentType"),
        "{outcome}"
    );
    assert!(!read[2].contains("new error") && !read[4].contains("new error"), "{outcome}");
    assert_eq!(session.hash(), before);
    assert_eq!(session.run(&["accept", &id, "--json"]).code, Some(0));
    assert_eq!(session.text("main.py").as_deref(), Some("from size import twice\n\ntwice(3)\n"));
}
