//! Turns messages of serde about a value into the words of JavaScript. An error of `serde_json` has no fields that say
//! what was expected and what was found, so its message is read; a test below holds every form that a message can have.

/// A message of serde without its place; a message from elsewhere stays as it is.
pub(crate) fn explain_error(message: &str) -> String {
    // The value may contain any text, but what is expected cannot.
    let parts = message.strip_prefix("invalid ").and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, expected)) = parts {
        // Otherwise the message is about a length: a list stands in place of an object.
        let found = found.split_once(": ").map_or("an array", |(_, found)| value(found));
        return format!("must be {}, and is {}", expectation(expected), truncate(found));
    }
    if let Some((word, words)) = split_expected(message, "unknown variant `") {
        return format!("must be {}, and is \"{}\"", expectation(words), truncate(word));
    }
    match split_expected(message, "unknown field `") {
        Some((_, fields)) => {
            let fields = expectation(fields.strip_prefix("one of ").unwrap_or(fields));
            format!("is not a known field; known are {fields}")
        }
        None => message.to_owned(),
    }
}

/// An unknown name, and the known ones.
fn split_expected<'a>(message: &'a str, what: &str) -> Option<(&'a str, &'a str)> {
    message.strip_prefix(what)?.rsplit_once("`, expected ")
}

fn expectation(expected: &str) -> String {
    let plain = match expected {
        "a boolean" => "true or false",
        "a map" => "an object",
        "a sequence" => "an array",
        "f64" => "a number",
        "i64" => "a whole number",
        "unit" => "null",
        "u8" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        _ if expected.starts_with("struct ") => "an object",
        // Words and fields are in backquotes.
        _ => return expected.replace('`', "\""),
    };
    plain.to_owned()
}

/// A value as JavaScript writes it; serde writes its kind first.
fn value(found: &str) -> &str {
    match found {
        "map" => "an object",
        "sequence" => "an array",
        _ => match found.strip_prefix("string ") {
            Some(text) => text,
            None => found.split('`').nth(1).unwrap_or(found),
        },
    }
}

/// As much of a text as a message needs.
fn truncate(text: &str) -> String {
    const CHARS: usize = 60;
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::input::parse;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only what is wrong with it is looked at")]
    struct Sample {
        count: Option<u64>,
        change: Option<i64>,
        share: Option<f64>,
        is_on: Option<bool>,
        texts: Option<Vec<String>>,
        word: Option<Word>,
        two_words: Option<TwoWords>,
        inner: Option<Box<Sample>>,
        many: Option<BTreeMap<String, u64>>,
        must: Must,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only what is wrong with it is looked at")]
    struct Must {
        be: bool,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Word {
        Plan,
        AutoEdit,
        Yolo,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum TwoWords {
        Text,
        Never,
    }

    const WORDS: &str = "must be one of \"plan\", \"auto-edit\", \"yolo\", and is";

    #[test]
    fn every_form_of_serdes_errors_is_in_words() {
        let words = |rest| format!("s.word: {WORDS} {rest}");
        let cases = [
            (r#"{"count":"x"}"#, r#"s.count: must be a whole number, 0 or more, and is "x""#.to_owned()),
            (r#"{"count":-1}"#, "s.count: must be a whole number, 0 or more, and is -1".into()),
            (r#"{"count":1.5}"#, "s.count: must be a whole number, 0 or more, and is 1.5".into()),
            (r#"{"count":[]}"#, "s.count: must be a whole number, 0 or more, and is an array".into()),
            (r#"{"change":true}"#, "s.change: must be a whole number, and is true".into()),
            (r#"{"share":{}}"#, "s.share: must be a number, and is an object".into()),
            (r#"{"isOn":0}"#, "s.isOn: must be true or false, and is 0".into()),
            (
                r#"{"isOn":"a, expected b"}"#,
                r#"s.isOn: must be true or false, and is "a, expected b""#.into(),
            ),
            (r#"{"texts":"x"}"#, r#"s.texts: must be an array, and is "x""#.into()),
            (r#"{"texts":["a",null]}"#, "s.texts[1]: must be a string, and is null".into()),
            (r#"{"word":"fast"}"#, words("\"fast\"")),
            (r#"{"word":"a`, expected b"}"#, words("\"a`, expected b\"")),
            (r#"{"word":1}"#, words("1")),
            (r#"{"word":-1.5,"count":1}"#, words("-1.5")),
            (r#"{"word":true}"#, words("true")),
            (r#"{"word":["plan"]}"#, words("an array")),
            (r#"{"word":{}}"#, words("an object")),
            (r#"{"word":{"a":1}}"#, words("an object")),
            (r#"{"inner":{"word":{"a":1}}}"#, format!("s.inner.word: {WORDS} an object")),
            (r#"{"twoWords":"no"}"#, r#"s.twoWords: must be "text" or "never", and is "no""#.into()),
            (r#"{"inner":{"count":null,"inner":7}}"#, "s.inner.inner: must be an object, and is 7".into()),
            (
                r#"{"inner":{"counts":1}}"#,
                r#"s.inner.counts: is not a known field; known are "count", "change""#.into(),
            ),
            (
                r#"{"many":{"a":1,"b":"c"}}"#,
                r#"s.many.b: must be a whole number, 0 or more, and is "c""#.into(),
            ),
            (r#"{"must":{}}"#, "s.must.be: is missing".into()),
            (r#"{"must":[]}"#, "s.must: must be an object, and is an array".into()),
            (
                r#"{"must":"a: b, expected c"}"#,
                r#"s.must: must be an object, and is "a: b, expected c""#.into(),
            ),
            ("{}", "s.must: is missing".into()),
            ("7", "s: must be an object, and is 7".into()),
            ("null", "s: must be an object, and is null".into()),
            (r#""text""#, r#"s: must be an object, and is "text""#.into()),
        ];
        for (text, expected) in cases {
            let failure = parse::<Sample>("s", text).unwrap_err();
            assert!(failure.message.starts_with(&expected), "{text}: {}", failure.message);
            let path = expected.split(':').next();
            assert_eq!(failure.path.as_deref(), path, "{text}");
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        let text = format!(r#"{{"count":"{}"}}"#, "ü".repeat(100_000));
        let failure = parse::<Sample>("s", &text).unwrap_err();
        assert!(failure.message.ends_with("ü…") && failure.message.len() < 200, "{}", failure.message);
    }

    #[test]
    fn what_others_say_stays_as_it_is() {
        for message in ["", "is empty", "Invalid symbol 63, offset 0.", "`role` is missing"] {
            assert_eq!(explain_error(message), message);
        }
    }
}
