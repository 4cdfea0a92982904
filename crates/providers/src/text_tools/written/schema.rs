//! Whether arguments are those that a tool takes.

use serde_json::{Map, Value};

use super::forms::WrittenArguments;

/// The arguments with the types of the tool's schema; `None` if the tool does not take them.
pub(super) fn arguments(written: WrittenArguments, schema: &Value) -> Option<Map<String, Value>> {
    let mut arguments = match written {
        WrittenArguments::Json(arguments) => arguments,
        WrittenArguments::Words(words) => {
            words.into_iter().map(|(name, value)| (name, Value::String(value))).collect()
        }
    };
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in &mut arguments {
        match properties.get(name) {
            Some(property) => *value = typed(std::mem::take(value), property)?,
            None if is_closed => return None,
            None => {}
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let is_complete = required.filter_map(Value::as_str).all(|name| arguments.contains_key(name));
    is_complete.then_some(arguments)
}

/// The value as its schema wants it: words that mean a number, a list or the like become that.
fn typed(value: Value, schema: &Value) -> Option<Value> {
    if fits(&value, schema) {
        return Some(value);
    }
    let Value::String(words) = &value else { return None };
    let words = words.trim();
    let read = match words {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "None" => Value::Null,
        _ => serde_json::from_str(words).ok()?,
    };
    fits(&read, schema).then_some(read)
}

fn fits(value: &Value, schema: &Value) -> bool {
    let of_type = match schema.get("type") {
        None => true,
        Some(Value::String(name)) => is_a(value, name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(|name| is_a(value, name)),
        Some(_) => false,
    };
    let allowed = schema.get("enum").and_then(Value::as_array);
    let items = schema.get("items");
    of_type
        && allowed.is_none_or(|allowed| allowed.contains(value))
        && match (value, items) {
            (Value::Array(values), Some(items)) => values.iter().all(|value| fits(value, items)),
            _ => true,
        }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}
