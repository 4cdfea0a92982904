//! Makes text of a server harmless to show and to pass on.

use serde_json::{Map, Value};

/// The most bytes of a description or a result.
pub(crate) const MAX_TEXT: usize = 32 * 1024;
/// The most bytes of a schema.
const MAX_SCHEMA: usize = 64 * 1024;
/// The deepest nesting of a schema.
const MAX_DEPTH: usize = 32;

/// Removes control characters, escape sequences for terminals, and invisible or direction-changing characters from a
/// stranger's text. It is cut to at most `limit` bytes, with a note if something was left out.
pub fn clean(text: &str, limit: usize) -> String {
    let mut clean = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' || c == '\u{9b}' {
            skip_sequence(c, &mut chars);
            continue;
        }
        // A line end of Windows counts like any other.
        let is_end = c == '\r' && chars.peek() == Some(&'\n');
        if is_end || is_harmful(c) {
            continue;
        }
        if limit < clean.len() + c.len_utf8() {
            clean.push_str(" [cut]");
            break;
        }
        clean.push(c);
    }
    clean
}

/// Whether a character is invisible to a reader but not to a terminal or a model.
fn is_harmful(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Skips the rest of an escape sequence for terminals.
fn skip_sequence(first: char, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    let kind = if first == '\u{9b}' { Some('[') } else { chars.next() };
    match kind {
        // Parameters, and a letter that ends them.
        Some('[') => {
            while let Some(c) = chars.peek() {
                let is_last = ('\u{40}'..='\u{7e}').contains(c);
                // A character that cannot be part of such a sequence is text again.
                if !is_last && !('\u{20}'..='\u{3f}').contains(c) {
                    return;
                }
                chars.next();
                if is_last {
                    return;
                }
            }
        }
        // A string for the terminal, up to its end, or up to the end of the line if it has none.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.peek() {
                if *c == '\n' {
                    return;
                }
                let c = chars.next();
                if c == Some('\u{7}') || c == Some('\u{9c}') {
                    return;
                }
                if c == Some('\u{1b}') {
                    chars.next_if_eq(&'\\');
                    return;
                }
            }
        }
        _ => {}
    }
}

/// A schema of arguments with its texts cleaned. The error says why it is not one.
pub(crate) fn clean_schema(schema: &Map<String, Value>) -> Result<Value, String> {
    let mut schema = clean_map(schema, 0)?;
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), Value::String("object".to_owned()));
        }
        Some(Value::String(kind)) if kind == "object" => {}
        Some(kind) => {
            return Err(format!("its arguments are no object, but {}", clean(&kind.to_string(), 40)));
        }
    }
    // Some providers require this key.
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    let schema = Value::Object(schema);
    let length = schema.to_string().len();
    if MAX_SCHEMA < length {
        return Err(format!("its schema has {length} bytes, more than {MAX_SCHEMA}"));
    }
    Ok(schema)
}

fn clean_map(map: &Map<String, Value>, depth: usize) -> Result<Map<String, Value>, String> {
    map.iter().map(|(key, value)| Ok((clean(key, 256), clean_value(value, depth + 1)?))).collect()
}

fn clean_value(value: &Value, depth: usize) -> Result<Value, String> {
    if MAX_DEPTH < depth {
        return Err(format!("its schema is nested deeper than {MAX_DEPTH}"));
    }
    Ok(match value {
        Value::String(text) => Value::String(clean(text, MAX_TEXT)),
        Value::Array(list) => {
            Value::Array(list.iter().map(|value| clean_value(value, depth + 1)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => Value::Object(clean_map(map, depth)?),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_of_a_text_drives_a_terminal_or_hides() {
        let cases = [
            ("plain\ttext\nand more", "plain\ttext\nand more"),
            ("a\r\nb\rc", "a\nbc"),
            ("\u{1b}[2J\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}shown", "shown"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]never ends\nnext", "\nnext"),
            ("\u{1b}Pq\u{1b}\\x", "x"),
            ("\u{1b}[\u{1b}[2Jx", "x"),
            ("a\u{202e}b\u{2066}c\u{200b}d\u{feff}", "abcd"),
            ("hidden\u{e0041}\u{e0042}", "hidden"),
            ("nul\0bell\u{7}del\u{7f}c1\u{85}", "nulbelldelc1"),
            ("\u{1b}", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(clean(text, 1000), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_of_ten_megabytes_is_cut() {
        let cut = clean(&"ä".repeat(5_000_000), MAX_TEXT);
        assert!(cut.len() <= MAX_TEXT + 6 && cut.ends_with("ä [cut]"));
    }

    #[test]
    fn a_schema_that_is_too_much_is_none() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        assert_eq!(clean_schema(&map(json!({}))), Ok(json!({ "type": "object", "properties": {} })));
        let deep = (0..40).fold(json!({}), |inner, _| json!({ "properties": { "a": inner } }));
        assert!(clean_schema(&map(deep)).is_err_and(|why| why.contains("deeper")));
        let long = json!({ "properties": { "a": { "enum": vec!["x".repeat(1000); 100] } } });
        assert!(clean_schema(&map(long)).is_err_and(|why| why.contains("bytes")));
        assert!(clean_schema(&map(json!({ "type": "string" }))).is_err());
        let escaped = json!({ "properties": { "a\u{1b}[2J": { "description": "b\u{202e}" } } });
        let cleaned = clean_schema(&map(escaped)).map(|schema| schema.to_string());
        assert!(cleaned.is_ok_and(|text| text.contains(r#""a":{"description":"b"}"#)));
    }
}
