//! What the tests share.
#![allow(dead_code, reason = "not every test file uses all of this")]

use headstart_tool_gate::{DenyRules, Gate, GateContext, Verdict};

/// The workspace that every test judges in.
pub(crate) fn context() -> GateContext {
    GateContext { workspace: "/ws".to_owned(), ..GateContext::default() }
}

/// The same with deny rules.
pub(crate) fn denying(patterns: &[&str]) -> GateContext {
    let deny = DenyRules::from_patterns(patterns.iter().copied()).expect("patterns as written in the test");
    GateContext { deny, ..context() }
}

/// The verdict on a command in the workspace root.
#[expect(clippy::allow_attributes, reason = "not every test file judges without policies")]
#[allow(dead_code, reason = "not every test file judges without policies")]
pub(crate) fn judge(gate: &Gate, command: &str) -> Verdict {
    gate.judge_command(command, &context())
}

/// The commands in a data file: one a line, where lines that start with `##` say what family follows.
pub(crate) fn by_family(text: &str) -> impl Iterator<Item = String> {
    let commands = text.lines().filter(|line| !line.is_empty() && !line.starts_with("##"));
    commands.map(|line| line.replace('⏎', "\n").replace('⇥', "\t"))
}
