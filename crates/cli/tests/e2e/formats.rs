//! Holds how each provider's wire format works from the command line to the accepted file, and that the provider's key
//! can be found nowhere.

use serde_json::{Value, json};

use crate::support::server::{ScriptedResponse, Server, StreamStep};
use crate::support::{Outcome, Session};

pub(crate) const KEY: &str = "sk-formats-0123456789abcdef";

/// A provider on the command line, and how its key is given and sent.
pub(crate) struct Format {
    pub(crate) prefix: &'static str,
    pub(crate) variable: &'static str,
    header: &'static str,
    /// The list in the body that contains the conversation.
    conversation: &'static str,
    answer: Events,
}

/// Makes the events of an answer that has a text and calls tools.
type Events = fn(&str, &[(&str, Value)]) -> Vec<Value>;

pub(crate) const FORMATS: [Format; 6] = [
    Format {
        prefix: "anthropic",
        variable: "ANTHROPIC_API_KEY",
        header: "x-api-key: ",
        conversation: "messages",
        answer: anthropic,
    },
    Format {
        prefix: "gemini",
        variable: "GOOGLE_API_KEY",
        header: "x-goog-api-key: ",
        conversation: "contents",
        answer: gemini,
    },
    Format {
        prefix: "responses",
        variable: "OPENAI_API_KEY",
        header: "authorization: Bearer ",
        conversation: "input",
        answer: responses,
    },
    Format {
        prefix: "ollama",
        variable: "OLLAMA_API_KEY",
        header: "authorization: Bearer ",
        conversation: "messages",
        answer: ollama,
    },
    Format {
        prefix: "openai",
        variable: "OPENAI_API_KEY",
        header: "authorization: Bearer ",
        conversation: "messages",
        answer: chat,
    },
    Format {
        prefix: "dashscope",
        variable: "DASHSCOPE_API_KEY",
        header: "authorization: Bearer ",
        conversation: "messages",
        answer: chat,
    },
];

fn anthropic(text: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10, "output_tokens": 1});
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    for (index, (name, input)) in (1..).zip(calls) {
        let block = json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {}});
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let letters: Vec<char> = input.to_string().chars().collect();
        for piece in letters.chunks(7).map(String::from_iter) {
            let delta = json!({"type": "input_json_delta", "partial_json": piece});
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 10}}),
    );
    events.push(json!({"type": "message_stop"}));
    events
}

fn gemini(text: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let piece = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let mut events = vec![piece(json!([{"text": "hm", "thought": true}])), piece(json!([{"text": text}]))];
    let parts = calls.iter().map(|(name, args)| {
        json!({"functionCall": {"name": name, "args": args}, "thoughtSignature": format!("signed-{name}")})
    });
    events.extend(parts.map(|part| piece(json!([part]))));
    let usage = json!({"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 10});
    events.push(json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage}));
    events
}

fn responses(text: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "response.created", "response": {}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}),
    ];
    for (index, (name, args)) in (1..).zip(calls) {
        let item = json!({"type": "function_call", "call_id": format!("call_{index}"), "name": name, "arguments": args.to_string()});
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let usage =
        json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 80}, "output_tokens": 10});
    events.push(json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn ollama(text: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let calls: Vec<_> = calls
        .iter()
        .map(|(name, arguments)| json!({"function": {"name": name, "arguments": arguments}}))
        .collect();
    let done = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 100, "eval_count": 10});
    vec![
        json!({"message": {"role": "assistant", "content": text}, "done": false}),
        json!({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": false}),
        done,
    ]
}

fn chat(text: &str, calls: &[(&str, Value)]) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut events = vec![chunk(json!({"role": "assistant", "content": text}), Value::Null)];
    for (index, (name, args)) in calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": args.to_string()});
        let call =
            json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
        events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
    }
    events.push(chunk(json!({}), json!(if calls.is_empty() { "stop" } else { "tool_calls" })));
    let details = json!({"cached_tokens": 80});
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": details});
    events.push(json!({"choices": [], "usage": usage}));
    events
}

impl Format {
    pub(crate) fn stream(&self, text: &str, calls: &[(&str, Value)]) -> ScriptedResponse {
        self.framed(&(self.answer)(text, calls))
    }

    /// An answer of these events, framed as the format requires.
    pub(crate) fn framed(&self, events: &[Value]) -> ScriptedResponse {
        let frame = |event: &Value| match self.prefix {
            "ollama" => StreamStep::Raw(format!("{event}\n")),
            _ => StreamStep::Data(event.to_string()),
        };
        ScriptedResponse::Stream(events.iter().map(frame).collect())
    }

    /// The answers that read and search at once, write, say so, and answer the question for a suggestion.
    fn script(&self) -> Vec<ScriptedResponse> {
        vec![
            self.stream(
                "Let me look.",
                &[
                    ("read_file", json!({"file_path": "greeting.txt"})),
                    ("grep", json!({"pattern": "milk"})),
                    ("ls", json!({})),
                ],
            ),
            self.stream(
                "Now I write.",
                &[("write_file", json!({"file_path": "bye.txt", "content": "\"bye\" ☾\n"}))],
            ),
            self.stream("It says farewell.", &[]),
            self.stream(r#"{"suggestion":"run the tests"}"#, &[]),
        ]
    }

    pub(crate) fn model(&self) -> String {
        format!("{}:gemini-3-test", self.prefix)
    }
}

/// Fails if what a command printed, or a file that it wrote, contains the key.
fn assert_no_key(session: &Session, outcome: &Outcome) {
    assert!(!outcome.stdout.contains(KEY) && !outcome.stderr.contains(KEY), "{outcome}");
    session.write("home/.looked", "");
    session.assert_home_lacks(KEY);
    session.assert_project_lacks(KEY);
}

#[test]
fn a_speculation_in_each_format_from_the_prompt_to_the_file() {
    for format in &FORMATS {
        let session = Session::with_project().variable(format.variable, KEY);
        let server = Server::start(format.script());
        let recording = session.home().join("made.json").display().to_string();
        let outcome =
            session.run(&server.speculation(&format.model(), &["--record", &recording, "add a farewell"]));
        assert_no_key(&session, &outcome);
        assert_eq!(outcome.code, Some(0), "{}: {outcome}", format.prefix);
        let finished = outcome.finished();
        assert_eq!(finished["next"], "run the tests", "{outcome}");
        assert_eq!((&finished["usage"]["turns"], &finished["usage"]["toolCalls"]), (&json!(3), &json!(4)));
        assert_eq!(
            (&finished["usage"]["inputTokens"], &finished["usage"]["outputTokens"]),
            (&json!(400), &json!(40)),
            "{outcome}"
        );

        let requests = server.requests();
        assert_eq!(requests.len(), 4, "{}", format.prefix);
        for pair in requests.windows(2) {
            let [before, after] = [&pair[0], &pair[1]]
                .map(|request| request.body.replace(r#","cache_control":{"type":"ephemeral"}"#, ""));
            let end = before.rfind(']').unwrap();
            assert_eq!(after[..end], before[..end], "{}: the prefix changed", format.prefix);
            assert!(
                pair[0].json()[format.conversation].as_array().unwrap().len()
                    < pair[1].json()[format.conversation].as_array().unwrap().len()
            );
        }
        for request in &requests {
            assert!(request.head.contains(&format!("{}{KEY}", format.header)), "{}", request.head);
            assert_eq!(request.head.matches(KEY).count() + request.body.matches(KEY).count(), 1);
        }

        let id = finished["id"].as_str().unwrap();
        for arguments in [
            &["list"][..],
            &["list", "--json"],
            &["show", id],
            &["show", "--json", id],
            &["diff", id],
            &["accept", id],
        ] {
            let outcome = session.run(arguments);
            assert_eq!(outcome.code, Some(0), "{outcome}");
            assert_no_key(&session, &outcome);
        }
        assert_eq!(session.text("bye.txt").unwrap(), "\"bye\" ☾\n");
        let played = session.run(&[
            "speculate",
            "--json",
            "--mode",
            "plan",
            "--model",
            &format!("replay:{recording}"),
            "again",
        ]);
        assert_eq!(played.json()[0]["text"], "Let me look.", "{played}");
    }
}

/// A newer Gemini model refuses its own calls without the signatures that came with them.
#[test]
fn the_signatures_of_calls_go_back_with_them() {
    let format = &FORMATS[1];
    let session = Session::with_project().variable(format.variable, KEY);
    let server = Server::start(format.script());
    let arguments = [
        "speculate",
        "--mode",
        "auto-edit",
        "--model",
        &format.model(),
        "--base-url",
        &server.base_url,
        "go",
    ];
    assert_eq!(session.run(&arguments).code, Some(0));
    let contents = server.requests()[2].json()["contents"].clone();
    let signatures: Vec<_> = contents
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|content| content["parts"].as_array().unwrap())
        .filter(|part| part.get("functionCall").is_some())
        .map(|part| part["thoughtSignature"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(signatures, ["signed-read_file", "signed-grep", "signed-ls", "signed-write_file"]);
}

#[test]
fn what_goes_wrong_shows_no_key_either() {
    let echo = format!(r#"{{"error":{{"message":"no good: {KEY}"}}}}"#);
    for format in &FORMATS {
        for status in
            ["400 Bad Request", "401 Unauthorized", "404 Not Found", "501 Not Implemented", "200 OK"]
        {
            let session = Session::with_project().variable(format.variable, KEY);
            let answer = match status {
                "200 OK" if format.prefix == "ollama" => {
                    ScriptedResponse::Stream(vec![StreamStep::Raw(format!("{echo}\n"))])
                }
                "200 OK" => ScriptedResponse::Stream(vec![StreamStep::Data(echo.clone())]),
                status => ScriptedResponse::Whole { status, headers: "", body: echo.clone() },
            };
            session.write("home/.config/headstart/config.toml", "[requests]\nretries = 0\n");
            let server = Server::start(vec![answer]);
            let outcome =
                session.run(&["speculate", "--model", &format.model(), "--base-url", &server.base_url, "go"]);
            assert_eq!(outcome.code, Some(1), "{status}: {outcome}");
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            let who = format!("{} at {} ", format.prefix, server.base_url);
            assert!(said.contains(&who) && !said.contains("panicked"), "{who}: {said}");
            assert_no_key(&session, &outcome);
        }
    }
}

/// A fast model has not seen the conversation. So the user is told which model did the work, and nothing about cached
/// tokens.
#[test]
fn the_work_of_a_fast_model_is_not_said_to_be_cached() {
    let format = &FORMATS[2];
    for (fast, says_cached) in [(None, true), (Some("responses:small"), false)] {
        let session = Session::with_project().variable(format.variable, KEY);
        let server = Server::start(format.script());
        let model = format.model();
        let mut arguments =
            vec!["speculate", "--mode", "auto-edit", "--model", &model, "--base-url", &server.base_url];
        arguments.extend(fast.iter().flat_map(|fast| ["--fast-model", fast]));
        arguments.push("add a farewell");
        let outcome = session.run(&arguments);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        let sent_requests: Vec<_> =
            server.requests().iter().map(|request| request.json()["model"].clone()).collect();
        assert_eq!(sent_requests, vec![json!(if says_cached { "gemini-3-test" } else { "small" }); 4]);
        let id = session.only_row()["id"].as_str().unwrap().to_owned();
        let shown = session.run(&["show", &id]).stdout;
        for page in [&outcome.stdout, &shown] {
            assert_eq!(page.contains("cached)"), says_cached, "{page}");
            assert_eq!(
                page.contains("responses:small, which shares no cache with it"),
                !says_cached,
                "{page}"
            );
        }
        let row = session.run(&["show", "--json", &id]).json().remove(0);
        assert_eq!(row["fastModel"].as_str(), fast, "{row}");
    }
}
