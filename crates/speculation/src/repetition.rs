//! Calls that are made again and again, and are always answered with the same.

use headstart_forked_query::{Message, Part, ToolCall, ToolOutcome, ToolResult};
use headstart_tool_gate::GateContext;

/// How often the same answer is given; the next such call gets none.
const MAX_SAME_RESULTS: usize = 3;
/// In a turn, how many calls are answered with a warning before the turn ends.
const MAX_WARNINGS: usize = 1;

/// What the model reads instead of the same answer once more.
const WARNING: &str = "you have made this call three times with the same result, and it is not made again; do something else, or say what you need";

/// What happens to a call that may have been made before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// The call runs.
    None,
    /// The model is told that it would get the same answer as before.
    Warn,
    /// The model goes in a circle, so the run ends.
    End,
}

impl Repetition {
    /// Judges a call that follows this transcript; `attended` says whether it is in a turn of the user, where the model
    /// is warned first.
    pub(crate) fn of<'a>(
        call: &ToolCall,
        messages: impl Iterator<Item = &'a Message> + Clone,
        context: &GateContext,
        attended: bool,
    ) -> Self {
        let same_count = count_same_answers(call, messages, context);
        match same_count.checked_sub(MAX_SAME_RESULTS) {
            None => Self::None,
            Some(warnings) if attended && warnings < MAX_WARNINGS => Self::Warn,
            Some(_) => Self::End,
        }
    }

    /// The warning for the model.
    pub(crate) fn message() -> String {
        WARNING.to_owned()
    }
}

/// How often, up to now, this very call was answered with the same, or refused for that reason. If another call may
/// have changed something in between, the count begins anew.
fn count_same_answers<'a>(
    call: &ToolCall,
    messages: impl Iterator<Item = &'a Message> + Clone,
    context: &GateContext,
) -> usize {
    let mut answers: Vec<&ToolOutcome> = Vec::new();
    for (made, result) in calls(messages) {
        if made.name == call.name && made.args == call.args {
            let is_other = answers.last().is_some_and(|last| **last != result.outcome);
            if is_other && result.outcome != ToolOutcome::Error(WARNING.to_owned()) {
                answers.clear();
            }
            answers.push(&result.outcome);
        } else if matches!(result.outcome, ToolOutcome::Output(_)) && may_change(made, context) {
            answers.clear();
        }
    }
    answers.len()
}

/// Each call with its result.
fn calls<'a>(
    messages: impl Iterator<Item = &'a Message> + Clone,
) -> impl Iterator<Item = (&'a ToolCall, &'a ToolResult)> {
    let results = messages.clone().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    });
    // In a legal transcript the results are in the order of the calls.
    messages.flat_map(Message::tool_calls).zip(results)
}

fn may_change(call: &ToolCall, context: &GateContext) -> bool {
    context.declaration(&call.name).is_none_or(|tool| tool.stages_in(&call.args))
}
