//! The fixtures of `fixtures/` give the same output wherever they run: natively and as WebAssembly here, and through
//! the npm package in `npm/trial/fixtures.test.mjs`. The JSON is compared byte for byte.
//!
//! After an intended change, `UPDATE_FIXTURES=1 cargo test -p headstart-wasm --test fixtures` writes the new output.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/run.rs"]
mod run;

use serde_json::Value;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Runs each case of a fixture and compares its output with the expected one, as JSON text.
fn check(name: &str, text: &str, run: fn(&Value) -> Value) {
    let mut cases: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(!cases.is_empty());
    let mut failed = Vec::new();
    for case in &mut cases {
        let output = run(&case["input"]);
        let (got, expected) = (output.to_string(), case["output"].to_string());
        if got != expected {
            failed.push(format!("{}\n  expected {expected}\n  and got  {got}", case["input"]));
        }
        case["output"] = output;
    }
    let accounted = failed.is_empty() || update(name, &cases);
    assert!(accounted, "{name}: {} of {} differ\n{}", failed.len(), cases.len(), failed.join("\n"));
}

/// Rewrites the file with the new outputs, if the variable asks for that. Returns whether it did.
#[cfg(not(target_arch = "wasm32"))]
fn update(name: &str, cases: &[Value]) -> bool {
    if std::env::var_os("UPDATE_FIXTURES").is_none() {
        return false;
    }
    let rows: Vec<String> = cases.iter().map(|case| format!("  {case}")).collect();
    let path = format!("{}/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::write(path, format!("[\n{}\n]\n", rows.join(",\n"))).unwrap();
    true
}

#[cfg(target_arch = "wasm32")]
fn update(_: &str, _: &[Value]) -> bool {
    false
}

#[test]
fn verdicts() {
    check("gate", include_str!("../fixtures/gate.json"), run::gate);
}

#[test]
fn change_sets() {
    check("overlay", include_str!("../fixtures/overlay.json"), run::overlay);
}

#[test]
fn whole_speculations() {
    check("speculation", include_str!("../fixtures/speculation.json"), run::speculation);
}
