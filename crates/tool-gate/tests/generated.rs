//! Attacks made from commands that are allowed, and texts of any kind.

mod support;

use headstart_tool_gate::{CallRef, Decision, Gate};
use proptest::prelude::*;
use serde_json::{Map, Value};

const EVERYDAY: &str = include_str!("data/everyday.txt");

/// Commands that are allowed, on one line, and that end as a simple command.
fn allowed() -> Vec<&'static str> {
    let simple = |line: &&str| {
        !line.contains(['\\', '#'])
            && !line.contains("<<")
            && !line.ends_with(['}', ')'])
            && !line.is_empty()
            && !line.ends_with("done")
            && !line.ends_with("fi")
            && !line.ends_with("esac")
            && !line.ends_with("]]")
    };
    EVERYDAY.lines().filter(simple).collect()
}

/// What an attacker adds to a command, around `{}`.
const FRAMES: &[&str] = &[
    "{} >PWNED",
    "{} 2>PWNED",
    "{} >>PWNED",
    "{} >|PWNED",
    "{} &>PWNED",
    "{} >&PWNED",
    "{} <>PWNED",
    "{} {fd}>PWNED",
    "{} >PWNED >/dev/null",
    "{} >/dev/tcp/127.0.0.1/9",
    "{} >$x",
    "{} >\"$x\"",
    "{} > P*",
    ">PWNED; {}",
    "{}; touch PWNED",
    "{}\ntouch PWNED",
    "{} & touch PWNED",
    "{} && touch PWNED",
    "{} || touch PWNED",
    "{} | tee PWNED",
    "{} |& tee PWNED",
    "{} | sh",
    "{} | xargs rm",
    "{} | while read -r x; do rm \"$x\"; done",
    "{} $(touch PWNED)",
    "{} `touch PWNED`",
    "{} \"$(touch PWNED)\"",
    "{} <(touch PWNED)",
    "{} >(touch PWNED)",
    "{} ${x:-$(touch PWNED)}",
    "{} ${x:=y}",
    "{} ${x@P}",
    "{} $((a[$(touch PWNED)]))",
    "{} $[$(touch PWNED)]",
    "{} <<EOF >PWNED\nx\nEOF",
    "{} <<EOF; touch PWNED\nx\nEOF",
    "{} <<EOF\n$(touch PWNED)\nEOF",
    "{} <<EOF\n`touch PWNED`\nEOF",
    "{} <<EOF\nx\nEOF\ntouch PWNED",
    "{} <<EOF\nx",
    "{} <<< \"$(touch PWNED)\"",
    "({}) >PWNED",
    "{ {}; } >PWNED",
    "if {}; then touch PWNED; fi",
    "for x in a; do {}; touch PWNED; done",
    "while {}; do touch PWNED; done",
    "! {} >PWNED",
    "time {} >PWNED",
    "$({}) PWNED",
    "f() { {}; }; f",
    "eval {}",
    "exec {}",
    "sudo {}",
    "env PATH=. {}",
    "PATH=. {}",
    "LD_PRELOAD=./x.so {}",
    "BASH_ENV=x {}",
    "GIT_EXTERNAL_DIFF=./x {}",
    "x=$(touch PWNED) {}",
    "PATH=.; {}",
    "IFS=x; {}",
    "export A=b; {}",
    "alias ls=rm; {}",
    "set -o posix; {}",
    "shopt -s extglob; {}",
    "{} \\\n >PWNED",
    "{} \\\n; touch PWNED",
    "{};to\\\nuch PWNED",
    "{} # x\ntouch PWNED",
    "{}\0",
    "{}\r",
    "{} \u{a0}",
    "\u{feff}{}",
    "{} 'x",
    "{} \"x",
    "{} $(",
    "{} )",
    "{} }; touch PWNED; {",
    "{} /../../x >PWNED",
];

/// A program and the ways to spell an option of it that does more than read.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("sort ", "-oPWNED", " a.txt"),
    ("sort ", "-o", " PWNED a.txt"),
    ("sort ", "--output=PWNED", " a.txt"),
    ("sort ", "--compress-program=./x", " a.txt"),
    ("sort a.txt ", "-ro", " PWNED"),
    ("find . ", "-delete", ""),
    ("find . ", "-exec", " touch PWNED ;"),
    ("find . ", "-fprint", " PWNED"),
    ("sed ", "-i", " s/a/b/ a.txt"),
    ("sed ", "--in-place", " s/a/b/ a.txt"),
    ("sed ", "wPWNED", " a.txt"),
    ("sed -n ", "-ewPWNED", " a.txt"),
    ("awk ", "-fx.awk", " a.txt"),
    ("awk ", "BEGIN{system(1)}", ""),
    ("rg ", "--pre=./x", " foo"),
    ("rg ", "--search-zip", " foo"),
    ("tree ", "-oPWNED", ""),
    ("git log ", "--output=PWNED", ""),
    ("git diff ", "--ext-diff", ""),
    ("git grep ", "-O./x", " foo"),
    ("git branch ", "-D", " main"),
    ("git ", "-ccore.pager=./x", " log"),
    ("git ", "push", ""),
    ("date ", "-s", " 2020-01-01"),
    ("jq ", "-f", " x.jq a.json"),
    ("uniq a.txt ", "PWNED", ""),
    ("tail ", "-f", " a.txt"),
    ("cat ", "/etc/passwd", ""),
    ("cat ", "../x", ""),
    ("cat <", "/etc/passwd", ""),
    ("ls >", "PWNED", ""),
    ("", "touch", " PWNED"),
    ("", "./x", ""),
];

/// One way to write a byte so that bash still gets that byte.
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
        // Quoted as well, so that a parenthesis or blank stays text.
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
            proptest::sample::select(vec!["shell", "read_file", "grep", "glob", "ls", "edit", "write_file", "lsp", "agent"])
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

/// Every frame around every command: the property above only samples them.
#[test]
fn every_frame_holds_for_some_commands() {
    let gate = Gate::new();
    for command in ["ls", "cat a.txt | head -5", "git log -3"] {
        for frame in FRAMES {
            let attack = frame.replacen("{}", command, 1);
            assert_eq!(support::judge(&gate, &attack).decision, Decision::Boundary, "{attack}");
        }
    }
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
