//! Descriptions of a conversation's events that all front ends use.

use std::collections::BTreeSet;

use headstart_budget::policy::SkipReason;
use headstart_forked_query::ToolCall;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSummary, Conflict, WorkspacePath};
use headstart_speculation::{Ending, Limit, task_title};
use headstart_tool_gate::{ApprovalMode, Behaviour, Declaration, Words};

use crate::output::{call_in_full, conflict_line, limit_name, mode_words, one_line, shortened};

/// Why nothing is suggested, for a front end without a row for it. `code` is that of the view, `held` what holds suggestions
/// back now. Where the conversation has just begun or the model had no suggestion there is nothing to tell.
pub fn unsuggested(code: &str, held: Result<(), SkipReason>) -> Option<String> {
    match held {
        _ if code == "plan_mode" => Some("plan mode is on".to_owned()),
        Err(skip) if skip.code() == code => Some(skip.to_string()),
        _ => None,
    }
}

/// What an accept changed.
pub fn changes(changes: &[ChangeSummary], merged: &[WorkspacePath], git: Option<&GitChange>) -> String {
    let path = |path: &WorkspacePath| one_line(&path.to_string());
    let merged =
        merged.iter().map(|merged| ("merged", format!("{}  with what you changed meanwhile", path(merged))));
    let git = git.into_iter().flat_map(GitChange::lines).map(|line| ("git", one_line(&line)));
    let rows: Vec<_> = changes.iter().map(change_row).chain(merged).chain(git).collect();
    let width = rows.iter().map(|(verb, _)| verb.len()).max().unwrap_or(0);
    rows.iter().map(|(verb, rest)| format!("{verb:<width$}  {rest}")).collect::<Vec<_>>().join("\n")
}

/// The most files of commits that are named.
const MOST_FILES: usize = 20;

/// What is done with git, for whoever looks at the whole of a change: commits by the first lines of their messages, and
/// the files in them.
pub fn git_in_full(git: &GitChange) -> String {
    let (named, more) = git.paths.split_at(git.paths.len().min(MOST_FILES));
    let mut files: Vec<_> = named.iter().map(|path| one_line(&path.to_string())).collect();
    if !more.is_empty() {
        files.push(counted(more.len(), "more file"));
    }
    let files = (!files.is_empty()).then(|| format!("files: {}", files.join(", ")));
    git.lines().iter().map(|line| one_line(line)).chain(files).collect::<Vec<_>>().join("\n")
}

/// What happens to a file, in the words of a diff, and the file's name.
fn change_row(change: &ChangeSummary) -> (&'static str, String) {
    let (verb, end) = match change.kind.as_str() {
        "create" => ("create", ""),
        "createDirectory" => ("create", "/"),
        "delete" => ("delete", ""),
        "rename" => ("rename", ""),
        _ => ("edit", ""),
    };
    let mut rest = one_line(&change.path.to_string()) + end;
    if let Some(from) = &change.from {
        rest.extend([" from ", &one_line(&from.to_string())]);
    }
    let signs = [('+', change.added), ('-', change.removed)].into_iter().filter(|(_, lines)| 0 < *lines);
    let counts: Vec<_> = if change.binary {
        vec!["binary".to_owned()]
    } else {
        signs.map(|(sign, lines)| format!("{sign}{lines}")).chain(mode_words(change)).collect()
    };
    if !counts.is_empty() {
        rest.extend(["  ", &counts.join(" ")]);
    }
    (verb, rest)
}

/// How much was changed, including commits: `2 files +14 -3, 1 commit on main`.
pub fn counts_with(changes: &[ChangeSummary], git: Option<&GitChange>) -> String {
    let files = (!changes.is_empty() || git.is_none()).then(|| counts(changes));
    let parts: Vec<_> = files.into_iter().chain(git.map(GitChange::summary)).collect();
    parts.join(", ")
}

/// How much was changed, in short: `2 files +14 -3`.
pub fn counts(changes: &[ChangeSummary]) -> String {
    let (added, removed) = changes
        .iter()
        .fold((0, 0), |(added, removed), change| (added + change.added, removed + change.removed));
    let files = counted(changes.len(), "file");
    let modes: BTreeSet<_> = changes.iter().filter_map(mode_words).collect();
    let modes = match modes.len() {
        0 => None,
        1 => modes.into_iter().next(),
        _ => Some("modes".to_owned()),
    };
    match modes {
        Some(modes) if (added, removed) == (0, 0) => format!("{files}, {modes}"),
        Some(modes) => format!("{files} +{added} -{removed}, {modes}"),
        None => format!("{files} +{added} -{removed}"),
    }
}

/// What is true when a signal ends the program.
pub const ENDED_BY_SIGNAL: &str = "what was running has ended, and work ahead is gone; edits that were made stay: \
                                          `headstart undo` takes back those of the last turn";

/// A number with its noun.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Why nothing was applied.
pub fn conflicts(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(conflict_line).collect::<Vec<_>>().join("\n")
}

/// The remark about an ending; `None` for a completed turn.
pub fn ending(ending: &Ending) -> Option<String> {
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

/// The title of a call: a command with all its lines, or what another call is about.
pub fn call_title_of(call: &ToolCall) -> String {
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
pub fn subject(call: &ToolCall) -> String {
    let path = Declaration::built_in(&call.name).and_then(|tool| tool.only_path(&call.args));
    shortened(&one_line(path.unwrap_or("…")), 100)
}

/// A mode as it is named in configuration files and flags.
pub fn mode_name(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Default => "default",
        ApprovalMode::Plan => "plan",
        ApprovalMode::Chat => "chat",
        ApprovalMode::AutoEdit => "auto-edit",
        ApprovalMode::Yolo => "yolo",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output::change_line;

    #[test]
    fn what_happened_to_files_stands_in_columns_and_leaves_out_what_is_nothing() {
        let row = |kind: &str, path: &str, added: u32, removed: u32| json!({ "path": path, "type": kind, "added": added, "removed": removed, "binary": false });
        let mut moved = row("rename", "b.rs", 0, 0);
        moved["from"] = json!("a.rs");
        let mut shot = row("modify", "shot.png", 0, 0);
        shot["binary"] = json!(true);
        let rows = json!([
            row("modify", "lib.rs", 12, 3),
            row("create", "tests/add.rs", 2, 0),
            row("createDirectory", "docs", 0, 0),
            moved,
            shot
        ]);
        let changes: Vec<ChangeSummary> = serde_json::from_value(rows).unwrap();
        let merged = [WorkspacePath::parse("lib.rs").unwrap()];
        assert_eq!(
            super::changes(&changes, &merged, None),
            "edit    lib.rs  +12 -3\ncreate  tests/add.rs  +2\ncreate  docs/\nrename  b.rs from a.rs\n\
             edit    shot.png  binary\nmerged  lib.rs  with what you changed meanwhile"
        );
        assert_eq!(super::changes(&changes[3..4], &[], None), "rename  b.rs from a.rs");
    }

    #[test]
    fn other_permissions_are_no_lines_that_were_added_or_removed() {
        let row = |path: &str, added: u32, old: &str, new: &str| json!({ "path": path, "type": "modify", "added": added, "removed": 0, "binary": false, "mode": { "old": old, "new": new } });
        let rows = json!([row("run.sh", 0, "644", "755"), row("key", 1, "644", "600")]);
        let changes: Vec<ChangeSummary> = serde_json::from_value(rows).unwrap();
        assert_eq!(
            super::changes(&changes, &[], None),
            "edit  run.sh  mode 644→755\nedit  key  +1 mode 644→600"
        );
        assert_eq!(counts(&changes[..1]), "1 file, mode 644→755");
        assert_eq!(counts(&changes), "2 files +1 -0, modes");
        assert!(change_line(&changes[0]).ends_with("  run.sh  mode 644→755"));
        assert!(change_line(&changes[1]).ends_with("  key  +1 -0, mode 644→600"));
    }
}
