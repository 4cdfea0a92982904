use std::fs::File;
use std::process::Stdio;

use crate::support::{Session, transcript};

const COMMANDS: [&str; 20] = [
    "keys",
    "demo",
    "chat",
    "sessions",
    "suggest",
    "speculate",
    "list",
    "show",
    "diff",
    "accept",
    "abort",
    "undo",
    "sweep",
    "stats",
    "gate",
    "filter",
    "match",
    "search",
    "index",
    "completions",
];

#[test]
fn a_command_that_holds_no_word_is_an_error_of_usage() {
    let session = Session::with_project();
    for words in [&[""][..], &["  "], &["", "a"]] {
        let refused = session.run(&[&["shadow", "run", "--"], words].concat());
        refused.assert_refused(2, &["there is no command to run"]);
    }
}

#[test]
fn help_teaches() {
    let session = Session::new();
    insta::assert_snapshot!(session.run(&["--help"]).to_string());
    for command in COMMANDS {
        let outcome = session.run(&[command, "--help"]);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let widest = outcome.stdout.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 100, "{command}: {widest}");
        assert!(outcome.stdout.contains("Examples:\n  "), "{command} shows how it is used:\n{outcome}");
        assert!(session.run(&["--help"]).stdout.contains(&format!("  {command} ")), "{command} is listed");
    }
}

#[test]
fn what_the_command_line_cannot_mean_is_usage() {
    let session = Session::new();
    let cases: [&[&str]; 8] = [
        &["speculate", "--mode", "fast", "x"],
        &["speculate", "--model", "gpt-5", "x"],
        &["speculate", "--model", "google:x", "x"],
        &["chat", "--base-url", "localhost:8000"],
        &["show", "--json"],
        &["show", "../../etc"],
        &["predict"],
        &["--json", "list", "--every"],
    ];
    let outcomes: Vec<_> = cases.iter().map(|arguments| session.run(arguments)).collect();
    for outcome in &outcomes {
        assert_eq!(outcome.code, Some(2), "{outcome}");
    }
    insta::assert_snapshot!(transcript(&outcomes));
}

#[test]
fn a_workspace_must_be_a_folder() {
    let session = Session::new();
    session.write("project/file", "");
    insta::assert_snapshot!(transcript(&[
        session.run(&["chat", "--workspace", "nowhere"]),
        session.run(&["chat", "--workspace", "file"]),
        session.run(&["gate", "--workspace", "file"]),
        session.run(&["--json", "chat", "--workspace", "file/deeper"]),
    ]), @r#"
    $ headstart chat --workspace nowhere
    [stderr] headstart: workspace nowhere does not exist; name a folder with --workspace
    [exit 2]

    $ headstart chat --workspace file
    [stderr] headstart: workspace file is not a directory; name a folder with --workspace
    [exit 2]

    $ headstart gate --workspace file
    [stderr] headstart: workspace file is not a directory; name a folder with --workspace
    [exit 2]

    $ headstart --json chat --workspace file/deeper
    {"type":"error","message":"workspace file/deeper is not a directory; name a folder with --workspace"}
    [stderr] headstart: workspace file/deeper is not a directory; name a folder with --workspace
    [exit 2]
    "#);
}

#[test]
fn without_a_place_for_state_the_user_is_asked_for_one() {
    let session = Session::new();
    let arguments = ["list"];
    let child = session.command(&arguments).env_remove("HOME").spawn().unwrap();
    let outcome = session.outcome(&arguments, child);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("--state-dir or HEADSTART_STATE_DIR"), "{outcome}");
    assert_eq!(session.variable("HEADSTART_STATE_DIR", "state").run(&["list"]).code, Some(0));
}

#[test]
fn completions_know_every_command() {
    let session = Session::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = session.run(&["completions", shell]);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        for command in COMMANDS {
            assert!(outcome.stdout.contains(command), "{shell} completes {command}");
        }
    }
}

#[test]
fn a_reader_who_goes_away_is_no_error() {
    let session = Session::new();
    for arguments in [&["completions", "bash"][..], &["gate"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = session.command(arguments);
        let input = session.workspace().join("input");
        std::fs::write(&input, "{}\n").unwrap();
        let child = command.stdin(File::open(input).unwrap()).stdout(writer).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_does_not_fit_is_an_error() {
    let session = Session::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child =
        session.command(&["completions", "bash"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.starts_with("headstart: cannot write to standard output: No space left"), "{stderr}");
}
