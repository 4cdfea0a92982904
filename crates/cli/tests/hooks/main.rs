//! Holds how `headstart` answers the permission hooks of other products, and how the command runs that replaces one.
#![expect(clippy::unwrap_used, reason = "a test that fails stops")]

mod bad_input;
#[cfg(unix)]
mod hostile;
mod messages;
mod products;
mod project_programs;
#[path = "../support/pty.rs"]
mod pty;
mod read_only;
mod records;
mod settings;
#[path = "../support/mod.rs"]
mod support;
#[cfg(unix)]
mod unconfined;

use serde_json::{Value, json};

use support::{Outcome, Session};

/// A loop that only reads, but about which the products ask.
const LOOP: &str = r#"for f in *.txt; do awk 'END{print NR}' "$f"; done"#;

/// A user whose shell is bash, and who has nothing else that would be a reason not to allow a command.
fn session() -> Session {
    Session::new().variable("SHELL", "/bin/bash").variable("PATH", "/usr/bin:/bin")
}

/// The message that Claude Code sends before it runs a command.
fn asks(session: &Session, command: &str) -> Value {
    json!({
        "hook_event_name": "PreToolUse",
        "cwd": session.workspace().canonicalize().unwrap(),
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": { "command": command, "description": "what it is for" },
    })
}

fn hook(session: &Session, arguments: &[&str], message: &Value) -> Outcome {
    let arguments: Vec<_> = ["hook"].into_iter().chain(arguments.iter().copied()).collect();
    session.run_with_input(&arguments, message.to_string())
}

/// The line that runs in place of a command, if the answer allows the call.
fn line_of(outcome: &Outcome) -> Option<String> {
    let answer = outcome.json().into_iter().next()?;
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "allow", "{outcome}");
    Some(output["updatedInput"]["command"].as_str()?.to_owned())
}
