//! Holds what the first command of a newcomer does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{PATIENCE, Session};

#[test]
fn tests_and_a_commit_run_ahead_where_there_are_views() {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    plays(
        &session,
        &[
            ("you", "add a function"),
            ("suggest", "[Tab]"),
            ("ahead", "tests/top.sh"),
            ("ahead", "bash test.sh in the view: 3 passed"),
            ("", "+"),
            ("Tab", "tests/top.sh in the project"),
            ("suggest", "[Tab]"),
            ("Tab", "CHANGELOG.md in the project"),
            ("ahead", "git commit in the view: 1 commit on main"),
            ("ahead", "stopped at a boundary: git push"),
            ("Tab", "1 commit on main in the project"),
            ("asks", "git push"),
            ("check", "project hash"),
        ],
    );
}

#[test]
fn without_views_the_tests_and_the_commit_ask_after_tab() {
    plays(
        &Session::new(),
        &[
            ("you", "add a function"),
            ("suggest", "[Tab]"),
            ("ahead", "tests/top.sh"),
            ("ahead", "stopped at a boundary: bash"),
            ("Tab", "tests/top.sh in the project"),
            ("asks", "bash test.sh"),
            ("suggest", "[Tab]"),
            ("Tab", "CHANGELOG.md in the project"),
            ("ahead", "stopped at a boundary: git add"),
            ("asks", "git add"),
            ("asks", "git push"),
            ("check", "project hash"),
        ],
    );
}

/// Runs the demo with JSON output, and checks that every line is an object, that the steps come in this order, and that
/// the timeline is last.
fn plays(session: &Session, story: &[(&str, &str)]) {
    let outcome = session.run(&["demo", "--speed", "20", "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let lines = outcome.json();
    let steps = lines.iter().take_while(|line| line["type"] == "step").count();
    let (steps, timeline) = lines.split_at(steps);
    assert!(timeline.iter().all(|row| row["type"] == "timeline"), "{outcome}");
    let prompts: Vec<_> = timeline.iter().filter_map(|row| row["prompt"].as_str()).collect();
    assert_eq!(prompts, ["add tests for top", "update the changelog", "commit and push"]);
    for row in timeline {
        let ms = |field: &str| row[field].as_f64().unwrap_or_else(|| panic!("{field} is missing in {row}"));
        assert!(0.0 < ms("workMs") && 0.0 < ms("readingMs") && 0.0 < ms("tabToDoneMs"), "{row}");
        assert!(0.0 < ms("withoutMs"), "{row}");
    }
    // The steps of the story come in this order.
    let told: Vec<_> =
        steps.iter().map(|step| (step["who"].as_str().unwrap(), step["text"].as_str().unwrap())).collect();
    let mut rest = told.iter();
    for (who, text) in story {
        assert!(
            rest.any(|(found, said)| found == who && said.contains(text)),
            "{who} says no {text:?} in its place\n{outcome}"
        );
    }
    // What the work had stopped at counts to when it was done.
    let at_ms = |who: &str, text: &str| {
        let said = |step: &&Value| step["who"] == who && step["text"].as_str().unwrap().contains(text);
        let step = steps.iter().rfind(said).unwrap_or_else(|| panic!("{who} says no {text}"));
        step["atMs"].as_f64().unwrap()
    };
    let pushed = at_ms("model", "Pushed") - at_ms("Tab", "after");
    let done = timeline[2]["tabToDoneMs"].as_f64().unwrap();
    assert!(pushed <= done + 1.0, "{pushed} ms until the push was done, and the table says {done}");
    let at: Vec<_> = steps.iter().map(|step| step["atMs"].as_u64().unwrap()).collect();
    assert!(at.is_sorted(), "{at:?}");
    unchanged_hash(steps);
}

fn unchanged_hash(steps: &[Value]) {
    let check = steps.iter().find(|step| step["who"] == "check").unwrap();
    let words: Vec<_> = check["text"].as_str().unwrap().split([' ', ',']).collect();
    let hash_before = |word| words[words.iter().position(|found| *found == word).unwrap() - 1];
    assert_eq!(hash_before("before"), hash_before("after"), "{check}");
}

#[test]
fn people_are_told_that_a_recording_stands_in_and_how_to_use_a_real_model() {
    let session = Session::new();
    let outcome = session.run(&["demo", "--speed", "20"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    for word in [
        "A recording stands in for the model",
        "Tab to done",
        "What to do next",
        "headstart chat --model replay:demo",
        "headstart chat --model anthropic:NAME",
    ] {
        assert!(outcome.stdout.contains(word), "{word:?} is missing in\n{outcome}");
    }
    assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 80), "{outcome}");
    assert!(!outcome.stdout.contains('\u{1b}'), "{outcome}");
    assert_eq!(outcome.stderr, "");
    // The demo works in a folder of its own, and keeps nothing.
    assert_eq!(session.tree(), []);
    assert_eq!(fs::read_dir(session.home()).unwrap().count(), 0);
}

#[test]
fn a_speed_that_is_none_is_refused() {
    Session::new().run(&["demo", "--speed", "0"]).assert_refused(2, &["--speed", "0.1 to 1000"]);
}

#[test]
fn without_a_git_that_will_do_one_line_says_which_to_install() {
    for (git, found) in [("", "there is no git"), ("echo git version 2.20.1", "this is git version 2.20.1")] {
        let session = Session::new();
        session.write("home/programs/git", format!("#!/bin/sh\n{git}\n"));
        let programs = session.home().join("programs");
        if git.is_empty() {
            fs::remove_file(programs.join("git")).unwrap();
        } else {
            fs::set_permissions(programs.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let session = session.variable("PATH", &programs.display().to_string());
        let outcome = session.run(&["demo"]);
        assert_eq!(outcome.stderr, format!("headstart: {found}; install git 2.34 or later\n"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{outcome}");
    }
}

#[test]
fn however_the_demo_ends_its_folders_are_gone() {
    let temporary = tempfile::tempdir().unwrap();
    let session = Session::new().variable("TMPDIR", &temporary.path().display().to_string());
    let left =
        || fs::read_dir(temporary.path()).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let outcome = session.run(&["demo", "--speed", "20"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(left(), Vec::<std::path::PathBuf>::new());
    for signal in [Some(Signal::INT), Some(Signal::TERM), None] {
        let mut live = session.live(&["demo", "--json", "--speed", "2"]);
        live.wait_for("step");
        // Besides the two projects there may be a folder of a command that is running at this moment.
        let deadline = Instant::now() + PATIENCE;
        while left().len() != 2 {
            assert!(Instant::now() < deadline, "{:?}", left());
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(signal) = signal {
            live.signal(signal);
            assert_eq!(live.ended_by(), Some(signal.as_raw()));
        } else {
            live.hang_up();
            assert_eq!(live.exit_code(), Some(0));
        }
        assert_eq!(left(), Vec::<std::path::PathBuf>::new(), "{signal:?}");
    }
}
