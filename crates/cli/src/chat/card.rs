//! The row above the prompt that says how far the work ahead is. It never tells the prompt, which may not show yet.

use headstart_agent::{Ahead, WorkProgress};
use headstart_forked_query::{Part, Role, ToolCall};
use headstart_speculation::{Checked, Ending, Finished, Transcript};
use headstart_tool_gate::{Declaration, Reason, Verdict};

use crate::conversation::words::{counted, counts};
use crate::output::{call_title, limit_name, shortened};

/// So much of a call, a command or an error is told.
const MOST_CHARS: usize = 80;

/// A row for the status above the prompt.
pub(super) fn row(ahead: &Ahead) -> String {
    let here = step(&ahead.progress, ahead.finished.as_deref());
    match (ahead.above, if ahead.above_runs { "at work" } else { "ready" }) {
        (0, _) => here,
        (1, word) => format!("{here}; next step {word}"),
        (above, word) => format!("{here}; next {above} steps {word}"),
    }
}

/// The row for one step; `finished` is there once the work has ended.
fn step(progress: &WorkProgress, finished: Option<&Finished>) -> String {
    let mut parts = Vec::new();
    let files = (!progress.staged.is_empty()).then(|| counts(&progress.staged));
    let at_the_end = finished.and_then(|finished| Some(finished.git.as_ref()?.summary()));
    let staged: Vec<_> = files.into_iter().chain(at_the_end.or_else(|| progress.git.clone())).collect();
    let staged = (!staged.is_empty()).then(|| staged.join(", "));
    match finished.map(|finished| (finished, &finished.ending)) {
        None if progress.did_more => {
            parts.push("ahead working".to_owned());
            parts.extend(staged);
            parts.extend(progress.command.as_ref().map(told));
        }
        None => {
            parts.push("ahead looking".to_owned());
            parts.extend((0 < progress.looks).then(|| counted(progress.looks, "read")));
            parts.extend(progress.command.as_ref().map(told));
        }
        Some((finished, Ending::Completed)) => {
            parts.push("ahead ✓ ready".to_owned());
            parts.push(staged.unwrap_or_else(|| answer(&finished.transcript)));
            parts.extend(finished.check.as_ref().map(Checked::words).or_else(|| progress.tests.clone()));
            let seconds = finished.cost.work_ms / 1_000;
            parts.extend((1 <= seconds).then(|| format!("saves {seconds} s")));
        }
        Some((finished, Ending::Boundary { verdict })) => {
            let call = finished.pending_call().map(|call| pending(call, verdict)).unwrap_or_default();
            let did_something = progress.did_more || 0 < progress.looks || staged.is_some();
            parts.push(if did_something {
                format!("ahead ✓ ready, then asks: {call}")
            } else {
                format!("ahead ! waits for your yes: {call}")
            });
            parts.extend(staged);
        }
        Some((_, ending)) => {
            parts.push("ahead ✗ stopped".to_owned());
            parts.extend(why(ending));
            parts.extend(staged.map(|staged| format!("{staged}, goes on when you take it")));
        }
    }
    parts.join(" · ")
}

fn is_command(call: &ToolCall) -> bool {
    Declaration::is_shell(&call.name)
}

/// A command as it is; another call with its tool.
fn told(call: &ToolCall) -> String {
    let command = call.args.get("command").and_then(|command| command.as_str());
    let text = command.filter(|_| is_command(call)).map_or_else(|| call_title(call), str::to_owned);
    shortened(&text, MOST_CHARS)
}

fn pending(call: &ToolCall, verdict: &Verdict) -> String {
    let reason = match verdict.reason {
        Reason::WriteToolNoAuto => "edit".to_owned(),
        reason => reason.as_str().replace('_', " "),
    };
    format!("{} ({reason})", told(call))
}

fn answer(transcript: &Transcript) -> String {
    let last = transcript.messages.iter().rev().find(|message| message.role == Role::Model);
    let words = last.iter().flat_map(|message| &message.parts).map(|part| match part {
        Part::Text { text } => text.split_whitespace().count(),
        _ => 0,
    });
    format!("an answer of {}", counted(words.sum(), "word"))
}

fn why(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Exhausted { limit } => Some(format!("limit of {}", limit_name(*limit))),
        Ending::Failed { error, .. } => Some(shortened(error, MOST_CHARS)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headstart_forked_query::Message;
    use headstart_overlay_fs::{ChangeSet, ChangeSummary};
    use headstart_speculation::{Cost, Limit};
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
        looked.looks = 2;
        let mut edited = none.clone();
        (edited.looks, edited.did_more, edited.staged) = (1, true, summaries());
        let mut testing = edited.clone();
        testing.command = Some(call("shell", &json!({ "command": "cargo test" })));
        let mut only_testing = none.clone();
        only_testing.command.clone_from(&testing.command);
        let mut ran = none.clone();
        ran.did_more = true;
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
                "ahead ✗ stopped · limit of time · 2 files +14 -3, goes on when you take it",
            ),
        ];
        for (progress, finished, expected) in cases {
            let mut ahead = Ahead::default();
            (ahead.progress, ahead.finished) = (progress.clone(), finished.map(Arc::new));
            assert_eq!(row(&ahead), expected);
            for (above, runs, next) in [(1, true, "; next step at work"), (2, false, "; next 2 steps ready")]
            {
                (ahead.above, ahead.above_runs) = (above, runs);
                assert_eq!(row(&ahead), format!("{expected}{next}"));
            }
        }
    }

    fn summaries() -> Vec<ChangeSummary> {
        let row = |path: &str, added, removed| json!({ "path": path, "type": "modify", "added": added, "removed": removed, "binary": false });
        serde_json::from_value(json!([row("a.rs", 12, 3), row("b.rs", 2, 0)])).unwrap()
    }
}
