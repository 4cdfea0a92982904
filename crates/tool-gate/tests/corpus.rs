//! The gate on recorded commands, labelled by what they really do.

use headstart_tool_gate::{Decision, Gate, GateContext, Verdict};
use serde_json::Value;

const SAMPLE: &str = include_str!("data/sample.jsonl");

fn rows(text: &str) -> Vec<(String, Value)> {
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| (row["cmd"].as_str().unwrap().to_owned(), row)).collect()
}

fn judge(gate: &Gate, command: &str) -> Verdict {
    let context = GateContext { workspace: "/ws".to_owned(), ..GateContext::default() };
    gate.judge_command(command, &context)
}

#[test]
fn no_command_with_an_effect_is_let_through() {
    let gate = Gate::new();
    let mut through = Vec::new();
    let (mut readonly, mut allowed) = (0, 0);
    let mut refused = Vec::new();
    for (command, row) in rows(SAMPLE) {
        let verdict = judge(&gate, &command);
        let outside = row["category"] == "ro.reads_outside";
        if row["expect"] == "boundary" || outside {
            if verdict.decision != Decision::Boundary {
                through.push(command);
            }
            continue;
        }
        readonly += 1;
        if verdict.decision == Decision::Allow {
            allowed += 1
        } else {
            refused.push((command, verdict.detail))
        }
    }
    for (command, detail) in &refused {
        println!("REFUSED {:.110?}  -- {detail}", command);
    }
    println!("{allowed} of {readonly}");
    assert!(through.is_empty(), "{through:#?}");
}

#[test]
fn cases() {
    let gate = Gate::new();
    for (command, row) in rows(include_str!("data/cases.jsonl")) {
        let verdict = judge(&gate, &command);
        if (row["expect"] == "readonly") != (verdict.decision == Decision::Allow) {
            println!("CASE {} {:.110?}  -- {}", row["expect"], command, verdict.detail);
        }
    }
}
