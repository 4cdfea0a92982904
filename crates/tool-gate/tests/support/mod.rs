//! Helpers that the tests share.
#![allow(dead_code, reason = "not every test file uses all of this")]

use headstart_tool_gate::{DenyRules, Gate, GateContext, Verdict};
use headstart_workspace_path::WorkspacePath;

/// A context with the workspace in which every test judges.
pub(crate) fn context() -> GateContext {
    GateContext { workspace: "/ws".to_owned(), ..GateContext::default() }
}

/// The same context with deny rules.
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

/// The command in a row of a JSON Lines fixture.
pub(crate) fn of_row(line: &str) -> String {
    let row: serde_json::Value = serde_json::from_str(line).expect("the fixture is JSON lines");
    row["cmd"].as_str().expect("a row has a command").to_owned()
}

/// The command in a line of a data file in which `\n` and `\t` are spelled out.
pub(crate) fn spelled_out(line: &str) -> String {
    line.replace("\\n", "\n").replace("\\t", "\t")
}

/// The commands in a data file, which has one on each line. Lines that start with `##` name the family that follows.
pub(crate) fn by_family(text: &str) -> impl Iterator<Item = String> {
    let commands = text.lines().filter(|line| !line.is_empty() && !line.starts_with("##"));
    commands.map(|line| line.replace('⏎', "\n").replace('⇥', "\t"))
}

/// Paths in the form in which they are shown.
pub(crate) fn texts(paths: &[WorkspacePath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}
