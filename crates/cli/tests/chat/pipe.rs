//! Holds how a chat works whose input is a pipe.

use crate::fixture::{Project, project, project_with_suggestion};
use crate::support::Outcome;

fn pipe(project: &Project, mode: &str, input: &str, flags: &[&str]) -> Outcome {
    let arguments = project.arguments(mode);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).chain(flags.iter().copied()).collect();
    project.session.run_with_input(&arguments, input)
}

fn piped_project() -> Project {
    project()
        .turn(
            0,
            "I write it.",
            &[("write_file", serde_json::json!({ "file_path": "made.txt", "content": "x\n" }))],
        )
        .says(0, "I tried.")
        .suggests("add tests")
        .says(0, "never")
}

#[test]
fn the_answer_goes_to_standard_output_and_the_rest_to_standard_error() {
    let project = piped_project();
    let outcome = pipe(&project, "auto-edit", "begin\n", &[]);
    assert_eq!(outcome.stdout, "I write it.\nI tried.\n");
    assert_eq!(outcome.stderr, "• write_file made.txt\n");
    assert_eq!(outcome.code, Some(0));
    assert_eq!(project.read("made.txt").as_deref(), Some("x\n"));
}

#[test]
fn nobody_is_asked() {
    let project = piped_project();
    let before = project.session.tree();
    let outcome = pipe(&project, "default", "begin\n", &[]);
    assert_eq!(outcome.stdout, "I write it.\nI tried.\n");
    assert!(outcome.stderr.contains("write_file wants to run\n"), "{outcome}");
    let why = "  declined: there is no terminal to ask on; --mode auto-edit allows edits\n";
    assert!(outcome.stderr.contains(why), "{outcome}");
    assert_eq!(outcome.code, Some(3), "a script learns that something was not done");
    assert_eq!(project.session.tree(), before);
}

/// What would let a call run depends on what keeps it from running; a later prompt does not make up for it.
#[test]
fn a_declined_call_says_what_would_allow_it_and_is_not_forgotten() {
    let commands = || project().shell(0, "touch made.txt").says(0, "I tried.").says(0, "It is.");
    let outcome = pipe(&commands(), "auto-edit", "begin\nis it?\n", &[]);
    assert!(
        outcome.stderr.contains("; --mode yolo allows it, and asks about nothing; a policy in"),
        "{outcome}"
    );
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("I tried.\nIt is.\n", Some(3)), "{outcome}");
    let outcome = pipe(&commands(), "yolo", "begin\nis it?\n", &[]);
    assert_eq!(outcome.code, Some(0), "{outcome}");

    let asked = commands();
    asked.session.write("home/.config/headstart/config.toml", "[tools]\nshell = 'ask'\n");
    let outcome = pipe(&asked, "yolo", "begin\nis it?\n", &[]);
    assert!(
        outcome.stderr.contains("; a policy of your configuration asks about it in every mode"),
        "{outcome}"
    );
    assert_eq!(outcome.code, Some(3), "{outcome}");

    // A turn that failed counts more.
    let outcome = pipe(&project().shell(0, "touch made.txt"), "auto-edit", "begin\n", &[]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
}

#[test]
fn every_line_is_a_prompt_and_the_last_one_needs_no_end() {
    let project = project_with_suggestion().says(0, "Second answer.").says(0, "Third answer.");
    let outcome = pipe(&project, "auto-edit", "one\n\n \ntwo\r\nthree", &[]);
    assert_eq!(outcome.stdout, "First answer.\nSecond answer.\nThird answer.\n");
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn json_is_all_there_is_on_standard_output() {
    let outcome = pipe(&piped_project(), "default", "begin\nagain\n/help\nand again\n", &["--json"]);
    let types: Vec<_> = outcome.json().iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    let states = outcome.json().into_iter().filter(|line| line["type"] == "callState");
    let states: Vec<_> = states
        .map(|line| (line["state"].as_str().unwrap().to_owned(), line["waiting"].is_boolean()))
        .collect();
    let state = |name: &str, waits| (name.to_owned(), waits);
    assert_eq!(
        states,
        [state("generated", false), state("generated", true), state("canceled", false)],
        "{outcome}"
    );
    let types: Vec<_> = types.into_iter().filter(|name| name != "callState").collect();
    let turn = ["text", "toolCall", "toolResult", "text", "finished"];
    assert_eq!(types, [turn.as_slice(), &["text", "finished", "finished"]].concat(), "{outcome}");
    let lines: Vec<_> = outcome.json().into_iter().filter(|line| line["type"] != "callState").collect();
    assert_eq!(lines[4]["status"], "completed");
    assert_eq!(lines[7]["status"], "failed");
    assert!(lines[7]["error"].as_str().unwrap().contains("recording"), "{outcome}");
    assert_eq!(outcome.code, Some(1));
}

#[test]
fn what_failed_last_is_the_exit_code() {
    let project = project().says(0, "Only answer.");
    let outcome = pipe(&project, "auto-edit", "one\ntwo\n", &[]);
    assert_eq!(outcome.stdout, "Only answer.\n");
    assert!(outcome.stderr.contains("recording"), "{outcome}");
    assert_eq!(outcome.code, Some(1));
}

#[test]
fn nothing_in_an_answer_drives_a_terminal_behind_the_pipe() {
    let outcome = pipe(&project().says(0, "red \u{1b}[31m"), "auto-edit", "x\n", &[]);
    assert_eq!(outcome.stdout, "red \\u{1b}[31m\n");
}
