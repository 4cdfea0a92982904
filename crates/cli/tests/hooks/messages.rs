//! Holds what products send and what they are answered: every file of the folder `messages` is a case.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::session;

/// A message that a product sent, or that its documentation shows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    host: String,
    /// The version of the product that sent the message, or the page from which its form was read.
    source: String,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    message: Value,
    /// The expected answer; `null` if there must be none.
    answer: Value,
}

#[test]
fn every_message_gets_its_answer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks/messages");
    let mut sources: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let mut session = session();
        session.write("project/a.txt", "one\n").write("project/.env", "KEY=1").write("project/src/b.txt", "");
        let place = session.workspace().canonicalize().unwrap();
        let text = text
            .replace("[PROJECT]", place.to_str().unwrap())
            .replace("[HEADSTART]", env!("CARGO_BIN_EXE_headstart"));
        let case: Case = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for (name, value) in &case.variables {
            session = session.variable(name, value);
        }
        let arguments: Vec<_> =
            ["hook", &case.host].into_iter().chain(case.flags.iter().map(String::as_str)).collect();
        let outcome = session.run_with_input(&arguments, case.message.to_string());
        let answer = outcome.json().into_iter().next().unwrap_or(Value::Null);
        assert_eq!(answer, case.answer, "{path:?}: {outcome}");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{path:?}: {outcome}");
        sources.entry(case.host).or_default().push(case.source);
    }
    let hosts: Vec<_> = sources.keys().map(String::as_str).collect();
    assert_eq!(hosts, ["claude-code", "codex", "copilot", "cursor", "gemini-cli", "qwen-code"]);
}
