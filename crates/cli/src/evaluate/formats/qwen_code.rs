//! `~/.qwen/projects/PROJECT/chats/SESSION.jsonl`: a line for each message, in the format of the Gemini API, with
//! `uuid` and `parentUuid`.

use headstart_forked_query::Usage;
use serde_json::Value;

use super::super::recorded_conversation::SessionEvent;
use super::gemini_cli::{answer_parts, of_content, results, sent_texts};
use super::{JsonLine, MessageTree, is_tagged, text, time, tokens, typed};

pub(super) fn recognizes(lines: &[JsonLine]) -> bool {
    lines.iter().any(|line| {
        line.value["sessionId"].is_string()
            && line.value["uuid"].is_string()
            && line.value["message"]["parts"].is_array()
    })
}

pub(super) fn events(lines: Vec<JsonLine>) -> Vec<SessionEvent> {
    let (mut events, mut branches) = (Vec::new(), MessageTree::default());
    for JsonLine { number: place, value } in lines {
        branches.note(&value);
        let (at, parts) = (time(&value), &value["message"]["parts"]);
        match text(&value, "type") {
            "user" => {
                let sent = sent_texts(parts);
                let (typed, whole) = (typed(&sent), sent.join("\n"));
                let is_from_person = value["provenance"].as_str().is_none_or(|by| by == "real_user")
                    && value["subtype"].is_null();
                if typed.is_empty() || !is_from_person || is_tagged(&whole) {
                    events.push(SessionEvent::Beside(whole));
                    continue;
                }
                events.extend(branches.prompt(&value, place).map(SessionEvent::BackBefore));
                events.push(SessionEvent::Prompt { place, typed, text: whole, at });
            }
            "assistant" => {
                let usage =
                    usage(&value["usageMetadata"]).map(|usage| (text(&value, "uuid").to_owned(), usage));
                events.push(SessionEvent::Answer { parts: answer_parts(parts), at, usage });
            }
            "tool_result" => events.push(SessionEvent::Results { results: results(parts), at }),
            "system" if value["subtype"] == "chat_compression" => {
                let compressed = value["systemPayload"]["compressedHistory"].as_array();
                events
                    .extend(compressed.map(|history| {
                        SessionEvent::Replaced(history.iter().flat_map(of_content).collect())
                    }));
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
