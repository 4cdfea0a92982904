//! A call that is made again and again, and always answered with the same.

use headstart_forked_query::{Message, Part, ToolCall, ToolOutcome, ToolResult};
use headstart_tool_gate::GateContext;

/// So many same answers are given; the next such call gets none.
const GIVEN: usize = 3;
/// In a turn so many calls are told so before the turn ends.
const TOLD: usize = 1;

/// What the model reads instead of the same answer once more.
const SAME_AGAIN: &str = "you have made this call three times with the same result, and it is not made again; do something else, or say what you need";

/// What becomes of a call that was made before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// It runs.
    No,
    /// Its model is told that it gets the same answer as before.
    Tell,
    /// It goes in a circle: the run ends.
    Ends,
}

impl Repeated {
    /// Of a call behind this transcript; `attended`: in a turn of the user's own, where the model is told first.
    pub(crate) fn of(call: &ToolCall, messages: &[Message], context: &GateContext, attended: bool) -> Self {
        let same = same_answers(call, messages, context);
        match same.checked_sub(GIVEN) {
            None => Self::No,
            Some(told) if attended && told < TOLD => Self::Tell,
            Some(_) => Self::Ends,
        }
    }

    /// What the model is told.
    pub(crate) fn message() -> String {
        SAME_AGAIN.to_owned()
    }
}

/// How often, up to now, this very call was answered with the same, or refused for that; what another call may have changed in between begins
/// the count anew.
fn same_answers(call: &ToolCall, messages: &[Message], context: &GateContext) -> usize {
    let mut answers: Vec<&ToolOutcome> = Vec::new();
    for (made, result) in calls(messages) {
        if made.name == call.name && made.args == call.args {
            let is_other = answers.last().is_some_and(|last| **last != result.outcome);
            if is_other && result.outcome != ToolOutcome::Error(SAME_AGAIN.to_owned()) {
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
fn calls(messages: &[Message]) -> impl Iterator<Item = (&ToolCall, &ToolResult)> {
    let results = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    });
    // In a legal transcript they stand in the order of the calls.
    messages.iter().flat_map(Message::tool_calls).zip(results)
}

fn may_change(call: &ToolCall, context: &GateContext) -> bool {
    context.declaration(&call.name).is_none_or(|tool| tool.stages_in(&call.args))
}
