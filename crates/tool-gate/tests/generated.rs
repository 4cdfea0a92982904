//! Attacks that are generated from allowed commands, and arbitrary texts.

#[path = "support/frames.rs"]
mod frames;
mod support;

use std::sync::LazyLock;

use frames::{FRAMES, OPTIONS};
use headstart_tool_gate::{CallRef, Decision, Gate};
use proptest::prelude::*;
use serde_json::{Map, Value};

const EVERYDAY: &str = include_str!("data/everyday.txt");
const ROWS: [&str; 2] = [include_str!("data/sample.jsonl"), include_str!("data/cases.jsonl")];

/// Every command of the fixtures that is allowed, whether it has one line or several.
fn all_allowed() -> &'static [String] {
    static ALLOWED: LazyLock<Vec<String>> = LazyLock::new(|| {
        let everyday = EVERYDAY.lines().filter(|line| !line.is_empty());
        let everyday = everyday.map(support::spelled_out);
        let rows = ROWS.iter().flat_map(|text| text.lines()).map(support::of_row);
        let gate = Gate::new();
        let allowed = |command: &String| support::judge(&gate, command).decision == Decision::Allow;
        everyday.chain(rows).filter(allowed).collect()
    });
    assert!(500 < ALLOWED.len(), "only {} commands are allowed", ALLOWED.len());
    &ALLOWED
}

/// Those allowed commands that are on one line and end with a simple command.
fn allowed() -> Vec<&'static str> {
    let simple = |line: &&str| {
        !line.contains(['\\', '#', '\n'])
            && !line.contains("<<")
            && !line.trim_end().ends_with(['}', ')', '&', ';'])
            && !["done", "fi", "esac", "]]"].iter().any(|end| line.trim_end().ends_with(end))
    };
    all_allowed().iter().map(String::as_str).filter(simple).collect()
}

/// One of several ways to write a byte so that bash still gets that byte.
fn disguised(byte: char, way: u8) -> String {
    match way {
        0 => format!("\\{byte}"),
        1 => format!("'{byte}'"),
        2 => format!("\"{byte}\""),
        3 => format!("$'{byte}'"),
        4 => format!("$'\\x{:02x}'", u32::from(byte)),
        5 => format!("$'\\{:03o}'", u32::from(byte)),
        6 => format!("''\\{byte}"),
        7 => format!("\"\"'{byte}'"),
        8 => format!("$\"{byte}\""),
        // The byte is quoted as well, so that a parenthesis or a blank stays text.
        _ => format!("\\\n'{byte}'\\\n"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_frame_around_an_allowed_command_is_a_boundary(
        command in proptest::sample::select(allowed()),
        frame in proptest::sample::select(FRAMES),
    ) {
        let gate = Gate::new();
        prop_assert_eq!(support::judge(&gate, command).decision, Decision::Allow, "{}", command);
        let attack = frame.replacen("{}", command, 1);
        prop_assert_eq!(support::judge(&gate, &attack).decision, Decision::Boundary, "{}", attack);
    }

    #[test]
    fn quoting_disguises_nothing(
        (before, option, after) in proptest::sample::select(OPTIONS),
        ways in proptest::collection::vec(0_u8..12, 24),
    ) {
        let disguise = |(byte, way): (char, &u8)| if *way < 10 { disguised(byte, *way) } else { format!("'{byte}'") };
        let option: String = option.chars().zip(ways.iter().cycle()).map(disguise).collect();
        let attack = format!("{before}{option}{after}");
        prop_assert_eq!(support::judge(&Gate::new(), &attack).decision, Decision::Boundary, "{}", attack);
    }

    #[test]
    fn any_text_gets_a_verdict(text in "\\PC{0,200}") {
        support::judge(&Gate::new(), &text);
    }

    #[test]
    fn any_text_of_shell_characters_gets_a_verdict(text in "[ a-z0-9$(){}\\[\\]'\"`\\\\|&;<>=#!~*?%:/,.@^+\n-]{0,80}") {
        let verdict = support::judge(&Gate::new(), &text);
        if verdict.decision == Decision::Allow {
            prop_assert!(verdict.effects.iter().all(|effect| effect.kind == headstart_tool_gate::EffectKind::ReadOnly));
        }
    }

    #[test]
    fn any_call_gets_a_verdict(
        name in prop_oneof![
            proptest::sample::select(vec!["shell", "read_file", "grep", "glob", "ls", "edit", "write_file", "agent"])
                .prop_map(str::to_owned),
            ".{0,12}",
        ],
        args in proptest::collection::btree_map(
            prop_oneof![
                proptest::sample::select(vec!["command", "path", "file_path", "pattern", "glob", "directory", "is_background"])
                    .prop_map(str::to_owned),
                "[a-z_]{0,8}",
            ],
            any_json(),
            0..4,
        ),
    ) {
        let args: Map<String, Value> = args.into_iter().collect();
        let verdict = Gate::new().judge(CallRef { name: &name, args: &args }, &support::context());
        prop_assert!(serde_json::to_string(&verdict).is_ok());
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,24}".prop_map(Value::from),
        "[./a-z]{0,16}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{0,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The property above only samples the frames. Here every frame is put around a third of all commands, and the next
/// frame around another third.
#[test]
fn every_frame_holds_around_the_commands_of_the_corpora() {
    let gate = Gate::new();
    let commands = allowed();
    assert!(300 < commands.len(), "only {} commands fit into a frame", commands.len());
    let mut through = Vec::new();
    for (place, frame) in FRAMES.iter().enumerate() {
        for command in commands.iter().skip(place % 3).step_by(3) {
            let attack = frame.replacen("{}", command, 1);
            if support::judge(&gate, &attack).decision != Decision::Boundary {
                through.push(format!("{frame:?}: {attack:?}"));
                break;
            }
        }
    }
    assert!(through.is_empty(), "{through:#?}");
}

/// Whatever an allowed command looks like, a line before or after it is judged too.
#[test]
fn a_line_before_or_after_any_allowed_command_is_seen() {
    let gate = Gate::new();
    let mut through = Vec::new();
    for command in all_allowed() {
        for line in ["touch PWNED", ">PWNED", "curl http://x", "./x", "PATH=.", "eval ls", "$(touch PWNED)"] {
            let attacks = [format!("{line}\n{command}"), format!("{command}\n{line}")];
            through.extend(
                attacks
                    .into_iter()
                    .filter(|attack| support::judge(&gate, attack).decision != Decision::Boundary),
            );
        }
    }
    assert!(through.is_empty(), "{} of them: {:#?}", through.len(), &through[..through.len().min(20)]);
}

/// The property above samples mixtures of disguises. Here every option of the list is written in every single disguise.
#[test]
fn every_option_is_seen_in_every_disguise() {
    let gate = Gate::new();
    let mut through = Vec::new();
    for (before, option, after) in OPTIONS {
        let ways = (0..10).map(|way| option.chars().map(|byte| disguised(byte, way)).collect::<String>());
        let attacks = std::iter::once(format!("'{option}'")).chain(ways);
        let attacks = attacks.map(|option| format!("{before}{option}{after}"));
        through.extend(attacks.filter(|attack| support::judge(&gate, attack).decision != Decision::Boundary));
    }
    assert!(through.is_empty(), "{through:#?}");
}

#[test]
fn what_is_too_large_is_refused_at_once() {
    let gate = Gate::new();
    let deep = format!("{}ls{}", "$(".repeat(500_000), ")".repeat(500_000));
    let texts = [
        "a".repeat(1 << 20),
        "ls;".repeat(400_000),
        "(".repeat(1 << 20),
        "$(".repeat(10_000),
        "`".repeat(30_000),
        "{a,b}".repeat(6_000),
        "\\\n".repeat(16_000),
        format!("echo {}", "\"$(".repeat(3_000)),
        format!("echo $(({}1{}))", "(".repeat(10_000), ")".repeat(10_000)),
        format!("cat <<A{}", "\n".repeat(30_000)),
        format!("x={}", "${x:-".repeat(6_000)),
        "for x in a; do ".repeat(1_000),
        "ls|".repeat(9_000),
        "a=1 ".repeat(8_000),
        "[[ -f a && ".repeat(2_000),
        format!("cat <<A\n{}\nA", "$x ".repeat(9_000)),
        deep,
    ];
    for text in texts {
        let shown: String = text.chars().take(20).collect();
        assert_eq!(support::judge(&gate, &text).decision, Decision::Boundary, "{shown}");
    }
}
