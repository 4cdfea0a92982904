//! Reads the guesses in an answer.

use headstart_followup_state::{Meaning, Suggestion, Suggestions, filter, filter_guess};
use serde_json::{Map, Value};

use super::SuppressionReason;
use super::prompt::GUESSES;
use crate::{FinishReason, QueryAnswer};

/// The fields in which guesses are looked for besides [`GUESSES`], because models use them instead.
const FIELDS: [&str; 6] = ["suggestions", "suggestion", "candidates", GUESSES, "guess", "text"];
/// The fields in which the text of a guess is looked for.
const TEXTS: [&str; 3] = ["text", "guess", "suggestion"];
/// The deepest nesting in which guesses are looked for.
const MAX_DEPTH: usize = 4;
/// The most guesses, good and bad, that are looked at.
const MAX_GUESSES: usize = 50;
/// A guess of which the model says less than this, in percent, is none: of those that were measured, none was right.
const LEAST_CHANCE: u8 = 20;

/// A guess of as many words that stands in the question is a piece of it. Shorter ones are examples, which are often
/// right.
const ECHOED_WORDS: usize = 4;

/// What the model read before it answered.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// The answer after which was asked, if it is known: the sign of an option counts only if that text has it.
    pub(super) offered: Option<String>,
    /// The prompt that was just sent, unless it is the same as the one before, as "go on" often is.
    pub(super) sent: Option<String>,
    /// The question.
    pub(super) question: &'static str,
}

impl Asked {
    /// Whether a guess only says again what the model read.
    fn is_echoed(&self, guess: &Suggestion) -> bool {
        let plain = |text: &str| text.trim().trim_end_matches('.').to_lowercase();
        let text = plain(guess.as_str());
        let is_piece =
            || ECHOED_WORDS <= text.split_whitespace().count() && plain(self.question).contains(&text);
        self.sent.as_ref().is_some_and(|sent| plain(sent) == text) || is_piece()
    }
}

/// The guesses that pass the filter, at most `count`.
pub(super) fn suggestions(
    answer: &QueryAnswer,
    count: usize,
    asked: &Asked,
) -> Result<Suggestions, SuppressionReason> {
    if answer.finish != FinishReason::Stop {
        // Half a prompt is worse than no suggestion.
        return Err(SuppressionReason::Unreadable);
    }
    if let Some(guesses) = listed(answer) {
        let guesses = guesses
            .into_iter()
            .map(|(text, meaning)| (text, meaning.map(|meaning| checked(meaning, asked.offered.as_deref()))));
        return kept(guesses, count, asked);
    }
    if count == 1 {
        let guess = one(answer)?;
        return if asked.is_echoed(&guess) { Err(SuppressionReason::Echo) } else { Ok(guess.into()) };
    }
    kept(several(answer).into_iter().map(|text| (text, None)), count, asked)
}

/// The first guesses that pass the filter, without repetitions. If there are none, the reason is that of the first.
fn kept(
    guesses: impl Iterator<Item = (String, Option<Meaning>)>,
    count: usize,
    asked: &Asked,
) -> Result<Suggestions, SuppressionReason> {
    let mut refused = None;
    let mut kept = Vec::<Suggestion>::new();
    for (text, meaning) in guesses {
        let is_unlikely = meaning
            .as_ref()
            .is_some_and(|meaning| meaning.chance < Some(LEAST_CHANCE) && meaning.chance.is_some());
        let judged = match meaning {
            Some(meaning) => filter_guess(&text, meaning),
            None => filter(&text),
        };
        match judged {
            _ if is_unlikely || text.trim().is_empty() => {}
            Ok(suggestion) if kept.iter().any(|other| other.is_same_as(suggestion.as_str())) => {}
            Ok(suggestion) if asked.is_echoed(&suggestion) => {
                refused = refused.or(Some(SuppressionReason::Echo));
            }
            Ok(suggestion) => kept.push(suggestion),
            Err(reason) => refused = refused.or(Some(SuppressionReason::Filtered(reason))),
        }
        if kept.len() == count {
            break;
        }
    }
    Suggestions::new(kept).ok_or(refused.unwrap_or(SuppressionReason::Empty))
}

/// The guesses of an answer in the form that is asked for, with what the model said of each; `None` if it has another
/// form.
fn listed(answer: &QueryAnswer) -> Option<Vec<(String, Option<Meaning>)>> {
    let embedded = || embedded_json(&answer.text);
    let json = answer.json.clone().or_else(embedded)?;
    let guesses = json.as_object()?.get(GUESSES)?;
    let items = match guesses {
        Value::Array(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    let read = |item: &Value| match item {
        Value::String(text) => Some((text.clone(), None)),
        Value::Object(fields) => {
            let text = TEXTS.into_iter().find_map(|name| fields.get(name)?.as_str())?;
            Some((text.to_owned(), Some(meaning(fields))))
        }
        _ => None,
    };
    Some(items.iter().take(MAX_GUESSES).filter_map(read).collect())
}

/// What a model said of a guess, as far as it can be used.
fn meaning(fields: &Map<String, Value>) -> Meaning {
    let text = |name: &str| match fields.get(name) {
        Some(Value::String(text)) => Some(text.trim().to_owned()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let kind = text("kind").and_then(|kind| serde_json::from_value(kind.to_lowercase().into()).ok());
    let also = match fields.get("also") {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    };
    Meaning { kind, sign: text("sign"), also, chance: fields.get("chance").and_then(percent) }.bounded()
}

/// A chance in percent, however it is written; `None` if it is no number, or a negative one.
fn percent(chance: &Value) -> Option<u8> {
    let number = match chance {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().trim_end_matches('%').trim_end().parse().ok()?,
        _ => return None,
    };
    let is_share = !chance.is_i64() && !chance.is_u64() && number <= 1.0;
    let percent = if is_share { 100.0 * number } else { number };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 100")]
    (0.0 <= percent).then(|| percent.min(100.0).round() as u8)
}

/// Without a sign that stands nowhere in the answer in which options were offered.
fn checked(mut meaning: Meaning, offered: Option<&str>) -> Meaning {
    let words = |text: &str| {
        let split = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        split.map(str::to_lowercase).collect::<Vec<_>>()
    };
    if let (Some(sign), Some(offered)) = (&meaning.sign, offered) {
        let offered = words(offered);
        let joins = |word: &String| matches!(word.as_str(), "and" | "und" | "et" | "y" | "e" | "и");
        if !words(sign).iter().all(|word| joins(word) || offered.contains(word)) {
            meaning.sign = None;
        }
    }
    meaning
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
    use headstart_followup_state::GuessKind;
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
        let found =
            suggestions(&answer(text), count, &Asked::default()).map_err(|reason| reason.as_str().to_owned());
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

    fn best(text: &str, offered: Option<&str>) -> (String, Meaning) {
        let asked = Asked { offered: offered.map(str::to_owned), ..Asked::default() };
        let found = suggestions(&answer(text), 1, &asked).unwrap();
        (found.best().to_string(), found.best().meaning().cloned().unwrap_or_default())
    }

    #[test]
    fn what_a_model_says_of_its_guess_is_kept() {
        let said = r#"{"guesses":[{"text":"option 2, the lock","chance":75,"kind":"choice","sign":"2","also":["the lock"]}]}"#;
        let meaning = Meaning {
            kind: Some(GuessKind::Choice),
            sign: Some("2".into()),
            also: vec!["the lock".into()],
            chance: Some(75),
        };
        assert_eq!(best(said, Some("1. a queue\n2. a lock")), ("option 2, the lock".into(), meaning));
    }

    #[test]
    fn a_short_answer_is_a_guess_where_the_answer_offered_it() {
        for (text, kind, expected) in [
            ("2", "choice", true),
            ("B", "choice", true),
            ("3 and 5", "choice", true),
            ("y", "permission", true),
            ("네", "permission", true),
            ("2", "plan", false),
            ("y", "habit", false),
            ("hm", "permission", false),
        ] {
            let sign = if text == "B" { "B" } else { "" };
            let said =
                json!({"guesses": [{"text": text, "chance": 60, "kind": kind, "sign": sign}]}).to_string();
            assert_eq!(read(&said, 1).is_ok(), expected, "{text} {kind}");
        }
    }

    #[test]
    fn whatever_is_wrong_with_the_rest_the_first_guess_stays() {
        let long = "x".repeat(10_240);
        for rest in [
            json!({"chance": "likely"}),
            json!({"chance": 250}),
            json!({"chance": -3}),
            json!({"chance": [1]}),
            json!({"chance": 1e300}),
            json!({"kind": "wish"}),
            json!({"kind": 7, "sign": ["2"], "also": {"a": 1}}),
            json!({"sign": "9"}),
            json!({"sign": long, "also": [long, "a\u{7}", "", 3, null]}),
            json!({"also": long}),
        ] {
            let mut guess = json!({"text": "run the tests"});
            guess.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            let (text, meaning) = best(&json!({ "guesses": [guess] }).to_string(), Some("There is 1 and 2."));
            assert_eq!(text, "run the tests", "{rest}");
            assert_eq!((meaning.sign, meaning.also), (None, Vec::new()), "{rest}");
        }
    }

    #[test]
    fn chances_however_they_are_written() {
        for (chance, expected) in [
            (json!(75), Some(75)),
            (json!("60%"), Some(60)),
            (json!(" 55 "), Some(55)),
            (json!(0.6), Some(60)),
            (json!(101), Some(100)),
            (json!(-1), None),
            (json!("high"), None),
            (json!(null), None),
        ] {
            let said = json!({"guesses": [{"text": "run the tests", "chance": chance}]}).to_string();
            assert_eq!(best(&said, None).1.chance, expected, "{chance}");
        }
        let unlikely = r#"{"guesses":[{"text":"push it","chance":10},{"text":"run the tests","chance":40}]}"#;
        assert_eq!(read(unlikely, 3), Ok(vec!["run the tests".to_owned()]));
        assert_eq!(read(r#"{"guesses":[{"text":"push it","chance":10}]}"#, 1), Err("empty".to_owned()));
    }

    #[test]
    fn of_many_guesses_the_first_ones_stay_and_none_comes_twice() {
        let same = r#"{"text":"run the tests","chance":100}"#;
        assert_eq!(read(&format!(r#"{{"guesses":[{same},{same},{same}]}}"#), 3).unwrap(), ["run the tests"]);
        let many: Vec<_> =
            (0..10).map(|number| json!({"text": format!("write test number {number}")})).collect();
        let said = json!({ "guesses": many }).to_string();
        assert_eq!((read(&said, 1).unwrap().len(), read(&said, 3).unwrap().len()), (1, 3));
        assert_eq!(read(&format!("Here it is:\n```json\n{said}\n```"), 1).unwrap(), ["write test number 0"]);
        for form in [
            r#"{"guesses":"run the tests"}"#,
            r#"{"guesses":{"text":"run the tests"}}"#,
            r#"{"guesses":["run the tests"]}"#,
        ] {
            assert_eq!(read(form, 1).unwrap(), ["run the tests"], "{form}");
        }
        for form in [
            r#"{"guesses":[]}"#,
            r#"{"guesses":null}"#,
            r#"{"guesses":[{"text":""}]}"#,
            r#"{"guesses":[[7]]}"#,
        ] {
            assert_eq!(read(form, 1), Err("empty".to_owned()), "{form}");
        }
    }

    #[test]
    fn a_cut_answer_is_none() {
        let cut = QueryAnswer { finish: FinishReason::Length, ..answer("run the tests\ncommit") };
        assert_eq!(suggestions(&cut, 3, &Asked::default()), Err(SuppressionReason::Unreadable));
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
