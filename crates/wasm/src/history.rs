use headstart_forked_query::{HistoryError, Message, PairingError, parse_history};
use serde_json::Value;

use crate::failure::Failure;
use crate::input::{join, parse, wrong};

/// A conversation: `{"system"?, "messages"}`.
pub(crate) struct Conversation {
    pub(crate) system: Option<String>,
    pub(crate) messages: Vec<Message>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default)]
    system: Option<String>,
    messages: Value,
}

impl Conversation {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let Fields { system, messages } = parse("conversation", text)?;
        let messages = parse_history(&messages.to_string()).map_err(|error| history_failure(&error))?;
        Ok(Self { system, messages })
    }
}

fn history_failure(error: &HistoryError) -> Failure {
    let (entry, part) = match error {
        HistoryError::Entry { entry, part, .. } => (Some(entry), *part),
        HistoryError::Pairing(
            PairingError::CallOutsideModel { entry }
            | PairingError::ImageOutsideUser { entry }
            | PairingError::ResultOutsideTool { entry }
            | PairingError::EmptyId { entry }
            | PairingError::DuplicateId { entry, .. }
            | PairingError::MissingResult { entry, .. }
            | PairingError::UnexpectedResult { entry, .. },
        ) => (Some(entry), None),
        _ => (None, None),
    };
    let mut path = "conversation.messages".to_owned();
    if let Some(entry) = entry {
        path = join(&path, &format!("[{entry}]"));
    }
    if let Some(part) = part {
        path = join(&path, &format!("parts[{part}]"));
    }
    match error {
        // The path already says where the mistake is.
        HistoryError::Entry { message, .. } => wrong(path, message),
        _ => Failure::input(path, error.to_string()),
    }
}
