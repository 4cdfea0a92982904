use serde_json::{Map, Value};

use crate::wire::AnswerBuilder;
use crate::wire::layout::append_text;

/// The fields in which servers give a model's thoughts, and in which they want them back. There is no standard:
/// `DeepSeek`, Kimi, GLM and Qwen use `reasoning_content`, vLLM, Groq and Ollama `reasoning`, `OpenRouter` and
/// `MiniMax` `reasoning_details`, and `extra_content` holds the signatures of Gemini.
pub(super) const FIELDS: [&str; 4] = [REASONING_CONTENT, "reasoning", "reasoning_details", "extra_content"];

/// The field that some servers require even if it is empty.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";

/// The content of these fields in a piece of an answer.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) reasoning_details: Option<Value>,
    pub(super) extra_content: Option<Value>,
}

impl Thoughts {
    /// Passes on the text, and keeps what the model wants back under the name it came with.
    pub(super) fn add_to(self, answer: &mut AnswerBuilder) {
        let details = self.reasoning_details.and_then(|details| match details {
            Value::Array(details) if !details.is_empty() => Some(details),
            _ => None,
        });
        if let Some(details) = details {
            join_details(answer.fields(), details);
        }
        if let Some(extra) = self.extra_content {
            answer.fields().insert("extra_content".into(), extra);
        }
        // If a server sends both, they are the same.
        let (name, text) = match (self.reasoning_content, self.reasoning) {
            (Some(text), _) => (REASONING_CONTENT, text),
            (None, Some(text)) => ("reasoning", text),
            (None, None) => return,
        };
        if text.is_empty() {
            return;
        }
        append_text(answer.fields(), name, &text);
        answer.push_thought(Some(text));
    }
}

/// Joins pieces of details: consecutive ones with the same type and index belong together.
fn join_details(fields: &mut Map<String, Value>, details: Vec<Value>) {
    let kept = fields.entry("reasoning_details").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(kept) = kept else { return };
    for detail in details {
        let identity = |detail: &Value| (detail.get("type").cloned(), detail.get("index").cloned());
        match (kept.last_mut(), detail) {
            (Some(Value::Object(last)), Value::Object(more))
                if identity(&Value::Object(last.clone())) == identity(&Value::Object(more.clone())) =>
            {
                merge(last, more);
            }
            (_, detail) => kept.push(detail),
        }
    }
}

/// Texts are appended; everything else is replaced by later values.
fn merge(detail: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match value {
            Value::String(text) if matches!(name.as_str(), "text" | "summary" | "data") => {
                append_text(detail, &name, &text);
            }
            Value::Null => {}
            value => _ = detail.insert(name, value),
        }
    }
}

/// The part of an answer's fields that is sent back: only these fields, and thoughts only once.
pub(super) fn returned_fields(fields: &Map<String, Value>) -> Map<String, Value> {
    let has_details = fields.contains_key("reasoning_details");
    let goes_back = |name: &str| {
        FIELDS.contains(&name)
            && !(has_details && name.starts_with("reasoning") && name != "reasoning_details")
    };
    fields
        .iter()
        .filter(|(name, _)| goes_back(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Details of a thought arrive in pieces, but must be given back whole. The text of the thought is not given back
    /// besides.
    #[test]
    fn details_in_pieces_are_put_together() {
        let mut fields = Map::new();
        let pieces = [
            json!([{"type": "reasoning.text", "index": 0, "text": "I ", "format": "f", "signature": null}]),
            json!([{"type": "reasoning.text", "index": 0, "text": "look", "signature": "s"}]),
            json!([{"type": "reasoning.encrypted", "index": 1, "data": "x"}, {"type": "reasoning.text", "index": 2, "text": "b"}]),
        ];
        for piece in pieces {
            join_details(&mut fields, piece.as_array().unwrap().clone());
        }
        let expected = json!([
            {"type": "reasoning.text", "index": 0, "text": "I look", "format": "f", "signature": "s"},
            {"type": "reasoning.encrypted", "index": 1, "data": "x"},
            {"type": "reasoning.text", "index": 2, "text": "b"},
        ]);
        assert_eq!(fields["reasoning_details"], expected);
        fields.insert("reasoning".into(), "I lookb".into());
        fields.insert("role".into(), "system".into());
        assert_eq!(returned_fields(&fields).keys().collect::<Vec<_>>(), ["reasoning_details"]);
    }
}
