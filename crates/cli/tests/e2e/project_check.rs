//! Holds that work ahead counts as ready only after the project's own check has run; the check uses a real compiler.

use serde_json::{Value, json};

use super::build_output::{fresh_crate, run};
use super::shadow::{edit, events};
use crate::support::Session;

const BROKEN: &str = "left + \"right\"";

fn built_crate() -> Session {
    let session = fresh_crate();
    run(&session, "cargo", &["check", "--quiet", "--offline", "--all-targets"]);
    session
}

fn breaks(after: &[Value]) -> Value {
    let first = [json!({"toolCalls": [edit("left + right", BROKEN)]}), json!({"text": "Done."})];
    let turns = [&first[..], after].concat();
    json!({ "turns": turns })
}

#[test]
fn what_does_not_compile_goes_back_to_the_model_and_is_mended() {
    let mut session = built_crate();
    let recording =
        breaks(&[json!({"toolCalls": [edit(BROKEN, "right + left")]}), json!({"text": "Mended."})]);
    let before = session.hash();
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    let finished = outcome.finished();
    assert_eq!(
        (&finished["status"], &finished["check"]["passed"]),
        (&json!("completed"), &json!(true)),
        "{outcome}"
    );
    let told: Vec<_> = events(&outcome, "checked").iter().map(|line| line["passed"].clone()).collect();
    assert_eq!(told, [json!(false), json!(true)], "{outcome}");
    assert_eq!(session.hash(), before);
    let shown = session.run(&["show", &id]);
    assert!(shown.stdout.contains("mismatched types") || shown.stdout.contains("E0277"), "{shown}");
    let accepted = session.run(&["accept", &id, "--json"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert!(session.text("src/lib.rs").unwrap().contains("right + left"));
}

#[test]
fn a_failure_that_stays_is_told_and_a_check_can_be_named_or_switched_off() {
    let mut session = built_crate();
    let stays = breaks(&[json!({"text": "I cannot."})]);
    let (outcome, _) = session.speculate(&stays, "auto-edit");
    let finished = outcome.finished();
    assert_eq!(
        (&finished["status"], &finished["check"]["passed"]),
        (&json!("completed"), &json!(false)),
        "{outcome}"
    );
    assert_eq!(finished["check"]["command"], "cargo check --quiet --all-targets");

    session.write("home/.config/headstart/config.toml", "[shadow]\ncheck = 'cargo test --lib'\n");
    let renames = json!({"turns": [
        {"toolCalls": [edit("left + right", "right + left")]}, {"text": "Done."},
    ]});
    let (outcome, _) = session.speculate(&renames, "auto-edit");
    assert_eq!(outcome.finished()["check"]["tests"], "1 passed", "{outcome}");

    session.write("project/.headstart/config.toml", "[shadow]\ncheck = 'off'\n");
    let (outcome, _) = session.speculate(&renames, "auto-edit");
    assert!(outcome.finished().get("check").is_none(), "{outcome}");

    // A check whose program is not there is named: nobody looked.
    session.write("project/.headstart/config.toml", "");
    session.write("home/.config/headstart/config.toml", "[shadow]\ncheck = 'no-such-program --check'\n");
    let (outcome, id) = session.speculate(&renames, "auto-edit");
    let check = &outcome.finished()["check"];
    assert_eq!(
        (&outcome.finished()["status"], &check["passed"]),
        (&json!("completed"), &json!(false)),
        "{outcome}"
    );
    assert!(check["notRun"].as_str().is_some_and(|why| why.contains("not found")), "{outcome}");
    let shown = session.run(&["show", &id]);
    assert!(!shown.stdout.contains("fails"), "{shown}");
}
