//! `~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl`: each line has `timestamp`, `type` and `payload`. A
//! `response_item` is what the model is sent or answers, in the format of the Responses API; an `event_msg` is what the
//! product shows.

use headstart_forked_query::{ToolOutcome, Usage};
use serde_json::{Map, Value, json};

use super::super::recorded_conversation::{AnswerPart, CallResult, SessionEvent};
use super::{JsonLine, is_tagged, outcome, text, texts, time, tokens, typed};

/// The beginning of the text with the project's own rules.
const RULES: &str = "# AGENTS.md instructions";

pub(super) fn recognizes(lines: &[JsonLine]) -> bool {
    let is_meta = |line: &JsonLine| line.value["type"] == "session_meta" && line.value["payload"].is_object();
    lines.iter().take(3).any(is_meta)
}

pub(super) fn events(lines: Vec<JsonLine>) -> Vec<SessionEvent> {
    let of_agent = |line: &JsonLine| {
        line.value["type"] == "session_meta" && line.value["payload"]["source"].get("subagent").is_some()
    };
    if lines.iter().take(3).any(of_agent) {
        return Vec::new();
    }
    let (mut events, mut prompts): (Vec<SessionEvent>, Vec<usize>) = (Vec::new(), Vec::new());
    for JsonLine { number: place, value } in lines {
        let (at, payload) = (time(&value), &value["payload"]);
        match (text(&value, "type"), text(payload, "type")) {
            ("response_item", kind) => {
                let event = item(kind, payload, place, at);
                if matches!(event, Some(SessionEvent::Prompt { .. })) {
                    prompts.push(place);
                }
                events.extend(event);
            }
            ("event_msg", "token_count") => {
                let usage =
                    usage(&payload["info"]["last_token_usage"]).map(|usage| (place.to_string(), usage));
                events.push(SessionEvent::Answer { parts: Vec::new(), at: None, usage });
            }
            ("event_msg", "turn_aborted" | "error") => events.push(SessionEvent::Broken),
            ("event_msg", "thread_rolled_back") => {
                let turns = usize::try_from(tokens(payload, "num_turns")).unwrap_or(usize::MAX);
                let remaining = prompts.len().saturating_sub(turns);
                events.extend(prompts.get(remaining).map(|place| SessionEvent::BackBefore(*place)));
                prompts.truncate(remaining);
            }
            ("compacted", _) => events.push(compacted(payload)),
            _ => {}
        }
    }
    events
}

fn item(kind: &str, payload: &Value, place: usize, at: Option<u64>) -> Option<SessionEvent> {
    match kind {
        "message" => message(payload, place, at),
        "function_call" => {
            let args = serde_json::from_str::<Value>(text(payload, "arguments")).ok();
            let args = args.and_then(|args| args.as_object().cloned());
            Some(call(payload, args.unwrap_or_default(), at))
        }
        "custom_tool_call" => {
            let input = json!({ "input": payload["input"] });
            Some(call(payload, input.as_object().cloned().unwrap_or_default(), at))
        }
        "local_shell_call" => {
            let action = payload["action"].as_object().cloned().unwrap_or_default();
            Some(call(&json!({ "call_id": payload["call_id"], "name": "shell" }), action, at))
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            let results = vec![CallResult {
                id: text(payload, "call_id").to_owned(),
                outcome: result(&payload["output"]),
            }];
            Some(SessionEvent::Results { results, at })
        }
        _ => None,
    }
}

fn message(payload: &Value, place: usize, at: Option<u64>) -> Option<SessionEvent> {
    let sent = texts(&payload["content"]);
    let whole = sent.join("\n");
    match text(payload, "role") {
        "assistant" => Some(SessionEvent::Answer { parts: vec![AnswerPart::Words(whole)], at, usage: None }),
        "user" => {
            let typed = typed(&sent);
            let is_beside = typed.is_empty() || is_tagged(&whole) || whole.trim_start().starts_with(RULES);
            Some(if is_beside {
                SessionEvent::Beside(whole)
            } else {
                SessionEvent::Prompt { place, typed, text: whole, at }
            })
        }
        _ => None,
    }
}

fn call(payload: &Value, args: Map<String, Value>, at: Option<u64>) -> SessionEvent {
    let (id, name) = (text(payload, "call_id").to_owned(), text(payload, "name").to_owned());
    SessionEvent::Answer { parts: vec![AnswerPart::Call { id, name, args }], at, usage: None }
}

/// Reads a result, which is a text, blocks of text, or an object that contains either of these and whether the call
/// succeeded.
fn result(output: &Value) -> ToolOutcome {
    let failed = output["success"] == false;
    let content = output.get("content").unwrap_or(output);
    outcome(texts(content).join("\n"), failed)
}

/// What the model knows after the conversation was compacted: the list of items that replaces it, or a summary.
fn compacted(payload: &Value) -> SessionEvent {
    let Some(history) = payload["replacement_history"].as_array() else {
        return SessionEvent::Replaced(vec![SessionEvent::Beside(text(payload, "message").to_owned())]);
    };
    let items = history.iter().filter_map(|one| item(text(one, "type"), one, 0, None));
    SessionEvent::Replaced(items.collect())
}

fn usage(counted: &Value) -> Option<Usage> {
    let usage = Usage {
        input_tokens: tokens(counted, "input_tokens"),
        cached_input_tokens: tokens(counted, "cached_input_tokens"),
        cache_creation_tokens: tokens(counted, "cache_write_input_tokens"),
        output_tokens: tokens(counted, "output_tokens"),
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(usage)
}
