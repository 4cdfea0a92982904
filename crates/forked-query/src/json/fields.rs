//! Reads the fields of a JSON object.
//!
//! This is done by hand because the size of the npm package is limited: what a page fetches to begin a conversation
//! may have 480 KiB, gzipped, and has 450 (`docs/benchmarks.md`). The code that serde derives has several kilobytes
//! for each type, and twice that for one with a tag; the wire formats together have thirty types. What is accepted,
//! and the words of errors, are those of derived code, which a test below checks.

use serde::de::{Error as _, Unexpected};
use serde_json::{Error, Map, Value};

/// A type that can be read from a JSON value.
pub trait FromJson: Sized {
    /// Reads it. An error is worded as serde would word it.
    fn from_json(value: Value) -> Result<Self, Error>;
}

/// The fields of an object that have not been taken yet.
pub struct Fields(Map<String, Value>);

impl Fields {
    /// The fields of an object; an error for any other value.
    pub fn of(value: Value) -> Result<Self, Error> {
        Map::from_json(value).map(Self)
    }

    /// Takes a field that may be absent or null.
    pub fn may<T: FromJson>(&mut self, name: &str) -> Result<Option<T>, Error> {
        self.0.remove(name).filter(|value| !value.is_null()).map(T::from_json).transpose()
    }

    /// Takes a field that must exist.
    pub fn must<T: FromJson>(&mut self, name: &'static str) -> Result<T, Error> {
        T::from_json(self.0.remove(name).ok_or_else(|| Error::missing_field(name))?)
    }

    /// Takes a field that has a default if it is absent, but not if it is null.
    pub fn or_default<T: FromJson + Default>(&mut self, name: &str) -> Result<T, Error> {
        self.0.remove(name).map_or_else(|| Ok(T::default()), T::from_json)
    }

    /// Takes the first of these fields that exists.
    pub fn first_of(&mut self, names: [&'static str; 2]) -> Option<(&'static str, Value)> {
        names.into_iter().find_map(|name| self.0.remove(name).map(|value| (name, value)))
    }
}

impl FromJson for Value {
    fn from_json(value: Value) -> Result<Self, Error> {
        Ok(value)
    }
}

impl FromJson for String {
    fn from_json(value: Value) -> Result<Self, Error> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(mistyped(&other, "a string")),
        }
    }
}

impl FromJson for bool {
    fn from_json(value: Value) -> Result<Self, Error> {
        value.as_bool().ok_or_else(|| mistyped(&value, "a boolean"))
    }
}

impl FromJson for u64 {
    fn from_json(value: Value) -> Result<Self, Error> {
        value.as_u64().ok_or_else(|| match value.as_i64() {
            Some(negative) => Error::invalid_value(Unexpected::Signed(negative), &"u64"),
            None => mistyped(&value, "u64"),
        })
    }
}

impl FromJson for Map<String, Value> {
    fn from_json(value: Value) -> Result<Self, Error> {
        match value {
            Value::Object(fields) => Ok(fields),
            other => Err(mistyped(&other, "a map")),
        }
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Self, Error> {
        match value {
            Value::Array(values) => values.into_iter().map(T::from_json).collect(),
            other => Err(mistyped(&other, "a sequence")),
        }
    }
}

/// The error that serde itself would give.
fn mistyped(found: &Value, expected: &str) -> Error {
    let found = match found {
        Value::Null => Unexpected::Unit,
        Value::Bool(flag) => Unexpected::Bool(*flag),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => Unexpected::Unsigned(number),
            (_, Some(number), _) => Unexpected::Signed(number),
            (.., Some(number)) => Unexpected::Float(number),
            _ => Unexpected::Other("number"),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, &expected)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// A field of each kind, read by hand and by serde.
    #[derive(Debug, PartialEq, Deserialize)]
    struct Row {
        text: String,
        flag: Option<bool>,
        list: Option<Vec<String>>,
        #[serde(default)]
        count: u64,
        any: Option<Value>,
    }

    impl FromJson for Row {
        fn from_json(value: Value) -> Result<Self, Error> {
            let mut fields = Fields::of(value)?;
            Ok(Self {
                text: fields.must("text")?,
                flag: fields.may("flag")?,
                list: fields.may("list")?,
                count: fields.or_default("count")?,
                any: fields.may("any")?,
            })
        }
    }

    #[test]
    fn what_is_read_and_what_is_wrong_is_as_with_serde() {
        let rows = [
            json!({"text": "a"}),
            json!({"text": "a", "flag": true, "list": ["x", ""], "count": 7, "any": [1], "more": 1}),
            json!({"text": "a", "flag": null, "list": null, "any": null}),
            json!({"text": "a", "list": []}),
            json!({}),
            json!({"text": null}),
            json!({"text": 5}),
            json!({"text": -5}),
            json!({"text": 1.5}),
            json!({"text": ["a"]}),
            json!({"text": {"a": 1}}),
            json!({"text": false}),
            json!({"text": "a", "flag": "true"}),
            json!({"text": "a", "list": "x"}),
            json!({"text": "a", "list": [1]}),
            json!({"text": "a", "count": null}),
            json!({"text": "a", "count": -1}),
            json!({"text": "a", "count": 1.0}),
            json!({"text": "a", "count": "1"}),
            json!({"text": "a", "count": u64::MAX}),
        ];
        for row in rows {
            let by_serde = serde_json::from_value::<Row>(row.clone()).map_err(|error| error.to_string());
            let by_hand = Row::from_json(row.clone()).map_err(|error| error.to_string());
            assert_eq!(by_hand, by_serde, "{row}");
        }
        assert_eq!(
            Fields::of(json!(7)).err().unwrap().to_string(),
            "invalid type: integer `7`, expected a map"
        );
    }
}
