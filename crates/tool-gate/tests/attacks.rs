//! Commands that do more than read, written by hand: each must be a boundary.

mod support;

use headstart_tool_gate::{Decision, Gate};

/// One command a line; `\n` and `\t` are spelled out.
const ATTACKS: &str = include_str!("data/attacks.txt");
/// Commands that only read, in the forms that agents write.
const EVERYDAY: &str = include_str!("data/everyday.txt");

fn lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("##"));
    lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t"))
}

#[test]
fn every_attack_is_a_boundary() {
    let gate = Gate::new();
    let through: Vec<String> = lines(ATTACKS)
        .filter(|command| support::judge(&gate, command).decision != Decision::Boundary)
        .collect();
    assert!(through.is_empty(), "{through:#?}");
    assert!(300 < lines(ATTACKS).count());
}

#[test]
fn everyday_commands_run() {
    let gate = Gate::new();
    let mut refused = Vec::new();
    for command in lines(EVERYDAY) {
        let verdict = support::judge(&gate, &command);
        if verdict.decision != Decision::Allow {
            refused.push((command, verdict.detail));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
