use serde_json::json;

use super::*;

#[test]
fn the_providers_words_are_found_wherever_they_are() {
    let cases = [
        (r#"{"error":{"message":"bad\nmodel","type":"x"}}"#, "bad model"),
        (r#"{"error":"model not found"}"#, "model not found"),
        (r#"{"object":"error","message":"too long"}"#, "too long"),
        (r#"{"detail":"Not Found"}"#, "Not Found"),
        ("<html>\u{1b}[31mBad Gateway</html>", "a web page: [31mBad Gateway"),
        ("<3\u{1b}[31m", "<3 [31m"),
        ("", "no further message"),
    ];
    for (body, expected) in cases {
        let json = serde_json::from_str(body).unwrap_or_default();
        assert_eq!(message_or_body(&json, body, &Redactor::default()), expected);
    }
    assert_eq!(Redactor::default().shorten(&"語".repeat(1_000)).chars().count(), MESSAGE_CHARS + 1);
}

#[test]
fn a_refusal_has_its_kind_and_its_delay() {
    let provider = Provider::gemini();
    let invalid =
        r#"{"error":{"code":400,"message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}"#;
    let limited = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#;
    let redactor = Redactor::default();
    let hour = Some(Duration::from_secs(3_600));
    let cases = [
        (
            400,
            None,
            invalid,
            "gemini refused the key (400); set GEMINI_API_KEY to a valid key; it says: API key not valid.",
        ),
        (403, None, "", "gemini refused the key (403); set GEMINI_API_KEY to a valid key"),
        (
            403,
            None,
            r#"{"error":{"message":"Your API key was reported as leaked."}}"#,
            "gemini refused the key (403); set GEMINI_API_KEY to a valid key; it says: Your API key was reported as leaked.",
        ),
        (
            403,
            None,
            r#"[{"error":{"message":"User location is not supported.","status":"PERMISSION_DENIED"}}]"#,
            "gemini rejected the request (403): User location is not supported.",
        ),
        (
            403,
            None,
            "<html>Monkeys only</html>",
            "gemini rejected the request (403): a web page: Monkeys only",
        ),
        (
            429,
            None,
            r#"{"error":{"message":"You exceeded your quota","type":"insufficient_quota"}}"#,
            "gemini rejected the request (429): You exceeded your quota",
        ),
        (
            403,
            None,
            r#"{"code":"AllocationQuota.FreeTierOnly","message":"The free tier is used up"}"#,
            "gemini rejected the request (403): The free tier is used up",
        ),
        (
            429,
            hour,
            r#"{"error":{"message":"5 requests a minute"}}"#,
            "gemini limits the rate of requests; retry after 3600 s; it says: 5 requests a minute",
        ),
        (429, None, "slow down", "gemini limits the rate of requests; try again later; it says: slow down"),
        (429, None, limited, "gemini limits the rate of requests; retry after 35 s"),
        (429, hour, limited, "gemini limits the rate of requests; retry after 3600 s"),
        (429, None, "[]", "gemini limits the rate of requests; try again later"),
        (
            404,
            None,
            r#"{"error":"model 'x' not found"}"#,
            "gemini rejected the request (404): model 'x' not found; check the name of the model",
        ),
    ];
    for (status, after, body, expected) in cases {
        assert_eq!(provider.redacted_status_error(status, after, body, &redactor).to_string(), expected);
    }
    let elsewhere = provider
        .with_base_url("http://localhost:1/v1beta")
        .redacted_status_error(500, None, "oops", &redactor)
        .to_string();
    assert_eq!(elsewhere, "gemini at http://localhost:1/v1beta failed (500): oops; try again later");
}

/// A conversation that is too long can be shortened and sent again, so this refusal must be recognised, and no other.
#[test]
fn a_conversation_that_is_too_long_is_told_from_other_refusals() {
    let is_too_long = |status, body: &str| {
        let error = Provider::gemini().redacted_status_error(status, None, body, &Redactor::default());
        error.code() == ModelError::WINDOW_EXCEEDED
    };
    let too_long = [
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000"}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}"#,
        ),
        (400, r#"{"message":"Range of input length should be [1, 30720]","code":"InvalidParameter"}"#),
    ];
    for (status, body) in too_long {
        assert!(is_too_long(status, body), "{body}");
    }
    let others = [
        (400, r#"{"error":{"message":"max_tokens is too large: 100000"}}"#),
        (400, r#"{"error":{"message":"the name of a tool is too long"}}"#),
        (429, r#"{"error":{"message":"the prompt is too long for your rate of tokens"}}"#),
        (401, r#"{"error":{"message":"no key for this context window"}}"#),
    ];
    for (status, body) in others {
        assert!(!is_too_long(status, body), "{body}");
    }
}

/// Servers name their window in a sentence of their own, and few in a field.
#[test]
fn the_window_is_read_from_a_refusal() {
    for (words, field, window) in [
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
            "",
            Some(8_192),
        ),
        ("prompt is too long: 210000 tokens > 200000 maximum", "", Some(200_000)),
        (
            "Prompt contains 40000 tokens, too large for a model with 32768 maximum context length",
            "",
            Some(32_768),
        ),
        (
            "request (6100 tokens) exceeds the available context size (4096 tokens)",
            r#","n_ctx":4096"#,
            Some(4_096),
        ),
        ("the request exceeds the available context size", r#","n_ctx":4096"#, Some(4_096)),
        ("the model is loaded with context length of only 4096 tokens, which is not enough", "", Some(4_096)),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 and 500", "", Some(4_096)),
        ("too many tokens: the prompt cannot exceed 4081 tokens - received 5210", "", Some(4_081)),
        (
            "The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).",
            "",
            Some(1_048_576),
        ),
        ("the prompt is too long for the context window", "", None),
    ] {
        let body = format!(r#"{{"error":{{"message":"{words}"{field}}}}}"#);
        let error = Provider::openai().redacted_status_error(400, None, &body, &Redactor::default());
        assert_eq!(error.code(), ModelError::WINDOW_EXCEEDED, "{words}");
        assert_eq!(ModelError::window_in(&error.to_string()), window, "{error}");
    }
}

#[test]
fn errors_within_a_stream_have_their_kind() {
    let provider = Provider::openai();
    let cases = [
        (
            json!({"message": "slow down", "code": "rate_limit_exceeded"}),
            "openai limits the rate of requests; try again later; it says: slow down",
        ),
        (
            json!({"message": "pay first", "code": "insufficient_quota"}),
            "openai rejected the request (429): pay first",
        ),
        (
            json!({"message": "pay first", "type": "billing_error"}),
            "openai rejected the request (402): pay first",
        ),
        (
            json!({"message": "no", "code": "401"}),
            "openai refused the key (401); set OPENAI_API_KEY to a valid key; it says: no",
        ),
        (json!({"message": "too long", "code": 400}), "openai rejected the request (400): too long"),
        (json!({"message": "oops", "code": null}), "openai failed (500): oops; try again later"),
        (
            json!({"type": "overloaded_error", "message": "Overloaded"}),
            "openai failed (529): Overloaded; try again later",
        ),
        (
            json!({"code": 503, "status": "UNAVAILABLE", "message": "busy"}),
            "openai failed (503): busy; try again later",
        ),
        (
            json!({"message": "gone", "code": 404}),
            "openai rejected the request (404): gone; check the name of the model",
        ),
        (json!(null), "openai failed (500): no further message; try again later"),
        (json!("overloaded"), "openai failed (500): overloaded; try again later"),
    ];
    for (error, expected) in cases {
        assert_eq!(provider.error_in_stream(&error, &Redactor::default()).to_string(), expected);
    }
}

/// A host that sends the requests by itself makes the same errors, in which the key is hidden.
#[test]
fn a_host_with_its_own_http_shows_no_key() {
    let key = "sk-very-secret-0123456789";
    let provider = Provider::openai().with_base_url("http://host/v1");
    let page = format!("<title>your key {key}</title>");
    let url = format!("http://host/{key}");
    let errors = [
        (
            provider.status_error(401, None, key, key),
            "openai at http://host/v1 refused the key (401); set OPENAI_API_KEY to a valid key; it says: ***",
        ),
        (
            provider.status_error(404, None, &page, key),
            "openai at http://host/v1 does not speak OpenAI's chat completions (it answered with 404: a web page: your key ***); check the base URL",
        ),
        (
            provider.wrong_server_error(&page, key),
            "openai at http://host/v1 does not speak OpenAI's chat completions (it answered with a web page: your key ***); check the base URL",
        ),
        (
            provider.unreachable_error(&url, &format!("no route to {key}"), key),
            "cannot reach http://host/***: no route to ***; start the server at the base URL http://host/v1, or set another one",
        ),
    ];
    for (error, expected) in errors {
        assert_eq!(error.to_string(), expected);
    }
    let limited = provider.status_error(429, Some(Duration::from_secs(7)), "", "");
    assert!(limited.to_string().ends_with("limits the rate of requests; retry after 7 s"), "{limited}");
}

#[test]
fn a_delay_is_seconds_with_decimals() {
    let cases = [
        ("0", Some(Duration::ZERO)),
        ("34.074824224", Some(Duration::new(34, 74_824_224))),
        ("1.5", Some(Duration::from_millis(1_500))),
        ("1.0000000009", Some(Duration::from_secs(1))),
        ("", None),
        ("-1", None),
        ("1.x", None),
        ("1e3", None),
        ("NaN", None),
    ];
    for (text, expected) in cases {
        assert_eq!(seconds(text), expected, "{text}");
    }
}

#[test]
fn a_refusal_of_tools_is_told_from_other_refusals() {
    let refuses_tools = |status, body: &str| {
        let error = Provider::compatible("the server", "http://localhost/v1").redacted_status_error(
            status,
            None,
            body,
            &Redactor::default(),
        );
        error.code() == "tools_refused"
    };
    let refusals = [
        (400, r#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#),
        (
            400,
            r#"{"error":{"message":"registry.ollama.ai/library/gemma3:latest does not support tools","type":"api_error","param":null,"code":null}}"#,
        ),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}"#,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'tools' is not supported with this model.","type":"invalid_request_error","param":"tools","code":"unsupported_parameter"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"`tool calling` is not supported with this model","type":"invalid_request_error"}}"#,
        ),
        (500, r#"{"error":{"code":500,"message":"Unsupported param: tools","type":"server_error"}}"#),
        (400, r#"{"message":"This model doesn't support tool use."}"#),
        (400, r#"{"message":"This model doesn't support tool use in streaming mode."}"#),
    ];
    for (status, body) in refusals {
        assert!(refuses_tools(status, body), "{body}");
    }
    let others = [
        (
            400,
            r#"{"error":{"message":"Invalid schema for function 'ls': 'foo' is not supported","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"tools.0.custom.input_schema: JSON schema is invalid","type":"invalid_request_error"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature","code":"unsupported_parameter"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages"}}"#,
        ),
        (401, r#"{"error":{"message":"your key does not support tools"}}"#),
        (429, r#"{"error":{"message":"tool use is not available at this rate"}}"#),
        (503, r#"{"error":{"message":"function calling is not available right now"}}"#),
        (404, r#"{"error":{"message":"the model 'x' does not exist"}}"#),
    ];
    for (status, body) in others {
        assert!(!refuses_tools(status, body), "{body}");
    }
}
