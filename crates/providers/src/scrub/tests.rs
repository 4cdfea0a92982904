use std::sync::Arc;

use futures::StreamExt;
use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::{Script, request};
use crate::{Recorder, Replay};
use headstart_forked_query::{FinishReason, Model, ModelEvent, ModelRequest, ToolCall};

/// A value of the user's environment that must never be seen.
const KNOWN: &str = "correct horse/battery\"staple";

/// Texts with a secret in them, each with the secret. None is real.
fn planted() -> Vec<(String, String)> {
    let word = |start: &str, length: usize| start.to_owned() + &"aB3dE5fG7h".repeat(8)[..length];
    let bare = [
        word("sk-", 40),
        word("sk-ant-api03-", 60),
        word("sk-proj-", 48),
        word("gsk_", 40),
        word("xai-", 40),
        word("AIza", 35),
        word("ya29.", 40),
        "AKIA".to_owned() + "ABCDEFGHIJ234567",
        word("ghp_", 36),
        word("github_pat_", 40),
        word("glpat-", 20),
        word("npm_", 36),
        word("hf_", 34),
        word("xoxb-", 30),
        word("sk_live_", 24),
        format!("{}.{}.{}", word("eyJ", 20), word("eyJ", 30), word("", 20)),
        format!("{}.{}", word("SG.", 22), word("", 40)),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", word("MII", 60)),
        format!("-----BEGIN PRIVATE KEY-----\n{}", word("MII", 60)),
        KNOWN.to_owned(),
    ];
    let mut planted: Vec<_> =
        bare.iter().map(|secret| (format!("see {secret} there"), secret.clone())).collect();
    let inner = "Zx9Qw8Er7Ty6";
    for form in [
        "Authorization: Bearer @",
        "authorization: Basic @",
        "-H 'Authorization: token @' https://example.com",
        "\"Proxy-Authorization\": \"Bearer @\"",
        "x-api-key: @",
        "x-goog-api-key: @",
        "api-key=@",
        "it sends Bearer @",
        "Cookie: session=@; theme=dark",
        "Set-Cookie: id=@",
        "postgres://user:@@db.example.com/x",
        "https://example.com/?a=1&key=@&b=2",
        "https://example.com/?access_token=@",
        "OPENAI_API_KEY=@",
        "export MY_SECRET='@'",
        "DB_PASSWORD: @",
        "{\"api_key\": \"@\"}",
        "{\\\"client_secret\\\":\\\"@\\\"}",
        "password = \"@\"",
    ] {
        // In the URL only the first `@` stands for the secret; the second one separates the host.
        let text = match form.strip_prefix("postgres://user:@") {
            Some(rest) => format!("postgres://user:{inner}{rest}"),
            None => form.replace('@', inner),
        };
        planted.push((text, inner.to_owned()));
    }
    planted.push(("?q=correct%20horse%2Fbattery%22staple".to_owned(), "battery".to_owned()));
    planted.push(("{\"k\":\"correct horse/battery\\\"staple\"}".to_owned(), "battery".to_owned()));
    planted
}

fn scrubber() -> Scrubber {
    Scrubber::with_values([KNOWN.to_owned(), "correct horse".to_owned(), "short".to_owned()])
}

/// A model that answers with these events.
fn answer(events: Vec<ModelEvent>) -> Arc<dyn Model> {
    let end = [ModelEvent::Finished(FinishReason::Stop)];
    Script::answering(events.into_iter().chain(end).map(Ok))
}

/// What `--record` would write for this answer.
fn recorded(events: Vec<ModelEvent>, query: bool) -> String {
    let recorder = Recorder::new(answer(events)).with_secrets(scrubber());
    let schema = query.then(|| json!({}));
    let request = ModelRequest { response_schema: schema, ..request() };
    block_on(async { recorder.stream(&request).await.unwrap().collect::<Vec<_>>().await });
    recorder.recording().to_json()
}

fn call(name: &str, args: Value) -> ModelEvent {
    let Value::Object(args) = args else { panic!("no object") };
    ModelEvent::ToolCall(ToolCall { id: "1".into(), name: name.into(), args })
}

/// Every secret is found in every field of a recording, also if it arrives in pieces.
#[test]
fn no_secret_is_recorded_wherever_text_can_come_from() {
    for (text, secret) in planted() {
        let middle = text.char_indices().nth(text.chars().count() / 2).unwrap().0;
        let (first, second) = text.split_at(middle);
        let deltas: Vec<_> = text.chars().map(|c| ModelEvent::Text(c.to_string())).collect();
        let query = json!({ "suggestion": text }).to_string();
        let places = [
            ("text", recorded(vec![ModelEvent::Text(text.clone())], false)),
            (
                "text in two pieces",
                recorded(vec![ModelEvent::Text(first.into()), ModelEvent::Text(second.into())], false),
            ),
            ("text in single letters", recorded(deltas, false)),
            (
                "text around a call",
                recorded(vec![call("ls", json!({})), ModelEvent::Text(text.clone())], false),
            ),
            ("thought", recorded(vec![ModelEvent::Thought(text.clone())], false)),
            ("name of a call", recorded(vec![call(&text, json!({}))], false)),
            ("argument", recorded(vec![call("shell", json!({ "command": text }))], false)),
            ("argument in a list", recorded(vec![call("x", json!({ "a": [1, ["b", text]] }))], false)),
            (
                "argument in an object",
                recorded(vec![call("x", json!({ "a": { "b": [{ "c": text }] } }))], false),
            ),
            ("name of an argument", recorded(vec![call("x", json!({ &text: 1 }))], false)),
            ("suggestion", recorded(vec![ModelEvent::Text(query)], true)),
            ("suggestion that is no JSON", recorded(vec![ModelEvent::Text(text.clone())], true)),
        ];
        let secret = secret.lines().max_by_key(|line| line.len()).unwrap();
        for (place, written) in places {
            let found = written.contains(secret) || written.contains(&json_escaped(secret));
            assert!(!found, "{secret:?} in a {place} of {text:?}: {written}");
        }
    }
}

/// The value of a field with the name of a secret is replaced, even if it does not look like one.
#[test]
fn a_field_that_is_called_a_secret_holds_one_whatever_it_looks_like() {
    for name in ["password", "api_key", "apiKey", "x-api-key", "Authorization", "client-secret", "cookie"] {
        let written = recorded(vec![call("x", json!({ "deep": { name: "hunter" } }))], false);
        assert!(!written.contains("hunter"), "{name}: {written}");
    }
    let written = recorded(vec![call("grep", json!({ "pattern": "hunter", "token_count": "many" }))], false);
    assert!(written.contains("hunter") && written.contains("many"));
}

/// Texts that only look similar to secrets are left as they are.
#[test]
fn what_is_no_secret_stays_as_it_is() {
    let scrubber = scrubber();
    for text in [
        "",
        "short",
        "run the tests",
        "let token = lexer.next_token(); // the bearer authentication of a task-oriented-scheduler-for-jobs",
        "the sk-learn-style-interface-of-models and basic understanding",
        "Authorization: header(name)",
        "const cookie = jar.get('theme');",
        "https://example.com:8080/a@b?page=12345678&sort=name",
        "MAX_TOKENS = 4096",
        "password: String,",
        "-----BEGIN CERTIFICATE-----\nMIIabc\n-----END CERTIFICATE-----",
    ] {
        assert_eq!(scrubber.text(text), text);
    }
}

/// A scrubbed recording is still a valid recording, and scrubbing it again changes nothing.
#[test]
fn what_was_scrubbed_can_be_played_and_scrubbed_again() {
    let events =
        vec![ModelEvent::Text("key OPENAI_API_KEY=abcdefgh1234".into()), call("ls", json!({ "path": "." }))];
    let recorder = Recorder::new(answer(events)).with_secrets(scrubber());
    block_on(async { recorder.stream(&request()).await.unwrap().collect::<Vec<_>>().await });
    let recording = Recording::parse(&recorder.recording().to_json()).unwrap();
    assert_eq!(recording.turns[0].text, "key OPENAI_API_KEY=[scrubbed]");
    assert_eq!(scrubber().recording(&recording), recording);
    let replay = Replay::instant(recording);
    let events = block_on(async { replay.stream(&request()).await.unwrap().collect::<Vec<_>>().await });
    assert!(events.iter().all(Result::is_ok) && 3 <= events.len());
}

/// If one known value contains another one, the whole text is replaced.
#[test]
fn a_value_that_is_part_of_another_leaves_nothing_of_it() {
    assert_eq!(scrubber().text(&format!("<{KNOWN}> <correct horse>")), "<[scrubbed]> <[scrubbed]>");
}

proptest! {
    #[test]
    fn no_text_panics_and_twice_is_once(text in r#"[a-zA-Z0-9 :=@/?&"'\\._-]{0,60}|sk-[a-z0-9]{20}|Bearer [a-z0-9é]{9}"#) {
        let scrubber = Scrubber::default();
        let once = scrubber.text(&text).into_owned();
        prop_assert_eq!(scrubber.text(&once), once.as_str());
    }
}
