//! What is told of a conversation, in words that no front end has of its own.

use headstart_forked_query::ToolCall;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSummary, Conflict, WorkspacePath};
use headstart_speculation::{Ending, Limit, task_title};
use headstart_tool_gate::{ApprovalMode, Behaviour, Declaration, Words};

use crate::output::{
    call_in_full, change_line, conflict_line, git_lines, limit_name, merged_line, one_line, shortened,
};

/// What an accept changed.
pub(crate) fn changes(
    changes: &[ChangeSummary],
    merged: &[WorkspacePath],
    git: Option<&GitChange>,
) -> String {
    let merged = merged.iter().map(merged_line);
    let git = git.into_iter().flat_map(git_lines);
    changes.iter().map(change_line).chain(merged).chain(git).collect::<Vec<_>>().join("\n")
}

/// How much it is, commits included: `2 files +14 -3, 1 commit on main`.
pub(crate) fn counts_with(changes: &[ChangeSummary], git: Option<&GitChange>) -> String {
    let files = (!changes.is_empty() || git.is_none()).then(|| counts(changes));
    let parts: Vec<_> = files.into_iter().chain(git.map(GitChange::summary)).collect();
    parts.join(", ")
}

/// How much it is, in a few words: `2 files +14 -3`.
pub(crate) fn counts(changes: &[ChangeSummary]) -> String {
    let (added, removed) = changes
        .iter()
        .fold((0, 0), |(added, removed), change| (added + change.added, removed + change.removed));
    format!("{} +{added} -{removed}", counted(changes.len(), "file"))
}

/// A number of things, in words.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Why nothing was applied.
pub(crate) fn conflicts(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(conflict_line).collect::<Vec<_>>().join("\n")
}

/// What to tell of an ending that is not "completed".
pub(crate) fn ending(ending: &Ending) -> Option<String> {
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

/// A call in words: a command with all its lines, another with what it is about.
pub(crate) fn call_title_of(call: &ToolCall) -> String {
    if let Some(title) = task_title(call) {
        return format!("task: {}", shortened(&one_line(title), 100));
    }
    let declared = Declaration::built_in(&call.name)
        .filter(|tool| matches!(tool.behaviour, Behaviour::Reads | Behaviour::Edits));
    match declared.and_then(Declaration::words) {
        Some(Words { verb, .. }) => format!("{verb} {}", subject(call)),
        None => call_in_full(call),
    }
}

/// The file that a call is about.
pub(crate) fn subject(call: &ToolCall) -> String {
    let path = Declaration::built_in(&call.name).and_then(|tool| tool.only_path(&call.args));
    shortened(&one_line(path.unwrap_or("…")), 100)
}

/// A mode as configuration files and flags name it.
pub(crate) fn mode_name(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Default => "default",
        ApprovalMode::Plan => "plan",
        ApprovalMode::Chat => "chat",
        ApprovalMode::AutoEdit => "auto-edit",
        ApprovalMode::Yolo => "yolo",
    }
}
