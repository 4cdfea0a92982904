//! How the formats express things in words.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use headstart_forked_query::{Image, Message, ModelRequest, Part, Role, ToolOutcome, ToolResult};

/// The bytes of a body.
pub(crate) fn to_bytes(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("works because strings, numbers and JSON values are always JSON")
}

pub(crate) fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("works because a JSON value is always JSON")
}

/// The answer of a tool, as words.
pub(crate) fn outcome_text(result: &ToolResult) -> String {
    match &result.outcome {
        ToolOutcome::Output(Value::String(text)) => text.clone(),
        ToolOutcome::Output(value) => to_text(value),
        ToolOutcome::Error(message) => format!("Error: {message}"),
    }
}

/// An image as a data URL.
pub(crate) fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media_type.as_str(), image.data)
}

/// What a question says about the form of its answer. Words work with every model and together with tools, and come
/// after everything that requests share.
pub(crate) fn schema_instruction(schema: &Value) -> String {
    format!("\n\nThe answer is one JSON object and nothing else. Its JSON schema: {schema}")
}

/// The conversation, and the question at its end: a request with a response schema ends with a message that no later
/// request contains.
pub(crate) fn split_question(request: &ModelRequest) -> (&[Message], Option<&Message>) {
    match request.messages.split_last() {
        Some((question, shared)) if request.response_schema.is_some() => (shared, Some(question)),
        _ => (&request.messages, None),
    }
}

/// The limit of the answer to a request. Providers count thoughts too, so if a model may think about a question,
/// there must be room for that besides the answer.
pub(crate) fn output_limit(request: &ModelRequest, may_think: bool) -> Option<u32> {
    /// More tokens than a model thinks about a single question.
    const THOUGHT_TOKENS: u32 = 4_096;
    let room = if may_think && request.response_schema.is_some() { THOUGHT_TOKENS } else { 0 };
    request.max_output_tokens.map(|tokens| tokens.saturating_add(room))
}

pub(crate) fn tool_results(message: &Message) -> impl Iterator<Item = &ToolResult> {
    message.parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// The messages with consecutive tool messages as one group, because most formats want the results of one answer's
/// calls together.
pub(crate) fn group_tool_messages(messages: &[Message]) -> impl Iterator<Item = &[Message]> {
    messages.chunk_by(|one, next| one.role == Role::Tool && next.role == Role::Tool)
}

/// The id of a call or the name of a tool in characters that every provider accepts, because those of another
/// provider, or of a file written by hand, may have others. The result depends only on the id, and different ids stay
/// different.
pub(crate) fn plain_id(id: &str) -> Cow<'_, str> {
    plain_id_within(id, LONGEST)
}

/// The longest id or name that all providers except one accept.
const LONGEST: usize = 64;

/// Whether every provider accepts this id unchanged.
pub(crate) fn is_plain_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST && id.chars().all(is_plain_id_char)
}

fn is_plain_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// As [`plain_id`], with at most this many characters, at least 17.
pub(crate) fn plain_id_within(id: &str, longest: usize) -> Cow<'_, str> {
    if is_plain_id(id) && id.len() <= longest {
        return Cow::Borrowed(id);
    }
    // A hyphen and a number of sixteen characters follow.
    let start = longest.min(57) - 17;
    let start: String = id.chars().take(start).map(|c| if is_plain_id_char(c) { c } else { '_' }).collect();
    // FNV-1a.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Cow::Owned(format!("{start}-{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every id becomes one that all formats accept, and different ids stay different.
    #[test]
    fn ids_of_any_kind_become_plain_and_stay_apart() {
        for same in ["toolu_01A-b", "call-2", "x"] {
            assert_eq!(plain_id(same), same);
        }
        let others = ["a b", "a_b ", "ü", "", &"x".repeat(65), &"x".repeat(66)];
        let plained: std::collections::HashSet<_> = others.iter().map(|id| plain_id(id)).collect();
        assert_eq!(plained.len(), others.len());
        assert!(plained.iter().all(|id| id.len() <= 64 && plain_id(id) == *id), "{plained:?}");
    }
}
