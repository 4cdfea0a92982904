//! The texts that take the gate the most time also get a verdict as WebAssembly, where the stack is smaller and an
//! overflow traps.

#[path = "../../tool-gate/tests/support/worst.rs"]
mod worst;

use headstart_tool_gate::{Decision, Gate, GateContext, Reason};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn the_worst_texts_get_a_verdict() {
    let context = GateContext { workspace: "/ws".to_owned(), ..GateContext::default() };
    let gate = Gate::new();
    for (name, family) in worst::FAMILIES {
        for size in [250, 1_000, 4_000, 12_000, 32_000] {
            gate.judge_command(&family(size), &context);
        }
        let large = family(1 << 20);
        if 32 * 1024 <= large.len() {
            let verdict = gate.judge_command(&large, &context);
            assert_eq!((verdict.decision, verdict.reason), (Decision::Boundary, Reason::Limit), "{name}");
        }
    }
}
