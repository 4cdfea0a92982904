use serde_json::{Error, Value};

use crate::wire::AnswerBuilder;
use headstart_forked_query::json::FromJson;

/// What a model says: one text, or a list of parts, which some servers send for models that think.
#[derive(Default)]
pub(super) struct Content(Vec<ContentPiece>);

enum ContentPiece {
    Text(String),
    Thought(String),
}

impl Content {
    /// Passes it on to the answer.
    pub(super) fn add_to(self, answer: &mut AnswerBuilder) {
        for piece in self.0 {
            match piece {
                ContentPiece::Text(text) => answer.push_text(Some(text)),
                ContentPiece::Thought(text) => answer.push_thought(Some(text)),
            }
        }
    }

    /// Reads a part with words: `{"type": "text", "text": "…"}`, `{"type": "thinking", "thinking": …}` with a text or
    /// parts, or a plain text. Pictures and references are skipped.
    fn push_part(&mut self, part: Value, is_thought: bool) {
        match part {
            Value::String(text) if is_thought => self.0.push(ContentPiece::Thought(text)),
            Value::String(text) => self.0.push(ContentPiece::Text(text)),
            Value::Array(parts) => parts.into_iter().for_each(|part| self.push_part(part, is_thought)),
            Value::Object(mut part) => {
                let is_thought = is_thought
                    || part.get("type").and_then(Value::as_str).is_some_and(|kind| {
                        matches!(kind, "thinking" | "reasoning" | "reasoning_content" | "reasoning_text")
                    });
                let names = ["text", "thinking", "reasoning", "content", "refusal"];
                if let Some(inner) = names.into_iter().find_map(|name| part.remove(name)) {
                    self.push_part(inner, is_thought);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl FromJson for Content {
    fn from_json(value: Value) -> Result<Self, Error> {
        if !matches!(value, Value::String(_) | Value::Array(_) | Value::Object(_)) {
            // This gives the error of a reader for texts.
            return String::from_json(value).map(|text| Self(vec![ContentPiece::Text(text)]));
        }
        let mut content = Self::default();
        content.push_part(value, false);
        Ok(content)
    }
}
