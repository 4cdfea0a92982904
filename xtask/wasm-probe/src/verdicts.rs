//! The gate's verdicts here are those of the native build, byte for byte.

#[path = "../../../crates/tool-gate/tests/support/worst.rs"]
mod worst;

use headstart_tool_gate::{Decision, Gate, GateContext, Reason};
use serde_json::{Value, json};

/// The snapshot that the native test holds: a header, then one command and its verdict a line.
const SNAPSHOT: &str =
    include_str!("../../../crates/tool-gate/tests/snapshots/verdicts__verdicts_as_json.snap");

fn context() -> GateContext {
    GateContext { workspace: "/ws".to_owned(), ..GateContext::default() }
}

pub(crate) fn verdicts_are_those_of_the_native_build() -> bool {
    let (gate, context) = (Gate::new(), context());
    let mut rows = SNAPSHOT.lines().filter(|line| line.starts_with('{')).peekable();
    let same = |row: &str| {
        let Ok(parsed) = serde_json::from_str::<Value>(row) else { return false };
        let Some(command) = parsed["command"].as_str() else { return false };
        let verdict = gate.judge_command(command, &context);
        let here = json!({ "command": command, "verdict": verdict }).to_string();
        here == row
    };
    rows.peek().is_some() && 40 < SNAPSHOT.lines().count() && rows.all(same)
}

/// The stack is smaller here than natively, and what overflows it traps.
pub(crate) fn the_worst_texts_get_a_verdict() -> bool {
    let (gate, context) = (Gate::new(), context());
    worst::FAMILIES.iter().all(|(_, family)| {
        let large = family(1 << 20);
        let verdict = gate.judge_command(&large, &context);
        let refused = (verdict.decision, verdict.reason) == (Decision::Boundary, Reason::Limit);
        for size in [250, 1_000, 4_000, 12_000, 32_000] {
            gate.judge_command(&family(size), &context);
        }
        refused || large.len() < 32 * 1024
    })
}
