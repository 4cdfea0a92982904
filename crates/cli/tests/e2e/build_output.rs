//! Holds what a first trial meets: a fresh project, perhaps without a `.gitignore`, whose tests run ahead.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::shadow::{events, session, shell};
use crate::support::Session;

pub(crate) fn run(session: &Session, program: &str, words: &[&str]) {
    let status = Command::new(program)
        .args(words)
        .current_dir(session.workspace())
        .env_remove("CARGO_TARGET_DIR")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    let status = status.unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    assert!(status.success(), "{program} {words:?}");
}

/// Runs the command ahead twice and accepts the work. Returns the paths that the accept brought. `tests` is what must
/// be said of the tests, or empty.
fn accepted(session: &mut Session, command: &str, tests: &str) -> Vec<String> {
    let before = session.hash();
    let recording = json!({"turns": [
        {"toolCalls": [shell(command)]}, {"toolCalls": [shell(command)]}, {"text": "They pass."},
    ]});
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert_eq!(session.hash(), before, "nothing changes before an accept");
    let ran = events(&outcome, "shadowRan");
    let told: Vec<_> = ran.iter().map(|ran| (ran["exitCode"].clone(), ran["tests"].clone())).collect();
    let tests = if tests.is_empty() { Value::Null } else { json!(tests) };
    assert_eq!(told, [(json!(0), tests.clone()), (json!(0), tests)], "{outcome}");
    let accepted = session.run(&["accept", &id, "--json"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    let paths = outcome.finished()["changes"].as_array().unwrap().clone();
    paths.iter().map(|change| change["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_fresh_crate_is_tested_ahead_with_and_without_a_gitignore() {
    for (keeps, is_built) in [(true, false), (false, false), (false, true)] {
        let mut session = session();
        run(&session, "cargo", &["init", "--quiet", "--lib", "--name", "sample", "--vcs", "git"]);
        if !keeps {
            fs::remove_file(session.workspace().join(".gitignore")).unwrap();
        }
        if is_built {
            run(&session, "cargo", &["test", "--quiet", "--offline"]);
        }
        let brought = accepted(&mut session, "cargo test --lib", "1 passed");
        assert_eq!(brought, if is_built { vec![] } else { vec!["Cargo.lock"] });
        assert_eq!(session.workspace().join("target").exists(), is_built);
    }
}

#[test]
#[cfg_attr(not(feature = "programs"), ignore = "needs python3; the feature `programs` runs it")]
fn tests_of_python_run_ahead_without_a_gitignore() {
    let mut session = session();
    session
        .write("project/sample/__init__.py", "def one():\n    return 1\n")
        .write("project/sample/deep/er/__init__.py", "")
        .write("project/tests/__init__.py", "")
        .write(
            "project/tests/test_one.py",
            "import unittest\nimport sample, sample.deep.er\n\nclass One(unittest.TestCase):\n    def test(self):\n        self.assertEqual(sample.one(), 1)\n",
        );
    run(&session, "git", &["init", "--quiet"]);
    let python =
        ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(|path| Path::new(path).exists());
    let python = python.expect("this test needs a python3 of the system");
    // Writes files as `pytest` leaves them.
    let line = format!("{python} -m unittest -q && mkdir -p .pytest_cache/v && echo x > .pytest_cache/v/x");
    assert_eq!(accepted(&mut session, &line, "1 passed"), [""; 0]);
    assert!(!session.workspace().join("tests/__pycache__").exists());
}

#[test]
#[cfg_attr(not(feature = "programs"), ignore = "needs npm; the feature `programs` runs it")]
fn tests_of_node_run_ahead_beside_modules_that_nobody_ignores() {
    let mut session = session();
    session
        .write("project/package.json", "{\"name\": \"sample\", \"scripts\": {\"test\": \"node --test\"}}\n")
        .write("project/node_modules/one/package.json", "{\"name\": \"one\", \"main\": \"index.js\"}\n")
        .write("project/node_modules/one/index.js", "module.exports = () => 1;\n")
        .write(
            "project/one.test.js",
            "const fs = require('node:fs');\n\
             require('node:test')('one', () => require('node:assert').equal(require('one')(), 1));\n\
             fs.mkdirSync('node_modules/.cache', { recursive: true });\nfs.writeFileSync('node_modules/.cache/x', 'x');\n",
        );
    run(&session, "git", &["init", "--quiet"]);
    // Modules that several projects share have several names.
    let modules = session.workspace().join("node_modules");
    fs::hard_link(modules.join("one/index.js"), session.home().join("index.js")).unwrap();
    assert_eq!(accepted(&mut session, "npm test", "1 passed"), [""; 0]);
    assert!(!modules.join(".cache").exists());
}

/// A program that was told to stay offline does not try the network, so only its output tells that it needed one.
#[test]
#[cfg_attr(not(feature = "programs"), ignore = "needs npm; the feature `programs` runs it")]
fn packages_that_would_have_to_be_fetched_are_no_failure_of_the_code() {
    let mut session = session();
    session.write(
        "project/package.json",
        "{\"name\": \"sample\", \"dependencies\": {\"nowhere-at-all-42\": \"1\"}}\n",
    );
    run(&session, "cargo", &["init", "--quiet", "--lib", "--name", "sample", "--vcs", "git"]);
    let manifest = session.text("Cargo.toml").unwrap();
    session.write("project/Cargo.toml", format!("{manifest}nowhere-at-all-42 = \"1\"\n"));
    for command in
        ["cargo check", "cargo check 2>&1 | tail -n 3; exit 1", "cargo add nowhere-at-all-42", "npm install"]
    {
        let recording = json!({"turns": [{"toolCalls": [shell(command)]}, {"text": "It does not build."}]});
        let (outcome, _) = session.speculate(&recording, "auto-edit");
        let finished = outcome.finished();
        assert_eq!(finished["status"], "boundary", "{command}: {outcome}");
        assert_eq!(finished["boundary"]["verdict"]["reason"], "needs_host", "{command}: {outcome}");
    }
}

/// A crate with a lock file, whose `target` has not been built.
pub(crate) fn fresh_crate() -> Session {
    let session = session();
    run(&session, "cargo", &["init", "--quiet", "--lib", "--name", "sample", "--vcs", "git"]);
    run(&session, "cargo", &["generate-lockfile", "--quiet", "--offline"]);
    session
}

fn lines(session: &Session, arguments: &[&str]) -> Vec<Value> {
    let outcome = session.run(arguments);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome.json()
}

/// The promised JSON, without what differs from run to run.
fn shape(session: &Session, mut lines: Vec<Value>) -> String {
    for line in &mut lines {
        for (name, value) in line.as_object_mut().unwrap() {
            match name.as_str() {
                "output" => *value = json!("[output]"),
                "id" | "exitCode" => {}
                _ if value.is_number() => *value = json!("[number]"),
                _ => {}
            }
        }
    }
    let text: Vec<_> = lines.iter().map(ToString::to_string).collect();
    session.redact(&text.join("\n"))
}

fn view_folders(session: &Session) -> Vec<String> {
    let folder = session.home().join(".local/state/headstart/shadow");
    let workspaces = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let below = workspaces.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).unwrap());
    let mut names: Vec<_> =
        below.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.starts_with("view-") || name.starts_with(".new-"));
    names
}

#[test]
fn what_is_built_ahead_serves_every_view_until_its_user_builds() {
    let session = fresh_crate();
    let built = |session: &Session, line: &str| {
        let ran = session.run(&["shadow", "run", "--", "bash", "-c", line]);
        assert_eq!(ran.code, Some(0), "{ran}");
        ran.stderr.contains("Compiling sample")
    };
    let before = session.hash();
    assert!(built(&session, "cargo test --no-run"), "nothing is kept of one view for another");
    assert!(built(&session, "cargo test --no-run"));
    let warmed = lines(&session, &["shadow", "warm", "--json", "--", "cargo", "test", "--no-run"]);
    insta::assert_snapshot!(shape(&session, warmed), @r#"{"type":"shadowWarmed","exitCode":0,"end":{"type":"exited","code":0},"millis":"[number]","output":"[output]","folders":["target"],"bytes":"[number]","kept":true}"#);
    assert!(!built(&session, "cargo test --no-run"));
    insta::assert_snapshot!(shape(&session, lines(&session, &["shadow", "list", "--json"])), @r#"{"type":"warm","workspace":"/project","folders":["target"],"bytes":"[number]","used":"[number]","current":true}"#);
    // A view whose files differ from those on disk builds again, and no other view uses what it built.
    let line = "sed -i 's/left + right/left - right/' src/lib.rs && cargo test --lib";
    let failed = session.run(&["shadow", "run", "--", "bash", "-c", line]);
    assert!(failed.code == Some(101) && failed.stdout.contains("1 failed"), "{failed}");
    assert!(!built(&session, "cargo test --lib | grep '1 passed'"));
    assert_eq!(session.hash(), before);
    // The file now has an old time, but other text than the one for which the layer was built.
    let lib = session.workspace().join("src/lib.rs");
    fs::write(&lib, session.text("src/lib.rs").unwrap().replace("left + right", "left / right")).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    fs::File::options().write(true).open(&lib).unwrap().set_modified(old).unwrap();
    let failed = session.run(&["shadow", "run", "--", "cargo", "test", "--lib"]);
    assert!(failed.code == Some(101) && failed.stdout.contains("1 failed"), "{failed}");
    // As soon as the user builds, the user's build output counts.
    run(&session, "cargo", &["check", "--quiet", "--offline"]);
    assert_eq!(lines(&session, &["shadow", "list", "--json"])[0]["current"], json!(false));
    assert!(built(&session, "cargo test --no-run"));
    assert!(lines(&session, &["shadow", "list", "--json"]).is_empty(), "a view found it out of date");
    assert_eq!(view_folders(&session), [""; 0]);
}

#[test]
fn what_is_kept_for_views_is_removed_when_its_user_says_so() {
    let session = fresh_crate();
    lines(&session, &["shadow", "warm", "--json", "--", "cargo", "check"]);
    insta::assert_snapshot!(shape(&session, lines(&session, &["shadow", "clean", "--json"])), @r#"{"type":"cleaned","workspace":"/project","bytes":"[number]","left":false}"#);
    assert!(lines(&session, &["shadow", "list", "--json"]).is_empty());
    // The command changes a file besides the build output. The build depends on that file and only the view has it, so
    // nothing is kept.
    fs::remove_file(session.workspace().join("Cargo.lock")).unwrap();
    let refused = session.run(&["shadow", "warm", "--", "cargo", "check"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("it changes Cargo.lock as well"), "{refused}");
    let failed = session.run(&["shadow", "warm", "--", "bash", "-c", "echo x > target/x; exit 3"]);
    assert!(
        failed.code == Some(3) && failed.stderr.contains("nothing is kept: the command failed"),
        "{failed}"
    );
    let nothing = session.run(&["shadow", "warm"]);
    assert!(nothing.code == Some(1) && nothing.stderr.contains("shadow warm -- cargo check"), "{nothing}");
    session.write(
        "home/.config/headstart/config.toml",
        "[shadow]\nwarm = ['echo one > target/one', 'echo two > target/two']\n",
    );
    lines(&session, &["shadow", "warm", "--json"]);
    let shown = session.run(&["shadow", "run", "--", "bash", "-c", "cat target/*"]);
    assert_eq!(shown.stdout, "one\ntwo\n", "{shown}");
    assert!(!session.workspace().join("target").exists());
}

#[test]
fn a_view_is_listed_and_what_a_killed_process_left_is_swept() {
    use std::io::{BufRead as _, BufReader};
    let session = fresh_crate();
    lines(&session, &["shadow", "warm", "--json", "--", "cargo", "check"]);
    let line = "mkdir target/a && head -c 3000000 /dev/zero > target/a/b && chmod 0 target/a && echo ready && sleep 60";
    let mut child = session.command(&["shadow", "run", "--", "bash", "-c", line]).spawn().unwrap();
    let mut text = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut text).unwrap();
    assert_eq!(text, "ready\n");
    let mut listed = lines(&session, &["shadow", "list", "--json"]);
    assert!(3 <= listed[0]["processes"].as_u64().unwrap(), "{listed:?}");
    assert_eq!(listed[0]["owner"], json!(child.id()));
    listed.truncate(1);
    insta::assert_snapshot!(shape(&session, listed), @r#"{"type":"view","id":"command","workspace":"/project","tier":"kernel","owner":"[number]","started":"[number]","used":"[number]","running":true,"processes":"[number]","memoryBytes":"[number]","diskBytes":"[number]"}"#);
    // The layer below a view stays while the view exists.
    assert_eq!(lines(&session, &["shadow", "clean", "--json"])[0]["left"], json!(true));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(view_folders(&session).len(), 1);
    let swept = session.run(&["sweep"]);
    assert!(swept.code == Some(0) && swept.stdout.contains("a view of dead processes"), "{swept}");
    assert_eq!(view_folders(&session), [""; 0]);
    assert_eq!(lines(&session, &["shadow", "clean", "--json"])[0]["left"], json!(false));
}

#[test]
fn a_command_that_removes_its_build_output_as_a_whole_runs_as_anywhere() {
    let mut session = fresh_crate();
    run(&session, "cargo", &["check", "--quiet", "--offline"]);
    let command = "rm -rf target && cargo test --lib";
    assert_eq!(accepted(&mut session, command, "1 passed"), [""; 0]);
    assert!(session.workspace().join("target").exists());
}

/// The answer that there are views is kept. If a view is refused after all, the answer is found again.
#[test]
fn whether_there_are_views_is_kept_until_something_changes() {
    let session = session();
    let kept = session.home().join(".local/state/headstart/shadow/support.json");
    let check = |wanted: &str| {
        let checked = session.run(&["shadow", "check", "--json"]);
        assert_eq!(checked.json()[0]["view"].as_str().unwrap_or("none"), wanted, "{checked}");
    };
    check("kernel");
    let found = fs::read(&kept).unwrap();
    check("kernel");
    assert_eq!(fs::read(&kept).unwrap(), found);
    // In a container, mounts and namespaces are different.
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "--map-root-user",
        env!("CARGO_BIN_EXE_headstart"),
        "shadow",
        "check",
        "--json",
    ]);
    let inside = unshare.env_clear().env("HOME", session.home()).env("PATH", "/usr/bin:/bin");
    let inside = inside.current_dir(session.workspace()).output();
    inside.unwrap_or_else(|error| panic!("this test needs unshare: {error}"));
    assert_ne!(fs::read(&kept).unwrap(), found, "a container is noticed");
    // An answer that was found under other rules for the process does not count.
    let rules =
        String::from_utf8(fs::read(&kept).unwrap()).unwrap().replace("rests_on\":\"", "rests_on\":\"0");
    fs::write(&kept, &rules).unwrap();
    check("kernel");
    assert_eq!(fs::read(&kept).unwrap(), found);
}
