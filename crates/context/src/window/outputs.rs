//! Removes or shortens outputs of tools.

use headstart_forked_query::{Message, Part, ToolOutcome, ToolResult};
use serde_json::Value;

use crate::sanitize::truncate;

/// A shorter output is kept, because a remark in its place would save nothing.
const SHORT_BYTES: usize = 2 * 1024;

/// The conversation with a remark in the place of every long output before `end`, and the number of these.
pub(super) fn remove_old_outputs(history: &[Message], end: usize) -> (Vec<Message>, usize) {
    let mut history = history.to_vec();
    let mut count = 0;
    for result in history[..end].iter_mut().flat_map(results) {
        let text = text_of(&result.outcome);
        if text.len() <= SHORT_BYTES {
            continue;
        }
        let lines = text.lines().count();
        let remark = format!("[cut: {lines} line{}; call again]", if lines == 1 { "" } else { "s" });
        set(&mut result.outcome, remark);
        count += 1;
    }
    (history, count)
}

/// The conversation with outputs shortened as little as possible: the limit for each is the largest with which it
/// fits.
pub(super) fn shorten_outputs(
    history: &[Message],
    fits: impl Fn(&[Message]) -> bool,
) -> Option<Vec<Message>> {
    let most =
        std::iter::successors(Some(64 * 1024_usize), |most| Some(most / 2).filter(|most| 256 <= *most));
    most.map(|most| limit_outputs(history, most)).find(|shorter| fits(shorter))
}

fn limit_outputs(history: &[Message], most: usize) -> Vec<Message> {
    let mut history = history.to_vec();
    for result in history.iter_mut().flat_map(results) {
        let text = text_of(&result.outcome);
        if text.len() <= most {
            continue;
        }
        let head = truncate(&text, most);
        let lines = text.lines().count();
        let text = format!(
            "{head}\n[cut: these are the first {} bytes of {lines} lines, for more does not fit into what you see at once; ask for a part]",
            head.len()
        );
        set(&mut result.outcome, text);
    }
    history
}

fn results(message: &mut Message) -> impl Iterator<Item = &mut ToolResult> {
    message.parts.iter_mut().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    })
}

fn text_of(outcome: &ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Output(Value::String(text)) | ToolOutcome::Error(text) => text.clone(),
        ToolOutcome::Output(other) => other.to_string(),
    }
}

/// Sets the text of an outcome; an error stays an error.
fn set(outcome: &mut ToolOutcome, text: String) {
    match outcome {
        ToolOutcome::Output(output) => *output = Value::String(text),
        ToolOutcome::Error(error) => *error = text,
    }
}
