//! Whole verdicts as JSON. The WebAssembly build must give the same bytes: `cargo xtask wasm` compares its verdicts
//! with this snapshot, in Node.

mod support;

use headstart_tool_gate::{Decision, Gate, PROTECTED_FILES, SECRET_FILES};
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

/// The page for users begins with commands that run and commands that do not, side by side.
#[test]
fn the_examples_of_the_page_are_judged_as_it_says() {
    let page = include_str!("../../../docs/gate.md");
    let gate = Gate::new();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let mut judged = 0;
    for row in rows {
        let unescaped = row.replace("\\|", "\0");
        let command = |cell: &str| cell.split('`').nth(1).map(|command| command.replace('\0', "|"));
        let cells: Vec<String> = unescaped.split('|').filter_map(command).collect();
        let [runs, stops] = &cells[..] else { panic!("{row}") };
        let verdict = support::judge(&gate, runs);
        assert_eq!(verdict.decision, Decision::Allow, "{runs}: {}", verdict.detail);
        let verdict = support::judge(&gate, stops);
        assert_eq!(verdict.decision, Decision::Boundary, "{stops}: {}", verdict.detail);
        judged += 1;
    }
    assert_eq!(judged, 10);
}

/// The page names a few files of each kind.
#[test]
fn the_files_that_the_page_names_are_in_the_lists() {
    let page = include_str!("../../../docs/gate.md");
    let section = |title: &str| {
        let (_, rest) = page.split_once(title).expect("the page has the section");
        rest.split("\n## ").next().unwrap_or_default().to_owned()
    };
    let named = |title: &str| -> Vec<String> {
        let section = section(title);
        let kinds = section.lines().filter_map(|line| line.strip_prefix("- "));
        kinds.flat_map(|kind| kind.split('`').skip(1).step_by(2)).map(str::to_lowercase).collect()
    };
    let secrets = named("## Files that hold secrets");
    let protected = named("## Files that other programs execute or obey");
    assert!(secrets.len() > 10 && protected.len() > 10);
    for name in secrets {
        assert!(SECRET_FILES.iter().any(|files| files.patterns.contains(&&*name)), "{name}");
    }
    for name in protected {
        assert!(PROTECTED_FILES.iter().any(|files| files.patterns.contains(&&*name)), "{name}");
    }
}
