//! `STATE/sessions/NAME-HASH/ID.jsonl`, as described in docs/formats.md: a line for each prompt and, behind it, for
//! each message of its turn.

use headstart_forked_query::{Message, Part, Role};

use super::super::recorded::{Answered, Event, Said};
use super::{Line, text};

pub(super) fn wrote(lines: &[Line]) -> bool {
    let is_first = |line: &Line| line.value["type"] == "session" && line.value["version"].is_u64();
    lines.first().is_some_and(is_first)
}

pub(super) fn events(lines: Vec<Line>) -> Vec<Event> {
    let mut events = Vec::new();
    // The prompt whose message follows, and the time at which its turn ended.
    let mut prompt = None;
    let mut ended = None;
    for Line { number: place, value } in lines {
        match text(&value, "type") {
            "prompt" => {
                ended = value["ended"].as_u64();
                // In files without `ended`, `at` is the time of the turn's end and not of the prompt.
                let at = value["at"].as_u64().filter(|_| ended.is_some());
                prompt = Some((place, text(&value, "text").to_owned(), at));
            }
            "message" => {
                let Ok(message) = serde_json::from_value::<Message>(value["message"].clone()) else {
                    continue;
                };
                let is_prompts = message.role == Role::User && prompt.is_some();
                match prompt.take().filter(|_| is_prompts) {
                    Some((place, typed, at)) => {
                        events.push(Event::Prompt { place, typed, text: message.to_text(), at });
                    }
                    None => events.push(of_message(message, ended)),
                }
            }
            "cleared" => events.push(Event::Replaced(Vec::new())),
            "compacted" => {
                let history = serde_json::from_value::<Vec<Message>>(value["history"].clone());
                let history = history.unwrap_or_default().into_iter();
                events.push(Event::Replaced(history.map(|message| of_message(message, None)).collect()));
            }
            _ => {}
        }
    }
    events
}

fn of_message(message: Message, at: Option<u64>) -> Event {
    match message.role {
        Role::User => Event::Beside(message.to_text()),
        Role::Model => {
            let parts = message.parts.into_iter().filter_map(|part| match part {
                Part::Text { text } => Some(Said::Words(text)),
                Part::ToolCall(call) => Some(Said::Call { id: call.id, name: call.name, args: call.args }),
                _ => None,
            });
            Event::Answer { parts: parts.collect(), at, usage: None }
        }
        Role::Tool => {
            let results = message.parts.into_iter().filter_map(|part| match part {
                Part::ToolResult(result) => Some(Answered { id: result.id, outcome: result.outcome }),
                _ => None,
            });
            Event::Results { results: results.collect(), at }
        }
    }
}
