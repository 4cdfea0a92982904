//! Runs the binary with a real server that speaks the wire format of a provider.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::server::{Request, ScriptedResponse, Server, StreamStep, calls, delta, end, says};
use crate::support::{Outcome, Session};

const KEY: &str = "sk-e2e-0123456789abcdef";

fn session() -> Session {
    Session::with_project().variable("OPENAI_API_KEY", KEY).variable("DASHSCOPE_API_KEY", KEY)
}

/// A conversation in which the model has spoken twice.
fn history() -> Value {
    json!([
        {"role": "user", "parts": [{"type": "text", "text": "what is in greeting.txt?"}]},
        {"role": "model", "parts": [
            {"type": "text", "text": "Let me look."},
            {"type": "toolCall", "id": "h1", "name": "read_file", "args": {"file_path": "greeting.txt"}},
        ]},
        {"role": "tool", "parts": [
            {"type": "toolResult", "id": "h1", "name": "read_file", "output": "hello\nworld\n"},
        ]},
        {"role": "model", "parts": [{"type": "text", "text": "A greeting. I could add a farewell."}]},
    ])
}

/// Answers that read two files and search, stage two files, say so, and answer the question for a suggestion.
fn farewell() -> Vec<ScriptedResponse> {
    vec![
        calls(&[
            ("read_file", json!({"file_path": "greeting.txt"})),
            ("grep", json!({"pattern": "milk"})),
            ("ls", json!({"path": "src"})),
        ]),
        calls(&[
            ("edit", json!({"file_path": "greeting.txt", "old_string": "world", "new_string": "\"moon\" ☾"})),
            ("write_file", json!({"file_path": "src/farewell.txt", "content": "bye\n"})),
        ]),
        says("Both files say farewell."),
        says(r#"{"suggestion":"run the tests"}"#),
    ]
}

fn speculate(session: &Session, server: &Server) -> Outcome {
    let history = session.history(&history());
    let before = session.hash();
    let outcome =
        session.run(&server.speculation("openai:test", &["--history", &history, "add the farewell"]));
    assert_eq!(session.hash(), before);
    assert_no_key(session, &outcome);
    outcome
}

fn assert_no_key(session: &Session, outcome: &Outcome) {
    assert!(!outcome.stdout.contains(KEY) && !outcome.stderr.contains(KEY), "{outcome}");
    if session.store().exists() && !session.speculation_folders().is_empty() {
        session.assert_home_lacks(KEY);
    }
}

fn roles(request: &Request) -> Vec<String> {
    let messages = request.json()["messages"].clone();
    let roles =
        messages.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap().to_owned());
    roles.collect()
}

#[test]
fn a_speculation_from_the_first_byte_to_the_accept() {
    let session = session();
    let server = Server::start(farewell());
    let outcome = speculate(&session, &server);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let finished = outcome.finished();
    assert_eq!(finished["next"], "run the tests", "{outcome}");
    let usage = &finished["usage"];
    let spent = (&usage["inputTokens"], &usage["cachedInputTokens"], &usage["outputTokens"]);
    assert_eq!(spent, (&json!(400), &json!(320), &json!(40)), "{outcome}");
    assert_eq!((&usage["turns"], &usage["toolCalls"]), (&json!(3), &json!(5)), "{outcome}");

    let accept = session.run(&["accept", finished["id"].as_str().unwrap()]);
    assert_eq!(accept.code, Some(0), "{accept}");
    assert_no_key(&session, &accept);
    assert_eq!(session.text("greeting.txt").unwrap(), "hello\n\"moon\" ☾\n");
    assert_eq!(session.text("src/farewell.txt").unwrap(), "bye\n");
    // An accept asks no model.
    assert_eq!(server.requests().len(), 4);
}

#[test]
fn every_request_begins_with_the_bytes_of_the_one_before() {
    let session = session();
    session.write("home/.config/headstart/config.toml", "[models.'openai:test']\nfree = false\n");
    let server = Server::start([vec![says(r#"{"suggestion":"add the farewell"}"#)], farewell()].concat());
    let history = session.history(&history());
    let suggest =
        ["suggest", "--model", "openai:test", "--base-url", &server.base_url, "--history", &history];
    let suggestion = session.run(&suggest);
    assert_eq!(
        (suggestion.code, suggestion.stdout.as_str()),
        (Some(0), "add the farewell\n"),
        "{suggestion}"
    );
    speculate(&session, &server);

    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    // The shared part ends with the history, whose last text is the model's.
    let shared =
        requests[0].body.find("I could add a farewell.").unwrap() + "I could add a farewell.\"}".len();
    for request in &requests {
        assert_eq!(request.body[..shared], requests[0].body[..shared]);
    }
    for pair in requests[1..].windows(2) {
        let messages_end = pair[0].body.rfind(']').unwrap();
        assert_eq!(pair[1].body[..messages_end], pair[0].body[..messages_end]);
    }
    let forked = requests[1].json();
    assert_eq!(roles(&requests[1]), ["system", "user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(forked["messages"][5]["content"], "add the farewell");
    let tools = forked["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "read_file",
            "grep",
            "glob",
            "ls",
            "edit",
            "write_file",
            "shell",
            "multi_edit",
            "create_file",
            "run_in_background",
            "command_output",
            "stop_command",
            "view_diff",
            "fetch_url",
            "codebase",
            "repo_map",
            "task"
        ]
    );
    insta::assert_snapshot!(session.redact(&request_summary(&requests[1..])), @r#"
    POST /v1/chat/completions HTTP/1.1
      …
      {"role":"user","content":"what is in greeting.txt?"}
      {"role":"assistant","content":"Let me look.","tool_calls":[{"id":"h1","type":"function","function":{"name":"read_file","arguments":"{\"file_path\":\"greeting.txt\"}"}}]}
      {"role":"tool","tool_call_id":"h1","content":"hello\nworld\n"}
      {"role":"assistant","content":"A greeting. I could add a farewell."}
      {"role":"user","content":"add the farewell"}
    POST /v1/chat/completions HTTP/1.1
      {"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call_0","type":"function","function":{"name":"read_file","arguments":"{\"file_path\":\"greeting.txt\"}"}},{"id":"call_1","type":"function","function":{"name":"grep","arguments":"{\"pattern\":\"milk\"}"}},{"id":"call_2","type":"function","function":{"name":"ls","arguments":"{\"path\":\"src\"}"}}]}
      {"role":"tool","tool_call_id":"call_0","content":"hello\nworld\n"}
      {"role":"tool","tool_call_id":"call_1","content":"notes.txt:1:remember the milk"}
      {"role":"tool","tool_call_id":"call_2","content":"run.sh"}
    POST /v1/chat/completions HTTP/1.1
      {"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call_0-2","type":"function","function":{"name":"edit","arguments":"{\"file_path\":\"greeting.txt\",\"old_string\":\"world\",\"new_string\":\"\\\"moon\\\" ☾\"}"}},{"id":"call_1-2","type":"function","function":{"name":"write_file","arguments":"{\"file_path\":\"src/farewell.txt\",\"content\":\"bye\\n\"}"}}]}
      {"role":"tool","tool_call_id":"call_0-2","content":"replaced 1 occurrence in greeting.txt (line 2)"}
      {"role":"tool","tool_call_id":"call_1-2","content":"created src/farewell.txt (1 line)"}
    POST /v1/chat/completions HTTP/1.1
      {"role":"assistant","content":"Both files say farewell."}
      …
    {"model":"test","stream":true,"stream_options":{"include_usage":true},"tools":null,"messages":null,"max_tokens":5120,"chat_template_kwargs":{"enable_thinking":false}}
    "#);
}

/// For each request, the messages that it added; then the body of the last request without messages and tools.
fn request_summary(requests: &[Request]) -> String {
    let mut lines = String::new();
    let mut known = 0;
    let mut rest = Value::Null;
    for (number, request) in requests.iter().enumerate() {
        lines.extend([request.head.lines().next().unwrap(), "\n"]);
        let mut body = request.json();
        let messages = body["messages"].take();
        let messages = messages.as_array().unwrap();
        for message in &messages[known..] {
            let text = message.to_string();
            // The system instruction and the question for a suggestion have tests of their own.
            let own =
                message["role"] != "system" && (number + 1 < requests.len() || message["role"] != "user");
            lines.extend(["  ", if own { text.as_str() } else { "…" }, "\n"]);
        }
        known = messages.len();
        body["tools"].take();
        rest = body;
    }
    format!("{lines}{rest}\n")
}

#[test]
fn the_key_goes_to_the_server_and_nowhere_else() {
    let session = session();
    let server = Server::start(farewell());
    let outcome = speculate(&session, &server);
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.head.contains(&format!("authorization: Bearer {KEY}"))));
    assert!(requests.iter().all(|request| !request.body.contains(KEY)));
    let id = outcome.finished()["id"].as_str().unwrap().to_owned();
    for command in ["show", "diff"] {
        assert_no_key(&session, &session.run(&[command, &id, "--json"]));
    }
}

#[test]
fn thinking_is_off_and_the_prefix_is_marked_where_the_provider_has_words_for_it() {
    let session = session();
    let server = Server::start(vec![says("Nothing to do.")]);
    let history = session.history(&history());
    let outcome = session.run(&[
        "speculate",
        "--json",
        "--model",
        "dashscope:test",
        "--base-url",
        &server.base_url,
        "--history",
        &history,
        "add the farewell",
    ]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_no_key(&session, &outcome);
    let request = &server.requests()[0];
    assert!(request.head.contains("x-dashscope-cachecontrol: enable"), "{}", request.head);
    assert_eq!(request.json()["enable_thinking"], false);
    assert!(request.body.contains(r#""cache_control":{"type":"ephemeral"}"#), "{}", request.body);
}

#[test]
fn what_goes_wrong_is_named_and_what_was_done_is_kept() {
    let whole =
        |status, headers, body: &str| ScriptedResponse::Whole { status, headers, body: body.to_owned() };
    let half = || delta(&json!({"content": "I will"}));
    let echo = format!(r#"{{"error":{{"message":"wrong key {KEY}"}}}}"#);
    let cases = [
        (whole("401 Unauthorized", "", &echo), " refused the key (401); set OPENAI_API_KEY"),
        (whole("429 Too Many Requests", "retry-after: 7\r\n", "{}"), "7 s"),
        (whole("500 Internal Server Error", "", r#"{"error":{"message":"out of memory"}}"#), "out of memory"),
        (whole("503 Service Unavailable", "", &echo), " failed (503): wrong key"),
        (whole("404 Not Found", "", r#"{"error":{"message":"no model test"}}"#), "no model test"),
        (whole("302 Found", "location: http://127.0.0.1:1/\r\n", ""), "302"),
        (ScriptedResponse::Stream(vec![half(), StreamStep::Cut]), "cut"),
        (ScriptedResponse::Stream(vec![half()]), "cut"),
        (ScriptedResponse::Stream(vec![half(), StreamStep::Data("{\"choices\":[".into())]), "malformed"),
        (ScriptedResponse::Stream(vec![half(), StreamStep::Data("[]".into())]), "malformed"),
        (ScriptedResponse::Stream(vec![StreamStep::Raw("<html>it works</html>\n\n".to_owned())]), "openai"),
        (
            ScriptedResponse::Stream(vec![
                half(),
                StreamStep::Data(r#"{"error":{"message":"overloaded","code":503}}"#.into()),
            ]),
            "overloaded",
        ),
    ];
    for (answer, expected) in cases {
        let session = session();
        session.write("home/.config/headstart/config.toml", "[requests]\nretries = 0\n");
        let server = Server::start(vec![farewell().swap_remove(1), answer.clone()]);
        let outcome = speculate(&session, &server);
        assert_eq!(outcome.code, Some(1), "{answer:?}: {outcome}");
        let finished = outcome.finished();
        assert_eq!(finished["status"], "failed", "{answer:?}: {outcome}");
        let error = finished["error"].as_str().unwrap();
        assert!(error.contains(expected), "{answer:?}: {error}");
        assert_eq!(finished["changes"].as_array().unwrap().len(), 2, "{answer:?}: {outcome}");
        // There is no retry because none is allowed, and no suggestion after a failure.
        assert_eq!(server.requests().len(), 2, "{answer:?}");
    }
}

#[test]
fn what_passes_is_waited_for() {
    let session = session();
    let whole = |status, headers| ScriptedResponse::Whole { status, headers, body: "{}".to_owned() };
    let mut answers = farewell();
    answers.insert(1, whole("500 Internal Server Error", "retry-after-ms: 20\r\n"));
    answers.insert(0, whole("502 Bad Gateway", "retry-after: 0\r\n"));
    let server = Server::start(answers);
    let outcome = speculate(&session, &server);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.finished()["next"], "run the tests", "{outcome}");
    let requests = server.requests();
    assert_eq!(requests.len(), 6);
    assert_eq!((&requests[0].body, &requests[2].body), (&requests[1].body, &requests[3].body));
}

#[test]
fn a_suggestion_query_that_fails_is_an_error() {
    let session = session();
    let body = format!(r#"{{"error":{{"message":"wrong key {KEY}"}}}}"#);
    let server =
        Server::start(vec![ScriptedResponse::Whole { status: "401 Unauthorized", headers: "", body }]);
    let history = session.history(&history());
    let suggest =
        ["suggest", "--model", "openai:test", "--base-url", &server.base_url, "--history", &history];
    let outcome = session.run(&suggest);
    outcome.assert_refused(1, &["openai at http://127.0.0.1:", " refused the key (401)", "OPENAI_API_KEY"]);
    assert_no_key(&session, &outcome);
}

#[test]
fn nobody_at_home_names_the_address() {
    let session = session();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let outcome = session.run(&["speculate", "--json", "--model", "openai:test", "--base-url", &url, "hi"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.finished()["error"].as_str().unwrap().contains(&url), "{outcome}");
}

#[test]
fn silence_is_ended_by_the_time_limit_and_the_connection_is_closed() {
    let session = session();
    session.write("home/.config/headstart/config.toml", "[limits]\ntime_seconds = 1\n");
    let silent =
        ScriptedResponse::Stream(vec![delta(&json!({"content": "Well"})), StreamStep::UntilClientLeaves]);
    let server = Server::start(vec![silent]);
    let outcome = speculate(&session, &server);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    let finished = outcome.finished();
    assert_eq!((&finished["status"], &finished["limit"]), (&json!("exhausted"), &json!("time")), "{outcome}");
    server.wait_until_client_left();
}

#[test]
fn a_slow_answer_is_no_broken_one() {
    let session = session();
    let mut steps = vec![StreamStep::Raw(": keep-alive\n\n".to_owned())];
    for word in ["slow ", "and ", "steady"] {
        steps.extend([StreamStep::Wait(Duration::from_millis(150)), delta(&json!({"content": word}))]);
    }
    steps.extend(end("stop"));
    let server = Server::start(vec![ScriptedResponse::Stream(steps)]);
    let outcome = speculate(&session, &server);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let said: String = outcome.json().iter().filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(said, "slow and steady");
    assert!(450 <= outcome.finished()["usage"]["modelMs"].as_u64().unwrap(), "{outcome}");
}

#[test]
fn ctrl_c_or_an_abort_closes_the_connection_and_leaves_nothing() {
    for by_signal in [true, false] {
        let session = session();
        let before = session.hash();
        let silent =
            ScriptedResponse::Stream(vec![delta(&json!({"content": "Well"})), StreamStep::UntilClientLeaves]);
        let server = Server::start(vec![farewell().swap_remove(1), silent]);
        let mut live = session.live(&server.speculation("openai:test", &["add the farewell"]));
        live.wait_for("toolResult");
        live.wait_for("text");
        if by_signal {
            live.interrupt();
        } else {
            let id = session.only_row()["id"].as_str().unwrap().to_owned();
            assert_eq!(session.run(&["abort", &id]).code, Some(0));
        }
        server.wait_until_client_left();
        live.wait_for("error");
        assert_eq!(live.ended_by().is_some(), by_signal);
        assert_eq!(session.speculation_folders(), Vec::<PathBuf>::new());
        assert_eq!(session.hash(), before);
    }
}

#[test]
fn a_recording_made_from_a_server_plays_the_same_work() {
    let session = session();
    let server = Server::start(farewell());
    let recording = session.home().join("made.json").display().to_string();
    let history = session.history(&history());
    let speculate = |model: &str, more: &[&str]| {
        let fixed =
            ["speculate", "--json", "--mode", "auto-edit", "--history", &history, "--model", model, "go"];
        session.run(&[&fixed[..], more].concat())
    };
    let live = speculate("openai:test", &["--base-url", &server.base_url, "--record", &recording]);
    assert_no_key(&session, &live);
    let played = speculate(&format!("replay:{recording}"), &[]);
    let (live, played) = (live.finished(), played.finished());
    for field in ["status", "changes", "next"] {
        assert_eq!(live[field], played[field], "{field}");
    }
    assert_eq!(live["usage"]["inputTokens"], 400);
}

#[test]
fn a_key_that_is_missing_is_asked_for_by_name() {
    let session = Session::with_project();
    for (model, variable) in [("openai:test", "OPENAI_API_KEY"), ("dashscope:test", "DASHSCOPE_API_KEY")] {
        session.run(&["speculate", "--model", model, "hi"]).assert_refused(1, &[model, variable]);
    }
    assert_eq!(session.speculation_folders(), Vec::<PathBuf>::new());
}
