use std::io;

use headstart_followup_state::{GuessKind, Match, Meaning};
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::lines;
use serde::Serialize;
use serde_json::{Map, Value};

/// The answer to one line of input.
#[derive(Debug, Default, Serialize)]
struct MatchReply {
    #[serde(rename = "match")]
    found: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    /// What the typed words add.
    #[serde(skip_serializing_if = "Option::is_none")]
    adds: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The number of the line, from 1, if the line contains no guess and typed words.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

/// What one line holds.
struct Pair {
    guess: String,
    meaning: Meaning,
    typed: String,
}

/// Compares the pairs on standard input.
pub(crate) fn run() -> Result<ExitStatus, CliError> {
    lines::answer_each(io::stdin().lock(), io::stdout().lock(), |number, line| {
        match line.and_then(pair_of) {
            Ok(pair) => compare(&pair),
            Err(detail) => MatchReply {
                found: "no",
                reason: Some("invalid_input"),
                detail: Some(detail),
                line: Some(number),
                ..MatchReply::default()
            },
        }
    })?;
    Ok(ExitStatus::Done)
}

fn compare(Pair { guess, meaning, typed }: &Pair) -> MatchReply {
    match meaning.compare(guess, typed) {
        Match::Same(rule) => {
            MatchReply { found: "match", rule: Some(rule.as_str()), ..MatchReply::default() }
        }
        Match::Extends { at, .. } => {
            let adds = typed.get(at..).unwrap_or_default().trim().to_owned();
            MatchReply { found: "extends", rule: Some("adds"), adds: Some(adds), ..MatchReply::default() }
        }
        Match::No => MatchReply { found: "no", rule: Some("none"), ..MatchReply::default() },
    }
}

fn pair_of(line: Value) -> Result<Pair, String> {
    let Value::Object(line) = line else {
        return Err("the line is not a JSON object".to_owned());
    };
    let needed = |name: &str| text(&line, name)?.ok_or_else(|| format!("\"{name}\" is missing"));
    let (guess, typed) = (needed("guess")?, needed("typed")?);
    let kind = match line.get("kind").filter(|kind| !kind.is_null()) {
        Some(kind) => Some(
            serde_json::from_value::<GuessKind>(kind.clone())
                .map_err(|_| "\"kind\" is not one of permission, choice, habit, plan, trade".to_owned())?,
        ),
        None => None,
    };
    let also = match line.get("also") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(all)) => {
            let texts = all.iter().map(|one| one.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().ok_or("\"also\" holds something that is not a string")?
        }
        Some(_) => return Err("\"also\" is not a list of strings".to_owned()),
    };
    let meaning = Meaning { kind, sign: text(&line, "sign")?, also, chance: None }.bounded();
    Ok(Pair { guess, meaning, typed })
}

fn text(line: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match line.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("\"{name}\" is not a string")),
    }
}
