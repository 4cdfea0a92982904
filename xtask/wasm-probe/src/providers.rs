use headstart_forked_query::{Decoder, Message, ModelEvent, ModelRequest, Part, Provider, Role};

/// What each format says when it says hello.
const ANSWERS: [(&str, &str); 5] = [
    (
        "dashscope",
        "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    ),
    (
        "anthropic",
        "data: {\"type\":\"message_start\",\"message\":{}}\n\n\
         data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
         data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n\
         data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
         data: {\"type\":\"message_stop\"}\n\n",
    ),
    (
        "gemini",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hello\"}]},\"finishReason\":\"STOP\"}]}\n\n",
    ),
    (
        "responses",
        "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hello\"}\n\n\
         data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
    ),
    (
        "ollama",
        "{\"message\":{\"role\":\"assistant\",\"content\":\"hello\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    ),
];

/// Every format writes a request and reads an answer, which comes byte by byte.
pub(crate) fn formats_are_spoken() -> bool {
    let hello = Message { role: Role::User, parts: vec![Part::Text { text: "hello".to_owned() }] };
    let request = ModelRequest {
        model: "model".to_owned(),
        system: None,
        tools: Vec::new(),
        messages: vec![hello],
        thinking: false,
        response_schema: None,
        max_output_tokens: None,
    };
    ANSWERS.into_iter().all(|(name, answer)| {
        let Some(provider) = Provider::preset(name) else { return false };
        let body = provider.wire.encode(&request);
        let mut decoder = Decoder::new(&provider, &request);
        let mut events: Vec<_> = answer.as_bytes().chunks(1).flat_map(|byte| decoder.bytes(byte)).collect();
        events.extend(decoder.end());
        let said = events.iter().any(|event| matches!(event, Ok(ModelEvent::Text(text)) if text == "hello"));
        said && events.iter().all(Result::is_ok) && serde_json::from_slice::<serde_json::Value>(&body).is_ok()
    })
}
