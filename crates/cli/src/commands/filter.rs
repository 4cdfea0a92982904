use std::io;

use headstart_followup_state::FilterReason;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::lines;
use serde::Serialize;
use serde_json::Value;

/// The answer to one line of input.
#[derive(Debug, Serialize)]
struct FilterReply {
    keep: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The number of the line, from 1, if the line contains no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

/// Judges the texts on standard input.
pub(crate) fn run() -> Result<ExitStatus, CliError> {
    lines::answer_each(io::stdin().lock(), io::stdout().lock(), |number, line| {
        match line.and_then(text_of) {
            Ok(text) => judge(&text),
            Err(detail) => FilterReply {
                keep: false,
                reason: Some("invalid_input"),
                detail: Some(detail),
                line: Some(number),
            },
        }
    })?;
    Ok(ExitStatus::Done)
}

fn judge(text: &str) -> FilterReply {
    let reason = headstart_followup_state::filter(text).err().map(FilterReason::as_str);
    FilterReply { keep: reason.is_none(), reason, detail: None, line: None }
}

fn text_of(line: Value) -> Result<String, String> {
    let Value::Object(mut line) = line else {
        return Err("the line is not a JSON object".to_owned());
    };
    match line.remove("text") {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err("\"text\" is not a string".to_owned()),
        None => Err("\"text\" is missing".to_owned()),
    }
}
