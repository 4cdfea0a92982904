//! The output of `opencode export SESSION`: one object with the `info` of the session and all `messages`, each with its
//! own `info` and its `parts`.

use headstart_forked_query::Usage;
use serde_json::Value;

use super::super::recorded_conversation::{AnswerPart, CallResult, SessionEvent};
use super::{JsonLine, is_tagged, outcome, text, tokens, typed};

pub(super) fn recognizes(lines: &[JsonLine]) -> bool {
    lines.first().is_some_and(|line| {
        let (info, messages) = (&line.value["info"], line.value["messages"].as_array());
        text(info, "id").starts_with("ses_")
            && messages.is_some_and(|all| all.iter().all(|message| message["parts"].is_array()))
    })
}

pub(super) fn events(lines: Vec<JsonLine>) -> Vec<SessionEvent> {
    let Some(session) = lines.into_iter().next() else { return Vec::new() };
    // A session with a parent is one of a sub-agent.
    if session.value["info"]["parentID"].is_string() {
        return Vec::new();
    }
    // Messages that the user took back stay in the file until their next prompt. This is the first of them.
    let taken_back = session.value["info"]["revert"]["messageID"].as_str();
    let messages = session.value["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let standing = messages
        .iter()
        .take_while(|message| message["info"]["id"].as_str() != taken_back || taken_back.is_none());
    standing.enumerate().flat_map(|(place, message)| of_message(message, place + 1)).collect()
}

fn of_message(message: &Value, place: usize) -> Vec<SessionEvent> {
    let (info, parts) =
        (&message["info"], message["parts"].as_array().map(Vec::as_slice).unwrap_or_default());
    match text(info, "role") {
        "user" => prompt_event(info, parts, place).into_iter().collect(),
        "assistant" => answer(info, parts),
        _ => Vec::new(),
    }
}

/// Reads a prompt. The product adds texts that it made itself (`synthetic`), and some that the model is not sent
/// (`ignored`).
fn prompt_event(info: &Value, parts: &[Value], place: usize) -> Option<SessionEvent> {
    let is_sent = |part: &&Value| part["ignored"] != true;
    let words = |part: &Value| match text(part, "type") {
        "text" => Some(part["text"].as_str()?.to_owned()),
        "file" if text(part, "mime").starts_with("image/") => Some("[an image]".to_owned()),
        _ => None,
    };
    let whole: Vec<_> = parts.iter().filter(is_sent).filter_map(words).collect();
    let own: Vec<_> =
        parts.iter().filter(is_sent).filter(|part| part["synthetic"] != true).filter_map(words).collect();
    let (typed, text) = (typed(&own.iter().map(String::as_str).collect::<Vec<_>>()), whole.join("\n"));
    if text.is_empty() {
        return None;
    }
    if typed.is_empty() || is_tagged(&own.join("\n")) {
        return Some(SessionEvent::Beside(text));
    }
    Some(SessionEvent::Prompt { place, typed, text, at: info["time"]["created"].as_u64() })
}

/// An answer with its calls and their results.
fn answer(info: &Value, parts: &[Value]) -> Vec<SessionEvent> {
    let at = info["time"]["completed"].as_u64();
    let (mut answer_parts, mut results, mut ended) = (Vec::new(), Vec::new(), None);
    for part in parts {
        match text(part, "type") {
            "text" if !text(part, "text").is_empty() => {
                answer_parts.push(AnswerPart::Words(text(part, "text").to_owned()));
            }
            "tool" => {
                let (id, state) = (text(part, "callID").to_owned(), &part["state"]);
                let args = state["input"].as_object().cloned().unwrap_or_default();
                answer_parts.push(AnswerPart::Call {
                    id: id.clone(),
                    name: text(part, "tool").to_owned(),
                    args,
                });
                ended = ended.max(state["time"]["end"].as_u64());
                let given = match text(state, "status") {
                    "completed" => outcome(text(state, "output").to_owned(), false),
                    "error" => outcome(text(state, "error").to_owned(), true),
                    _ => continue,
                };
                results.push(CallResult { id, outcome: given });
            }
            _ => {}
        }
    }
    let counted = &info["tokens"];
    let cache = &counted["cache"];
    let usage = Usage {
        // Tokens from a cache are counted separately.
        input_tokens: tokens(counted, "input") + tokens(cache, "read") + tokens(cache, "write"),
        cached_input_tokens: tokens(cache, "read"),
        cache_creation_tokens: tokens(cache, "write"),
        output_tokens: tokens(counted, "output") + tokens(counted, "reasoning"),
        ..Usage::default()
    };
    let usage = (usage != Usage::default()).then(|| (text(info, "id").to_owned(), usage));
    // Either the model was not asked again, or the user stopped it.
    let broken = (!info["error"].is_null()).then_some(SessionEvent::Broken);
    let results = (!results.is_empty()).then_some(SessionEvent::Results { results, at: ended });
    let answer =
        (!answer_parts.is_empty()).then_some(SessionEvent::Answer { parts: answer_parts, at, usage });
    answer.into_iter().chain(results).chain(broken).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(info: &Value, messages: &Value) -> Vec<SessionEvent> {
        let value = json!({ "info": info, "messages": messages });
        let lines = vec![JsonLine { number: 1, value }];
        assert!(recognizes(&lines));
        events(lines)
    }

    fn prompt(id: &str, words: &str) -> Value {
        json!({ "info": { "role": "user", "id": id, "time": { "created": 5 } }, "parts": [{ "type": "text", "text": words }] })
    }

    #[test]
    fn what_its_user_took_back_is_not_read_nor_the_session_of_an_agents_agent() {
        let messages = json!([prompt("msg_1", "hello"), prompt("msg_2", "a slip")]);
        let reverted = json!({ "id": "ses_1", "revert": { "messageID": "msg_2" } });
        let sent =
            SessionEvent::Prompt { place: 1, typed: "hello".into(), text: "hello".into(), at: Some(5) };
        assert_eq!(read(&reverted, &messages), [sent]);
        assert_eq!(read(&json!({ "id": "ses_1" }), &messages).len(), 2);
        assert_eq!(read(&json!({ "id": "ses_1", "parentID": "ses_0" }), &messages), []);
    }

    #[test]
    fn texts_of_the_product_are_no_prompt_and_an_error_ends_the_turn() {
        let messages = json!([
            { "info": { "role": "user", "id": "msg_1", "time": { "created": 5 } }, "parts": [
                { "type": "text", "text": "look" },
                { "type": "text", "text": "the file", "synthetic": true },
                { "type": "text", "text": "for the screen", "ignored": true },
                { "type": "file", "mime": "image/png", "url": "data:" },
            ] },
            { "info": { "role": "assistant", "id": "msg_2", "time": { "created": 6 }, "error": { "name": "APIError" } }, "parts": [
                { "type": "tool", "tool": "read", "callID": "c", "state": { "status": "error", "input": {}, "error": "no file", "time": { "start": 7, "end": 8 } } },
                { "type": "tool", "tool": "read", "callID": "d", "state": { "status": "running", "input": {} } },
            ] },
            { "info": { "role": "user", "id": "msg_3", "time": { "created": 9 } }, "parts": [{ "type": "text", "text": "x", "synthetic": true }] },
        ]);
        let call = |id: &str| AnswerPart::Call { id: id.into(), name: "read".into(), args: <_>::default() };
        let results = vec![CallResult { id: "c".into(), outcome: outcome("no file".into(), true) }];
        let sent = SessionEvent::Prompt {
            place: 1,
            typed: "look\n[an image]".into(),
            text: "look\nthe file\n[an image]".into(),
            at: Some(5),
        };
        assert_eq!(
            read(&json!({ "id": "ses_1" }), &messages),
            [
                sent,
                SessionEvent::Answer { parts: vec![call("c"), call("d")], at: None, usage: None },
                SessionEvent::Results { results, at: Some(8) },
                SessionEvent::Broken,
                SessionEvent::Beside("x".into()),
            ]
        );
    }
}
