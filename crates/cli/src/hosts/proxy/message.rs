//! Messages of the editor and the agent as lines: the proxy reads what it acts on, and passes all other bytes on
//! unchanged. Nothing here does IO.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Ids of sessions, each with the id that replaces it.
pub(super) type SessionNames = BTreeMap<String, String>;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Request,
    Notification,
    Response,
    /// No message of the protocol, so the proxy does not act on it.
    Other,
}

pub(super) fn kind(message: &Value) -> MessageKind {
    match (message.get("method").is_some_and(Value::is_string), message.get("id")) {
        (true, Some(_)) => MessageKind::Request,
        (true, None) => MessageKind::Notification,
        (false, Some(_)) => MessageKind::Response,
        (false, None) => MessageKind::Other,
    }
}

pub(super) fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_default()
}

/// The session that a message is about.
pub(super) fn session(message: &Value) -> Option<&str> {
    message["params"]["sessionId"].as_str()
}

/// The id of a message as a map key. Ids of different types are different keys.
pub(super) fn key(message: &Value) -> String {
    message["id"].to_string()
}

/// The text of a prompt that has nothing but text.
pub(super) fn words(prompt: &Value) -> Option<String> {
    let blocks = prompt["params"]["prompt"].as_array()?;
    let texts: Option<Vec<&str>> =
        blocks.iter().map(|block| block["text"].as_str().filter(|_| block["type"] == "text")).collect();
    Some(texts?.concat())
}

/// The same prompt with another text.
pub(super) fn with_words(prompt: &Value, words: &str) -> Value {
    let mut prompt = prompt.clone();
    prompt["params"]["prompt"] = json!([{ "type": "text", "text": words }]);
    prompt
}

pub(super) fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

pub(super) fn update(session: &str, update: &Value) -> Value {
    notification("session/update", &json!({ "sessionId": session, "update": update }))
}

pub(super) fn result(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(super) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// The text of an error. Some errors give the reason only in their data.
pub(super) fn error_text(error: &Value) -> String {
    let text = error["message"].as_str().unwrap_or_default();
    let more = error["data"]["details"].as_str().or(error["data"].as_str());
    more.map_or_else(|| text.to_owned(), |more| format!("{text}: {more}"))
}

/// A message as a line, without the line end.
pub(super) fn line(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

/// The line with other ids for sessions, wherever a field is named `sessionId`. All other bytes stay the same.
pub(super) fn renamed<'a>(line: &'a [u8], names: &SessionNames) -> Cow<'a, [u8]> {
    if names.is_empty() {
        return Cow::Borrowed(line);
    }
    let mut new = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(start) = quote(line, at) {
        let Some(end) = end_of_text(line, start) else { break };
        at = end;
        if &line[start..end] != b"\"sessionId\"" {
            continue;
        }
        // Only the name of a field is followed by a colon.
        let Some(colon) = after_blanks(line, end).filter(|at| line[*at] == b':') else { continue };
        let Some(value) = after_blanks(line, colon + 1).filter(|at| line[*at] == b'"') else { continue };
        let Some(value_end) = end_of_text(line, value) else { break };
        at = value_end;
        let name = serde_json::from_slice::<String>(&line[value..value_end]).ok();
        if let Some(other) = name.and_then(|name| names.get(&name)) {
            new.extend_from_slice(&line[copied..value]);
            new.extend_from_slice(Value::from(other.as_str()).to_string().as_bytes());
            copied = value_end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(line);
    }
    new.extend_from_slice(&line[copied..]);
    Cow::Owned(new)
}

/// The title of the session that a fork stands for: without the ` (fork)` or ` (fork #2)` that agents append to the
/// title of a fork.
pub(super) fn without_fork(title: &Value) -> Value {
    let Some(mut own) = title.as_str() else { return title.clone() };
    while let Some((before, number)) = own.strip_suffix(')').and_then(|title| title.rsplit_once(" (fork"))
        && (number.is_empty()
            || number.strip_prefix(" #").is_some_and(|number| number.parse::<u32>().is_ok()))
    {
        own = before;
    }
    own.into()
}

fn quote(line: &[u8], from: usize) -> Option<usize> {
    line[from..].iter().position(|byte| *byte == b'"').map(|at| from + at)
}

/// The position after the JSON string that begins with the quote at `start`.
fn end_of_text(line: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match line.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn after_blanks(line: &[u8], from: usize) -> Option<usize> {
    line.get(from..)?.iter().position(|byte| !byte.is_ascii_whitespace()).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_sessions_change() {
        let names = SessionNames::from([("S".to_owned(), "F \"1\"".to_owned())]);
        for (line, expected) in [
            (r#"{"params":{"sessionId":"S"}}"#, r#"{"params":{"sessionId":"F \"1\""}}"#),
            (
                r#"{"a" : 1.0, "sessionId" :  "S","z":1e5}"#,
                r#"{"a" : 1.0, "sessionId" :  "F \"1\"","z":1e5}"#,
            ),
            (r#"[{"sessionId":"S"},{"sessionId":"T"}]"#, r#"[{"sessionId":"F \"1\""},{"sessionId":"T"}]"#),
            (r#"{"sessionId":"\u0053"}"#, r#"{"sessionId":"F \"1\""}"#),
            // A value, a text within a text, and another type are not replaced.
            (r#"{"x":"sessionId","S":"S"}"#, r#"{"x":"sessionId","S":"S"}"#),
            (r#"{"x":"\"sessionId\":\"S\""}"#, r#"{"x":"\"sessionId\":\"S\""}"#),
            (r#"{"x":"a\\","sessionId":null}"#, r#"{"x":"a\\","sessionId":null}"#),
            (r#"{"sessionId":"S"#, r#"{"sessionId":"S"#),
            (r#"{"sessionId""#, r#"{"sessionId""#),
        ] {
            assert_eq!(String::from_utf8_lossy(&renamed(line.as_bytes(), &names)), expected, "{line}");
        }
        assert!(matches!(renamed(br#"{"sessionId":"T"}"#, &names), Cow::Borrowed(_)));
    }

    #[test]
    fn words_are_words_alone() {
        let prompt = |blocks: Value| json!({ "params": { "prompt": blocks } });
        let text = |text: &str| json!({ "type": "text", "text": text });
        assert_eq!(words(&prompt(json!([text("run "), text("it")]))).as_deref(), Some("run it"));
        assert_eq!(words(&prompt(json!([text("run"), { "type": "image", "data": "" }]))), None);
        assert_eq!(words(&json!({})), None);
    }

    #[test]
    fn a_title_is_that_of_the_session_for_which_a_fork_stands() {
        for (title, own) in [
            ("A title (fork)", "A title"),
            ("A title (fork) (fork)", "A title"),
            ("A title (fork #12)", "A title"),
            ("A title (fork #1) (fork #2)", "A title"),
            ("A (fork #x)", "A (fork #x)"),
            ("How to (fork) it", "How to (fork) it"),
            ("A title", "A title"),
        ] {
            assert_eq!(without_fork(&title.into()), *own, "{title}");
        }
        assert_eq!(without_fork(&Value::Null), Value::Null);
    }
}
