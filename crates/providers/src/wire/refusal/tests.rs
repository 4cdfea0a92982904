use crate::openai::{Effort, OutputLimit, StructuredOutput, ThinkingSwitch, WireOptions};
use crate::{Provider, Wire};

fn chat() -> Wire {
    Wire::Chat(WireOptions {
        thinking: ThinkingSwitch::ReasoningEffort(Effort::Value("minimal".into())),
        structured_output: StructuredOutput::JsonObject,
        ..WireOptions::default()
    })
}

/// Real messages of servers.
#[test]
fn what_is_refused_is_read_from_the_words_of_servers() {
    let (chat, gemini) = (chat(), Provider::gemini().wire);
    let cases: [(&Wire, u16, &str, Option<&str>); 16] = [
        // OpenAI also names the remedy in its words.
        (
            &chat,
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
            Some("max_tokens"),
        ),
        // A gateway that only passes the words on.
        (
            &chat,
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":null}}"#,
            Some("max_tokens"),
        ),
        (
            &chat,
            400,
            r#"{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.","param":"reasoning_effort","code":"unsupported_value"}}"#,
            Some("reasoning_effort"),
        ),
        (
            &chat,
            400,
            r#"{"error":"Unrecognized request argument supplied: stream_options"}"#,
            Some("stream_options"),
        ),
        (
            &chat,
            400,
            r#"{"error":{"message":"response_format is not supported with tools"}}"#,
            Some("response_format"),
        ),
        // Servers that check with pydantic, such as Mistral's.
        (
            &chat,
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],"msg":"Extra inputs are not permitted","input":"minimal"}]}"#,
            Some("reasoning_effort"),
        ),
        (
            &gemini,
            400,
            r#"{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot find field.","status":"INVALID_ARGUMENT"}}"#,
            Some("functionCall.id"),
        ),
        (
            &gemini,
            400,
            r#"{"error":{"code":400,"message":"Thinking level is not supported for this model.","status":"INVALID_ARGUMENT"}}"#,
            Some("thinkingConfig"),
        ),
        (
            &gemini,
            400,
            r#"{"error":{"code":400,"message":"Budget 0 is invalid. This model only works in thinking mode.","status":"INVALID_ARGUMENT"}}"#,
            Some("thinkingConfig"),
        ),
        // Here a value, a conversation, a model or a key is refused.
        (
            &chat,
            400,
            r#"{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens.","param":"max_tokens","code":"invalid_value"}}"#,
            None,
        ),
        (
            &chat,
            400,
            r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 64. This model's maximum context length is 8192 tokens and your request has 8190 input tokens."}}"#,
            None,
        ),
        (
            &chat,
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens'","param":"messages[3].content"}}"#,
            None,
        ),
        (&chat, 400, r#"{"error":{"message":"unknown model max_tokens_7b"}}"#, None),
        (&chat, 400, r#"{"error":{"message":"Unsupported parameter: 'max_completion_tokens'"}}"#, None),
        (&chat, 401, r#"{"error":{"message":"Unsupported parameter: 'max_tokens'"}}"#, None),
        (&chat, 400, "<h1>Unsupported</h1>", None),
    ];
    for (wire, status, body, expected) in cases {
        assert_eq!(wire.refused_parameter(status, body), expected, "{body}");
    }
}

/// If the parameter for the limit of output is refused, its other name is tried, and then none.
#[test]
fn a_limit_has_two_names_and_each_is_tried_once() {
    let limit = |wire: &Wire, refused: &[&str]| {
        let Wire::Chat(options) = wire.without_parameters(refused) else { panic!("chat completions") };
        options.output_limit
    };
    let (openai, other) = (Provider::openai().wire, chat());
    for (wire, refused, expected) in [
        (&other, &[][..], OutputLimit::MaxTokens),
        (&other, &["max_tokens"], OutputLimit::MaxCompletionTokens),
        (&other, &["max_tokens", "max_completion_tokens"], OutputLimit::Omitted),
        (&openai, &[], OutputLimit::MaxCompletionTokens),
        (&openai, &["max_completion_tokens"], OutputLimit::MaxTokens),
        (&openai, &["max_completion_tokens", "max_tokens"], OutputLimit::Omitted),
    ] {
        assert_eq!(limit(wire, refused), expected, "{refused:?}");
    }
}

/// However often servers refuse, a request ends: at last everything is left out that a format can leave out.
#[test]
fn nothing_is_refused_for_ever() {
    for provider in super::super::tests::providers() {
        let mut refused = Vec::new();
        for _ in 0..20 {
            let Some(parameter) = provider.wire.without_parameters(&refused).parameters().first().copied()
            else {
                break;
            };
            refused.push(parameter.name);
        }
        assert_eq!(
            provider.wire.without_parameters(&refused).parameters(),
            [],
            "{}: {refused:?}",
            provider.name
        );
    }
}

/// A server of Ollama's that is too old for a schema, or cannot make a grammar of it, is told of the form in words.
#[test]
fn a_format_that_is_refused_is_left_out_and_stands_in_words() {
    let ollama = Wire::Ollama(crate::ollama::Options {
        structured_output: StructuredOutput::JsonSchema,
        ..crate::ollama::Options::default()
    });
    let words = r#"{"error":"json: unknown field \"format\": an object is not supported"}"#;
    let mut refused = Vec::new();
    assert!(ollama.add_refused_parameter(&mut refused, 400, words));
    assert_eq!(
        (refused.as_slice(), ollama.without_parameters(&refused)),
        (&["format"][..], Provider::ollama().wire)
    );
    assert!(!ollama.add_refused_parameter(&mut refused, 400, words), "nothing is refused twice");
}
