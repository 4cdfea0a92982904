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
    ]), @r#"
    $ headstart speculate 'run the tests'
    [stderr] headstart: no model is chosen: set --model or HEADSTART_MODEL, or `model` in /home/.config/headstart/config.toml; use replay:FILE, anthropic:NAME, gemini:NAME, openai:NAME, responses:NAME, dashscope:NAME or ollama:NAME (openai:NAME with --base-url for any compatible server). Without a key: `headstart chat --model replay:demo`
    [exit 2]

    $ headstart speculate --model replay:missing.json 'run the tests'
    [stderr] headstart: cannot read missing.json: No such file or directory (os error 2)
    [exit 1]

    $ headstart speculate --model replay:empty.json 'run the tests'
    [stderr] headstart: empty.json: the recording holds neither turns nor suggestions
    [exit 1]

    $ headstart speculate --model replay:typo.json 'run the tests'
    [stderr] headstart: typo.json: the recording is not valid at turns[0].toolCalls[0].nmae: unknown field `nmae`, expected `name` or `args` at line 1 column 31
    [exit 1]

    $ headstart speculate --model replay:cut.json 'run the tests'
    [stderr] headstart: cut.json: the recording is not valid JSON: EOF while parsing a list at line 1 column 10
    [exit 1]

    $ headstart speculate --model openai:a-model 'run the tests'
    [stderr] headstart: openai:a-model needs a key: set OPENAI_API_KEY
    [exit 1]

    $ headstart speculate --model dashscope:a-model 'run the tests'
    [stderr] headstart: dashscope:a-model needs a key: set DASHSCOPE_API_KEY
    [exit 1]
    "#);
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
    ]), @r#"
    $ headstart suggest --model replay:recording.json --history missing.json --json
    {"type":"error","message":"cannot read missing.json: No such file or directory (os error 2)"}
    [stderr] headstart: cannot read missing.json: No such file or directory (os error 2)
    [exit 1]

    $ headstart suggest --model replay:recording.json --history object.json --json
    {"type":"error","message":"object.json: the history must be a JSON array of messages, but it is an object"}
    [stderr] headstart: object.json: the history must be a JSON array of messages, but it is an object
    [exit 1]

    $ headstart suggest --model replay:recording.json --history role.json --json
    {"type":"error","message":"role.json: history entry 0: `role` must be \"user\", \"model\" or \"tool\""}
    [stderr] headstart: role.json: history entry 0: `role` must be "user", "model" or "tool"
    [exit 1]

    $ headstart suggest --model replay:recording.json --history alone.json --json
    {"type":"error","message":"alone.json: history entry 0: the call \"1\" has no result; add a tool message with its result right after it"}
    [stderr] headstart: alone.json: history entry 0: the call "1" has no result; add a tool message with its result right after it
    [exit 1]
    "#);
}
