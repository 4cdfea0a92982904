//! Reads what a product sends before it runs a command, in any of the forms that products use.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Value};

use super::contract::{Contract, Shape};

/// The most bytes of a message.
pub(crate) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Names of the field that holds a tool's arguments.
const ARGUMENTS: [&str; 4] = ["tool_input", "toolInput", "toolArgs", "tool_args"];
/// Names of approval modes in which the product asks nothing, so that there is nothing to allow.
const NEVER_ASKS: [&str; 2] = ["bypassPermissions", "yolo"];
/// Names under which a call gives its own folder.
const FOLDERS: [&str; 4] = ["directory", "dir_path", "cwd", "workdir"];

/// A call of a shell tool, about which a product may ask its user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookCall {
    /// The event, as the message names it.
    pub(crate) event: &'static str,
    pub(crate) shape: Shape,
    /// All arguments, unchanged.
    pub(crate) args: Map<String, Value>,
    /// The folder in which the command would run, an absolute path.
    pub(crate) directory: String,
    /// Whether the product asks before a command in the approval mode that the message names.
    pub(crate) asks: bool,
    /// Folders that the message names as those of the project.
    pub(crate) roots: Vec<String>,
}

impl HookCall {
    /// The command that would run.
    pub(crate) fn command(&self) -> &str {
        self.args.get("command").and_then(Value::as_str).unwrap_or_default()
    }
}

/// Why a message gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The message is not about a command that a user is asked about, which is no error.
    NotMeant(String),
    /// The message is not understood.
    NotUnderstood(String),
}

/// Reads a message.
pub(crate) fn read(contract: &'static Contract, bytes: &[u8]) -> Result<HookCall, NoAnswer> {
    let wrong = |problem: &str| NoAnswer::NotUnderstood(problem.to_owned());
    if MAX_BYTES < bytes.len() {
        return Err(wrong("the message has more than 16 MiB"));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(wrong("the message is empty"));
    }
    let message: Value = serde_json::from_slice(bytes)
        .map_err(|error| NoAnswer::NotUnderstood(format!("the message is not JSON: {error}")))?;
    let Value::Object(message) = message else {
        return Err(wrong("the message is not a JSON object"));
    };
    let (event, shape) = event(contract, &message)?;
    match text(&message, &["tool_name", "toolName"])? {
        Some(tool) if contract.tools.contains(&tool) => {}
        Some(tool) => return Err(NoAnswer::NotMeant(format!("{tool:?} is no shell for Unix"))),
        None if contract.tools.is_empty() => {}
        None => return Err(wrong("the tool has no name")),
    }
    let mode = text(&message, &["permission_mode", "permissionMode"])?;
    let asks = mode.is_none_or(|mode| !NEVER_ASKS.contains(&mode));
    let args = arguments(&message)?;
    match args.get("command") {
        Some(Value::String(command)) if command.contains('\0') => {
            return Err(wrong("the command holds a NUL character"));
        }
        Some(Value::String(command)) if command.trim().is_empty() => {
            return Err(wrong("the command is empty"));
        }
        Some(Value::String(_)) => {}
        Some(_) => return Err(wrong("the command is not text")),
        None => return Err(wrong("there is no command")),
    }
    let description = args.get("description").and_then(Value::as_str).unwrap_or_default();
    if contract.other_question.is_some_and(|start| description.starts_with(start)) {
        return Err(NoAnswer::NotMeant("it asks for something else than running the command".to_owned()));
    }
    let cwd = text(&message, &["cwd"])?.ok_or_else(|| wrong("\"cwd\" is missing"))?;
    let named = FOLDERS.iter().filter_map(|name| args.get(*name)).find(|folder| !folder.is_null());
    let directory = match named {
        None => cwd,
        Some(folder) => folder.as_str().ok_or_else(|| wrong("the folder of the command is not text"))?,
    };
    if !Path::new(directory).is_absolute() {
        return Err(wrong("the folder of the command is no absolute path"));
    }
    let roots = message.get("workspace_roots").and_then(Value::as_array);
    let roots = roots.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let directory = directory.to_owned();
    Ok(HookCall { event, shape, args: args.into_owned(), directory, asks, roots })
}

/// The event according to the message, because a product may register one program for several events.
fn event(
    contract: &'static Contract,
    message: &Map<String, Value>,
) -> Result<(&'static str, Shape), NoAnswer> {
    let Some(named) = text(message, &["hook_event_name", "hookEventName"])? else {
        return Ok(contract.events[0]);
    };
    let known = contract.events.iter().find(|(name, _)| *name == named);
    known.copied().ok_or_else(|| NoAnswer::NotMeant(format!("{named:?} is no event to answer")))
}

/// The arguments of the call. They are in one of the fields for them, as an object or as its JSON text, or else they
/// are the message itself.
fn arguments(message: &Map<String, Value>) -> Result<Cow<'_, Map<String, Value>>, NoAnswer> {
    let wrong = |problem: &str| NoAnswer::NotUnderstood(problem.to_owned());
    let mut fields = ARGUMENTS.iter().filter_map(|name| message.get(*name)).filter(|value| !value.is_null());
    let field = fields.next();
    if fields.next().is_some() || (field.is_some() && message.contains_key("command")) {
        return Err(wrong("the command is in several places"));
    }
    match field {
        // The message's own folder is the one in which the command runs, so it is not an argument.
        None => {
            let of_call = |name: &str| !FOLDERS.contains(&name);
            let args = message.iter().filter(|(name, _)| of_call(name));
            Ok(Cow::Owned(args.map(|(name, value)| (name.clone(), value.clone())).collect()))
        }
        Some(Value::Object(args)) => Ok(Cow::Borrowed(args)),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(args)) => Ok(Cow::Owned(args)),
            Ok(_) => Err(wrong("the tool's arguments are no JSON object")),
            Err(error) => Err(NoAnswer::NotUnderstood(format!("the tool's arguments are not JSON: {error}"))),
        },
        Some(_) => Err(wrong("the tool's arguments are no object")),
    }
}

/// The text under one of several names. If several are present, they must have the same value.
fn text<'a>(message: &'a Map<String, Value>, names: &[&str]) -> Result<Option<&'a str>, NoAnswer> {
    let mut found = None;
    for name in names {
        match message.get(*name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if found.is_none_or(|other| other == text) => found = Some(text),
            Some(Value::String(_)) => {
                return Err(NoAnswer::NotUnderstood(format!("{} say different things", names.join(" and "))));
            }
            Some(_) => return Err(NoAnswer::NotUnderstood(format!("{name:?} is not text"))),
        }
    }
    Ok(found.map(String::as_str))
}
