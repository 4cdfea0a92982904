//! The fields of what JavaScript gives, one by one.

use headstart_followup_state::{Suggestion, filter};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::input::parse;

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

    #[cfg(feature = "engine")]
    pub(crate) fn object(&self, name: &str) -> Result<Option<&Map<String, Value>>, Failure> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(value) => Err(Self::wrong(name, "an object", value)),
        }
    }

    /// What has a reader of its own.
    #[cfg(feature = "engine")]
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        parse(name, &crate::failure::json(&self.0.get(name)))
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
