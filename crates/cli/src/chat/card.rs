//! The row above the prompt that shows the stage of the work ahead. It never contains the prompt of that work, which
//! may not be shown yet.

use headstart_agent::{WorkAheadView, WorkProgress};
use headstart_forked_query::{Part, Role, ToolCall};
use headstart_machine::conversation::words::{counted, counts};
use headstart_machine::output::{call_title, limit_name, not_kept_line, one_line, shortened};
use headstart_speculation::{CHANGES_REPOSITORY, CheckResult, Ending, Finished, NO_VIEW, Transcript};
use headstart_tool_gate::{Declaration, Reason, Verdict};
use unicode_width::UnicodeWidthStr;

/// The most characters of a call, a command or an error that are shown.
const MAX_CHARS: usize = 80;

/// The row above the prompt. Its last parts are left out if it would be wider than `columns`.
///
/// `time` is how long the current command has run; `key` is the key that shows what is staged.
pub(super) fn row(ahead: &WorkAheadView, columns: usize, time: Option<&str>, key: Option<&str>) -> String {
    // How long a command has run is behind it, so a long command leaves room for that.
    let running = ahead.progress.command.as_ref().map(|command| match time {
        Some(time) => format!("{} {time}", shortened(&call_text(command), columns / 2)),
        None => call_text(command),
    });
    let mut parts = step(&ahead.progress, ahead.finished.as_deref(), running);
    let is_ended = ahead.finished.is_some() && !ahead.progress.staged.is_empty();
    parts.extend(key.filter(|_| is_ended).map(|key| format!("{key} shows it")));
    while 2 < parts.len() && columns < parts.join(" · ").width() {
        parts.pop();
    }
    parts.join(" · ")
}

/// The parts of the row for one step. `finished` is set once the work has ended; `running` is its command.
fn step(progress: &WorkProgress, finished: Option<&Finished>, running: Option<String>) -> Vec<String> {
    let mut parts = Vec::new();
    let files = (!progress.staged.is_empty()).then(|| counts(&progress.staged));
    let at_the_end = finished.and_then(|finished| Some(finished.git.as_ref()?.summary()));
    let staged: Vec<_> = files.into_iter().chain(at_the_end.or_else(|| progress.git.clone())).collect();
    let staged = (!staged.is_empty()).then(|| staged.join(", "));
    match finished.map(|finished| (finished, &finished.ending)) {
        None if progress.did_more_than_read => {
            parts.push("ahead working".to_owned());
            parts.extend(staged);
            parts.extend(running);
        }
        None => {
            parts.push("ahead looking".to_owned());
            parts.extend((0 < progress.read_calls).then(|| counted(progress.read_calls, "read")));
            parts.extend(running);
        }
        Some((finished, Ending::Completed)) => {
            parts.push(format!("ahead {}", ready(finished)));
            parts.push(staged.unwrap_or_else(|| answer(&finished.transcript)));
            parts.extend(not_kept_line(&finished.not_kept));
            parts.extend(finished.check.as_ref().map(CheckResult::words).or_else(|| progress.tests.clone()));
            let seconds = finished.cost.work_ms / 1_000;
            parts.extend((1 <= seconds).then(|| format!("saves {seconds} s")));
        }
        Some((finished, Ending::Boundary { verdict })) => {
            let call = finished.pending_call().map(|call| pending(call, verdict)).unwrap_or_default();
            let did_something = progress.did_more_than_read || 0 < progress.read_calls || staged.is_some();
            parts.push(if did_something {
                format!("ahead {}, then asks: {call}", ready(finished))
            } else {
                format!("ahead ! waits for your yes: {call}")
            });
            parts.extend(staged);
        }
        Some((_, ending)) => {
            parts.push("ahead ✗ stopped".to_owned());
            parts.extend(ending_reason(ending));
            if let Some(staged) = staged {
                parts.extend([staged, "goes on when you take it".to_owned()]);
            }
        }
    }
    parts
}

/// Whether the work is ready: only work of which everything ended well is called so.
fn ready(finished: &Finished) -> String {
    match finished.failures().len() {
        0 => "✓ ready".to_owned(),
        failures => format!("✗ {failures} failed"),
    }
}

fn is_command(call: &ToolCall) -> bool {
    Declaration::is_shell(&call.name)
}

/// A command as it is, or another call with the name of its tool.
fn call_text(call: &ToolCall) -> String {
    let command = call.args.get("command").and_then(|command| command.as_str());
    let text = command.filter(|_| is_command(call)).map_or_else(|| call_title(call), str::to_owned);
    shortened(&text, MAX_CHARS)
}

fn pending(call: &ToolCall, verdict: &Verdict) -> String {
    let call_text = call_text(call);
    // The reason says more than the command where it is about the repository, or about what a view lacks.
    let reasons = [CHANGES_REPOSITORY, NO_VIEW];
    if let Some((_, why)) = reasons.iter().find_map(|begin| verdict.detail.split_once(begin)) {
        return format!("{} ({})", shortened(&call_text, 24), shortened(&one_line(why), MAX_CHARS));
    }
    let reason = match verdict.reason {
        Reason::WriteToolNoAuto => "edit".to_owned(),
        reason => reason.as_str().replace('_', " "),
    };
    format!("{call_text} ({reason})")
}

fn answer(transcript: &Transcript) -> String {
    let last = transcript.messages.iter().rev().find(|message| message.role == Role::Model);
    let words = last.iter().flat_map(|message| &message.parts).map(|part| match part {
        Part::Text { text } => text.split_whitespace().count(),
        _ => 0,
    });
    format!("an answer of {}", counted(words.sum(), "word"))
}

fn ending_reason(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Exhausted { limit } => Some(format!("limit of {}", limit_name(*limit))),
        Ending::Failed { error, .. } => Some(shortened(error, MAX_CHARS)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headstart_forked_query::Message;
    use headstart_overlay_fs::{ChangeSet, ChangeSummary};
    use headstart_speculation::{Cost, FailedCommand, Limit};
    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, args: &Value) -> ToolCall {
        let args = args.as_object().cloned().unwrap_or_default();
        ToolCall { id: "1".into(), name: name.into(), args }
    }

    fn finished(ending: Ending, pending: Option<ToolCall>, work_ms: u64) -> Finished {
        let mut transcript = Transcript::new("add tests");
        transcript.messages.push(Message::text(Role::Model, "It is done, and here is more."));
        transcript.rest.extend(pending.map(Part::ToolCall));
        Finished {
            id: "s".into(),
            prompt: "add tests".into(),
            ending,
            transcript,
            task_calls: Vec::new(),
            changes: ChangeSet::default(),
            git: None,
            not_kept: Vec::new(),
            keepable: Vec::new(),
            failed: Vec::new(),
            next: None,
            cost: Cost { work_ms, ..Cost::default() },
            viewed_ms: None,
            preview: None,
            check: None,
        }
    }

    #[test]
    fn each_state_has_its_words() {
        let none = WorkProgress::default();
        let mut looked = none.clone();
        looked.read_calls = 2;
        let mut edited = none.clone();
        (edited.read_calls, edited.did_more_than_read, edited.staged) = (1, true, summaries());
        let mut testing = edited.clone();
        testing.command = Some(call("shell", &json!({ "command": "cargo test" })));
        let mut only_testing = none.clone();
        only_testing.command.clone_from(&testing.command);
        let mut ran = none.clone();
        ran.did_more_than_read = true;
        let commits = call("shell", &json!({ "command": "git commit -am wip" }));
        let pushes = call("shell", &json!({ "command": format!("git push {}", "x".repeat(90)) }));
        let at = |reason| Ending::Boundary { verdict: Verdict::boundary(reason, "why") };
        let completed = |work_ms| Some(finished(Ending::Completed, None, work_ms));
        let limit = Ending::Exhausted { limit: Limit::Time };
        let cases: [(&WorkProgress, Option<Finished>, &str); 13] = [
            (&none, None, "ahead looking"),
            (&looked, None, "ahead looking · 2 reads"),
            (&edited, None, "ahead working · 2 files +14 -3"),
            (&testing, None, "ahead working · 2 files +14 -3 · cargo test"),
            (&only_testing, None, "ahead looking · cargo test"),
            (&ran, None, "ahead working"),
            (&edited, completed(38_900), "ahead ✓ ready · 2 files +14 -3 · saves 38 s"),
            (&edited, completed(999), "ahead ✓ ready · 2 files +14 -3"),
            (&looked, completed(2_000), "ahead ✓ ready · an answer of 7 words · saves 2 s"),
            (
                &edited,
                Some(finished(at(Reason::Executes), Some(commits), 0)),
                "ahead ✓ ready, then asks: git commit -am wip (executes) · 2 files +14 -3",
            ),
            (
                &none,
                Some(finished(at(Reason::Network), Some(pushes), 0)),
                &format!("ahead ! waits for your yes: git push {}… (network)", "x".repeat(71)),
            ),
            (
                &none,
                Some(finished(
                    at(Reason::WriteToolNoAuto),
                    Some(call("edit", &json!({ "file_path": "a.rs" }))),
                    0,
                )),
                "ahead ! waits for your yes: edit a.rs (edit)",
            ),
            (
                &edited,
                Some(finished(limit, None, 0)),
                "ahead ✗ stopped · limit of time · 2 files +14 -3 · goes on when you take it",
            ),
        ];
        for (progress, finished, expected) in cases {
            let mut ahead = WorkAheadView::default();
            (ahead.progress, ahead.finished) = (progress.clone(), finished.map(Arc::new));
            assert_eq!(row(&ahead, usize::MAX, None, None), expected);
        }
    }

    #[test]
    fn work_is_not_called_ready_over_a_failure() {
        let mut work = finished(Ending::Completed, None, 999);
        let failed =
            |command: &str| FailedCommand { command: command.into(), exit_code: Some(1), tests: None };
        let check = |command: &str, passed| {
            Some(CheckResult { command: command.into(), passed, not_run: None, tests: None, millis: 1 })
        };
        let cases = [
            (vec![], check("make lint", true), "ahead ✓ ready"),
            (vec![failed("sh test.sh")], None, "ahead ✗ 1 failed"),
            (vec![failed("sh test.sh")], check("make lint", true), "ahead ✗ 1 failed"),
            (vec![], check("make lint", false), "ahead ✗ 1 failed"),
            (vec![failed("make lint")], check("make lint", false), "ahead ✗ 1 failed"),
            (vec![failed("sh test.sh"), failed("git commit -m x")], None, "ahead ✗ 2 failed"),
        ];
        let mut ahead = WorkAheadView::default();
        ahead.progress.staged = summaries();
        for (failed, check, expected) in cases {
            (work.failed, work.check) = (failed, check);
            ahead.finished = Some(Arc::new(work.clone()));
            let row = row(&ahead, 80, None, None);
            assert!(row.starts_with(&format!("{expected} · 2 files +14 -3")), "{row}");
        }
    }

    #[test]
    fn a_command_that_runs_has_its_time() {
        let command = Some(call("shell", &json!({ "command": "cargo test" })));
        let mut ahead = WorkAheadView::default();
        (ahead.progress.did_more_than_read, ahead.progress.command) = (true, command);
        for (time, expected) in [
            (None, "ahead working · cargo test"),
            (Some("3 s"), "ahead working · cargo test 3 s"),
            (Some("…"), "ahead working · cargo test …"),
        ] {
            assert_eq!(row(&ahead, 80, time, Some("Ctrl-O")), expected);
        }
        let long = json!({ "command": "cargo test --workspace --all-features --locked -- --nocapture" });
        ahead.progress.command = Some(call("shell", &long));
        let shortened = row(&ahead, 60, Some("3 s"), None);
        assert_eq!(shortened, "ahead working · cargo test --workspace --all-f… 3 s");
    }

    #[test]
    fn what_is_staged_can_be_seen_and_a_narrow_row_leaves_out_its_last_parts() {
        let mut ahead = WorkAheadView::default();
        (ahead.progress.did_more_than_read, ahead.progress.staged) = (true, summaries());
        ahead.finished = Some(Arc::new(finished(Ending::Completed, None, 38_900)));
        let whole = "ahead ✓ ready · 2 files +14 -3 · saves 38 s · Ctrl-O shows it";
        assert_eq!(row(&ahead, 80, None, Some("Ctrl-O")), whole);
        for (columns, key, expected) in [
            (60, Some("Ctrl-O"), "ahead ✓ ready · 2 files +14 -3 · saves 38 s"),
            (80, None, "ahead ✓ ready · 2 files +14 -3 · saves 38 s"),
            (45, Some("Ctrl-O"), "ahead ✓ ready · 2 files +14 -3 · saves 38 s"),
            (40, Some("Ctrl-O"), "ahead ✓ ready · 2 files +14 -3"),
            (10, Some("Ctrl-O"), "ahead ✓ ready · 2 files +14 -3"),
        ] {
            assert_eq!(row(&ahead, columns, None, key), expected, "{columns}");
        }
        ahead.finished = None;
        assert!(!row(&ahead, 80, None, Some("Ctrl-O")).contains("shows it"));
    }

    fn summaries() -> Vec<ChangeSummary> {
        let row = |path: &str, added, removed| json!({ "path": path, "type": "modify", "added": added, "removed": removed, "binary": false });
        serde_json::from_value(json!([row("a.rs", 12, 3), row("b.rs", 2, 0)])).unwrap()
    }
}
