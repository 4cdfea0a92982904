//! Reads the guesses in an answer.

use headstart_followup_state::{Suggestion, Suggestions, filter};
use serde_json::Value;

use super::SuppressionReason;
use super::prompt::SEVERAL;
use crate::{FinishReason, QueryAnswer};

/// The fields in which guesses are looked for: those that are asked for, and others that models use instead.
const FIELDS: [&str; 6] = [SEVERAL, "suggestion", "candidates", "guesses", "guess", "text"];
/// The deepest nesting in which guesses are looked for.
const MAX_DEPTH: usize = 4;
/// The most guesses, good and bad, that are looked at.
const MAX_GUESSES: usize = 50;

/// The guesses that pass the filter, at most `count`.
pub(super) fn suggestions(answer: &QueryAnswer, count: usize) -> Result<Suggestions, SuppressionReason> {
    if answer.finish != FinishReason::Stop {
        // Half a prompt is worse than no suggestion.
        return Err(SuppressionReason::Empty);
    }
    if count == 1 {
        return one(answer).map(Suggestions::from);
    }
    let mut refused = None;
    let guesses = several(answer);
    let kept = guesses.iter().filter_map(|guess| {
        filter(guess)
            .map_err(|reason| refused = refused.take().or(Some(SuppressionReason::Filtered(reason))))
            .ok()
    });
    let kept = Suggestions::new(kept.fold(Vec::<Suggestion>::new(), |mut kept, suggestion| {
        if kept.len() < count && !kept.iter().any(|other| other.is_same_as(suggestion.as_str())) {
            kept.push(suggestion);
        }
        kept
    }));
    kept.ok_or(refused.unwrap_or(SuppressionReason::Empty))
}

fn one(answer: &QueryAnswer) -> Result<Suggestion, SuppressionReason> {
    let text = guess(answer).trim();
    if text.is_empty() {
        return Err(SuppressionReason::Empty);
    }
    filter(text).map_err(SuppressionReason::Filtered)
}

/// The guess in an answer. A model that cannot answer in JSON answers with the text alone.
fn guess(answer: &QueryAnswer) -> &str {
    match &answer.json {
        Some(Value::Object(fields)) => fields.get("suggestion").and_then(Value::as_str).unwrap_or_default(),
        Some(Value::String(text)) => text,
        Some(Value::Array(_) | Value::Null) => "",
        // A user does not type JSON, so this was cut or damaged.
        None if answer.text.trim_start().starts_with(['{', '[', '`']) => "",
        None | Some(Value::Bool(_) | Value::Number(_)) => &answer.text,
    }
}

/// The guesses of an answer, in order, in whichever form the model wrote it; none is empty.
fn several(answer: &QueryAnswer) -> Vec<String> {
    let mut guesses = Vec::new();
    match &answer.json {
        Some(json) => in_json(json, MAX_DEPTH, &mut guesses),
        None => match embedded_json(&answer.text) {
            Some(json) => in_json(&json, MAX_DEPTH, &mut guesses),
            None => in_lines(&answer.text, MAX_DEPTH, &mut guesses),
        },
    }
    guesses
}

fn in_json(json: &Value, depth: usize, guesses: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match json {
        Value::String(text) => in_lines(text, depth, guesses),
        Value::Array(items) => items.iter().for_each(|item| in_json(item, depth, guesses)),
        Value::Object(fields) => {
            if let Some(field) = FIELDS.into_iter().find_map(|name| fields.get(name)) {
                in_json(field, depth, guesses);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// JSON in an answer that has words before or behind it, such as a code fence.
fn embedded_json(text: &str) -> Option<Value> {
    let start = text.find(['{', '['])?;
    let end = text.rfind(['}', ']'])?;
    serde_json::from_str(text.get(start..=end)?).ok()
}

fn in_lines(text: &str, depth: usize, guesses: &mut Vec<String>) {
    for line in text.lines().map(bare).filter(|line| !line.is_empty()) {
        if MAX_GUESSES <= guesses.len() {
            return;
        }
        match serde_json::from_str(line) {
            Ok(json @ (Value::Object(_) | Value::Array(_))) => in_json(&json, depth, guesses),
            // A user types neither the introduction of a list nor JSON, which was cut or damaged.
            _ if line.starts_with(['{', '[', '`', '}', ']']) || line.ends_with(['{', '[', ':']) => {}
            _ => guesses.push(line.to_owned()),
        }
    }
}

/// A line without what makes it a list item: number, bullet, comma at the end, quotes.
fn bare(line: &str) -> &str {
    let line = without_mark(line.trim());
    let uncomma = line.strip_suffix(',').unwrap_or(line).trim_end();
    match unquoted(uncomma) {
        Some(inner) => inner.trim(),
        None => line,
    }
}

fn without_mark(line: &str) -> &str {
    let rest = line.strip_prefix(['-', '*', '+', '•', '–', '—', '·']).or_else(|| {
        let open = line.strip_prefix(['(', '#']).unwrap_or(line);
        let number = open.trim_start_matches(|c: char| c.is_ascii_digit());
        (number.len() < open.len()).then(|| number.strip_prefix(['.', ')', ':', '、'])).flatten()
    });
    // Without a blank behind it, it is part of a version, an option or a word.
    rest.filter(|rest| rest.starts_with(char::is_whitespace)).map_or(line, str::trim_start)
}

fn unquoted(text: &str) -> Option<&str> {
    const PAIRS: [(&str, &str); 9] = [
        ("**", "**"),
        ("\"", "\""),
        ("'", "'"),
        ("`", "`"),
        ("“", "”"),
        ("„", "“"),
        ("«", "»"),
        ("「", "」"),
        ("‘", "’"),
    ];
    let inside = |(open, close): (&str, &str)| text.strip_prefix(open)?.strip_suffix(close);
    PAIRS.into_iter().find_map(inside)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Usage;

    fn answer(text: &str) -> QueryAnswer {
        QueryAnswer {
            text: text.into(),
            json: serde_json::from_str(text).ok(),
            has_calls: false,
            finish: FinishReason::Stop,
            usage: Usage::default(),
        }
    }

    fn read(text: &str, count: usize) -> Result<Vec<String>, String> {
        let found = suggestions(&answer(text), count).map_err(|reason| reason.as_str().to_owned());
        found.map(|all| all.iter().map(|suggestion| suggestion.as_str().to_owned()).collect())
    }

    #[test]
    fn whatever_form_the_list_has_it_is_read_in_order() {
        let forms = [
            r#"{"suggestions": ["run the tests", "commit this", "push it"]}"#,
            r#"["run the tests", "commit this", "push it"]"#,
            r#"{"suggestions": "run the tests\ncommit this\npush it"}"#,
            r#"{"suggestion": ["run the tests", "commit this", "push it"]}"#,
            r#"{"suggestions": [{"suggestion": "run the tests"}, {"text": "commit this"}, "push it"]}"#,
            "run the tests\ncommit this\npush it",
            "\n\nrun the tests\n\n  commit this  \r\npush it\n\n",
            "1. run the tests\n2. commit this\n3. push it",
            "1) run the tests\n2) commit this\n3) push it",
            "(1) run the tests\n(2) commit this\n(3) push it",
            "- run the tests\n- commit this\n- push it",
            "• \"run the tests\"\n• \"commit this\"\n• \"push it\"",
            "* `run the tests`\n* **commit this**\n* 'push it'",
            "1. “run the tests”\n2. «commit this»\n3. 「push it」",
            "Guesses:\n1. run the tests\n2. commit this\n3. push it",
            "The JSON:\n```json\n{\"suggestions\": [\"run the tests\", \"commit this\", \"push it\"]}\n```\nThat is all.",
            "[\n  \"run the tests\",\n  \"commit this\",\n  \"push it\",\n]",
            "{\"suggestion\": \"run the tests\"}\n{\"suggestion\": \"commit this\"}\n{\"suggestion\": \"push it\"}",
        ];
        for form in forms {
            let expected = vec!["run the tests".to_owned(), "commit this".to_owned(), "push it".to_owned()];
            assert_eq!(read(form, 3), Ok(expected.clone()), "{form}");
            assert_eq!(read(form, 2), Ok(expected[..2].to_vec()), "{form}");
        }
    }

    #[test]
    fn each_guess_passes_the_filter_by_itself_and_none_comes_twice() {
        let cases: [(&str, Result<&[&str], &str>); 10] = [
            ("run the tests\nRun the tests.\nrun the tests.", Ok(&["run the tests", "Run the tests."])),
            ("rm -rf /\nrun the tests\nlet me help you", Ok(&["run the tests"])),
            ("thanks, looks good\nlet me run it", Err("evaluative")),
            (r#"{"suggestions": []}"#, Err("empty")),
            (r#"{"suggestions": ["", null, 3, "  "]}"#, Err("empty")),
            (r#"{"suggestions": ["run the tests", "com"#, Err("empty")),
            ("", Err("empty")),
            ("null", Err("empty")),
            ("v1.2 release notes", Ok(&["v1.2 release notes"])),
            ("1.2 is to be released", Ok(&["1.2 is to be released"])),
        ];
        for (text, expected) in cases {
            let expected = expected
                .map(|texts| texts.iter().map(|text| (*text).to_owned()).collect())
                .map_err(str::to_owned);
            assert_eq!(read(text, 3), expected, "{text}");
        }
    }

    #[test]
    fn a_cut_answer_is_none() {
        let cut = QueryAnswer { finish: FinishReason::Length, ..answer("run the tests\ncommit") };
        assert_eq!(suggestions(&cut, 3), Err(SuppressionReason::Empty));
    }

    #[test]
    fn nested_beyond_reason_is_nothing() {
        let mut nested = json!("run the tests");
        for _ in 0..100 {
            nested = json!([nested]);
        }
        assert_eq!(read(&nested.to_string(), 2), Err("empty".to_owned()));
    }

    proptest! {
        #[test]
        fn no_answer_panics_and_what_comes_out_is_distinct_and_filtered(
            text in "([0-9]{0,2}[.)]? ?|[-*•] |[\\[{\"'`]{0,2})(run the tests|commit this|\\PC{0,8})[\\]}\"'`,:]{0,2}(\n|\\\\n)?.{0,12}\n?(push it)?",
            count in 1_usize..4,
        ) {
            if let Ok(kept) = read(&text, count) {
                prop_assert!(!kept.is_empty() && kept.len() <= count);
                for (place, text) in kept.iter().enumerate() {
                    let suggestion = filter(text).unwrap();
                    prop_assert!(!kept[..place].iter().any(|other| suggestion.is_same_as(other)));
                }
            }
        }
    }
}
