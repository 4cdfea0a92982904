//! `~/.qwen/projects/PROJECT/chats/SESSION.jsonl`: a line for each message, in the format of the Gemini API, with
//! `uuid` and `parentUuid`.

use headstart_forked_query::Usage;
use serde_json::Value;

use super::super::recorded::Event;
use super::gemini_cli::{of_content, results, said, sent};
use super::{Branches, Line, is_tagged, text, time, tokens, typed};

pub(super) fn wrote(lines: &[Line]) -> bool {
    lines.iter().any(|line| {
        line.value["sessionId"].is_string()
            && line.value["uuid"].is_string()
            && line.value["message"]["parts"].is_array()
    })
}

pub(super) fn events(lines: Vec<Line>) -> Vec<Event> {
    let (mut events, mut branches) = (Vec::new(), Branches::default());
    for Line { number: place, value } in lines {
        branches.note(&value);
        let (at, parts) = (time(&value), &value["message"]["parts"]);
        match text(&value, "type") {
            "user" => {
                let sent = sent(parts);
                let (typed, whole) = (typed(&sent), sent.join("\n"));
                let is_persons = value["provenance"].as_str().is_none_or(|by| by == "real_user")
                    && value["subtype"].is_null();
                if typed.is_empty() || !is_persons || is_tagged(&whole) {
                    events.push(Event::Beside(whole));
                    continue;
                }
                events.extend(branches.prompt(&value, place).map(Event::BackBefore));
                events.push(Event::Prompt { place, typed, text: whole, at });
            }
            "assistant" => {
                let usage =
                    usage(&value["usageMetadata"]).map(|usage| (text(&value, "uuid").to_owned(), usage));
                events.push(Event::Answer { parts: said(parts), at, usage });
            }
            "tool_result" => events.push(Event::Results { results: results(parts), at }),
            "system" if value["subtype"] == "chat_compression" => {
                let compressed = value["systemPayload"]["compressedHistory"].as_array();
                events.extend(
                    compressed.map(|history| Event::Replaced(history.iter().flat_map(of_content).collect())),
                );
            }
            _ => {}
        }
    }
    events
}

fn usage(counted: &Value) -> Option<Usage> {
    let usage = Usage {
        input_tokens: tokens(counted, "promptTokenCount"),
        cached_input_tokens: tokens(counted, "cachedContentTokenCount"),
        output_tokens: tokens(counted, "candidatesTokenCount") + tokens(counted, "thoughtsTokenCount"),
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(usage)
}
