//! Servers that refuse a parameter which other servers of the same format accept.

use headstart_forked_query::{Message, ModelRequest, Role};
use headstart_providers::openai::{Effort, StructuredOutput, ThinkingSwitch, WireOptions};
use headstart_providers::{ApiKey, HttpModel, Priority, Provider, RetryingModel, Wire, gemini, responses};
use serde_json::{Value, json};

use crate::formats::{Format, KEY, answer_to, error, formats, short};
use crate::request;
use crate::server::{Server, Step, response, streaming_as};

/// A server, the format in which it is asked, and what it refuses.
struct Refusing {
    /// Which of [`formats`] the server speaks.
    format: &'static str,
    provider: Provider,
    /// The server's refusals, one after the other.
    refusals: Vec<(&'static str, Value)>,
    /// The values at these places of the requests. The last request is accepted.
    asked: Vec<(&'static str, Vec<Value>)>,
}

fn openai_says(parameter: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": parameter, "code": "unsupported_parameter"}})
}

fn servers() -> Vec<Refusing> {
    let chat = |options: WireOptions| Provider {
        wire: Wire::Chat(options),
        ..Provider::compatible("chat", "http://localhost/v1")
    };
    let effort = || ThinkingSwitch::ReasoningEffort(Effort::Value("minimal".into()));
    let gone = Value::Null;
    vec![
        Refusing {
            format: "chat",
            provider: chat(WireOptions::default()),
            refusals: vec![(
                "400 Bad Request",
                openai_says(
                    "max_tokens",
                    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                ),
            )],
            asked: vec![
                ("/max_tokens", vec![json!(64 + 4_096), gone.clone()]),
                ("/max_completion_tokens", vec![gone.clone(), json!(64 + 4_096)]),
            ],
        },
        Refusing {
            format: "chat",
            provider: chat(WireOptions {
                thinking: effort(),
                structured_output: StructuredOutput::JsonObject,
                ..WireOptions::default()
            }),
            refusals: vec![
                (
                    "422 Unprocessable Entity",
                    json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "reasoning_effort"], "msg": "Extra inputs are not permitted"}]}),
                ),
                ("400 Bad Request", json!({"error": "response_format is not supported with tools"})),
                (
                    "400 Bad Request",
                    json!({"error": "Unrecognized request argument supplied: stream_options"}),
                ),
            ],
            asked: vec![
                ("/reasoning_effort", vec![json!("minimal"), gone.clone(), gone.clone(), gone.clone()]),
                (
                    "/response_format/type",
                    vec![json!("json_object"), json!("json_object"), gone.clone(), gone.clone()],
                ),
                ("/stream_options/include_usage", vec![json!(true), json!(true), json!(true), gone.clone()]),
            ],
        },
        Refusing {
            format: "gemini",
            provider: Provider {
                wire: Wire::Gemini(gemini::Options {
                    thinking: gemini::ThinkingLimit::Level("low".into()),
                    ..gemini::Options::default()
                }),
                ..Provider::gemini()
            },
            refusals: vec![(
                "400 Bad Request",
                json!({"error": {"code": 400, "message": "Thinking level is not supported for this model.", "status": "INVALID_ARGUMENT"}}),
            )],
            asked: vec![("/generationConfig/thinkingConfig/thinkingLevel", vec![json!("low"), gone.clone()])],
        },
        Refusing {
            format: "responses",
            provider: Provider {
                wire: Wire::Responses(responses::Options {
                    effort: Effort::Value("minimal".into()),
                    ..responses::Options::default()
                }),
                ..Provider::responses()
            },
            refusals: vec![(
                "400 Bad Request",
                openai_says(
                    "reasoning.effort",
                    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                ),
            )],
            asked: vec![("/reasoning/effort", vec![json!("minimal"), gone])],
        },
    ]
}

fn question() -> ModelRequest {
    ModelRequest {
        messages: vec![Message::text(Role::User, "What next?")],
        response_schema: Some(json!({"type": "object"})),
        max_output_tokens: Some(64),
        ..request()
    }
}

fn format(name: &str) -> Format {
    formats().into_iter().find(|format| format.name() == name).unwrap()
}

fn refusal((status, body): &(&str, Value)) -> Vec<Step> {
    response(status, "connection: close\r\n", &body.to_string())
}

fn whole(format: &Format) -> Vec<Step> {
    let head = streaming_as(&format!("{}\r\nconnection: close", format.kind));
    vec![head, Step::Chunk(format.stream().into_bytes()), Step::LastChunk]
}

fn bodies(server: &Server) -> Vec<Value> {
    server.requests().iter().map(|(_, body)| serde_json::from_str(body).unwrap()).collect()
}

/// A refused parameter is left out or gets its other name, and later requests to the same model do so at once.
#[tokio::test]
async fn a_refused_parameter_is_left_out_or_renamed_and_that_is_remembered() {
    for case in servers() {
        let format = format(case.format);
        let scripts = case.refusals.iter().map(refusal).chain([whole(&format)]);
        let server = Server::start_each(scripts).await;
        let at = case.provider.clone().with_base_url(&server.base_url);
        let client = HttpModel::new(at, Some(ApiKey::new(KEY)), short()).unwrap();
        // Clones share what they remember, also if one of them is behind a model that retries.
        let retrying = RetryingModel::new(
            std::sync::Arc::new(client.clone()),
            Priority::Background,
            std::sync::Arc::default(),
        );
        assert_eq!(answer_to(&retrying, &question()).await, format.whole_answer(), "{:?}", case.refusals);
        assert_eq!(answer_to(&client, &question()).await, format.whole_answer());
        let asked = bodies(&server);
        assert_eq!(asked.len(), case.refusals.len() + 2, "the second time nothing is refused: {asked:?}");
        for (place, mut expected) in case.asked {
            expected.extend(expected.last().cloned());
            let found: Vec<_> =
                asked.iter().map(|body| body.pointer(place).cloned().unwrap_or_default()).collect();
            assert_eq!(found, expected, "{place}");
        }
        // Another model of the same server may accept what this one refuses, so it is asked in full.
        let other = ModelRequest { model: "other-model".into(), ..question() };
        answer_to(&client, &other).await;
        let (first, last) = (&asked[0], bodies(&server).pop().unwrap());
        assert_eq!(Value::Object(without_model(first)), Value::Object(without_model(&last)));
    }
}

fn without_model(body: &Value) -> serde_json::Map<String, Value> {
    let mut fields = body.as_object().unwrap().clone();
    fields.remove("model");
    fields
}

/// If a request stays refused, the last refusal is reported, and the next request has all parameters again.
#[tokio::test]
async fn what_stays_refused_is_told_and_nothing_is_remembered() {
    let says =
        |message: &str| ("400 Bad Request", json!({"error": {"message": message, "param": "max_tokens"}}));
    let refused = says("Unsupported parameter: 'max_tokens'");
    // A limit that is too large does not mean that the parameter is unknown.
    let too_large = says("max_tokens is too large: this model supports at most 32 completion tokens");
    let last = ("400 Bad Request", json!({"error": {"message": "no more of this"}}));
    let format = format("chat");
    let server =
        Server::start_each([refusal(&too_large), refusal(&refused), refusal(&last), whole(&format)]).await;
    let client = format.client(&server.base_url, short());
    let said = error(&answer_to(&client, &question()).await);
    assert_eq!(
        said,
        "rejected the request (400): max_tokens is too large: this model supports at most 32 completion tokens"
    );
    let said = error(&answer_to(&client, &question()).await);
    assert_eq!(said, "rejected the request (400): no more of this");
    assert_eq!(answer_to(&client, &question()).await, format.whole_answer());
    let limits: Vec<_> = bodies(&server).iter().map(|body| body.get("max_tokens").cloned()).collect();
    assert_eq!(limits, [Some(json!(64 + 4_096)), Some(json!(64 + 4_096)), None, Some(json!(64 + 4_096))]);
}

/// A server that refuses everything must not keep a client busy.
#[tokio::test]
async fn a_server_that_refuses_everything_is_soon_left_alone() {
    let everything = "unsupported: max_tokens max_completion_tokens stream_options response_format reasoning_effort enable_thinking cache_control thinkingConfig reasoning text";
    for format in formats() {
        let no = refusal(&("400 Bad Request", json!({"error": {"message": everything}})));
        let server = Server::start(no).await;
        let client = format.client(&server.base_url, short());
        let said = error(&answer_to(&client, &question()).await);
        assert!(said.starts_with("rejected the request (400): unsupported: max_tokens"), "{said}");
        assert!(server.requests().len() <= 8, "{}: {}", format.name(), server.requests().len());
    }
}
