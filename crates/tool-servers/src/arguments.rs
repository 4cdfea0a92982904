//! Checks the arguments of a call against the schema of its tool before anything is sent.

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::untrusted::clean;

/// The most bytes of an error about arguments.
const MAX_PROBLEM: usize = 500;
/// The deepest nesting at which arguments are converted to what the schema says.
const MAX_DEPTH: usize = 16;

/// The schema of a tool's arguments, compiled once.
pub(crate) struct Arguments {
    schema: Value,
    validator: Validator,
}

impl Arguments {
    /// Compiles a schema. The error says why no call can be checked with it: schemas that it refers to elsewhere are
    /// not fetched.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::options().build(schema);
        let validator =
            validator.map_err(|error| clean(&format!("its schema is none: {error}"), MAX_PROBLEM))?;
        Ok(Self { schema: schema.clone(), validator })
    }

    /// The arguments to send. The error says which one is wrong, in words for the model.
    pub(crate) fn checked(&self, args: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let Value::Object(args) = fitted(&Value::Object(args.clone()), &self.schema, 0) else {
            return Err("the arguments are no object".to_owned());
        };
        let value = Value::Object(args);
        if let Some(error) = self.validator.iter_errors(&value).next() {
            let path = error.instance_path().to_string();
            let place = if path.is_empty() { "the arguments".to_owned() } else { format!("argument {path}") };
            return Err(clean(&format!("{place}: {error}"), MAX_PROBLEM));
        }
        match value {
            Value::Object(args) => Ok(args),
            _ => Err("the arguments are no object".to_owned()),
        }
    }
}

/// A value converted to the type that the schema names, if there is only one way to do so: models write numbers as
/// text, and objects where a text of JSON is meant.
fn fitted(value: &Value, schema: &Value, depth: usize) -> Value {
    let Some(kind) = schema.get("type").and_then(Value::as_str).filter(|_| depth < MAX_DEPTH) else {
        return value.clone();
    };
    match (kind, value) {
        ("string", Value::Object(_) | Value::Array(_) | Value::Number(_) | Value::Bool(_)) => {
            Value::String(value.to_string())
        }
        ("integer" | "number", Value::String(text)) => match serde_json::from_str(text.trim()) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => value.clone(),
        },
        ("boolean", Value::String(text)) if text == "true" => Value::Bool(true),
        ("boolean", Value::String(text)) if text == "false" => Value::Bool(false),
        ("object" | "array", Value::String(text)) => match serde_json::from_str(text) {
            Ok(inner @ Value::Object(_)) if kind == "object" => fitted(&inner, schema, depth + 1),
            Ok(inner @ Value::Array(_)) if kind == "array" => fitted(&inner, schema, depth + 1),
            _ => value.clone(),
        },
        ("object", Value::Object(map)) => Value::Object(fitted_map(map, schema, depth)),
        ("array", Value::Array(list)) => match schema.get("items") {
            Some(items) => Value::Array(list.iter().map(|value| fitted(value, items, depth + 1)).collect()),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Converts each property. A `null` for an optional one is left out.
fn fitted_map(map: &Map<String, Value>, schema: &Value, depth: usize) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |key: &str| required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(key)));
    let mut fitted_map = Map::new();
    for (key, value) in map {
        let property = schema.get("properties").and_then(|properties| properties.get(key));
        let takes_no_null = property.and_then(|property| property.get("type")).is_some_and(Value::is_string);
        if value.is_null() && takes_no_null && !is_required(key) {
            continue;
        }
        let value = property.map_or_else(|| value.clone(), |property| fitted(value, property, depth + 1));
        fitted_map.insert(key.clone(), value);
    }
    fitted_map
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, args: &Value) -> Result<Value, String> {
        let args = args.as_object().cloned().unwrap_or_default();
        Arguments::new(schema)?.checked(&args).map(Value::Object)
    }

    #[test]
    fn arguments_are_brought_to_what_the_schema_says() {
        let schema = json!({
            "type": "object",
            "properties": {
                "count": { "type": "integer" }, "text": { "type": "string" }, "on": { "type": "boolean" },
                "list": { "type": "array", "items": { "type": "number" } },
                "inner": { "type": "object", "properties": { "n": { "type": "integer" } } },
            },
            "required": ["count"],
        });
        let cases = [
            (json!({ "count": "3" }), json!({ "count": 3 })),
            (json!({ "count": 3, "text": { "a": 1 } }), json!({ "count": 3, "text": "{\"a\":1}" })),
            (json!({ "count": 3, "text": 5 }), json!({ "count": 3, "text": "5" })),
            (json!({ "count": 3, "on": "true" }), json!({ "count": 3, "on": true })),
            (json!({ "count": 3, "list": ["1.5", 2] }), json!({ "count": 3, "list": [1.5, 2] })),
            (json!({ "count": 3, "list": "[1]" }), json!({ "count": 3, "list": [1] })),
            (json!({ "count": 3, "inner": "{\"n\":\"4\"}" }), json!({ "count": 3, "inner": { "n": 4 } })),
            (json!({ "count": 3, "text": null }), json!({ "count": 3 })),
        ];
        for (args, expected) in cases {
            assert_eq!(check(&schema, &args).as_ref(), Ok(&expected), "{args}");
        }
        for (args, names) in [
            (json!({}), "count"),
            (json!({ "count": "three" }), "/count"),
            (json!({ "count": null }), "/count"),
            (json!({ "count": 3, "inner": { "n": "x" } }), "/inner/n"),
        ] {
            assert!(check(&schema, &args).is_err_and(|why| why.contains(names)), "{args}");
        }
    }

    #[test]
    fn what_a_schema_refers_to_elsewhere_is_not_fetched() {
        for reference in ["http://127.0.0.1:1/x.json", "file:///etc/passwd", "https://example.com/s.json"] {
            let schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } } });
            assert!(Arguments::new(&schema).is_err(), "{reference}");
        }
    }

    #[test]
    fn a_pattern_that_never_ends_ends() {
        let schema =
            json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(a+)+$" } } });
        let began = std::time::Instant::now();
        let _ = check(&schema, &json!({ "a": format!("{}b", "a".repeat(5_000)) }));
        assert!(began.elapsed().as_secs() < 20);
    }
}
