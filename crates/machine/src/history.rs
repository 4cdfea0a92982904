use std::path::Path;
use std::{fs, io};

use headstart_forked_query::{Message, parse_history};

use crate::error::CliError;

/// The conversation in a history file, or on standard input for `-`. It is a JSON array of messages in which every call
/// has a result.
pub fn read(file: &Path) -> Result<Vec<Message>, CliError> {
    let text = if file == Path::new("-") {
        io::read_to_string(io::stdin().lock()).map_err(CliError::Input)?
    } else {
        fs::read_to_string(file).map_err(CliError::io("read", file))?
    };
    parse_history(&text).map_err(|source| CliError::History { file: file.to_owned(), source })
}
