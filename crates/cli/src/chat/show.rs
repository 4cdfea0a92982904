use headstart_forked_query::{ToolCall, ToolOutcome};
use headstart_overlay_fs::{ChangeSummary, Conflict, WorkspacePath};
use headstart_speculation::{Ending, Event, Limit};
use headstart_tool_gate::BuiltinTool;

use crate::output::{call_title, change_line, conflict_line, limit_name, merged_line};
use crate::terminal::Style;

/// A line for an event that is not text.
pub(super) fn event_line(event: &Event) -> Option<(String, Style)> {
    match event {
        Event::ToolCall { call } => Some((format!("• {}", call_title(call)), Style::Accent)),
        Event::ToolResult { result } => match &result.outcome {
            ToolOutcome::Error(message) => Some((format!("  {}: {message}", result.name), Style::Removed)),
            ToolOutcome::Output(output) => {
                let is_command = BuiltinTool::from_name(&result.name) == Some(BuiltinTool::Shell);
                let why = output.as_str().filter(|_| is_command).and_then(trouble)?;
                Some((format!("  {}: {why}", result.name), Style::Dim))
            }
        },
        _ => None,
    }
}

/// How a command ended that did not end well: the shell's last note, which is in square brackets.
fn trouble(output: &str) -> Option<&str> {
    let note = output.lines().next_back()?.strip_prefix('[')?.strip_suffix(']')?;
    ["exit code ", "ended "].iter().any(|word| note.starts_with(word)).then_some(note)
}

/// A call in full, for the question whether it may run.
pub(super) fn whole_call(call: &ToolCall) -> String {
    let mut rows = vec![format!("{} wants to run", call.name)];
    for (name, value) in &call.args {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut lines = value.lines();
        rows.push(format!("  {name}: {}", lines.next().unwrap_or_default()));
        rows.extend(lines.map(|line| format!("    {line}")));
    }
    rows.join("\n")
}

/// What an accept changed.
pub(super) fn changes(changes: &[ChangeSummary], merged: &[WorkspacePath]) -> String {
    let merged = merged.iter().map(merged_line);
    changes.iter().map(change_line).chain(merged).collect::<Vec<_>>().join("\n")
}

/// Why nothing was applied.
pub(super) fn conflicts(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(conflict_line).collect::<Vec<_>>().join("\n")
}

/// What to tell of an ending that is not "completed".
pub(super) fn ending(ending: &Ending) -> Option<String> {
    Some(match ending {
        Ending::Boundary { verdict } => format!("stopped: {}", verdict.detail),
        Ending::Exhausted { limit: Limit::Output } => {
            "the answer was cut at the provider's length limit".into()
        }
        Ending::Exhausted { limit } => format!("stopped at the limit of {}", limit_name(*limit)),
        Ending::Failed { error, .. } => error.clone(),
        Ending::Aborted => "interrupted".into(),
        _ => return None,
    })
}
