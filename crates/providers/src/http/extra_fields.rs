use std::borrow::Cow;

use serde_json::{Map, Value};

use headstart_forked_query::ModelRequest;

/// Fields that a host adds to the body of requests, for how a model thinks in the user's own turns, because each
/// format and server has its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExtraFields {
    /// The fields. Each must be one that the format itself never writes into such a request.
    pub fields: Map<String, Value>,
    /// The requests that get them.
    pub scope: FieldScope,
    /// The number of tokens by which thoughts may become longer; the limit of an answer is raised by it.
    pub room: u32,
}

/// Which requests get [`ExtraFields`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldScope {
    /// Requests with thinking: the user's own turns.
    #[default]
    Turns,
    /// All requests, for a provider whose cache distinguishes requests with and without them.
    All,
}

impl ExtraFields {
    /// The request with room for the thoughts, if its answer has a limit.
    pub(super) fn leaving_room<'a>(&self, request: &'a ModelRequest) -> Cow<'a, ModelRequest> {
        match request.max_output_tokens {
            Some(tokens) if self.scope == FieldScope::All && 0 < self.room => {
                let limit = Some(tokens.saturating_add(self.room));
                Cow::Owned(ModelRequest { max_output_tokens: limit, ..request.clone() })
            }
            _ => Cow::Borrowed(request),
        }
    }

    /// The body with the fields at its end, behind everything that requests share.
    pub(super) fn add_to(&self, mut body: Vec<u8>, request: &ModelRequest) -> Vec<u8> {
        let is_meant = match self.scope {
            FieldScope::Turns => request.thinking && request.max_output_tokens.is_none(),
            FieldScope::All => true,
        };
        if !is_meant || self.fields.is_empty() || body.last() != Some(&b'}') {
            return body;
        }
        body.pop();
        let fields = serde_json::to_vec(&self.fields).expect("works because JSON values are always JSON");
        body.push(b',');
        body.extend_from_slice(&fields[1..]);
        body
    }
}
