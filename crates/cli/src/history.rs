use std::fs;
use std::path::Path;

use headstart_forked_query::{Message, parse_history};

use crate::error::CliError;

/// The conversation in a history file: a JSON array of messages in which every call has its result.
pub(crate) fn read(file: &Path) -> Result<Vec<Message>, CliError> {
    let text = fs::read_to_string(file).map_err(CliError::io("read", file))?;
    parse_history(&text).map_err(|source| CliError::History { file: file.to_owned(), source })
}
