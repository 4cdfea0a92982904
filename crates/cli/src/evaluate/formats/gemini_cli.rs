//! `~/.gemini/tmp/PROJECT/chats/session-*.jsonl`: a line for each message, repeated whenever the message grows;
//! `{"$set": …}` changes the session, including its messages, and `{"$rewindTo": …}` takes messages back. In earlier
//! versions, `session-*.json` was one object with all `messages`.

use std::collections::HashSet;

use headstart_forked_query::Usage;
use serde_json::{Value, json};

use super::super::recorded_conversation::{AnswerPart, CallResult, SessionEvent};
use super::{JsonLine, is_tagged, outcome, text, texts, time, tokens, typed};

/// The word in a first line that marks the session of a sub-agent.
const SUBAGENT: &str = "subagent";

pub(super) fn recognizes(lines: &[JsonLine]) -> bool {
    lines
        .first()
        .is_some_and(|line| line.value["sessionId"].is_string() && line.value["projectHash"].is_string())
}

pub(super) fn events(lines: Vec<JsonLine>) -> Vec<SessionEvent> {
    if lines.first().is_some_and(|line| line.value["kind"] == SUBAGENT) {
        return Vec::new();
    }
    let mut messages = Messages::default();
    for JsonLine { value, .. } in lines {
        if let Some(all) = value["messages"].as_array() {
            messages.0.clone_from(all);
        } else if let Some(all) = value["$set"]["messages"].as_array() {
            messages.replace(all);
        } else if let Some(id) = value["$rewindTo"].as_str() {
            messages.rewind(id);
        } else if value["id"].is_string() {
            messages.put(value);
        }
    }
    let mut answered = HashSet::new();
    let messages = messages.0.iter().enumerate();
    messages.flat_map(|(place, message)| of_message(message, place + 1, &mut answered)).collect()
}

/// The messages in their final state.
#[derive(Default)]
struct Messages(Vec<Value>);

impl Messages {
    fn put(&mut self, message: Value) {
        match self.0.iter_mut().find(|known| known["id"] == message["id"]) {
            Some(known) => *known = with_time_of(message, known),
            None => self.0.push(message),
        }
    }

    /// Replaces all messages. When a session is resumed, the product writes all of it again, into this file or another
    /// one, with the time of resuming. So a message keeps the time that it had before, or has none.
    fn replace(&mut self, all: &[Value]) {
        let known = std::mem::take(&mut self.0);
        let one = |message: &Value| {
            let known = known.iter().find(|known| known["id"] == message["id"]);
            with_time_of(message.clone(), known.unwrap_or(&json!({ "timestamp": null })))
        };
        self.0 = all.iter().map(one).collect();
    }

    fn rewind(&mut self, id: &str) {
        // As in the product, an unknown id takes all messages back.
        let first = self.0.iter().position(|message| message["id"] == id).unwrap_or_default();
        self.0.truncate(first);
    }
}

fn with_time_of(mut message: Value, known: &Value) -> Value {
    for field in ["timestamp", "tokens"] {
        if let Some(known) = known.get(field) {
            message[field] = known.clone();
        }
    }
    message
}

fn of_message(message: &Value, place: usize, answered: &mut HashSet<String>) -> Vec<SessionEvent> {
    let (at, content) = (time(message), &message["content"]);
    match text(message, "type") {
        "user" => {
            let mut events = Vec::new();
            let mut results = results(content);
            results.retain(|result| answered.insert(result.id.clone()));
            if !results.is_empty() {
                events.push(SessionEvent::Results { results, at });
            }
            let sent = sent_texts(content);
            let (typed, whole) = (typed(&sent), sent.join("\n"));
            if typed.is_empty() || is_tagged(&whole) {
                events.extend((!whole.is_empty()).then_some(SessionEvent::Beside(whole)));
            } else {
                events.push(SessionEvent::Prompt { place, typed, text: whole, at });
            }
            events
        }
        "gemini" => answer(message, at, answered),
        "error" => vec![SessionEvent::Broken],
        "info" if text(message, "content").to_lowercase().contains("cancelled") => vec![SessionEvent::Broken],
        _ => Vec::new(),
    }
}

fn answer(message: &Value, at: Option<u64>, answered: &mut HashSet<String>) -> Vec<SessionEvent> {
    let mut parts = answer_parts(&message["content"]);
    let calls: Vec<_> = message["toolCalls"].as_array().into_iter().flatten().collect();
    for call in &calls {
        let id = text(call, "id").to_owned();
        let is_known =
            parts.iter().any(|part| matches!(part, AnswerPart::Call { id: known, .. } if *known == id));
        if !is_known {
            let args = call["args"].as_object().cloned().unwrap_or_default();
            parts.push(AnswerPart::Call { id, name: text(call, "name").to_owned(), args });
        }
    }
    let counted = &message["tokens"];
    let usage = Usage {
        input_tokens: tokens(counted, "input"),
        cached_input_tokens: tokens(counted, "cached"),
        output_tokens: tokens(counted, "output") + tokens(counted, "thoughts"),
        ..Usage::default()
    };
    let usage = (usage != Usage::default()).then(|| (text(message, "id").to_owned(), usage));
    let mut results: Vec<_> = calls.iter().flat_map(|call| results(&call["result"])).collect();
    results.retain(|result| answered.insert(result.id.clone()));
    // A call has its own time, which is the time of its end.
    let ended = calls.iter().filter_map(|call| time(call)).max().or(at);
    let results = (!results.is_empty()).then_some(SessionEvent::Results { results, at: ended });
    [SessionEvent::Answer { parts, at, usage }].into_iter().chain(results).collect()
}

/// The events of a message in the format of the Gemini API.
pub(super) fn of_content(content: &Value) -> Vec<SessionEvent> {
    let parts = &content["parts"];
    if content["role"] == "model" {
        return vec![SessionEvent::Answer { parts: answer_parts(parts), at: None, usage: None }];
    }
    let (results, sent) = (results(parts), sent_texts(parts).join("\n"));
    let results = (!results.is_empty()).then_some(SessionEvent::Results { results, at: None });
    let sent = (!sent.is_empty()).then_some(SessionEvent::Beside(sent));
    results.into_iter().chain(sent).collect()
}

/// The texts in the user's parts.
pub(super) fn sent_texts(parts: &Value) -> Vec<&str> {
    texts(parts)
}

/// What the model's parts say. Thoughts are left out, because another model is not told them.
pub(super) fn answer_parts(parts: &Value) -> Vec<AnswerPart> {
    if let Value::String(text) = parts {
        return (!text.is_empty()).then(|| AnswerPart::Words(text.clone())).into_iter().collect();
    }
    let part = |part: &Value| {
        if part["thought"] == true {
            return None;
        }
        let call = &part["functionCall"];
        if call.is_object() {
            let args = call["args"].as_object().cloned().unwrap_or_default();
            return Some(AnswerPart::Call {
                id: text(call, "id").to_owned(),
                name: text(call, "name").to_owned(),
                args,
            });
        }
        Some(AnswerPart::Words(part["text"].as_str().filter(|text| !text.is_empty())?.to_owned()))
    };
    parts.as_array().into_iter().flatten().filter_map(part).collect()
}

/// The results of tools.
pub(super) fn results(parts: &Value) -> Vec<CallResult> {
    let answers = parts.as_array().into_iter().flatten().map(|part| &part["functionResponse"]);
    answers
        .filter(|answer| answer.is_object())
        .map(|answer| {
            let response = &answer["response"];
            let error = response["error"].as_str();
            let output = error.or_else(|| response["output"].as_str()).map(str::to_owned);
            let output = output.unwrap_or_else(|| response.to_string());
            CallResult { id: text(answer, "id").to_owned(), outcome: outcome(output, error.is_some()) }
        })
        .collect()
}
