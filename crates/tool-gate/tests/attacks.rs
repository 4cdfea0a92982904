//! Commands that do more than read, written by hand. Each must be a boundary.

mod support;

use headstart_tool_gate::{Decision, Gate};

/// One command on each line, in which `\n` and `\t` are spelled out.
const ATTACKS: &str = include_str!("data/attacks.txt");
/// Commands that only read, in the forms that agents write.
const EVERYDAY: &str = include_str!("data/everyday.txt");
/// Further commands of both kinds, family by family, with every escape exactly as bash gets it.
const ATTACKS_BY_FAMILY: &str = include_str!("data/attacks_by_family.txt");
const EVERYDAY_BY_FAMILY: &str = include_str!("data/everyday_by_family.txt");

fn lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("##"));
    lines.map(support::spelled_out)
}

#[test]
fn every_attack_is_a_boundary() {
    let gate = Gate::new();
    let through: Vec<String> = lines(ATTACKS)
        .chain(support::by_family(ATTACKS_BY_FAMILY))
        .filter(|command| support::judge(&gate, command).decision != Decision::Boundary)
        .collect();
    assert!(through.is_empty(), "{through:#?}");
    assert!(300 < lines(ATTACKS).count());
    assert!(1500 < support::by_family(ATTACKS_BY_FAMILY).count());
}

#[test]
fn everyday_commands_run() {
    let gate = Gate::new();
    let mut refused = Vec::new();
    assert!(2000 < support::by_family(EVERYDAY_BY_FAMILY).count());
    for command in lines(EVERYDAY).chain(support::by_family(EVERYDAY_BY_FAMILY)) {
        let verdict = support::judge(&gate, &command);
        if verdict.decision != Decision::Allow {
            refused.push((command, verdict.detail));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Each of these may also be meant for bash or for a Unix program, so the verdict need not name the other shell.
const SHARED_WITH_UNIX: [&str; 8] = [
    "gc a.txt",
    "type a.txt > PWNED",
    "move a.txt PWNED",
    "where git > PWNED",
    "set PATH=.",
    "set X=1",
    "net user",
    "sc query",
];

#[test]
fn commands_of_other_shells_are_called_by_their_name() {
    let gate = Gate::new();
    let (_, family) = ATTACKS_BY_FAMILY.split_once("## other shells\n").expect("the family is there");
    let (family, _) = family.split_once("\n##").expect("another family follows");
    let unnamed: Vec<(String, String)> = support::by_family(family)
        .filter(|command| !SHARED_WITH_UNIX.contains(&command.as_str()))
        .map(|command| (support::judge(&gate, &command).detail, command))
        .filter(|(detail, _)| !["PowerShell", "cmd.exe", "Windows"].iter().any(|name| detail.contains(name)))
        .collect();
    assert!(unnamed.is_empty(), "{unnamed:#?}");
}
