//! Calls on the screen. Each has one line that shows its stage, and below it a short form of what its command prints.

use std::time::Duration;

use headstart_agent::CallItem;
use headstart_forked_query::{ToolCall, ToolOutcome};
use headstart_machine::conversation::words::{call_title_of, counted, subject};
use headstart_machine::output::shortened;
use headstart_overlay_fs::ChangeSet;
use headstart_speculation::{CallStage, task_title};
use headstart_terminal::{LiveKind, LiveRow, Style};
use headstart_tool_gate::{Declaration, built_in};

use super::show::{self, StyledLine};

/// Calls that took less are shown without their time.
const MIN_TOLD: Duration = Duration::from_secs(2);
/// The rows of its output that a running command shows.
const RUNNING_ROWS: usize = 4;
/// The most file names that are listed when several files were read in a row.
const MAX_NAMES: usize = 3;
/// A command with more lines than this is shown by its first line only.
const MAX_COMMAND_LINES: usize = 3;
/// The lines of an output that are kept, from its beginning and from its end.
const DONE_LINES: (usize, usize) = (2, 3);
const FAILED_LINES: (usize, usize) = (2, 8);
const OWN_LINES: (usize, usize) = (20, 60);

/// Whether the call reads a file. Several such calls in a row are shown on one line.
pub(super) fn is_read(call: &ToolCall) -> bool {
    Declaration::built_in(&call.name) == Some(&built_in::READ_FILE)
}

/// The lines of a call that is not drawn any more, because it has ended or the reader shows it. `detail` is what follows its title; `hint` says how to see what is left out.
pub(super) fn finished_lines(item: &CallItem, mut detail: Vec<String>, hint: &str) -> Vec<StyledLine> {
    let result = ResultDisplay::of(item, hint);
    detail.extend(result.end.clone());
    detail.extend(item.took.filter(|took| MIN_TOLD <= *took).map(seconds));
    let (mark, style) = match item.stage {
        _ if result.failed => ("✗", Style::Removed),
        _ if item.waiting => ("!", Style::Accent),
        CallStage::Generating | CallStage::Generated => ("○", Style::Accent),
        CallStage::Calling => ("●", Style::Accent),
        CallStage::Canceled | CallStage::Boundary => ("–", Style::Dim),
        _ => ("✓", Style::Accent),
    };
    let detail = if detail.is_empty() { String::new() } else { format!("  {}", detail.join(" · ")) };
    let rest = folded_lines(&item.call);
    let title = match rest.first() {
        Some(_) => first_line_of(&item.call),
        None => call_title_of(&item.call),
    };
    let mut lines = vec![(format!("{mark} {title}{detail}"), style)];
    if !rest.is_empty() {
        lines.push((format!("  … {} more lines of the command{hint}", rest.len()), Style::Dim));
    }
    lines.extend(item.view.as_ref().map(show::view_line));
    lines.extend(result.rows);
    lines
}

/// The lines of a long command behind its first one. They are not shown with the call.
pub(super) fn folded_lines(call: &ToolCall) -> Vec<&str> {
    let command = call.args.get("command").and_then(|command| command.as_str());
    let lines = command.filter(|_| Declaration::is_shell(&call.name)).map(|command| command.trim().lines());
    let lines: Vec<_> = lines.into_iter().flatten().collect();
    if lines.len() <= MAX_COMMAND_LINES { Vec::new() } else { lines[1..].to_vec() }
}

fn first_line_of(call: &ToolCall) -> String {
    call_title_of(call).lines().next().unwrap_or_default().to_owned()
}

/// The line for several files that were read in a row.
pub(super) fn merged_reads_line(calls: &[&ToolCall]) -> StyledLine {
    let mut names: Vec<String> = Vec::new();
    for call in calls {
        let name = subject(call);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(MAX_NAMES);
    let more = if 0 < more { format!("  +{more}") } else { String::new() };
    names.truncate(MAX_NAMES);
    (format!("✓ read {}{more}", names.join(", ")), Style::Accent)
}

/// The rows of a call that has not ended. `time` is how long it has run.
pub(super) fn running_call_rows(item: &CallItem, time: Option<String>) -> Vec<LiveRow> {
    // A call that waits for the user's answer is shown by its question instead.
    let mark = if item.stage == CallStage::Calling { "●" } else { "○" };
    running_rows(format!("{mark} {}", first_line_of(&item.call)), time, item.printed.as_deref())
}

/// How long something has run, from its first second on. If nothing may change by itself, this is `…`.
pub(super) fn running_time(ran: Duration, animations: bool) -> Option<String> {
    if !animations {
        return Some("…".to_owned());
    }
    Some(ran).filter(|ran| Duration::from_secs(1) <= *ran).map(seconds)
}

/// The rows of something that runs, with the end of what it prints.
pub(super) fn running_rows(text: String, time: Option<String>, printed: Option<&str>) -> Vec<LiveRow> {
    let end = time.map(|time| format!("  {time}")).unwrap_or_default();
    let mut rows = vec![LiveRow { end, ..LiveRow::new(LiveKind::Call, text, Style::Accent) }];
    let lines = printed_lines(printed.unwrap_or_default());
    let last = &lines[lines.len().saturating_sub(RUNNING_ROWS)..];
    let output = last.iter().map(|line| LiveRow::new(LiveKind::Output, format!("  {line}"), Style::Dim));
    rows.extend(output);
    rows
}

/// How a command of the user's own came to its end, with what it printed or why it did not run.
#[derive(Debug, Clone, Copy)]
pub(super) enum OwnEnd<'a> {
    Ended(&'a str),
    Interrupted(&'a str),
    NotRun(&'a str),
}

/// The lines of a command of the user's own that is over. More of its output is shown than for a call, because the
/// output is what the user wanted to see.
pub(super) fn own_command_lines(line: &str, took: Duration, ended: OwnEnd, hint: &str) -> Vec<StyledLine> {
    let output = match ended {
        OwnEnd::Ended(output) => CommandDisplay::of(output, OWN_LINES, OWN_LINES, hint),
        OwnEnd::Interrupted(output) => CommandDisplay {
            end: Some("interrupted".to_owned()),
            ..CommandDisplay::of(output, OWN_LINES, OWN_LINES, hint)
        },
        OwnEnd::NotRun(why) => {
            CommandDisplay { end: Some("not run".to_owned()), lines: vec![why.to_owned()] }
        }
    };
    let mut detail: Vec<String> = output.end.clone().into_iter().collect();
    detail.extend(Some(took).filter(|took| MIN_TOLD <= *took).map(seconds));
    let detail = if detail.is_empty() { String::new() } else { format!("  {}", detail.join(" · ")) };
    let (mark, style) = match ended {
        OwnEnd::Interrupted(_) => ("–", Style::Dim),
        _ if output.end.is_some() => ("✗", Style::Removed),
        _ => ("✓", Style::Accent),
    };
    let rows = output.lines.into_iter().map(|line| (format!("  {line}"), Style::Plain));
    std::iter::once((format!("{mark} ! {line}{detail}"), style)).chain(rows).collect()
}

/// The numbers of lines that were added and removed: `+2 -1`.
pub(super) fn change_counts(changes: &ChangeSet) -> String {
    let summary = changes.summary();
    let count = |of: fn(&headstart_overlay_fs::ChangeSummary) -> usize| summary.iter().map(of).sum::<usize>();
    let signs = [('+', count(|change| change.added)), ('-', count(|change| change.removed))];
    let signs =
        signs.iter().filter(|(_, number)| 0 < *number).map(|(sign, number)| format!("{sign}{number}"));
    signs.collect::<Vec<_>>().join(" ")
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// What is shown of a result.
struct ResultDisplay {
    failed: bool,
    /// How a command ended if it did not end well, what a search found, or what a sub-task achieved.
    end: Option<String>,
    rows: Vec<StyledLine>,
}

impl ResultDisplay {
    fn of(item: &CallItem, hint: &str) -> Self {
        let failed = item.stage == CallStage::Errored;
        match &item.outcome {
            // What a command had printed when the user stopped it stays.
            Some(ToolOutcome::Output(output))
                if item.stage == CallStage::Canceled && Declaration::is_shell(&item.call.name) =>
            {
                Self { failed: false, ..Self::of_command(output.as_str().unwrap_or_default(), hint) }
            }
            // There is nothing to say, because the user has declined or stopped the call and knows it.
            _ if matches!(item.stage, CallStage::Canceled | CallStage::Boundary) => {
                Self { failed: false, end: None, rows: Vec::new() }
            }
            Some(ToolOutcome::Error(message)) => {
                let row = |line: &str| (format!("  {line}"), Style::Removed);
                Self { failed: true, end: None, rows: message.trim().lines().map(row).collect() }
            }
            Some(ToolOutcome::Output(output)) if Declaration::is_shell(&item.call.name) => {
                Self::of_command(output.as_str().unwrap_or_default(), hint)
            }
            Some(ToolOutcome::Output(output)) if task_title(&item.call).is_some() => {
                // The last line sums up the sub-task's calls.
                let last = output.as_str().and_then(|text| text.lines().last()).unwrap_or_default();
                let came_to = last.trim_start_matches('[').trim_end_matches(']');
                Self { failed, end: Some(shortened(came_to, 200)), rows: Vec::new() }
            }
            Some(outcome @ ToolOutcome::Output(output)) => {
                let end = output.as_str().and_then(|text| result_count(&item.call.name, text));
                Self { failed, end, rows: show::outcome_lines(&item.call, outcome) }
            }
            None => Self { failed, end: None, rows: Vec::new() },
        }
    }

    fn of_command(output: &str, hint: &str) -> Self {
        let CommandDisplay { end, lines } = CommandDisplay::of(output, DONE_LINES, FAILED_LINES, hint);
        let rows = lines.into_iter().map(|row| (format!("  {row}"), Style::Dim)).collect();
        Self { failed: end.is_some(), end, rows }
    }
}

/// How a command ended, and a short form of what it printed.
struct CommandDisplay {
    /// `None` if the command ended well.
    end: Option<String>,
    lines: Vec<String>,
}

impl CommandDisplay {
    /// Reads a command's result, which ends with notes in square brackets. `done` and `failed` are the lines that are
    /// kept of a command that succeeded and of one that failed.
    fn of(output: &str, done: (usize, usize), failed: (usize, usize), hint: &str) -> Self {
        let mut lines = printed_lines(output);
        let mut end = None;
        let mut notes = Vec::new();
        while let Some(note) = lines.last().and_then(|line| line.strip_prefix('[')?.strip_suffix(']')) {
            if let Some(code) = note.strip_prefix("exit code ") {
                end = Some(format!("exit {code}"));
            } else if note.starts_with("ended ") || note.starts_with("interrupted ") {
                end = Some(note.trim_end_matches(" by the user").to_owned());
            } else if note != "no output" {
                notes.push(format!("[{note}]"));
            }
            lines.pop();
        }
        let limits = if end.is_some() { failed } else { done };
        lines.extend(notes.into_iter().rev());
        Self { end, lines: show::excerpt(&lines, limits, hint) }
    }
}

/// How much a search found, counted from the lines of its output. The search tool's own notes are in square brackets.
fn result_count(tool: &str, output: &str) -> Option<String> {
    let is_note = |line: &&str| line.starts_with('[') && line.ends_with(']');
    let is_cut = output.lines().any(|line| is_note(&line) && line.starts_with("[stopped "));
    let lines: Vec<&str> =
        output.lines().filter(|line| !line.trim().is_empty()).filter(|line| !is_note(line)).collect();
    let more = if is_cut { "+" } else { "" };
    match tool {
        "glob" => Some(format!("{}{more}", counted(lines.len(), "file"))),
        "grep" => {
            // A match is `PATH:LINE:TEXT`. If lines around it are shown, they are below their path.
            let mut files: Vec<&str> = Vec::new();
            for line in &lines {
                let mut parts = line.splitn(3, ':');
                let (path, number) = (parts.next()?, parts.next()?);
                number.parse::<u64>().ok()?;
                if !files.contains(&path) {
                    files.push(path);
                }
            }
            match lines.len() {
                0 => Some("nothing found".to_owned()),
                matches => Some(format!("{matches}{more} in {}", counted(files.len(), "file"))),
            }
        }
        _ => None,
    }
}

/// The lines of an output as a terminal would have left them: only the last state of a line that was overwritten,
/// without colours.
fn printed_lines(output: &str) -> Vec<String> {
    let line = |line: &str| {
        let line = line.trim_end_matches('\r');
        without_colours(line.rsplit('\r').next().unwrap_or_default())
    };
    output.trim_end().lines().map(line).collect()
}

/// Removes the codes that choose colours. Harmful codes among the others are made visible.
fn without_colours(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, code)) = rest.split_once("\u{1b}[") {
        shown.push_str(before);
        let end = code.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':');
        if let Some(end) = end.filter(|end| code[*end..].starts_with('m')) {
            rest = &code[end + 1..];
        } else {
            shown.push_str("\u{1b}[");
            rest = code;
        }
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_as_a_terminal_would_have_left_it() {
        let cases = [
            ("10 %\r50 %\r100 %\ndone\r\n", vec!["100 %", "done"]),
            ("\u{1b}[1;32mok\u{1b}[0m fine \u{1b}[38:5:1mred\u{1b}[m", vec!["ok fine red"]),
            ("\u{1b}[2Jx \u{1b}]0;t\u{7}", vec!["\u{1b}[2Jx \u{1b}]0;t\u{7}"]),
            ("\u{1b}[31", vec!["\u{1b}[31"]),
            ("", vec![]),
        ];
        for (output, expected) in cases {
            assert_eq!(printed_lines(output), expected, "{output:?}");
        }
    }

    #[test]
    fn a_search_says_how_much_it_found() {
        for (tool, output, expected) in [
            ("grep", "a.rs:1:fn add\na.rs:9:add: 3\nb/c.rs:2:[add]\n", Some("3 in 2 files")),
            (
                "grep",
                "a.rs:1:x\n[stopped after 1 matching lines; a narrower pattern shows the rest]\n",
                Some("1+ in 1 file"),
            ),
            ("grep", "[no line in . matches x]\n", Some("nothing found")),
            ("grep", "a.rs\n  1-x\n  2:y\n", None),
            ("glob", "a.rs\nb/c.rs\n", Some("2 files")),
            ("glob", "[no file below . matches x]\n", Some("0 files")),
            ("ls", "a.rs\n", None),
        ] {
            assert_eq!(result_count(tool, output).as_deref(), expected, "{tool} {output:?}");
        }
    }

    #[test]
    fn how_a_command_ended_is_in_its_line_and_its_output_is_short() {
        let rows = |result: &ResultDisplay| {
            result.rows.iter().map(|(row, _)| row.trim().to_owned()).collect::<Vec<_>>()
        };
        let many = (1..=40).map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
        let done = ResultDisplay::of_command(&many, " (Ctrl-T)");
        assert_eq!(
            (done.failed, rows(&done).join(" ")),
            (false, "1 2 … 35 more lines (Ctrl-T) 38 39 40".to_owned())
        );
        let failed = ResultDisplay::of_command(&format!("{many}\n[exit code 101]"), "");
        assert_eq!(failed.end.as_deref(), Some("exit 101"));
        assert_eq!(rows(&failed).join(" "), "1 2 … 30 more lines 33 34 35 36 37 38 39 40");
        let cut = ResultDisplay::of_command("a\n[the output was cut]\n[exit code 1]", "");
        assert_eq!(
            (cut.end.as_deref(), rows(&cut).join(" ")),
            (Some("exit 1"), "a [the output was cut]".to_owned())
        );
        let nothing = ResultDisplay::of_command("[no output]", "");
        assert!(!nothing.failed && nothing.rows.is_empty());
    }
}
