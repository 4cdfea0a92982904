//! What JavaScript gives, read; a mistake names the field.

use headstart_followup_state::{Suggestion, filter};
use headstart_forked_query::json_path;
use serde::de::DeserializeOwned;
use serde_json::{Error, Map, Value};

use crate::failure::{Failure, json};
use crate::words::in_words;

/// Reads a JSON text that the facade made of the argument `name`.
pub(crate) fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text)
        .map_err(|error| of_serde(name, text, &error, &|text| serde_json::from_str::<T>(text).err()))
}

/// `again` reads another text of the same type.
fn of_serde(name: &str, text: &str, error: &Error, again: &dyn Fn(&str) -> Option<Error>) -> Failure {
    let path = join(name, &json_path(text, error));
    let message = error.to_string();
    if text.as_bytes().get(error.column()) == Some(&b':')
        && let Some((_, words)) =
            message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    {
        // An object, whose first key serde takes for the word.
        let path = path.rsplit_once('.').map_or("", |(path, _)| path);
        return wrong(path.to_owned(), &format!("invalid type: map, expected {words}"));
    }
    if !error.is_syntax() {
        return wrong(path, &message);
    }
    // The text is JSON. So this is where serde wants a word, and finds no string; which words there are it says of a string.
    let place = error.column().saturating_sub(1);
    let (before, found) = text.split_at_checked(place).unwrap_or((text, ""));
    let (before, found) = match found.as_bytes() {
        [b'[', ..] => (before, "sequence"),
        [b'{', ..] => (before, "map"),
        // It has looked into an object that is empty.
        [b'}', ..] => (before.strip_suffix('{').unwrap_or(before), "map"),
        _ => (before, found.split([',', '}', ']']).next().unwrap_or_default()),
    };
    let probe = format!("{before}\"\"");
    let told = again(&probe).and_then(|error| {
        let told = error.to_string();
        let (_, words) = told.split_once("``, expected ")?;
        let path = join(name, &json_path(&probe, &error));
        Some(wrong(path, &format!("invalid type: {found}, expected {words}")))
    });
    told.unwrap_or_else(|| wrong(path, &message))
}

/// What serde says of the value at `path`.
pub(crate) fn wrong(path: String, message: &str) -> Failure {
    // The place in a text that nobody has seen.
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let field = message.strip_prefix('`').and_then(|rest| rest.split_once("`: "));
    if let Some((field, message)) = field {
        return wrong(join(&path, field), message);
    }
    match message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        Some(field) => Failure::input(join(&path, field), "is missing"),
        None => Failure::input(path, in_words(message)),
    }
}

/// The path of a field of what is at `parent`.
pub(crate) fn join(parent: &str, field: &str) -> String {
    match (parent, field) {
        ("", only) | (only, "") => only.to_owned(),
        _ if field.starts_with('[') => format!("{parent}{field}"),
        _ => format!("{parent}.{field}"),
    }
}

/// A time that JavaScript gives, in whole milliseconds.
pub(crate) fn millis(name: &str, number: f64) -> Result<u64, Failure> {
    // Up to here all whole numbers of JavaScript are exact.
    const MOST: f64 = 9_007_199_254_740_991.0;
    if !(0.0..=MOST).contains(&number) {
        return Err(Failure::input(name, format!("must be milliseconds, 0 or more, and is {number}")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was looked at")]
    let whole = number as u64;
    Ok(whole)
}

/// The fields of one object. serde cannot name the field in an enum that is tagged inside; this can.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, Failure> {
        parse(name, text).map(Self)
    }

    fn field(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn missing(name: &str, expected: &str) -> Failure {
        Failure::input(name, format!("is missing; it must be {expected}"))
    }

    fn wrong(name: &str, expected: &str, value: &Value) -> Failure {
        Failure::input(name, format!("must be {expected}, and is {value}"))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, Failure> {
        self.optional_text(name)?.ok_or_else(|| Self::missing(name, "a string"))
    }

    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&str>, Failure> {
        let text = |value: &Value| value.as_str().is_none();
        match self.field(name) {
            Some(value) if text(value) => Err(Self::wrong(name, "a string", value)),
            value => Ok(value.and_then(Value::as_str)),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Failure> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(value) => Err(Self::wrong(name, "true or false", value)),
        }
    }

    pub(crate) fn required_flag(&self, name: &str) -> Result<bool, Failure> {
        self.flag(name)?.ok_or_else(|| Self::missing(name, "true or false"))
    }

    pub(crate) fn whole_number(&self, name: &str) -> Result<u64, Failure> {
        const EXPECTED: &str = "a whole number, 0 or more";
        let value = self.field(name).ok_or_else(|| Self::missing(name, EXPECTED))?;
        value.as_u64().ok_or_else(|| Self::wrong(name, EXPECTED, value))
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<&Map<String, Value>>, Failure> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(value) => Err(Self::wrong(name, "an object", value)),
        }
    }

    /// What has a reader of its own.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        parse(name, &json(&self.0.get(name)))
    }

    /// A text that has to pass the filter.
    pub(crate) fn suggestion(&self, name: &str) -> Result<Option<Suggestion>, Failure> {
        self.optional_text(name)?.map(|text| suggestion(name, text)).transpose()
    }

    pub(crate) fn suggestions(&self, name: &str) -> Result<Vec<Suggestion>, Failure> {
        let Some(value) = self.field(name) else { return Ok(Vec::new()) };
        let Value::Array(texts) = value else {
            return Err(Self::wrong(name, "an array of strings", value));
        };
        let read = |(index, text): (usize, &Value)| {
            let name = format!("{name}[{index}]");
            suggestion(&name, text.as_str().ok_or_else(|| Self::wrong(&name, "a string", text))?)
        };
        texts.iter().enumerate().map(read).collect()
    }
}

fn suggestion(name: &str, text: &str) -> Result<Suggestion, Failure> {
    filter(text).map_err(|reason| {
        Failure::input(name, format!("the filter refuses this text ({}): {reason}", reason.as_str()))
    })
}
