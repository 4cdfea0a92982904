//! Holds that hosts read each other's sessions. `crates/wasm/fixtures/session.jsonl` is what this chat and the npm
//! package's `Agent` both write of the same conversation, apart from ids and times; for the package see
//! `crates/wasm/npm/test/sessions.test.mjs`.

#![expect(clippy::unwrap_used, reason = "what is not there stops the test")]

use serde_json::Value;

use crate::fixture::project;
use crate::sessions::{folder, list_sessions, pipe, two_answers};

fn fixture() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../wasm/fixtures/session.jsonl");
    std::fs::read_to_string(file).unwrap()
}

/// The lines without the fields whose values differ each time.
fn without_volatile_fields(lines: &str) -> Vec<Value> {
    let own = ["id", "model", "created", "workspace", "at", "ended"];
    let mut values: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for value in &mut values {
        value.as_object_mut().unwrap().retain(|field, _| !own.contains(&field.as_str()));
    }
    values
}

#[test]
fn a_chat_writes_what_the_npm_package_reads() {
    let project = two_answers();
    pipe(&project, "one\n", &[]);
    pipe(&project, "two\n", &["--continue"]);
    let id = list_sessions(&project)[0]["id"].as_str().unwrap().to_owned();
    let renamed = project.session.run(&["sessions", "rename", &id, "the parser"]);
    assert_eq!(renamed.code, Some(0), "{renamed}");
    let written = std::fs::read_to_string(folder(&project).join(format!("{id}.jsonl"))).unwrap();
    assert_eq!(without_volatile_fields(&written), without_volatile_fields(&fixture()), "{written}");
}

#[test]
fn a_chat_goes_on_with_what_the_npm_package_has_written() {
    let project = project().says(0, "Third answer.").says(0, "Another answer.");
    // The folder exists only after something was said.
    pipe(&project, "zero\n", &[]);
    std::fs::write(folder(&project).join("shared1.jsonl"), fixture()).unwrap();
    let rows = list_sessions(&project);
    let row = rows.iter().find(|row| row["id"] == "shared1").unwrap();
    assert_eq!((row["title"].as_str(), row["prompts"].as_u64()), (Some("the parser"), Some(2)));
    let outcome = pipe(&project, "three\n", &["--resume", "shared1"]);
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("Third answer.\n", Some(0)), "{outcome}");
    let text = project.session.run(&["sessions", "show", "shared1"]).stdout;
    assert_eq!(text, "> one\nFirst answer.\n\n> two\nFirst answer.\n\n> three\nThird answer.\n");
}
