//! Reads the fields of objects from JavaScript, one by one.

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::input::parse;

/// The fields of one object. This exists because serde cannot name the wrong field of an internally tagged enum.
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

    pub(crate) fn object(&self, name: &str) -> Result<Option<&Map<String, Value>>, Failure> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(value) => Err(Self::wrong(name, "an object", value)),
        }
    }

    /// A field of a type that has its own reader.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        parse(name, &crate::failure::json(&self.0.get(name)))
    }
}
