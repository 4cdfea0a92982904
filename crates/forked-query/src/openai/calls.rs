use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::arguments;
use crate::ToolCall;
use crate::pairing::free_id;

/// A fragment of a call, as it comes.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<Value>,
}

/// The calls of an answer, put together from their fragments.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<PartialCall>,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    pub(super) fn add(&mut self, delta: CallDelta) {
        let id = delta.id.unwrap_or_default();
        let function = delta.function.unwrap_or_default();
        let call = self.find(delta.index, &id);
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = function.name.unwrap_or_default();
        }
        match function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(more)) => call.arguments.push_str(&more),
            // Some servers send the object itself.
            Some(whole) => call.arguments.push_str(&whole.to_string()),
        }
    }

    /// The call that a fragment belongs to: the latest with its index, or the latest where it has none. A fragment
    /// with another id begins a new call all the same, for some servers number every call 0.
    fn find(&mut self, index: Option<u64>, id: &str) -> &mut PartialCall {
        let known = self.calls.iter().rposition(|call| index.is_none() || call.index == index);
        let known = known.filter(|position| {
            let known = &self.calls[*position].id;
            id.is_empty() || known.is_empty() || known == id
        });
        let position = known.unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        &mut self.calls[position]
    }

    /// The calls, whole, in the order they began, each with an id that nobody has. An error where one has no name.
    pub(super) fn take(&mut self, taken: &mut HashSet<String>) -> Result<Vec<ToolCall>, &'static str> {
        let calls = std::mem::take(&mut self.calls);
        calls
            .into_iter()
            .map(|call| {
                if call.name.is_empty() {
                    return Err("a tool call has no name");
                }
                let id = free_id(&call.id, taken);
                taken.insert(id.clone());
                Ok(ToolCall { id, name: call.name, args: arguments::parse(&call.arguments) })
            })
            .collect()
    }
}
