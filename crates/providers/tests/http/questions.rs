//! Questions should not be spent on thinking. The tests check how much of it a server is asked for, and when reading
//! stops.

use std::time::Duration;

use headstart_forked_query::{
    Message, Model, ModelEvent, ModelRequest, Part, Role, ToolCall, ToolOutcome, ToolResult, Usage,
};
use headstart_providers::openai::{Effort, ThinkingSwitch, WireOptions};
use headstart_providers::{Provider, Timeouts, Wire};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::formats::{Format, PATIENCE, answer_to, formats, short};
use crate::request;
use crate::server::{Server, Step, response};

fn question(model: &str) -> ModelRequest {
    ModelRequest {
        model: model.into(),
        response_schema: Some(json!({"type": "object"})),
        max_output_tokens: Some(1_024),
        ..request()
    }
}

/// One event with words in this format.
fn words(format: &Format, text: &str) -> Step {
    let event = match format.provider.wire.id() {
        "anthropic" => {
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        }
        "gemini" => json!({"candidates": [{"content": {"parts": [{"text": text}]}}]}),
        "responses" => json!({"type": "response.output_text.delta", "delta": text}),
        "ollama" => json!({"message": {"content": text}, "done": false}),
        _ => json!({"choices": [{"delta": {"content": text}}]}),
    };
    Step::Chunk(format.frame(&event.to_string()))
}

/// The last event of an answer, with its cost.
fn cost(format: &Format) -> Step {
    let event = match format.provider.wire.id() {
        "anthropic" => {
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 7}})
        }
        "gemini" => {
            json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 7}})
        }
        "responses" => json!({"type": "response.completed", "response": {"usage": {"input_tokens": 7}}}),
        "ollama" => json!({"done": true, "prompt_eval_count": 7}),
        _ => json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7}}),
    };
    Step::Chunk(format.frame(&event.to_string()))
}

fn said(events: &crate::Events) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn input_tokens(events: &crate::Events) -> Option<u64> {
    events.iter().find_map(|event| match event {
        Ok(ModelEvent::Usage(usage)) if *usage != Usage::UNTOLD => Some(usage.input_tokens),
        _ => None,
    })
}

/// After the object of the answer has closed, only its cost is waited for, and only for a moment. Then the connection
/// is closed.
#[tokio::test]
async fn reading_stops_when_the_object_of_the_answer_closes() {
    for format in formats() {
        let object =
            [words(&format, "```json\n{\"suggestion\": \"run "), words(&format, "{them}\"}\n and so on")];
        let begun = [format.chunks([]), object.to_vec()].concat();
        let babble = match words(&format, "more") {
            Step::Chunk(bytes) => Step::ForEver(bytes, Duration::from_millis(1)),
            step => step,
        };
        let goes_on = [
            ("says nothing more", vec![Step::UntilClientLeaves], None),
            ("says more for ever", vec![babble], None),
            (
                "says what it cost",
                vec![Step::Wait(Duration::from_millis(50)), cost(&format), Step::LastChunk],
                Some(7),
            ),
        ];
        for (what, after, expected) in goes_on {
            let place = format!("{} {what}", format.name());
            let mut server = Server::start([begun.clone(), after].concat()).await;
            // The limits are ten seconds, so a client that waited for more would take that long.
            let silence = Duration::from_secs(10);
            let timeouts = Timeouts { first_byte: silence, idle: silence, stalled: 2 * silence, ..short() };
            let model = format.client(&server.base_url, timeouts);
            let asked = Instant::now();
            let events = answer_to(&model, &question("test-model")).await;
            assert!(asked.elapsed() < Duration::from_secs(8), "{place}: {:?}", asked.elapsed());
            assert_eq!(said(&events), "```json\n{\"suggestion\": \"run {them}\"}", "{place}");
            assert!(matches!(events.last(), Some(Ok(ModelEvent::Finished(_)))), "{place}: {events:?}");
            assert_eq!(input_tokens(&events), expected, "{place}");
            let left = tokio::time::timeout(PATIENCE, server.client_left.recv()).await;
            assert!(left.is_ok(), "{place}: the connection is open");
        }
        // The answer of a user's turn is read to its end, whatever it looks like.
        let whole = [begun.clone(), vec![words(&format, "!"), cost(&format), Step::LastChunk]].concat();
        let server = Server::start(whole).await;
        let model = format.client(&server.base_url, short());
        let turn = answer_to(&model, &request()).await;
        assert!(said(&turn).ends_with("and so on!"), "{}: {turn:?}", format.name());
    }
}

fn chat(options: WireOptions) -> Format {
    let provider =
        Provider { wire: Wire::Chat(options), ..Provider::compatible("chat", "http://localhost/v1") };
    Format { provider, kind: "text/event-stream", pieces: Vec::new() }
}

fn of(provider: Provider) -> Format {
    let kind = if provider.name == "ollama" { "application/x-ndjson" } else { "text/event-stream" };
    Format { provider, kind, pieces: Vec::new() }
}

fn answer(format: &Format) -> Vec<Step> {
    [format.chunks([]), vec![words(format, "{}"), cost(format), Step::LastChunk]].concat()
}

/// Models of each generation accept other efforts, and name them in a refusal. The least effort that a model accepts is
/// found once and then remembered.
#[tokio::test]
async fn the_least_effort_that_a_model_takes_is_found_and_remembered() {
    /// A model, the efforts that it accepts, and the efforts that it is asked for.
    type Case = (&'static str, &'static [&'static str], &'static [Option<&'static str>]);
    let cases: [Case; 5] = [
        ("gpt-5-mini", &["minimal", "low", "medium", "high"], &[Some("minimal")]),
        ("gpt-5.2", &["none", "low", "medium", "high"], &[Some("none")]),
        ("gpt-9-thinking", &["low", "medium", "high"], &[Some("none"), Some("minimal"), Some("low")]),
        ("gpt-9-pro", &["high"], &[Some("none"), Some("minimal"), Some("low"), None]),
        ("gpt-4.1", &[], &[None]),
    ];
    for provider in [Provider::openai(), Provider::responses()] {
        for (model, taken, asked) in cases {
            let format = of(provider.clone());
            let speaks = of(provider.clone());
            let takes = taken.to_vec();
            let server = Server::answering(move |body| {
                let body: Value = serde_json::from_str(body).unwrap();
                let effort = body.get("reasoning_effort").or_else(|| body["reasoning"].get("effort"));
                let Some(effort) = effort.and_then(Value::as_str).filter(|effort| !takes.contains(effort)) else {
                    return answer(&speaks);
                };
                let message = format!("Unsupported value: '{effort}' is not supported with this model. Supported values are: {takes:?}.");
                let param = if body.get("reasoning").is_some() { "reasoning.effort" } else { "reasoning_effort" };
                let refusal = json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_value"}});
                response("400 Bad Request", "", &refusal.to_string())
            })
            .await;
            let client = format.client(&server.base_url, short());
            for _ in 0..2 {
                let events = answer_to(&client, &question(model)).await;
                assert_eq!(said(&events), "{}", "{model}: {events:?}");
            }
            let bodies =
                server.requests().into_iter().map(|(_, body)| serde_json::from_str::<Value>(&body).unwrap());
            let efforts: Vec<_> = bodies
                .map(|body| {
                    let effort = body.get("reasoning_effort").or_else(|| body["reasoning"].get("effort"));
                    effort.and_then(Value::as_str).map(str::to_owned)
                })
                .collect();
            let expected: Vec<_> =
                asked.iter().chain(asked.last()).map(|effort| effort.map(str::to_owned)).collect();
            assert_eq!(efforts, expected, "{} {model}", format.name());
        }
    }
}

/// A question has the switch of its server that turns thinking off, and room for the thoughts of models that think
/// anyway. A turn is asked as usual.
#[tokio::test]
async fn each_server_is_asked_not_to_think_in_its_own_words() {
    let with = |thinking| chat(WireOptions { thinking, ..WireOptions::default() });
    let low = json!({"thinkingLevel": "low"});
    let cases = [
        (
            with(ThinkingSwitch::Disabled),
            "deepseek-chat",
            "/thinking",
            json!({"type": "disabled"}),
            "/max_tokens",
            5_120,
        ),
        (
            with(ThinkingSwitch::ChatTemplate),
            "qwen3",
            "/chat_template_kwargs",
            json!({"enable_thinking": false}),
            "/max_tokens",
            5_120,
        ),
        (
            with(ThinkingSwitch::ReasoningEffort(Effort::LEAST)),
            "o4-mini",
            "/reasoning_effort",
            json!("low"),
            "/max_tokens",
            5_120,
        ),
        (of(Provider::dashscope()), "qwen-max", "/enable_thinking", json!(false), "/max_tokens", 1_024),
        (
            of(Provider::openai()),
            "gpt-4.1",
            "/reasoning_effort",
            Value::Null,
            "/max_completion_tokens",
            1_024,
        ),
        (
            of(Provider::responses()),
            "gpt-5",
            "/reasoning/effort",
            json!("minimal"),
            "/max_output_tokens",
            5_120,
        ),
        (
            of(Provider::gemini()),
            "gemini-2.5-flash",
            "/generationConfig/thinkingConfig/thinkingBudget",
            json!(0),
            "/generationConfig/maxOutputTokens",
            1_024,
        ),
        (
            of(Provider::gemini()),
            "gemini-3-pro",
            "/generationConfig/thinkingConfig",
            low,
            "/generationConfig/maxOutputTokens",
            5_120,
        ),
        (of(Provider::ollama()), "qwen3:8b", "/think", json!(false), "/options/num_predict", 1_024),
        (of(Provider::ollama()), "gpt-oss:20b", "/think", json!("low"), "/options/num_predict", 5_120),
        // This server has no switch that leaves the cached messages as they are.
        (of(Provider::anthropic()), "claude-sonnet-5", "/thinking", Value::Null, "/max_tokens", 5_120),
        (of(Provider::anthropic()), "claude-sonnet-4-5", "/thinking", Value::Null, "/max_tokens", 1_024),
    ];
    for (format, model, switch, off, limit, tokens) in cases {
        let server = Server::start(answer(&format)).await;
        let client = format.client(&server.base_url, short());
        answer_to(&client, &question(model)).await;
        answer_to(&client, &ModelRequest { thinking: true, model: model.into(), ..request() }).await;
        let bodies: Vec<Value> =
            server.requests().iter().map(|(_, body)| serde_json::from_str(body).unwrap()).collect();
        let at = |body: usize, place: &str| bodies[body].pointer(place).cloned().unwrap_or_default();
        assert_eq!((at(0, switch), at(0, limit)), (off, json!(tokens)), "{} {model}", format.name());
        assert_eq!(at(1, switch), Value::Null, "{} {model}", format.name());
    }
}

/// A server refuses calls without the thoughts behind them, but the calls of the conversation were made by another
/// model, so there are no thoughts. The request is repeated in a form that the server accepts, which is remembered.
#[tokio::test]
async fn calls_of_another_model_go_to_a_server_that_misses_their_thoughts() {
    let format = chat(WireOptions { thinking: ThinkingSwitch::Disabled, ..WireOptions::default() });
    let speaks = chat(WireOptions::default());
    for refusal in [
        "Missing `reasoning_content` field in the assistant message at message index 2.",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ] {
        let speaks = speaks.provider.clone();
        let server = Server::answering(move |body| {
            let body: Value = serde_json::from_str(body).unwrap();
            let calls = body["messages"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|message| message.get("tool_calls").is_some());
            if calls.into_iter().all(|message| message["reasoning_content"].is_string()) {
                return answer(&of(speaks.clone()));
            }
            let body = json!({"error": {"message": refusal, "type": "invalid_request_error"}}).to_string();
            response("400 Bad Request", "", &body)
        })
        .await;
        let client = format.client(&server.base_url, short());
        let call = ToolCall { id: "c".into(), name: "ls".into(), args: serde_json::Map::new() };
        let outcome = ToolOutcome::Output(json!("a.rs"));
        let result = ToolResult { id: "c".into(), name: "ls".into(), outcome };
        let mut asked = request();
        asked.messages.push(Message { role: Role::Model, parts: vec![Part::ToolCall(call)] });
        asked.messages.push(Message { role: Role::Tool, parts: vec![Part::ToolResult(result)] });
        for requests in [2, 3] {
            let model: &dyn Model = &client;
            let events = answer_to(model, &asked).await;
            assert_eq!(
                (said(&events).as_str(), server.requests().len()),
                ("{}", requests),
                "{refusal}: {events:?}"
            );
        }
    }
}
