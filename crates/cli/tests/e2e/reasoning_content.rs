//! Holds that what a model wants back with its answers goes from a history into the request, and that another model is
//! not sent it.

use std::fs;

use serde_json::{Value, json};

use crate::formats::{FORMATS, Format, KEY};
use crate::support::Session;
use crate::support::server::Server;

/// A conversation whose answers are by this model.
fn history(session: &Session, format: &str, model: &str) -> String {
    let opaque = |thought: &str| {
        let raw = json!({"type": "thinking", "thinking": thought, "signature": "c2ln"});
        json!({"type": "opaque", "format": format, "model": model, "data": [{"raw": raw}]})
    };
    session.history(&json!([
        {"role": "user", "parts": [{"type": "text", "text": "what is here?"}]},
        {"role": "model", "parts": [opaque("a deep thought"), {"type": "text", "text": "A greeting."}]},
        {"role": "user", "parts": [{"type": "text", "text": "and there?"}]},
        {"role": "model", "parts": [opaque("another one"), {"type": "text", "text": "Nothing."}]},
    ]))
}

/// The body of a question for a suggestion, and the lines of the ledger that say what was left out of it.
fn ask(format: &Format, settings: &str, history: impl Fn(&Session) -> String) -> (Value, Vec<Value>) {
    let session = Session::with_project().variable(format.variable, KEY);
    session.write("home/.config/headstart/config.toml", settings);
    let server = Server::start(vec![format.stream(r#"{"suggestion":"run the tests"}"#, &[])]);
    let (history, model, url) = (history(&session), format.model(), &server.base_url);
    let outcome = session.run(&["suggest", "--model", &model, "--base-url", url, "--history", &history]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "run the tests\n"), "{outcome}");
    let ledger = fs::read_to_string(session.ledger()).unwrap();
    let lines = ledger.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let left_out = lines.filter(|line| line["type"] == "leftOut").collect();
    assert_eq!(session.run(&["stats"]).code, Some(0));
    (server.requests()[0].json(), left_out)
}

#[test]
fn thoughts_go_back_to_their_model_and_another_one_is_asked_without_them_which_the_ledger_says() {
    let format = FORMATS.iter().find(|format| format.prefix == "anthropic").unwrap();
    let name = format.model().split_once(':').unwrap().1.to_owned();
    let (body, left_out) = ask(format, "", |session| history(session, "anthropic", &name));
    assert_eq!(body["messages"][1]["content"][0]["thinking"], "a deep thought", "{body}");
    assert!(left_out.is_empty(), "{left_out:?}");

    let (body, left_out) = ask(format, "", |session| history(session, "anthropic", "other"));
    assert!(!body.to_string().contains("deep thought"), "{body}");
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    assert_eq!((&line["model"], &line["answers"]), (&json!(format.model()), &json!(2)));
}

/// A `thinking` that differs from that of the turns would miss the provider's cache of the messages.
#[test]
fn a_question_asks_anthropic_for_the_thinking_of_the_turns_and_has_room_for_it() {
    let format = FORMATS.iter().find(|format| format.prefix == "anthropic").unwrap();
    let limit = |settings: &str| {
        let settings = format!("[models.'{}']\n{settings}", format.model());
        let (body, _) = ask(format, &settings, |session| history(session, "chat", "other"));
        (body["thinking"].clone(), body["max_tokens"].as_u64().unwrap())
    };
    let (thinking, without) = limit("");
    assert_eq!(thinking, Value::Null);
    let (thinking, with) = limit("thinking = 2048");
    assert_eq!((thinking, with), (json!({"type": "enabled", "budget_tokens": 2_048}), without + 2_048));
}
