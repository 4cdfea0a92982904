//! Holds that a command which a policy of the user lets run ahead is confined, and that it counts only while the policy
//! exists.

use serde_json::json;

use crate::support::Session;
use crate::support::project::{call, farewell};

const USER: &str = "home/.config/headstart/config.toml";
const PROJECT: &str = "project/.headstart/config.toml";

/// Policies for two programs that the gate does not know; the second program would write.
const POLICIES: &str = r#"
[[policy]]
program = "tsort"
operands = "files"
decision = "allow"
match = ["tsort greeting.txt"]
not_match = ["tsort ../greeting.txt"]

[[policy]]
program = "fallocate"
options = ["--length VALUE"]
operands = "files"
decision = "allow"
"#;

#[test]
fn an_allowed_program_runs_and_writes_nothing_even_if_it_would() {
    let mut session = Session::with_project();
    let recording = json!({"turns": [
        {"toolCalls": [
            call("shell", &json!({"command": "tsort greeting.txt"})),
            call("shell", &json!({"command": "fallocate --length 4 grown; echo ended with $?"})),
        ]},
        {"text": "done"},
    ]});
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.code, Some(3), "without a policy it is a boundary: {outcome}");

    session.write(USER, POLICIES);
    let before = session.hash();
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(session.hash(), before);
    let results: Vec<_> = outcome.json().into_iter().filter(|line| line["type"] == "toolResult").collect();
    let text = |place: usize| results[place].to_string();
    assert!(text(0).contains("hello\\nworld") || text(0).contains("world\\nhello"), "{}", text(0));
    assert!(text(1).contains("ended with 1"), "the kernel lets it write nothing: {}", text(1));

    // The project objects afterwards, so work that ran because of the policy is not handed over.
    session.write(PROJECT, "[[policy]]\nprogram = 'tsort'\ndecision = 'boundary'\n");
    let withdrawn = session.run(&["accept", &id, "--json"]);
    assert_eq!(withdrawn.code, Some(3), "{withdrawn}");
    let line = withdrawn.json().pop().unwrap();
    assert_eq!(line["type"], "withdrawn", "{withdrawn}");
    assert_eq!(line["verdict"]["reason"], "policy", "{withdrawn}");
    assert!(withdrawn.stderr.contains("policies are in"), "{withdrawn}");
}

#[test]
fn a_deny_rule_that_came_meanwhile_is_named_and_where_it_may_be() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    session.write(PROJECT, "deny = ['greeting.*']\n");
    let withdrawn = session.run(&["accept", &id]);
    withdrawn.assert_refused(3, &["the deny rule \"greeting.*\"", "deny rules are in"]);
    for file in [USER, PROJECT] {
        assert!(withdrawn.stderr.contains(file), "{withdrawn}");
    }
    assert!(!withdrawn.stderr.contains("--mode"), "{withdrawn}");
}
