//! Holds that what a user's configuration says of one model reaches the request.

use serde_json::{Value, json};

use crate::formats::{FORMATS, Format, KEY};
use crate::support::server::{Request, Server};
use crate::support::{Outcome, Session};

const SECRET: &str = "gateway-secret-0123456789";

fn session(format: &Format, settings: &str) -> Session {
    let session = Session::with_project().variable(format.variable, KEY).variable("GATE_TOKEN", SECRET);
    let table = format!("[models.'{}']\n{settings}\n", format.model());
    session.write("home/.config/headstart/config.toml", table);
    session
}

fn ask(session: &Session, format: &Format, server: &Server, query: &str) -> Outcome {
    let (model, url) = (format.model(), format!("{}{query}", server.base_url));
    session.run_with_input(&["chat", "--model", &model, "--base-url", &url], "hello\n")
}

#[test]
fn headers_key_and_query_reach_the_server_in_every_format() {
    for format in &FORMATS {
        let settings = "key_header = 'x-api-key'\nheaders = { X-Team = 'blue', X-Gate = '$GATE_TOKEN' }";
        let session = session(format, settings);
        let server = Server::start(vec![format.stream("Hello.", &[])]);
        let outcome = ask(&session, format, &server, "?api-version=2024-10-21");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "Hello.\n"), "{outcome}");
        let head = server.requests()[0].head.clone();
        let line = head.lines().next().unwrap();
        assert!(line.contains("?api-version=2024-10-21"), "{line}");
        for expected in [&format!("x-api-key: {KEY}"), "x-team: blue", &format!("x-gate: {SECRET}")] {
            assert!(head.lines().any(|line| line == expected), "{expected} in {head}");
        }
        assert_eq!(head.matches(KEY).count(), 1, "{head}");
        session.assert_home_lacks(SECRET);
    }
}

#[test]
fn the_body_has_what_the_model_is_said_to_want() {
    let cases = [
        ("openai", "prompt_cache_key = 'team-blue'", "/prompt_cache_key", json!("team-blue")),
        ("responses", "prompt_cache_key = 'team-blue'", "/prompt_cache_key", json!("team-blue")),
        ("ollama", "", "/options/num_ctx", json!(32_768)),
        ("ollama", "context_tokens = 65536", "/options/num_ctx", json!(65_536)),
        ("openai", "effort = 'high'", "/reasoning_effort", json!("high")),
        ("openai", "thinking = true", "/chat_template_kwargs", json!({"enable_thinking": true})),
        ("responses", "effort = 'low'", "/reasoning/effort", json!("low")),
        ("dashscope", "thinking = 4096", "/thinking_budget", json!(4_096)),
        ("ollama", "thinking = true", "/think", json!(true)),
        ("ollama", "effort = 'low'", "/think", json!("low")),
        ("gemini", "effort = 'low'", "/generationConfig/thinkingConfig", json!({"thinkingLevel": "low"})),
        ("gemini", "thinking = 2048", "/generationConfig/thinkingConfig", json!({"thinkingBudget": 2_048})),
        ("anthropic", "thinking = 2048", "/thinking", json!({"type": "enabled", "budget_tokens": 2_048})),
        ("anthropic", "thinking = true", "/thinking", json!({"type": "adaptive"})),
        ("anthropic", "effort = 'medium'", "/output_config", json!({"effort": "medium"})),
    ];
    for (name, settings, place, expected) in cases {
        let format = FORMATS.iter().find(|format| format.prefix == name).unwrap();
        let session = session(format, settings);
        let server = Server::start(vec![format.stream("Hello.", &[])]);
        let outcome = ask(&session, format, &server, "");
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert_eq!(server.requests()[0].json().pointer(place), Some(&expected), "{settings}");
    }
}

#[test]
fn the_limit_of_a_question_has_the_name_that_the_model_wants() {
    let format = FORMATS.iter().find(|format| format.prefix == "openai").unwrap();
    for (settings, expected) in [
        ("", ["max_tokens"].as_slice()),
        ("output_limit = 'max_completion_tokens'", &["max_completion_tokens"]),
        ("output_limit = 'none'", &[]),
    ] {
        let session = session(format, settings);
        let history = session.history(&json!([
            {"role": "user", "parts": [{"type": "text", "text": "what is here?"}]},
            {"role": "model", "parts": [{"type": "text", "text": "A greeting."}]},
            {"role": "user", "parts": [{"type": "text", "text": "and there?"}]},
            {"role": "model", "parts": [{"type": "text", "text": "Nothing."}]},
        ]));
        let server = Server::start(vec![format.stream(r#"{"suggestion":"run the tests"}"#, &[])]);
        let (model, url) = (format.model(), &server.base_url);
        let outcome = session.run(&["suggest", "--model", &model, "--base-url", url, "--history", &history]);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let body = server.requests()[0].json();
        let names = ["max_tokens", "max_completion_tokens"];
        let said: Vec<_> = names.into_iter().filter(|name| body.get(*name).is_some()).collect();
        assert_eq!(said, expected, "{body}");
    }
}

#[test]
fn a_header_that_wants_a_variable_that_is_not_set_is_told_before_anything_is_sent() {
    let format = &FORMATS[0];
    let session = session(format, "headers = { X-Gate = '$NO_SUCH_TOKEN' }");
    let server = Server::start(vec![]);
    let outcome = ask(&session, format, &server, "");
    outcome.assert_refused(2, &["NO_SUCH_TOKEN: is not set, and the header \"X-Gate\" of anthropic:"]);
    assert!(server.requests().is_empty());
}

/// The server would cut off the beginning of the conversation without saying so, so the conversation is summed up
/// before.
#[test]
fn a_conversation_that_ollama_would_cut_is_summed_up() {
    let format = FORMATS.iter().find(|format| format.prefix == "ollama").unwrap();
    let said = |text: &str| {
        let said = json!({"message": {"role": "assistant", "content": text}, "done": false});
        let done =
            json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"});
        let lines: Vec<Value> = vec![said, done];
        format.framed(&lines)
    };
    let session = session(format, "context_tokens = 20000");
    let server = Server::start(vec![said("They said hello."); 20]);
    let (model, url) = (format.model(), &server.base_url);
    let prompts = format!("{}\n", "hello ".repeat(1_500)).repeat(8);
    let outcome =
        session.run_with_input(&["chat", "--json", "--model", &model, "--base-url", url], prompts.as_str());
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let compacted: Vec<_> = outcome.json().into_iter().filter(|line| line["type"] == "compacted").collect();
    assert!((1..4).contains(&compacted.len()), "{compacted:?}");
    assert_eq!(compacted[0]["summary"], "They said hello.");
    assert!(compacted[0]["after"].as_u64() < compacted[0]["before"].as_u64(), "{compacted:?}");
    let bodies: Vec<_> = server.requests().iter().map(Request::json).collect();
    let messages = |place: usize| bodies[place]["messages"].as_array().unwrap().clone();
    let asks = |place: &usize| messages(*place).last().unwrap().to_string().contains("Write the summary");
    let summing = (1..bodies.len()).find(asks).unwrap();
    let before = messages(summing - 1);
    assert_eq!(messages(summing)[..before.len()], before[..], "it is asked in a fork of the conversation");
    assert_eq!(bodies[summing]["tools"], bodies[summing - 1]["tools"]);
    let after = messages(summing + 1);
    assert!(after.len() < before.len());
    assert!(after[1]["content"].to_string().contains("[Summary so far"), "{}", after[1]);
    let longest = bodies.iter().map(|body| body.to_string().len() / 4).max();
    assert!(longest < Some(20_000), "{longest:?}");
    // A later chat goes on with the shorter conversation.
    let outcome =
        session.run_with_input(&["chat", "--continue", "--model", &model, "--base-url", url], "go on\n");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let known = messages(bodies.len() - 1);
    let body = server.requests()[bodies.len()].json();
    assert_eq!(body["messages"].as_array().unwrap()[..known.len()], known[..]);
}
