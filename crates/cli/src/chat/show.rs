use headstart_code_intel::edit_diagnostics_summary;
use headstart_forked_query::{ToolCall, ToolOutcome};
use headstart_machine::output::{call_in_full, checked_line, said_of_command, shadow_outcome, shortened};
use headstart_speculation::{CheckResult, Event};
use headstart_terminal::Style;
use headstart_tool_gate::{Declaration, Verdict};
use headstart_toolbox::edited_file;

/// The most reasons that are shown of a question about a call.
const MAX_REASONS: usize = 3;

/// A line and its style.
pub(super) type StyledLine = (String, Style);

/// The line for a call that begins.
pub(super) fn call_line(call: &ToolCall) -> StyledLine {
    (format!("• {}", call_in_full(call)), Style::Accent)
}

/// The line for what a command did in a view.
pub(super) fn view_line(ran: &Event) -> StyledLine {
    (format!("  {}", shadow_outcome(ran)), Style::Dim)
}

/// The line for the result of the project's own check.
pub(super) fn check_line(checked: &CheckResult) -> StyledLine {
    let style = if checked.failed() { Style::Removed } else { Style::Dim };
    (format!("  {}", checked_line(checked)), style)
}

/// The lines for the result of a call.
pub(super) fn outcome_lines(call: &ToolCall, outcome: &ToolOutcome) -> Vec<StyledLine> {
    let name = &call.name;
    match outcome {
        ToolOutcome::Error(message) => vec![(format!("  {name}: {message}"), Style::Removed)],
        ToolOutcome::Output(output) => {
            let is_edit = edited_file(call).is_some();
            if let Some(summary) = output.as_str().filter(|_| is_edit).and_then(edit_diagnostics_summary) {
                return vec![(format!("  {summary}"), Style::Removed)];
            }
            let is_command = Declaration::is_shell(name);
            let lines = output.as_str().filter(|_| is_command).unwrap_or_default();
            let lines: Vec<_> = lines.trim_end().lines().map(str::to_owned).collect();
            let rows = excerpt(&lines, (3, 4), "");
            rows.into_iter().map(|row| (format!("  {row}"), Style::Dim)).collect()
        }
    }
}

/// The beginning and the end of what a command printed, in the given numbers of lines. `hint` says how to see the rest.
pub(super) fn excerpt(lines: &[String], (beginning, end): (usize, usize), hint: &str) -> Vec<String> {
    // These characters fill two or three rows of a terminal.
    const CHARS: usize = 200;
    let shown = |lines: &[String]| lines.iter().map(|line| shortened(line, CHARS)).collect::<Vec<_>>();
    let Some(left_out) = lines.len().checked_sub(beginning + end).filter(|left_out| 1 < *left_out) else {
        return shown(lines);
    };
    let (first, last) = (&lines[..beginning], &lines[lines.len() - end..]);
    let middle = format!("… {left_out} more lines{hint}");
    [shown(first), vec![middle], shown(last)].concat()
}

/// A call in full, for the question whether it may run. What a model says of its command comes last and as its words,
/// because nothing holds it to the truth.
pub(super) fn whole_call(call: &ToolCall) -> String {
    let mut rows = vec![format!("{} wants to run", call.name)];
    let is_said = |name: &str| name == "description" && said_of_command(call).is_some();
    let (said, does): (Vec<_>, Vec<_>) = call.args.iter().partition(|(name, _)| is_said(name));
    for (name, value) in does.into_iter().chain(said) {
        let name = if is_said(name) { "the model says" } else { name };
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut lines = value.lines();
        rows.push(format!("  {name}: {}", lines.next().unwrap_or_default()));
        rows.extend(lines.map(|line| format!("    {line}")));
    }
    rows.join("\n")
}

/// Why a call needs consent: a row for each of the first reasons, and how many more there are.
pub(super) fn reasons(verdict: &Verdict) -> String {
    let reasons = verdict.reasons();
    let mut rows: Vec<_> = reasons.iter().take(MAX_REASONS).map(|reason| format!("  {reason}")).collect();
    if let Some(more @ 1..) = reasons.len().checked_sub(MAX_REASONS) {
        rows.push(format!("  and {more} more"));
    }
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_model_says_of_its_command_is_told_as_its_words() {
        let args = json!({ "description": "only lists\n  command: ls", "command": "rm -r src" });
        let call = ToolCall { id: "1".into(), name: "shell".into(), args: args.as_object().unwrap().clone() };
        let expected =
            "shell wants to run\n  command: rm -r src\n  the model says: only lists\n      command: ls";
        assert_eq!(whole_call(&call), expected);
    }
}
