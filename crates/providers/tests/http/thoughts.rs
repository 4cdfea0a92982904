//! Models that think before they call a tool. Their servers refuse a conversation without these thoughts, as the
//! providers document it. The comments name the pages of that documentation.

use headstart_forked_query::{
    Message, ModelEvent, ModelRequest, Part, Role, ToolOutcome, ToolResult, check_pairing,
};
use headstart_providers::Provider;
use serde_json::{Value, json};

use crate::formats::{Format, answer_to, short};
use crate::request;
use crate::server::{Server, Step, response};

/// A provider, its model's first answer (a thought, words, a call) and last answer, and a check of what is missing in a
/// later request.
struct Thinker {
    name: &'static str,
    provider: Provider,
    first: &'static [&'static str],
    last: &'static [&'static str],
    misses: fn(&Value) -> Option<&'static str>,
}

fn thinkers() -> Vec<Thinker> {
    let mut all = in_chat_completions();
    all.extend([gemini(), anthropic(), openai(), ollama()]);
    all
}

fn in_chat_completions() -> Vec<Thinker> {
    let chat = || Provider::compatible("chat", "http://localhost/v1");
    let chat_end: &[&str] = &[r#"{"choices":[{"delta":{"content":"Done."},"finish_reason":"stop"}]}"#];
    vec![
        // DeepSeek: "Thinking Mode", "Tool Calls". Kimi, GLM and Qwen have the same field.
        Thinker {
            name: "DeepSeek",
            provider: chat(),
            first: &[
                r#"{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":""}}]}"#,
                r#"{"choices":[{"delta":{"content":null,"reasoning_content":"I should "}}]}"#,
                r#"{"choices":[{"delta":{"content":null,"reasoning_content":"look."}}]}"#,
                r#"{"choices":[{"delta":{"content":"Looking."}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{}"}}]}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            ],
            last: chat_end,
            misses: |body| {
                let calling = &body["messages"][2];
                (calling["reasoning_content"] != "I should look.").then_some(
                    "Missing `reasoning_content` field in the assistant message at message index 2",
                )
            },
        },
        // OpenRouter: "Reasoning Tokens", "Preserving Reasoning Blocks".
        Thinker {
            name: "OpenRouter",
            provider: chat(),
            first: &[
                r#"{"choices":[{"delta":{"reasoning":"I look","reasoning_details":[{"type":"reasoning.text","text":"I ","index":0,"format":"anthropic-claude-v1"}]}}]}"#,
                r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"look","signature":"c2ln","index":0}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
            ],
            last: chat_end,
            misses: |body| {
                let details = json!([{"type": "reasoning.text", "text": "I look", "index": 0, "format": "anthropic-claude-v1", "signature": "c2ln"}]);
                let calling = &body["messages"][2];
                (calling["reasoning_details"] != details || calling.get("reasoning").is_some())
                    .then_some("reasoning_details")
            },
        },
        // Gemini: "Thought signatures", "OpenAI compatibility".
        Thinker {
            name: "Gemini by chat completions",
            provider: chat(),
            first: &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]},"finish_reason":"tool_calls"}]}"#,
            ],
            last: chat_end,
            misses: |body| {
                let call = &body["messages"][2]["tool_calls"][0];
                (call["extra_content"]["google"]["thought_signature"] != "c2ln")
                    .then_some("Function call is missing a thought_signature in functionCall parts.")
            },
        },
    ]
}

/// Gemini: "Thought signatures". Signatures are on the first call, and on words.
fn gemini() -> Thinker {
    Thinker {
        name: "Gemini",
        provider: Provider::gemini(),
        first: &[
            r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"Look"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"ing.","thoughtSignature":"dGV4dA"},{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"Y2FsbA"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"ZW5k"}]},"finishReason":"STOP"}]}"#,
        ],
        last: &[r#"{"candidates":[{"content":{"parts":[{"text":"Done."}]},"finishReason":"STOP"}]}"#],
        misses: |body| {
            let mut parts = body["contents"][1]["parts"].clone();
            let id = parts.pointer_mut("/2/functionCall/id").map(Value::take).unwrap_or_default();
            let expected = json!([
                {"text": "Look"},
                {"text": "ing.", "thoughtSignature": "dGV4dA"},
                {"functionCall": {"id": null, "name": "ls", "args": {}}, "thoughtSignature": "Y2FsbA"},
                {"text": "", "thoughtSignature": "ZW5k"},
            ]);
            (parts != expected || !id.is_string()).then_some("Function call is missing a thought_signature")
        },
    }
}

/// Anthropic: "Extended thinking", "Preserving thinking blocks" and "Interleaved thinking".
fn anthropic() -> Thinker {
    Thinker {
        name: "Anthropic",
        provider: Provider::anthropic(),
        first: &[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":9}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I should "}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"look."}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Z2Vo"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Looking."}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":"And now?","signature":"MnNpZw"}}"#,
            r#"{"type":"content_block_stop","index":3}"#,
            r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"c","name":"ls","input":{}}}"#,
            r#"{"type":"content_block_stop","index":4}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        last: &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Done."}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        misses: |body| {
            let expected = json!([
                {"type": "thinking", "thinking": "I should look.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "Z2Vo"},
                {"type": "text", "text": "Looking."},
                {"type": "thinking", "thinking": "And now?", "signature": "MnNpZw"},
                {"type": "tool_use", "id": "c", "name": "ls", "input": {}},
            ]);
            (body["messages"][1]["content"] != expected).then_some(
                    "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
                )
        },
    }
}

/// OpenAI: "Reasoning models", "Encrypted reasoning items", and the phases of messages.
fn openai() -> Thinker {
    Thinker {
        name: "Responses",
        provider: Provider::responses(),
        first: &[
            r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"Z2Vo","status":null}}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"delta":"Looking."}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","phase":"commentary","content":[{"type":"output_text","text":"Looking."}]}}"#,
            r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"c","name":"ls","arguments":"{}"}}"#,
            r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
        ],
        last: &[
            r#"{"type":"response.output_text.delta","output_index":0,"delta":"Done."}"#,
            r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
        ],
        misses: |body| {
            let expected = [
                json!({"type": "reasoning", "summary": [], "encrypted_content": "Z2Vo"}),
                json!({"type": "message", "role": "assistant", "content": "Looking.", "phase": "commentary"}),
                json!({"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}),
            ];
            let is_stateless =
                body["store"] == false && body["include"] == json!(["reasoning.encrypted_content"]);
            (body["input"].as_array().unwrap().get(1..4) != Some(&expected) || !is_stateless).then_some(
                "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item",
            )
        },
    }
}

/// Ollama: "Thinking", "Tool calling".
fn ollama() -> Thinker {
    Thinker {
        name: "Ollama",
        provider: Provider::ollama(),
        first: &[
            r#"{"message":{"thinking":"I should "},"done":false}"#,
            r#"{"message":{"thinking":"look."},"done":false}"#,
            r#"{"message":{"content":"Looking.","tool_calls":[{"function":{"name":"ls","arguments":{}}}]},"done":false}"#,
            r#"{"message":{"content":""},"done":true,"done_reason":"stop"}"#,
        ],
        last: &[r#"{"message":{"content":"Done."},"done":true}"#],
        misses: |body| (body["messages"][2]["thinking"] != "I should look.").then_some("thinking"),
    }
}

impl Thinker {
    fn format(&self) -> Format {
        let kind = if self.provider.name == "ollama" { "application/x-ndjson" } else { "text/event-stream" };
        Format { provider: self.provider.clone(), kind, pieces: Vec::new() }
    }

    fn stream(&self, events: &[&str]) -> Vec<Step> {
        let format = self.format();
        let framed: Vec<_> = events.iter().map(|event| format.frame(event)).collect();
        let mut steps = format.chunks(framed.iter().map(Vec::as_slice));
        steps.push(Step::LastChunk);
        steps
    }

    async fn serve(self) -> Server {
        Server::answering(move |body| {
            let body: Value = serde_json::from_str(body).unwrap();
            let list =
                ["messages", "contents", "input"].iter().find_map(|name| body[*name].as_array()).unwrap();
            // In some formats the system instruction is one of the messages.
            if list.len() <= 2 {
                return self.stream(self.first);
            }
            match (self.misses)(&body) {
                None => self.stream(self.last),
                Some(missing) => {
                    let body =
                        json!({"error": {"message": missing, "type": "invalid_request_error"}}).to_string();
                    response("400 Bad Request", "", &body)
                }
            }
        })
        .await
    }
}

/// The message that an answer adds to the conversation.
fn message(events: crate::Events) -> Message {
    let mut message = Message { role: Role::Model, parts: Vec::new() };
    for event in events {
        match event.unwrap() {
            ModelEvent::Opaque(opaque) => message.parts.insert(0, Part::Opaque(opaque)),
            ModelEvent::ToolCall(call) => message.parts.push(Part::ToolCall(call)),
            ModelEvent::Text(more) => match message.parts.last_mut() {
                Some(Part::Text { text }) => text.push_str(&more),
                _ => message.parts.push(Part::Text { text: more }),
            },
            _ => {}
        }
    }
    message
}

fn results(message: &Message) -> Message {
    let result = |call: &headstart_forked_query::ToolCall| {
        let outcome = ToolOutcome::Output(json!("a.rs"));
        Part::ToolResult(ToolResult { id: call.id.clone(), name: call.name.clone(), outcome })
    };
    Message { role: Role::Tool, parts: message.tool_calls().map(result).collect() }
}

/// A turn with a call and the next turn. In between, the conversation is written as JSON and read again, as a record
/// is.
#[tokio::test]
async fn what_a_model_thought_goes_back_to_it() {
    for thinker in thinkers() {
        let (name, format) = (thinker.name, thinker.format());
        let server = thinker.serve().await;
        let model = format.client(&server.base_url, short());
        let mut asked = ModelRequest { model: "thinker".into(), ..request() };
        let said = message(answer_to(&model, &asked).await);
        assert_eq!(said.tool_calls().count(), 1, "{name}: {said:?}");
        let results = results(&said);
        asked.messages.extend([said, results]);
        for prompt in ["and now?", "thanks"] {
            let kept = serde_json::to_string(&asked.messages).unwrap();
            asked.messages = serde_json::from_str(&kept).unwrap();
            let answer = message(answer_to(&model, &asked).await);
            assert_eq!(answer.to_text(), "Done.", "{name}");
            asked.messages.extend([answer, Message::text(Role::User, prompt)]);
            check_pairing(&asked.messages).unwrap();
        }
        // Without the thoughts the request is refused, which shows that the server checks them.
        for message in &mut asked.messages {
            message.parts.retain(|part| !matches!(part, Part::Opaque(_)));
        }
        let refused = answer_to(&model, &asked).await;
        assert!(matches!(&refused[..], [Err(error)] if error.code() == "rejected"), "{name}: {refused:?}");
    }
}
