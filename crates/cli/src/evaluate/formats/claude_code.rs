//! `~/.claude/projects/PROJECT/SESSION.jsonl`: a line for each block of an answer, each result of a tool and each
//! prompt, with `uuid` and `parentUuid`. The parent of an edited prompt is the line before the prompt that it replaces.

use headstart_forked_query::Usage;
use serde_json::Value;

use super::super::recorded::{Answered, Event, Said};
use super::{Branches, Line, is_tagged, outcome, text, texts, time, tokens, typed};

/// The beginning of a text that replaces or follows an answer that the user stopped.
const STOPPED: &str = "[Request interrupted by user";

pub(super) fn wrote(lines: &[Line]) -> bool {
    lines.iter().any(|line| {
        let value = &line.value;
        value["sessionId"].is_string()
            && (value["message"].get("content").is_some() || value["isSidechain"].is_boolean())
    })
}

pub(super) fn events(lines: Vec<Line>) -> Vec<Event> {
    let (mut events, mut branches) = (Vec::new(), Branches::default());
    for Line { number, value } in lines {
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

fn answer(value: &Value, at: Option<u64>) -> Option<Event> {
    let message = &value["message"];
    if value["isApiErrorMessage"] == true {
        return Some(Event::Broken);
    }
    let parts: Vec<_> = message["content"].as_array()?.iter().filter_map(said).collect();
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
    Some(Event::Answer { parts, at, usage })
}

fn said(block: &Value) -> Option<Said> {
    match text(block, "type") {
        "text" => Some(Said::Words(block["text"].as_str()?.to_owned())),
        "tool_use" => Some(Said::Call {
            id: block["id"].as_str()?.to_owned(),
            name: text(block, "name").to_owned(),
            args: block["input"].as_object().cloned().unwrap_or_default(),
        }),
        _ => None,
    }
}

fn of_user(value: &Value, place: usize, at: Option<u64>, branches: &mut Branches, events: &mut Vec<Event>) {
    let content = &value["message"]["content"];
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let results: Vec<_> = content.as_array().into_iter().flatten().filter(is_result).map(result).collect();
    if !results.is_empty() {
        events.push(Event::Results { results, at });
    }
    let sent = texts(content);
    if sent.is_empty() {
        return;
    }
    let whole = sent.join("\n");
    if value["isCompactSummary"] == true {
        return events.push(Event::Replaced(vec![Event::Beside(whole)]));
    }
    if whole.trim_start().starts_with(STOPPED) {
        return events.push(Event::Broken);
    }
    let typed = typed(&sent);
    if typed.is_empty() || !is_persons(value) || is_tagged(&whole) {
        return events.push(Event::Beside(whole));
    }
    events.extend(branches.prompt(value, place).map(Event::BackBefore));
    events.push(Event::Prompt { place, typed, text: whole, at });
}

/// Whether a person sent the line, as opposed to the product itself.
fn is_persons(value: &Value) -> bool {
    let is_set = |field: &str| value[field] == true;
    let origin = value["origin"]["kind"].as_str().unwrap_or("human");
    !is_set("isMeta")
        && !is_set("isVisibleInTranscriptOnly")
        && value["promptSource"] != "system"
        && origin == "human"
}

fn result(block: &Value) -> Answered {
    let output = texts(&block["content"]).join("\n");
    Answered {
        id: text(block, "tool_use_id").to_owned(),
        outcome: outcome(output, block["is_error"] == true),
    }
}
