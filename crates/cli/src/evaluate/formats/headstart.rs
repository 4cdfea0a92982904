//! `STATE/sessions/NAME-HASH/ID.jsonl`, as described in docs/formats.md: a line for each prompt and, behind it, for
//! each message of its turn and for its end.

use headstart_forked_query::{Message, Part, Role};

use super::super::recorded_conversation::{AnswerPart, CallResult, SessionEvent};
use super::{JsonLine, text};

pub(super) fn recognizes(lines: &[JsonLine]) -> bool {
    let is_first = |line: &JsonLine| line.value["type"] == "session" && line.value["version"].is_u64();
    lines.first().is_some_and(is_first)
}

pub(super) fn events(lines: Vec<JsonLine>) -> Vec<SessionEvent> {
    let mut events = Vec::new();
    // The prompt whose message follows, and the time at which its turn ended.
    let mut prompt = None;
    let mut ended = None;
    // The place of the first event of the turn.
    let mut turn = 0;
    for JsonLine { number: place, value } in lines {
        match text(&value, "type") {
            "prompt" => {
                ended = value["ended"].as_u64();
                turn = events.len();
                // In older files without `ended`, `at` is the time of the turn's end and not of the prompt.
                let is_of_prompt = ended.is_some() || value["open"] == true;
                let at = value["at"].as_u64().filter(|_| is_of_prompt);
                prompt = Some((place, text(&value, "text").to_owned(), at));
            }
            "message" => {
                let Ok(message) = serde_json::from_value::<Message>(value["message"].clone()) else {
                    continue;
                };
                let is_prompts = message.role == Role::User && prompt.is_some();
                match prompt.take().filter(|_| is_prompts) {
                    Some((place, typed, at)) => {
                        events.push(SessionEvent::Prompt { place, typed, text: message.to_text(), at });
                    }
                    None => events.push(of_message(message, ended)),
                }
            }
            "ended" => {
                for event in &mut events[turn..] {
                    if let SessionEvent::Answer { at, .. } | SessionEvent::Results { at, .. } = event {
                        *at = value["at"].as_u64();
                    }
                }
            }
            "withdrawn" => prompt = None,
            "cleared" => events.push(SessionEvent::Replaced(Vec::new())),
            "compacted" => {
                let history = serde_json::from_value::<Vec<Message>>(value["history"].clone());
                let history = history.unwrap_or_default().into_iter();
                events
                    .push(SessionEvent::Replaced(history.map(|message| of_message(message, None)).collect()));
            }
            _ => {}
        }
    }
    events
}

fn of_message(message: Message, at: Option<u64>) -> SessionEvent {
    match message.role {
        Role::User => SessionEvent::Beside(message.to_text()),
        Role::Model => {
            let parts = message.parts.into_iter().filter_map(|part| match part {
                Part::Text { text } => Some(AnswerPart::Words(text)),
                Part::ToolCall(call) => {
                    Some(AnswerPart::Call { id: call.id, name: call.name, args: call.args })
                }
                _ => None,
            });
            SessionEvent::Answer { parts: parts.collect(), at, usage: None }
        }
        Role::Tool => {
            let results = message.parts.into_iter().filter_map(|part| match part {
                Part::ToolResult(result) => Some(CallResult { id: result.id, outcome: result.outcome }),
                _ => None,
            });
            SessionEvent::Results { results: results.collect(), at }
        }
    }
}
