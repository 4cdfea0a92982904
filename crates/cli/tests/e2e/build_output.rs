//! What a first trial meets: a fresh project, perhaps without a `.gitignore`, whose tests run ahead.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::shadow::{events, session, shell};
use crate::support::Session;

fn run(session: &Session, program: &str, words: &[&str]) {
    let status = Command::new(program)
        .args(words)
        .current_dir(session.workspace())
        .env_remove("CARGO_TARGET_DIR")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status();
    let status = status.unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    assert!(status.success(), "{program} {words:?}");
}

/// Runs the command ahead, twice, and accepts; the paths that the accept brought.
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
    // As `pytest` leaves them.
    let line = format!("{python} -m unittest -q && mkdir -p .pytest_cache/v && echo x > .pytest_cache/v/x");
    assert_eq!(accepted(&mut session, &line, ""), [""; 0]);
    assert!(!session.workspace().join("tests/__pycache__").exists());
}

#[test]
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
    // What several projects share has several names.
    let modules = session.workspace().join("node_modules");
    fs::hard_link(modules.join("one/index.js"), session.home().join("index.js")).unwrap();
    assert_eq!(accepted(&mut session, "npm test", ""), [""; 0]);
    assert!(!modules.join(".cache").exists());
}
