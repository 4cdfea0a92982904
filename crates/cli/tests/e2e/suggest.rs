//! Holds that `suggest` prints a suggestion, or the reason why there is none.

use serde_json::{Value, json};

use crate::support::{Session, transcript};

/// A conversation in which the model has spoken `times` times.
fn history(times: usize) -> Value {
    let pair = [
        json!({"role": "user", "parts": [{"type": "text", "text": "go on"}]}),
        json!({"role": "model", "parts": [{"type": "text", "text": "I went on."}]}),
    ];
    Value::Array(pair.iter().cycle().take(2 * times).cloned().collect())
}

#[test]
fn a_suggestion_or_the_reason_why_there_is_none() {
    let cases = [
        (2, "run the tests", None, "default"),
        (1, "run the tests", Some("early_conversation"), "default"),
        (0, "run the tests", Some("early_conversation"), "default"),
        (2, "", Some("empty"), "default"),
        (2, "run the tests", Some("plan_mode"), "plan"),
        (2, "Looks good, thanks!", Some("evaluative"), "default"),
    ];
    let mut told = Vec::new();
    for (times, suggestion, reason, mode) in cases {
        let session = Session::with_project();
        let before = session.hash();
        let history = session.history(&history(times));
        let model = session.recording(&json!({"suggestions": [suggestion]}));
        let arguments = ["suggest", "--history", &history, "--model", &model, "--mode", mode];
        let json = session.run(&[&arguments[..], &["--json"]].concat());
        assert_eq!(json.code, Some(0), "{json}");
        let line = json.json().pop().unwrap();
        match reason {
            None => assert_eq!((&line["type"], &line["text"]), (&json!("suggestion"), &json!(suggestion))),
            Some(reason) => {
                assert_eq!(
                    (&line["type"], &line["reason"]),
                    (&json!("suppressed"), &json!(reason)),
                    "{json}"
                );
            }
        }
        told.push(json);
        let human = session.run(&arguments);
        assert_eq!(human.stdout.is_empty(), reason.is_some(), "{human}");
        told.push(human);
        assert_eq!(session.hash(), before);
        assert!(!session.store().exists(), "a suggestion is no speculation");
    }
    insta::assert_snapshot!(transcript(&told));
}

#[test]
fn several_suggestions_come_in_lines_best_first() {
    let session = Session::with_project();
    session.write("home/.config/headstart/config.toml", "candidates = 3\n");
    let history = session.history(&history(2));
    let model = session.recording(&json!({"suggestions": ["run the tests\nlet me help\ncommit this"]}));
    let arguments = ["suggest", "--history", &history, "--model", &model];
    let line = session.run(&[&arguments[..], &["--json"]].concat()).json().pop().unwrap();
    assert_eq!((&line["text"], &line["others"]), (&json!("run the tests"), &json!(["commit this"])));
    assert_eq!(session.run(&arguments).stdout, "run the tests\ncommit this\n");
    let total = session.run(&["stats", "--json"]).json().remove(0);
    assert_eq!(total["suggestions"], 2, "two queries, whatever came of each");
}

#[test]
fn a_history_can_come_on_standard_input() {
    let session = Session::with_project();
    let model = session.recording(&json!({"suggestions": ["run the tests"], "turns": [{"text": "Done."}]}));
    let arguments = ["suggest", "--history", "-", "--model", &model];
    let outcome = session.run_with_input(&arguments, history(2).to_string());
    assert_eq!(outcome.stdout, "run the tests\n", "{outcome}");
    let arguments = ["speculate", "--history", "-", "--model", &model, "go"];
    assert_eq!(session.run_with_input(&arguments, history(2).to_string()).code, Some(0));
    session.run_with_input(&arguments, "no history").assert_refused(1, &["-: "]);
}

#[test]
fn without_a_history_there_is_nothing_to_suggest_from() {
    let session = Session::with_project();
    let model = session.recording(&json!({"suggestions": ["run the tests"]}));
    session.run(&["suggest", "--model", &model]).assert_refused(2, &["--history"]);
    session
        .run(&["suggest", "--model", &model, "--history", "../none.json"])
        .assert_refused(1, &["cannot read ../none.json"]);
}
