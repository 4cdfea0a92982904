use crate::support::{Session, transcript};

#[test]
fn a_model_that_cannot_be_asked_is_named() {
    let session = Session::new();
    session.write("project/empty.json", "{}");
    session.write("project/typo.json", r#"{"turns":[{"toolCalls":[{"nmae":"ls"}]}]}"#);
    session.write("project/cut.json", r#"{"turns":["#);
    let speculate = |model: &str| session.run(&["speculate", "--model", model, "run the tests"]);
    insta::assert_snapshot!(transcript(&[
        session.run(&["speculate", "run the tests"]),
        speculate("replay:missing.json"),
        speculate("replay:empty.json"),
        speculate("replay:typo.json"),
        speculate("replay:cut.json"),
        speculate("openai:a-model"),
        speculate("dashscope:a-model"),
    ]));
    assert!(!session.store().exists(), "what never ran is not kept");
}

#[test]
fn a_speed_that_changes_nothing_is_told() {
    let session = Session::new();
    session.write("project/recording.json", r#"{"turns":[{"text":"Done."}]}"#);
    let told = |arguments: &[&str]| {
        let outcome = session.run(&[&["speculate", "run the tests"], arguments].concat());
        outcome.stderr.contains("--speed changes nothing")
    };
    assert!(told(&["--speed", "5", "--model", "openai:a-model"]));
    assert!(!told(&["--model", "openai:a-model"]));
    assert!(!told(&["--speed", "5", "--model", "replay:recording.json"]));
    assert!(!told(&["--speed", "5", "--model", "openai:a-model", "--fast-model", "replay:recording.json"]));
}

#[test]
fn a_history_that_is_none_is_named() {
    let session = Session::new();
    session.write("project/recording.json", r#"{"turns":[{"text":"Done."}]}"#);
    session.write("project/object.json", "{}");
    session.write("project/role.json", r#"[{"role":"wizard","parts":[]}]"#);
    session.write(
        "project/alone.json",
        r#"[{"role":"model","parts":[{"type":"toolCall","id":"1","name":"ls","args":{}}]}]"#,
    );
    let suggest = |file: &str| {
        session.run(&["suggest", "--model", "replay:recording.json", "--history", file, "--json"])
    };
    insta::assert_snapshot!(transcript(&[
        suggest("missing.json"),
        suggest("object.json"),
        suggest("role.json"),
        suggest("alone.json"),
    ]));
}
