//! Writes a request with its tools, calls and results in words.

use std::fmt::Write as _;

use headstart_forked_query::{Message, ModelRequest, Part, Role, ToolCall, ToolResult, ToolSchema};
use serde_json::json;

use super::ToolSupport;
use super::read::CALL;
use crate::wire::encoding;

/// The same request for a model without tools. A longer conversation only gives more words: each request begins with
/// the words of the previous one.
pub(crate) fn with_text_tools(request: &ModelRequest, support: ToolSupport) -> ModelRequest {
    let system = match support {
        ToolSupport::Text if !request.tools.is_empty() => {
            let before = request.system.iter().map(|system| format!("{system}\n\n"));
            Some(before.collect::<String>() + &tool_instructions(&request.tools))
        }
        _ => request.system.clone(),
    };
    ModelRequest { system, tools: Vec::new(), messages: messages(&request.messages), ..request.clone() }
}

/// The description of the tools for the model.
fn tool_instructions(tools: &[ToolSchema]) -> String {
    let mut text = format!(
        "# Tools\n\nTo call a tool, end your answer with a block of this form:\n\n```{CALL}\n\
         {{\"name\": \"NAME\", \"arguments\": {{…}}}}\n```\n\n\
         Several calls are several such blocks, one after the other. Write nothing behind the last: the results come with the next \
         message, and you never write them yourself. These are the tools, each with the JSON schema of its arguments:\n"
    );
    for tool in tools {
        let _ = write!(text, "\n## {}\n\n{}\n\n{}\n", tool.name, tool.description, tool.parameters);
    }
    text
}

fn messages(messages: &[Message]) -> Vec<Message> {
    let mut converted: Vec<Message> = Vec::new();
    for message in messages {
        let role = if message.role == Role::Model { Role::Model } else { Role::User };
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.clone()),
            Part::ToolCall(call) => Some(call_block(call)),
            Part::ToolResult(result) => Some(result_block(result)),
            Part::Image(_) | Part::Opaque(_) => None,
        });
        let mut text = String::new();
        for part in texts.filter(|text| !text.is_empty()) {
            append_paragraph(&mut text, &part);
        }
        // Some servers refuse two messages of one side in a row.
        match converted.last_mut() {
            Some(Message { role: last, parts }) if *last == role => match parts.last_mut() {
                Some(Part::Text { text: before }) => append_paragraph(before, &text),
                _ => parts.push(Part::Text { text: format!("\n\n{text}") }),
            },
            _ => converted.push(Message::text(role, text)),
        }
        if let Some(last) = converted.last_mut() {
            last.parts.extend(message.images().cloned().map(Part::Image));
        }
    }
    converted
}

fn append_paragraph(before: &mut String, text: &str) {
    if !before.is_empty() && !text.is_empty() {
        before.push_str("\n\n");
    }
    before.push_str(text);
}

/// A call as the model wrote it, or would have written it.
fn call_block(call: &ToolCall) -> String {
    let call = json!({ "name": call.name, "arguments": call.args });
    format!("```{CALL}\n{call}\n```")
}

/// A result in a fence that is longer than any within it.
fn result_block(result: &ToolResult) -> String {
    let text = encoding::outcome_text(result);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("Result of {}:\n{fence}\n{text}{end}{fence}", result.name)
}
