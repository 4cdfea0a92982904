//! Reads what JavaScript gives; the error for a mistake names the field.

use headstart_providers::json_path;
use serde::de::DeserializeOwned;
use serde_json::Error;

use crate::failure::Failure;
use crate::serde_messages::explain_error;

/// Reads a JSON text that the facade made of the argument `name`.
pub(crate) fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text)
        .map_err(|error| serde_failure(name, text, &error, &|text| serde_json::from_str::<T>(text).err()))
}

/// The failure for an error of serde; `reparse` reads another text of the same type.
fn serde_failure(name: &str, text: &str, error: &Error, reparse: &dyn Fn(&str) -> Option<Error>) -> Failure {
    let path = join(name, &json_path(text, error));
    let message = error.to_string();
    if text.as_bytes().get(error.column()) == Some(&b':')
        && let Some((_, words)) =
            message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    {
        // The value is an object, and serde has read its first key as the word.
        let path = path.rsplit_once('.').map_or("", |(path, _)| path);
        return wrong(path.to_owned(), &format!("invalid type: map, expected {words}"));
    }
    if !error.is_syntax() {
        return wrong(path, &message);
    }
    // The text is valid JSON, so this is a place where serde wants a word and finds something that is not a string.
    // Only for a string does serde say which words are allowed.
    let place = error.column().saturating_sub(1);
    let (before, found) = text.split_at_checked(place).unwrap_or((text, ""));
    let (before, found) = match found.as_bytes() {
        [b'[', ..] => (before, "sequence"),
        [b'{', ..] => (before, "map"),
        // Serde has looked into an object that is empty.
        [b'}', ..] => (before.strip_suffix('{').unwrap_or(before), "map"),
        _ => (before, found.split([',', '}', ']']).next().unwrap_or_default()),
    };
    let probe = format!("{before}\"\"");
    let result = reparse(&probe).and_then(|error| {
        let result = error.to_string();
        let (_, words) = result.split_once("``, expected ")?;
        let path = join(name, &json_path(&probe, &error));
        Some(wrong(path, &format!("invalid type: {found}, expected {words}")))
    });
    result.unwrap_or_else(|| wrong(path, &message))
}

/// The failure for what serde says of the value at `path`.
pub(crate) fn wrong(path: String, message: &str) -> Failure {
    // The place is in a text that the caller has never seen, so it is removed.
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let field = message.strip_prefix('`').and_then(|rest| rest.split_once("`: "));
    if let Some((field, message)) = field {
        return wrong(join(&path, field), message);
    }
    match message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        Some(field) => Failure::input(join(&path, field), "is missing"),
        None => Failure::input(path, explain_error(message)),
    }
}

/// The path of a field of the value at `parent`.
pub(crate) fn join(parent: &str, field: &str) -> String {
    match (parent, field) {
        ("", only) | (only, "") => only.to_owned(),
        _ if field.starts_with('[') => format!("{parent}{field}"),
        _ => format!("{parent}.{field}"),
    }
}
