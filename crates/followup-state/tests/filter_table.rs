//! The filter is compared with two tables: the recorded reference behaviour, and families of texts that it must tell
//! apart.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use headstart_followup_state::{FilterReason, Suggestion, filter};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    text: String,
    reason: Option<FilterReason>,
}

fn outcome(text: &str) -> &'static str {
    match filter(text) {
        Ok(_) => "keep",
        Err(reason) => reason.as_str(),
    }
}

#[test]
fn the_reference_cases_come_out_as_recorded() {
    let rows: Vec<Case> =
        include_str!("filter_cases.jsonl").lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!(rows.len(), 79);
    for case in rows {
        assert_eq!(filter(&case.text).err(), case.reason, "{:?}", case.text);
    }
}

/// The rows of the table: the expected outcome and the text, separated by a tab. Lines `## name` begin a family.
fn table() -> Vec<(&'static str, &'static str)> {
    include_str!("filter_table.txt")
        .lines()
        .filter(|row| !row.starts_with("## ") && !row.is_empty())
        .map(|row| row.split_once('\t').unwrap())
        .collect()
}

#[test]
fn every_family_is_told_apart() {
    let wrong: Vec<String> = table()
        .into_iter()
        .filter(|(expected, text)| outcome(text) != *expected)
        .map(|(expected, text)| format!("{text:?}: expected {expected}, is {}", outcome(text)))
        .collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// The outcome of each text of the table is a promise to users, so a snapshot shows every change of it.
#[test]
fn the_filter_table_is_a_promise() {
    let mut lines = vec![];
    for row in include_str!("filter_table.txt").lines() {
        match row.split_once('\t') {
            None => lines.push(format!("\n{row}")),
            Some((_, text)) => lines.push(format!("{:<18} {}", outcome(text), text.escape_debug())),
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn white_space_around_is_dropped_and_nothing_else() {
    assert_eq!(filter(" \n run the  tests \t").unwrap().as_str(), "run the  tests");
    assert_eq!(filter(" \n\t "), Err(FilterReason::Empty));
    assert_eq!(filter(""), Err(FilterReason::Empty));
}

/// Limits of length count characters, not bytes.
#[test]
fn limits_hold_to_the_character() {
    assert_eq!(outcome(&"测".repeat(30)), "keep");
    assert_eq!(outcome(&"测".repeat(31)), "too_many_words");
    let ninety_nine = format!("fix {}", "a".repeat(95));
    assert_eq!(outcome(&ninety_nine), "keep");
    assert_eq!(outcome(&format!("{ninety_nine}a")), "too_long");
    assert_eq!(outcome(&"x".repeat(10_000_000)), "too_long");
}

/// A suggestion can only be made by the filter, so one that is read from JSON has passed it too.
#[test]
fn a_deserialised_suggestion_has_passed_the_filter() {
    let kept: Suggestion = serde_json::from_str("\" run the tests \"").unwrap();
    assert_eq!(serde_json::to_string(&kept).unwrap(), "\"run the tests\"");
    let refused = serde_json::from_str::<Suggestion>("\"sudo rm -rf /\"").unwrap_err();
    assert!(refused.to_string().contains("destructive"), "{refused}");
}

/// Hosts see the codes in JSON and in Rust, so they must be equal.
#[test]
fn a_reason_has_one_code_in_rust_and_in_json() {
    for reason in FilterReason::ALL {
        assert_eq!(serde_json::to_string(reason).unwrap(), format!("\"{}\"", reason.as_str()));
    }
}
