use headstart_forked_query::ToolCall;
use serde_json::{Map, Value};

/// Parses the arguments that the model wrote. Arguments that are no JSON object become a call that is
/// [malformed](ToolCall::is_malformed): it is answered with an error, and the model can try again, which is better than
/// losing the answer.
pub(crate) fn parse(text: &str) -> Map<String, Value> {
    if text.trim().is_empty() {
        return Map::new();
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(args)) => args,
        Ok(Value::Null) => Map::new(),
        // Some models encode them twice.
        Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
            Ok(Value::Object(args)) => args,
            _ => malformed(text),
        },
        _ => malformed(text),
    }
}

fn malformed(text: &str) -> Map<String, Value> {
    Map::from_iter([(ToolCall::MALFORMED_ARGUMENTS.to_owned(), Value::String(text.to_owned()))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Arguments that are no object are kept as text, so that the tool can report them to the model.
    #[test]
    fn what_models_write_as_arguments() {
        let cases = [
            (r#"{"path":"a"}"#, json!({"path": "a"})),
            ("", json!({})),
            (" \n", json!({})),
            ("null", json!({})),
            (r#""{\"path\":\"a\"}""#, json!({"path": "a"})),
            (r#"{"path":"a"#, json!({"malformed_arguments": r#"{"path":"a"#})),
            ("[1]", json!({"malformed_arguments": "[1]"})),
            (r#""ls""#, json!({"malformed_arguments": r#""ls""#})),
            ("{} {}", json!({"malformed_arguments": "{} {}"})),
        ];
        for (text, expected) in cases {
            assert_eq!(Value::Object(parse(text)), expected, "{text}");
        }
    }
}
