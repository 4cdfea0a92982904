//! The conversation and its cache-safe fork; the model port.

mod message;
mod model;

pub use message::{Message, Part, Role, ToolCall, ToolOutcome, ToolResult};
pub use model::{EventStream, FinishReason, Model, ModelError, ModelEvent, ModelRequest, ToolSchema, Usage};
