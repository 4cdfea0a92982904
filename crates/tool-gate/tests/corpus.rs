//! The gate's verdicts on recorded commands, which are labelled by what they really do.

mod support;

use headstart_tool_gate::{Decision, Gate};
use serde_json::Value;

/// `expect` is `readonly` or `boundary`. Rows of the category `ro.reads_outside` read outside the workspace.
const SAMPLE: &str = include_str!("data/sample.jsonl");
/// Verdicts of another gate. A command that it calls a boundary may still be read-only.
const CASES: &str = include_str!("data/cases.jsonl");

struct Row {
    command: String,
    readonly: bool,
    outside: bool,
}

fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("the fixture is JSON lines");
        Row {
            command: row["cmd"].as_str().expect("a row has a command").to_owned(),
            readonly: row["expect"] == "readonly",
            outside: row["category"] == "ro.reads_outside",
        }
    };
    text.lines().map(row).collect()
}

#[test]
fn no_command_with_an_effect_is_let_through() {
    let gate = Gate::new();
    let bad = rows(SAMPLE).into_iter().filter(|row| !row.readonly || row.outside);
    let through: Vec<String> = bad
        .filter(|row| support::judge(&gate, &row.command).decision != Decision::Boundary)
        .map(|row| row.command)
        .collect();
    assert!(through.is_empty(), "{through:#?}");
}

#[test]
fn what_only_reads_is_allowed_but_for_known_exceptions() {
    let gate = Gate::new();
    let refused: Vec<String> = rows(SAMPLE)
        .into_iter()
        .filter(|row| row.readonly && !row.outside)
        .filter(|row| support::judge(&gate, &row.command).decision != Decision::Allow)
        .map(|row| row.command)
        .collect();
    // Each is refused for a reason: the environment is not shown, and /etc is outside the workspace.
    let known =
        ["env | grep -c PATH >/dev/null && echo ok", "grep --file=/etc/shells root /etc/passwd || true"];
    assert_eq!(refused, known);
}

#[test]
fn every_case_that_another_gate_reads_as_harmless_is_allowed() {
    let gate = Gate::new();
    let refused: Vec<(String, String)> = rows(CASES)
        .into_iter()
        .filter(|row| row.readonly)
        .map(|row| (support::judge(&gate, &row.command), row.command))
        .filter(|(verdict, _)| verdict.decision != Decision::Allow)
        .map(|(verdict, command)| (command, verdict.detail))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Commands that the other gate refuses and this one allows, each with the reason.
const ALLOWED_BOUNDARIES: &str = include_str!("data/allowed_boundaries.txt");

#[test]
fn every_case_that_only_this_gate_allows_has_a_reason() {
    let gate = Gate::new();
    let known: Vec<(&str, &str)> =
        ALLOWED_BOUNDARIES.lines().filter_map(|line| line.split_once(" ## ")).collect();
    let mut unexplained = Vec::new();
    let mut seen = 0;
    for row in rows(CASES).into_iter().filter(|row| !row.readonly) {
        if support::judge(&gate, &row.command).decision != Decision::Allow {
            continue;
        }
        let shown = row.command.replace('\n', "\\n");
        match known.iter().find(|(command, _)| *command == shown) {
            Some((_, why)) => {
                assert!(!why.is_empty(), "{shown}");
                seen += 1;
            }
            None => unexplained.push(shown),
        }
    }
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    assert_eq!(seen, known.len(), "a reason for a command that is not allowed");
}
