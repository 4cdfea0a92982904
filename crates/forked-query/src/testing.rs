//! Conversations for the tests of this crate and of `headstart-providers`.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, json};

use headstart_forked_query::{
    EventStream, FinishReason, Message, Model, ModelError, ModelEvent, ModelRequest, Part, Role, ToolCall,
    ToolOutcome, ToolResult, ToolSchema, Usage,
};

pub(crate) fn message(role: Role, parts: impl IntoIterator<Item = Part>) -> Message {
    Message { role, parts: parts.into_iter().collect() }
}

pub(crate) fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

pub(crate) fn call(id: &str) -> Part {
    let mut args = Map::new();
    args.insert("path".into(), json!(format!("src/{id}")));
    Part::ToolCall(ToolCall { id: id.into(), name: "ls".into(), args })
}

pub(crate) fn result(id: &str) -> Part {
    Part::ToolResult(ToolResult {
        id: id.into(),
        name: "ls".into(),
        outcome: ToolOutcome::Output(json!(format!("listing {id}\n\"quoted\""))),
    })
}

pub(crate) fn tools() -> Vec<ToolSchema> {
    ["read_file", "ls"]
        .map(|name| ToolSchema {
            name: name.into(),
            description: format!("{name} in the workspace."),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        })
        .into()
}

/// Messages of every kind in any order, mostly illegal.
pub(crate) fn any_messages() -> impl Strategy<Value = Vec<Message>> {
    let role = prop_oneof![Just(Role::User), Just(Role::Model), Just(Role::Model), Just(Role::Tool)];
    let part = (0..5_usize, 0..4_usize).prop_map(|(kind, number)| match kind {
        0 => text(&format!("words {number}")),
        1 | 2 => call(["", "1", "2", "3"][number]),
        _ => result(["", "1", "2", "3"][number]),
    });
    vec((role, vec(part, 0..4)), 0..10)
        .prop_map(|messages| messages.into_iter().map(|(role, parts)| message(role, parts)).collect())
}

/// At least `steps` legal steps in turns of a user and a model that calls tools.
pub(crate) fn legal_history(steps: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Message>> {
    vec((0..4_usize, 1..4_usize), steps).prop_map(|steps| {
        let mut messages = Vec::new();
        for (step, (kind, calls)) in steps.into_iter().enumerate() {
            let ids: Vec<String> = (0..calls).map(|number| format!("{step}-{number}")).collect();
            match kind {
                0 => messages.push(message(Role::User, [text(&format!("ask {step}"))])),
                1 => messages.push(message(Role::Model, [text(&format!("say {step}"))])),
                _ => {
                    messages.push(message(Role::Model, ids.iter().map(|id| call(id))));
                    // The results are in one tool message, or in one each.
                    if kind == 2 {
                        messages.push(message(Role::Tool, ids.iter().map(|id| result(id))));
                    } else {
                        messages.extend(ids.iter().map(|id| message(Role::Tool, [result(id)])));
                    }
                }
            }
        }
        messages
    })
}

/// Answers every request with the same events and keeps the requests.
pub(crate) struct Script {
    events: Vec<Result<ModelEvent, ModelError>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl Script {
    pub(crate) fn answering(events: impl IntoIterator<Item = Result<ModelEvent, ModelError>>) -> Arc<Self> {
        Arc::new(Self { events: events.into_iter().collect(), requests: Mutex::default() })
    }

    pub(crate) fn saying(text: &str) -> Arc<Self> {
        let usage =
            Usage { input_tokens: 100, cached_input_tokens: 90, output_tokens: 5, ..Usage::default() };
        Self::answering([
            Ok(ModelEvent::Text(text.into())),
            Ok(ModelEvent::Usage(usage)),
            Ok(ModelEvent::Finished(FinishReason::Stop)),
        ])
    }

    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn last_request(&self) -> ModelRequest {
        self.requests().pop().unwrap()
    }
}

#[async_trait]
impl Model for Script {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        Ok(Box::pin(futures::stream::iter(self.events.clone())))
    }
}

pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        model: "main".into(),
        system: Some("Be brief.".into()),
        tools: tools(),
        messages: vec![Message::text(Role::User, "go")],
        thinking: true,
        response_schema: None,
        max_output_tokens: None,
    }
}
