//! `~/.claude/projects/PROJECT/SESSION.jsonl`: a line for each block of an answer, each result of a tool and each
//! prompt, with `uuid` and `parentUuid`. The parent of an edited prompt is the line before the prompt that it replaces.

use headstart_forked_query::Usage;
use serde_json::Value;

use super::super::recorded_conversation::{AnswerPart, CallResult, SessionEvent};
use super::{JsonLine, MessageTree, is_tagged, outcome, text, texts, time, tokens, typed};

/// The beginning of a text that replaces or follows an answer that the user stopped.
const STOPPED: &str = "[Request interrupted by user";

pub(super) fn recognizes(lines: &[JsonLine]) -> bool {
    lines.iter().any(|line| {
        let value = &line.value;
        value["sessionId"].is_string()
            && (value["message"].get("content").is_some() || value["isSidechain"].is_boolean())
    })
}

pub(super) fn events(lines: Vec<JsonLine>) -> Vec<SessionEvent> {
    let (mut events, mut branches) = (Vec::new(), MessageTree::default());
    for JsonLine { number, value } in lines {
        // The work of a sub-agent is not what the user saw.
        if value["isSidechain"] == true {
            continue;
        }
        branches.note(&value);
        let at = time(&value);
        match text(&value, "type") {
            "assistant" => events.extend(answer(&value, at)),
            "user" => of_user(&value, number, at, &mut branches, &mut events),
            _ => {}
        }
    }
    events
}

fn answer(value: &Value, at: Option<u64>) -> Option<SessionEvent> {
    let message = &value["message"];
    if value["isApiErrorMessage"] == true {
        return Some(SessionEvent::Broken);
    }
    let parts: Vec<_> = message["content"].as_array()?.iter().filter_map(answer_part).collect();
    let counted = &message["usage"];
    let cached = tokens(counted, "cache_read_input_tokens");
    let written = tokens(counted, "cache_creation_input_tokens");
    let usage = Usage {
        input_tokens: tokens(counted, "input_tokens") + cached + written,
        cached_input_tokens: cached,
        cache_creation_tokens: written,
        output_tokens: tokens(counted, "output_tokens"),
        ..Usage::default()
    };
    let usage = (usage != Usage::default()).then(|| (text(message, "id").to_owned(), usage));
    Some(SessionEvent::Answer { parts, at, usage })
}

fn answer_part(block: &Value) -> Option<AnswerPart> {
    match text(block, "type") {
        "text" => Some(AnswerPart::Words(block["text"].as_str()?.to_owned())),
        "tool_use" => Some(AnswerPart::Call {
            id: block["id"].as_str()?.to_owned(),
            name: text(block, "name").to_owned(),
            args: block["input"].as_object().cloned().unwrap_or_default(),
        }),
        _ => None,
    }
}

fn of_user(
    value: &Value,
    place: usize,
    at: Option<u64>,
    branches: &mut MessageTree,
    events: &mut Vec<SessionEvent>,
) {
    let content = &value["message"]["content"];
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let results: Vec<_> = content.as_array().into_iter().flatten().filter(is_result).map(result).collect();
    if !results.is_empty() {
        events.push(SessionEvent::Results { results, at });
    }
    let sent = texts(content);
    if sent.is_empty() {
        return;
    }
    let whole = sent.join("\n");
    if value["isCompactSummary"] == true {
        return events.push(SessionEvent::Replaced(vec![SessionEvent::Beside(whole)]));
    }
    if whole.trim_start().starts_with(STOPPED) {
        return events.push(SessionEvent::Broken);
    }
    let typed = typed(&sent);
    if typed.is_empty() || !is_from_person(value) || is_tagged(&whole) {
        return events.push(SessionEvent::Beside(whole));
    }
    events.extend(branches.prompt(value, place).map(SessionEvent::BackBefore));
    events.push(SessionEvent::Prompt { place, typed, text: whole, at });
}

/// Whether a person sent the line, as opposed to the product itself.
fn is_from_person(value: &Value) -> bool {
    let is_set = |field: &str| value[field] == true;
    let origin = value["origin"]["kind"].as_str().unwrap_or("human");
    !is_set("isMeta")
        && !is_set("isVisibleInTranscriptOnly")
        && value["promptSource"] != "system"
        && origin == "human"
}

fn result(block: &Value) -> CallResult {
    let output = texts(&block["content"]).join("\n");
    CallResult {
        id: text(block, "tool_use_id").to_owned(),
        outcome: outcome(output, block["is_error"] == true),
    }
}
