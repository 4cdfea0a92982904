//! What the model of these tests does for each prompt.

use headstart_forked_query::{ModelError, ModelEvent, ModelRequest, Role, ToolCall};
use serde_json::{Value, json};

use super::text_of;

pub(crate) fn call(name: &str, args: &Value) -> ModelEvent {
    let args = args.as_object().cloned().unwrap_or_default();
    ModelEvent::ToolCall(ToolCall { id: String::new(), name: name.to_owned(), args })
}

/// The next call of a model that never has enough: of the same call, or of calls that differ.
pub(super) fn never_enough(request: &ModelRequest, asked: usize) -> Option<ModelEvent> {
    let said = request.messages.iter().rev().find(|message| message.role == Role::User).map(text_of)?;
    let more = match said {
        _ if !request.thinking => None,
        said if said.ends_with("insist") => Some(0),
        said if said.ends_with("wander") => Some(asked),
        _ => None,
    };
    more.map(|more| call("read_file", &json!({ "file_path": "huge.txt", "limit": 1_000 + more })))
}

/// The calls or the text that the last prompt asks for. After the result of its call, the model only says that it is
/// done.
pub(super) fn scripted_answer(request: &ModelRequest) -> Result<Vec<ModelEvent>, ModelError> {
    let last = request.messages.last();
    let prompt = request.messages.iter().rev().find(|message| message.role == Role::User).map(text_of);
    let prompt = prompt.unwrap_or_default();
    // Only the prompt itself counts, not the mentions, rules and notes that come with it.
    let prompt = prompt.split("\n\nWhat is named with an @").next().unwrap_or_default();
    let prompt = prompt.split("\n\n<project-rules").next().unwrap_or_default();
    let prompt = prompt.rsplit("\n\n").next().unwrap_or_default();
    let call = |name: &str, args: &Value| vec![call(name, args)];
    if last.is_some_and(|message| message.role == Role::Tool) {
        return Ok(vec![ModelEvent::Text(format!("Done: {prompt}."))]);
    }
    let mut words = prompt.split(' ');
    let (word, file) = (words.next().unwrap_or_default(), words.next().unwrap_or("made.txt"));
    Ok(match word {
        "read" => call("read_file", &json!({ "file_path": file })),
        "edit" => call("write_file", &json!({ "file_path": file, "content": format!("{prompt}\n") })),
        "change" => {
            call("edit", &json!({ "file_path": file, "old_string": "one\n", "new_string": "changed\n" }))
        }
        "calls" => prompt["calls ".len()..].split(", ").flat_map(|one| several(one, call)).collect(),
        "deploy" => call("deploy", &json!({ "place": file })),
        "run" => call("shell", &json!({ "command": "rm notes.txt" })),
        "fail" => {
            return Err(ModelError::Misconfigured {
                provider: "a test".to_owned(),
                message: "no such model".to_owned(),
                source: None,
            });
        }
        "panic" => panic!("the model panics"),
        _ => vec![ModelEvent::Text(format!("I heard: {prompt}."))],
    })
}

/// One of several calls of an answer: `write FILE`, `read FILE`, or the name of a tool.
fn several(one: &str, call: impl Fn(&str, &Value) -> Vec<ModelEvent>) -> Vec<ModelEvent> {
    match one.split_once(' ') {
        Some(("write", file)) => {
            let content = format!("{}\n", file.trim_end_matches(".txt"));
            call("write_file", &json!({ "file_path": file, "content": content }))
        }
        Some((_, file)) => call("read_file", &json!({ "file_path": file })),
        None => call(one, &json!({})),
    }
}
