use serde_json::{Map, Value};

/// A tool call as the gate sees it.
#[derive(Debug, Clone, Copy)]
pub struct CallRef<'a> {
    /// The tool's name, as the model wrote it.
    pub name: &'a str,
    /// The arguments, as the model wrote them.
    pub args: &'a Map<String, Value>,
}
