//! Whole verdicts as JSON. The WebAssembly build must give the same bytes: `cargo xtask wasm` compares its verdicts
//! with this snapshot, in Node.

mod support;

use headstart_tool_gate::Gate;
use serde_json::json;

/// One command on each line, in which `\n` is spelled out.
const COMMANDS: &str = include_str!("data/verdicts.txt");

#[test]
fn verdicts_as_json() {
    let gate = Gate::new();
    let mut rows = Vec::new();
    for command in COMMANDS.lines().map(|line| line.replace("\\n", "\n")) {
        let verdict = support::judge(&gate, &command);
        rows.push(json!({ "command": command, "verdict": verdict }).to_string());
    }
    insta::assert_snapshot!(rows.join("\n"));
}
