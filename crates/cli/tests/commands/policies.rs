//! Holds what policies do that a user writes, and what those of a repository may not do.

#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

use crate::support::{Outcome, Session, transcript};

const USER: &str = "home/.config/headstart/config.toml";
const PROJECT: &str = "project/.headstart/config.toml";

const POLICIES: &str = r#"
[[policy]]
program = "terraform"
words = ["show"]
options = ["-json", "-no-color"]
operands = "files"
decision = "allow"
reason = "it prints a plan"
match = ["terraform show -json plan.out"]
not_match = ["terraform apply", "terraform show -state=x", "terraform show ../plan.out"]

[[policy]]
program = "git"
words = ["log"]
decision = "boundary"
reason = "our history is huge"
match = ["git log", "git -C sub log -3"]
not_match = ["git status"]
"#;

fn gate(session: &Session, commands: &[&str]) -> Outcome {
    let lines: Vec<_> =
        commands.iter().map(|command| serde_json::json!({ "cmd": command }).to_string()).collect();
    session.run_with_input(&["gate"], lines.join("\n"))
}

fn decisions(session: &Session, commands: &[&str]) -> Vec<String> {
    let outcome = gate(session, commands);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let said = |answer: serde_json::Value| {
        format!("{} {}", answer["decision"].as_str().unwrap(), answer["reason"].as_str().unwrap())
    };
    outcome.json().into_iter().map(said).collect()
}

#[test]
fn the_gate_goes_by_the_policies_of_the_user() {
    let session = Session::new();
    session.write(USER, POLICIES);
    let outcome = gate(
        &session,
        &[
            "terraform show -json plan.out | jq .",
            "terraform show -state=x",
            "terraform apply",
            "git log -3",
            "tac plan.out",
        ],
    );
    insta::assert_snapshot!(transcript(&[outcome]), @r#"
    $ headstart gate
    {"decision":"allow","reason":"read_only","detail":"the user's policy 1 (terraform show) allows it: it prints a plan","effects":[{"kind":"readOnly","detail":"reads and prints","span":[0,29]},{"kind":"readOnly","detail":"reads what is in the workspace","span":[0,9]},{"kind":"readOnly","detail":"reads what is below plan.out","span":[21,29]},{"kind":"readOnly","detail":"reads and prints","span":[32,36]}],"reads":["."],"writes":[]}
    {"decision":"boundary","reason":"not_understood","detail":"the user's policy 1 (terraform show) does not list the option \"-state=x\"","effects":[{"kind":"unknown","detail":"the user's policy 1 (terraform show) does not list the option \"-state=x\"","span":[15,23]},{"kind":"unknown","detail":"the gate does not know the program \"terraform\"","span":[0,9]}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"not_understood","detail":"the gate does not know the program \"terraform\"","effects":[{"kind":"unknown","detail":"the gate does not know the program \"terraform\"","span":[0,9]}],"reads":[],"writes":[]}
    {"decision":"boundary","reason":"policy","detail":"the user's policy 2 (git log) asks first: our history is huge","effects":[{"kind":"unknown","detail":"the user's policy 2 (git log) asks first: our history is huge","span":[0,3]}],"reads":["."],"writes":[]}
    {"decision":"allow","reason":"read_only","detail":"the command only reads","effects":[{"kind":"readOnly","detail":"reads and prints","span":[0,12]},{"kind":"readOnly","detail":"reads plan.out","span":[4,12]}],"reads":["plan.out"],"writes":[]}
    [exit 0]
    "#);
}

#[test]
fn a_project_adds_boundaries_and_takes_none_away() {
    let session = Session::new();
    session.write(USER, POLICIES);
    let commands = ["terraform show", "ls", "git log", "cat a"];
    let (allow, policy) = ("allow read_only", "boundary policy");
    assert_eq!(decisions(&session, &commands), [allow, allow, policy, allow]);
    session.write(PROJECT, "[[policy]]\nprogram = 'terraform'\ndecision = 'boundary'\n[[policy]]\nprogram = 'ls'\ndecision = 'boundary'\n");
    assert_eq!(decisions(&session, &commands), [policy, policy, policy, allow]);
}

#[test]
fn what_is_wrong_with_a_policy_is_named_by_file_line_and_field() {
    let of_user = [
        "program = 'lint'",
        "program = 'lint'\ndecision = 'permit'",
        "program = 'lint'\ndecision = 'allow'\noption = ['--check']",
        "program = 'python3'\nwords = ['-m', 'pytest']\ndecision = 'allow'",
        "program = './lint'\ndecision = 'allow'",
        "program = 'lint'\ndecision = 'allow'\noptions = ['check']",
        "program = 'lint'\ndecision = 'allow'\noptions = ['--check']\nmatch = ['lint --check', 'lint --fix']",
        "program = 'lint'\ndecision = 'allow'\nmatch = ['lint > out']",
        "program = 'lint'\ndecision = 'allow'\noperands = 'any'\nnot_match = ['lint fix']",
        "program = 'ls'\ndecision = 'boundary'\nmatch = ['cat a']",
    ];
    let session = Session::new();
    let mut shown = Vec::new();
    for policy in of_user {
        session.write(USER, format!("# ours\ndeny = ['.env']\n\n[[policy]]\nprogram = 'x'\ndecision = 'boundary'\n\n[[policy]]\n{policy}\n"));
        shown.push(gate(&session, &["ls"]));
    }
    session.write(USER, "");
    session.write(PROJECT, "\n[[policy]]\nprogram = 'lint'\ndecision = 'allow'\n");
    shown.push(gate(&session, &["ls"]));
    assert!(
        shown.iter().all(|outcome| outcome.stdout.is_empty() && outcome.code == Some(1)),
        "{}",
        transcript(&shown)
    );
    insta::assert_snapshot!(transcript(&shown));
}

/// The first configuration that a page of the documentation shows.
fn documented(page: &str) -> &str {
    page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap()
}

#[test]
fn what_the_documentation_shows_works() {
    let session = Session::new();
    session.write(USER, documented(include_str!("../../../../docs/policies.md")));
    let said = decisions(
        &session,
        &["terraform show -json plan.out", "terraform apply", "git -C sub log -3", "git status"],
    );
    assert_eq!(said, ["allow read_only", "boundary not_understood", "boundary policy", "allow read_only"]);
    session.write(USER, documented(include_str!("../../../../docs/formats.md")));
    let said = decisions(&session, &["git log", "cat a", "cat secrets/a"]);
    assert_eq!(said, ["boundary policy", "allow read_only", "boundary denied_path"]);
}

#[test]
fn the_users_file_is_right_whatever_a_project_adds() {
    let session = Session::new();
    session.write(USER, POLICIES);
    session.write(PROJECT, "[[policy]]\nprogram = 'terraform'\ndecision = 'boundary'\nmatch = ['terraform show', 'terraform apply']\n");
    assert_eq!(decisions(&session, &["terraform show"]), ["boundary policy"]);
}
