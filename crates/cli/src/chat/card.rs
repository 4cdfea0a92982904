//! The row above the prompt that says how far the work ahead is. It never tells the prompt, which may not show yet.

use headstart_forked_query::{Part, Role, ToolCall};
use headstart_overlay_fs::ChangeSummary;
use headstart_speculation::{Checked, Ending, Event, Finished, Transcript};
use headstart_tool_gate::{BuiltinTool, Reason, Verdict};

use super::show::{counted, counts};
use crate::output::{call_title, limit_name, shortened};

/// So much of a call, a command or an error is told.
const MOST_CHARS: usize = 80;

/// What the work has told so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Card {
    /// Calls that only looked and have their result.
    looks: usize,
    /// Whether a call did more than look.
    did_more: bool,
    /// The command that runs now.
    command: Option<String>,
    /// What is staged, in words; nothing where nothing is.
    staged: Option<String>,
    /// What it did to the repository, in words.
    git: Option<String>,
    /// What the last tests came to.
    tests: Option<String>,
}

impl Card {
    /// Takes in what the work tells; `staged` is asked for where it may have changed.
    pub(super) fn tell(&mut self, event: &Event, staged: impl FnOnce() -> Vec<ChangeSummary>) {
        match event {
            Event::ToolCall { call } => {
                self.command = is_command(call).then(|| told(call));
            }
            Event::ShadowRan { tests, git, staged: changed, .. } => {
                self.git = git.clone().or(self.git.take());
                self.tests = tests.clone().or(self.tests.take());
                if 0 < *changed {
                    self.is_staged(&staged());
                }
            }
            Event::ToolResult { result } => {
                self.command = None;
                match BuiltinTool::from_name(&result.name) {
                    Some(BuiltinTool::ReadFile | BuiltinTool::Grep | BuiltinTool::Glob | BuiltinTool::Ls) => {
                        self.looks += 1;
                    }
                    Some(BuiltinTool::Shell) => self.did_more = true,
                    Some(BuiltinTool::Edit | BuiltinTool::WriteFile) | None => {
                        self.did_more = true;
                        self.is_staged(&staged());
                    }
                }
            }
            _ => {}
        }
    }

    fn is_staged(&mut self, changes: &[ChangeSummary]) {
        self.staged = (!changes.is_empty()).then(|| counts(changes));
    }

    /// The row; `finished` is there once the work has ended.
    pub(super) fn row(&self, finished: Option<&Finished>) -> String {
        let mut parts = Vec::new();
        // The end may be known before all that led to it is told.
        let at_the_end = || finished.filter(|finished| !finished.changes.is_empty());
        let files = self.staged.clone().or_else(|| Some(counts(&at_the_end()?.changes.summary())));
        let at_the_end = finished.and_then(|finished| Some(finished.git.as_ref()?.summary()));
        let staged: Vec<_> = files.into_iter().chain(at_the_end.or_else(|| self.git.clone())).collect();
        let staged = (!staged.is_empty()).then(|| staged.join(", "));
        match finished.map(|finished| (finished, &finished.ending)) {
            None if self.did_more => {
                parts.push("ahead working".to_owned());
                parts.extend(staged);
                parts.extend(self.command.clone());
            }
            None => {
                parts.push("ahead looking".to_owned());
                parts.extend((0 < self.looks).then(|| counted(self.looks, "read")));
                parts.extend(self.command.clone());
            }
            Some((finished, Ending::Completed)) => {
                parts.push("ahead ✓ ready".to_owned());
                parts.push(staged.unwrap_or_else(|| answer(&finished.transcript)));
                parts.extend(finished.check.as_ref().map(Checked::words).or_else(|| self.tests.clone()));
                let seconds = finished.cost.work_ms / 1_000;
                parts.extend((1 <= seconds).then(|| format!("saves {seconds} s")));
            }
            Some((finished, Ending::Boundary { verdict })) => {
                let call = finished.pending_call().map(|call| pending(call, verdict)).unwrap_or_default();
                let did_something = self.did_more || 0 < self.looks || staged.is_some();
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
}

fn is_command(call: &ToolCall) -> bool {
    BuiltinTool::from_name(&call.name) == Some(BuiltinTool::Shell)
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
    use headstart_forked_query::{Message, ToolOutcome, ToolResult};
    use headstart_overlay_fs::ChangeSet;
    use headstart_speculation::{Cost, Limit};
    use serde_json::{Value, json};

    use super::*;

    fn call(name: &str, args: &Value) -> ToolCall {
        let args = args.as_object().cloned().unwrap_or_default();
        ToolCall { id: "1".into(), name: name.into(), args }
    }

    fn began(name: &str, args: &Value) -> Event {
        Event::ToolCall { call: call(name, args) }
    }

    fn done(name: &str) -> Event {
        let outcome = ToolOutcome::Output(Value::from("x"));
        Event::ToolResult { result: ToolResult { id: "1".into(), name: name.into(), outcome } }
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
        let looked = [began("read_file", &json!({})), done("read_file"), done("grep")];
        let edited = [done("read_file"), done("edit")];
        let testing = [done("edit"), began("shell", &json!({ "command": "cargo test" }))];
        let commits = call("shell", &json!({ "command": "git commit -am wip" }));
        let pushes = call("shell", &json!({ "command": format!("git push {}", "x".repeat(90)) }));
        let at = |reason| Ending::Boundary { verdict: Verdict::boundary(reason, "why") };
        let completed = |work_ms| Some(finished(Ending::Completed, None, work_ms));
        let limit = Ending::Exhausted { limit: Limit::Time };
        let cases: [(&[Event], Option<Finished>, &str); 13] = [
            (&[], None, "ahead looking"),
            (&looked, None, "ahead looking · 2 reads"),
            (&edited, None, "ahead working · 2 files +14 -3"),
            (&testing, None, "ahead working · 2 files +14 -3 · cargo test"),
            (&testing[1..], None, "ahead looking · cargo test"),
            (&[done("shell")], None, "ahead working"),
            (&edited, completed(38_900), "ahead ✓ ready · 2 files +14 -3 · saves 38 s"),
            (&edited, completed(999), "ahead ✓ ready · 2 files +14 -3"),
            (&looked, completed(2_000), "ahead ✓ ready · an answer of 7 words · saves 2 s"),
            (
                &edited,
                Some(finished(at(Reason::Executes), Some(commits), 0)),
                "ahead ✓ ready, then asks: git commit -am wip (executes) · 2 files +14 -3",
            ),
            (
                &[],
                Some(finished(at(Reason::Network), Some(pushes), 0)),
                &format!("ahead ! waits for your yes: git push {}… (network)", "x".repeat(71)),
            ),
            (
                &[],
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
        for (events, finished, expected) in cases {
            let mut card = Card::default();
            for event in events {
                card.tell(event, summaries);
            }
            assert_eq!(card.row(finished.as_ref()), expected);
        }
    }

    fn summaries() -> Vec<ChangeSummary> {
        let row = |path: &str, added, removed| json!({ "path": path, "type": "modify", "added": added, "removed": removed, "binary": false });
        serde_json::from_value(json!([row("a.rs", 12, 3), row("b.rs", 2, 0)])).unwrap()
    }
}
