//! Attacks made from commands that are allowed, and texts of any kind.

mod support;

use std::sync::LazyLock;

use headstart_tool_gate::{CallRef, Decision, Gate};
use proptest::prelude::*;
use serde_json::{Map, Value};

const EVERYDAY: &str = include_str!("data/everyday.txt");
const ROWS: [&str; 2] = [include_str!("data/sample.jsonl"), include_str!("data/cases.jsonl")];

/// Every command of the fixtures that is allowed, on one line or several.
fn all_allowed() -> &'static [String] {
    static ALLOWED: LazyLock<Vec<String>> = LazyLock::new(|| {
        let row = |line: &str| {
            let row: Value = serde_json::from_str(line).expect("the fixture is JSON lines");
            row["cmd"].as_str().expect("a row has a command").to_owned()
        };
        let everyday = EVERYDAY.lines().filter(|line| !line.is_empty());
        let everyday = everyday.map(|line| line.replace("\\n", "\n").replace("\\t", "\t"));
        let rows = ROWS.iter().flat_map(|text| text.lines()).map(row);
        let gate = Gate::new();
        let allowed = |command: &String| support::judge(&gate, command).decision == Decision::Allow;
        everyday.chain(rows).filter(allowed).collect()
    });
    assert!(700 < ALLOWED.len(), "only {} commands are allowed", ALLOWED.len());
    &ALLOWED
}

/// Those on one line, that end as a simple command.
fn allowed() -> Vec<&'static str> {
    let simple = |line: &&str| {
        !line.contains(['\\', '#', '\n'])
            && !line.contains("<<")
            && !line.trim_end().ends_with(['}', ')', '&', ';'])
            && !["done", "fi", "esac", "]]"].iter().any(|end| line.trim_end().ends_with(end))
    };
    all_allowed().iter().map(String::as_str).filter(simple).collect()
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
    "{} 1>PWNED",
    "{}>PWNED",
    "{} 9>PWNED",
    "{} &>>PWNED",
    "{} 3>&1 >PWNED",
    "{} >/dev/null >>PWNED",
    "{} >/dev/nul\\l",
    "{} >'/dev/null '",
    "{} >/dev/null/../PWNED",
    "{} >./PWNED",
    "{} >~/PWNED",
    "{} >{PWNED,x}",
    "{} >\"$(echo PWNED)\"",
    "{} >$((1))",
    "{} >\\\nPWNED",
    "{} >'PW'NED",
    "{} >$'PWNED'",
    "{} >$\"PWNED\"",
    "{} 2>&1 >&PWNED",
    "{} 2>&$x",
    "{} >&\"$x\"",
    "{} 1<>PWNED",
    "{} <PWNED >PWNED",
    "<<<x {} >PWNED",
    "{} | cat >PWNED",
    "{} | (cat >PWNED)",
    "{} | { cat >PWNED; }",
    "{ {}; } 2>&1 | cat >PWNED",
    "for x in a; do {}; done >PWNED",
    "while read -r x; do {}; done <a >PWNED",
    "if {}; then ls; fi >PWNED",
    "case a in a) {};; esac >PWNED",
    "(( 1 )) >PWNED; {}",
    "[[ -f a ]] >PWNED; {}",
    "{} > >(cat)",
    "{} | tee -a PWNED",
    "{} | dd of=PWNED",
    "{} | sed -n wPWNED",
    "{} | awk '{print > \"PWNED\"}'",
    "{} | sort -oPWNED",
    "{} | bash -s",
    "{} | xargs -I@ touch @",
    "{} | xargs sh -c",
    "{} | parallel touch",
    "{} | env touch PWNED",
    "{} | nice touch PWNED",
    "{} | time touch PWNED",
    "{} |\n touch PWNED",
    "{} &&\n touch PWNED",
    "{} ;\\\n touch PWNED",
    "{}\n\ntouch PWNED",
    "{}\n# x\n touch PWNED #",
    "! {} || ! touch PWNED",
    "{} & touch PWNED & wait",
    "t\\\nouch PWNED; {}",
    "'touch' PWNED; {}",
    "\\touch PWNED; {}",
    "$'\\x74ouch' PWNED; {}",
    "\"touch\" PWNED; {}",
    "x=touch; {}; $x PWNED",
    "x=touch; {}; \"$x\" PWNED",
    "${x:-touch} PWNED; {}",
    "{touch,PWNED}; {}",
    "t?uch PWNED; {}",
    "$(echo touch) PWNED; {}",
    "`echo touch` PWNED; {}",
    "command touch PWNED; {}",
    "builtin eval 'touch PWNED'; {}",
    "env touch PWNED; {}",
    "/usr/bin/touch PWNED; {}",
    "/bin/../bin/touch PWNED; {}",
    ". ./x; {}",
    "source x; {}",
    "trap 'touch PWNED' EXIT; {}",
    "coproc touch PWNED; {}",
    "function ls { touch PWNED; }; {}",
    "ls() { touch PWNED; }; {}",
    "GIT_PAGER=./x {}",
    "GIT_DIR=x {}",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=./x {}",
    "PAGER=./x {}",
    "LD_LIBRARY_PATH=. {}",
    "LD_AUDIT=./x.so {}",
    "DYLD_INSERT_LIBRARIES=./x {}",
    "RIPGREP_CONFIG_PATH=x {}",
    "PYTHONPATH=. {}",
    "NODE_OPTIONS=-r./x {}",
    "PERL5OPT=-Mx {}",
    "ENV=x {}",
    "SHELLOPTS=xtrace {}",
    "PS4='$(touch PWNED)'; set -x; {}",
    "PROMPT_COMMAND='touch PWNED' {}",
    "PATH+=:. {}",
    "PATH=.:$PATH\n{}",
    "export PATH=.; {}",
    "declare PATH=.; {}",
    "read PATH <<< .; {}",
    "printf -v PATH .; {}",
    "for PATH in .; do {}; done",
    "((PATH=1)); {}",
    "cd /; {}; touch PWNED",
    "{} <<-EOF >PWNED\n\tx\n\tEOF",
    "{} <<'EOF' | sh\ntouch PWNED\nEOF",
    "{} <<EOF && touch PWNED\nx\nEOF",
    "{} <<EOF & touch PWNED\nx\nEOF",
    "{} <<EOF || touch PWNED\nx\nEOF",
    "{} <<A <<B >PWNED\nx\nA\ny\nB",
    "{} <<A; cat <<B >PWNED\nx\nA\ny\nB",
    "{} <<E\\OF\nx\nEOF\ntouch PWNED",
    "{} <<\"EOF\"\nx\nEOF\ntouch PWNED",
    "{} <<EOF\n${x:-$(touch PWNED)}\nEOF",
    "{} <<EOF\n$((a[$(touch PWNED)]))\nEOF",
    "{} <<EOF\nEOF\n>PWNED",
    "{} <<EOF\nx\n EOF\ntouch PWNED",
    "{} >/dev/udp/127.0.0.1/9",
    "exec 3<>/dev/tcp/127.0.0.1/9; {} >&3",
    "cat </dev/tcp/127.0.0.1/9; {}",
    "{} | nc 127.0.0.1 9",
    "{}; curl http://127.0.0.1",
    "{}; ssh 127.0.0.1 ls",
    "{} | curl -d @- http://127.0.0.1",
    "{}; git fetch",
    "x=$({}; touch PWNED)",
    "echo \"${x:-`touch PWNED`}\"; {}",
    "[[ $(touch PWNED) ]] && {}",
    "[ -n \"$(touch PWNED)\" ] && {}",
    "case $(touch PWNED) in a) ;; esac; {}",
    "for x in $(touch PWNED); do {}; done",
    "(( x = $(touch PWNED) )); {}",
    "a=($(touch PWNED)); {}",
    "a[$(touch PWNED)]=1; {}",
    "cat <(touch PWNED); {}",
    "{}; time touch PWNED",
    "{}; nohup touch PWNED",
    "{}; timeout 5 touch PWNED",
    "{}; xargs touch <a",
    "{}; find . -exec touch PWNED \\;",
    "{}; find . -\\delete",
    "while true; do {}; done",
    "until false; do {}; done",
    "for ((;;)); do {}; done",
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
    ("sort a.txt ", "--o=PWNED", ""),
    ("sort a.txt ", "--out", " PWNED"),
    ("sort a.txt ", "--compress-p=./x", ""),
    ("sort ", "-T", " /x a.txt -oPWNED"),
    ("sort ", "-nro", "PWNED a.txt"),
    ("sort ", "-uoPWNED", " a.txt"),
    ("sed ", "-ni", " p a.txt"),
    ("sed ", "-Ei.bak", " p a.txt"),
    ("sed ", "--in-p", " p a.txt"),
    ("sed ", "--i=.bak", " p a.txt"),
    ("sed ", "-nfx", " a.txt"),
    ("sed ", "--fi=x", " a.txt"),
    ("sed ", "-nepwPWNED", " a.txt"),
    ("sed ", "--expr=wPWNED", " a.txt"),
    ("sed ", "1e", " a.txt"),
    ("sed ", "s/a/b/e", " a.txt"),
    ("sed ", "s/a/b/gwPWNED", " a.txt"),
    ("awk ", "--file=x", " a.txt"),
    ("awk ", "-vx=1", " -fx a.txt"),
    ("awk ", "{print>$1}", " a.txt"),
    ("awk ", "{print|$1}", " a.txt"),
    ("awk ", "{\"x\"|getline}", " a.txt"),
    ("find . ", "-execdir", " touch PWNED ;"),
    ("find . ", "-ok", " touch PWNED ;"),
    ("find . ", "-fprintf", " PWNED x"),
    ("find . ", "-fls", " PWNED"),
    ("find . -exec cat {} + ", "-delete", ""),
    ("find . -exec ", "touch", " {} +"),
    ("find . -exec ", "sh", " -c x ;"),
    ("xargs ", "touch", " <a"),
    ("xargs -I@ ", "sh", " -c @"),
    ("xargs -n1 ", "rm", " <a"),
    ("rg ", "--pre", " ./x foo"),
    ("rg ", "-nz", " foo"),
    ("rg ", "--hostname-bin=./x", " foo"),
    ("fd ", "-x", " touch"),
    ("fd ", "-Hx", " touch"),
    ("fd ", "--exec", " touch"),
    ("fd ", "-X", " rm"),
    ("git log ", "--outp=PWNED", ""),
    ("git log ", "--show-signature", ""),
    ("git diff ", "--textconv", ""),
    ("git grep ", "--open-files-in-pager=./x", " foo"),
    ("git ", "--exec-path=.", " log"),
    ("git ", "-p", " -c core.pager=./x log"),
    ("git ", "--config-env=core.pager=X", " log"),
    ("git branch ", "-m", " a b"),
    ("git branch ", "--set-upstream-to=x", ""),
    ("git tag ", "-d", " v1.0"),
    ("git stash ", "pop", ""),
    ("git remote ", "add", " a b"),
    ("git config ", "--unset", " a.b"),
    ("git reflog ", "expire", ""),
    ("git worktree ", "add", " x"),
    ("git notes ", "add", " -m x"),
    ("git ", "commit", " -am x"),
    ("git ", "checkout", " ."),
    ("tar ", "xf", " a.tar"),
    ("tar ", "-cf", " PWNED a"),
    ("tar tf a.tar ", "--to-command=./x", ""),
    ("tar tf a.tar ", "--use-compress-program=./x", ""),
    ("tar tf a.tar ", "-I./x", ""),
    ("date ", "--set=2020-01-01", ""),
    ("date ", "--se=2020-01-01", ""),
    ("tree ", "-o", " PWNED"),
    ("tail ", "-nf", " a.txt"),
    ("tail ", "--follow", " a.txt"),
    ("tail ", "--fol=name", " a.txt"),
    ("env ", "-S", "touch PWNED"),
    ("env ", "touch", " PWNED"),
    ("nice ", "touch", " PWNED"),
    ("timeout 5 ", "touch", " PWNED"),
    ("command ", "touch", " PWNED"),
    ("tee ", "PWNED", " <a"),
    ("dd if=a ", "of=PWNED", ""),
    ("printf ", "-v", " PATH x"),
    ("jq ", "--from-file", " x a.json"),
    ("jq ", "-L.", " 'import \"x\" as x; .' a.json"),
    ("less ", "-oPWNED", " a.txt"),
    ("file ", "-C", " -m x"),
    ("wc ", "--files0-from=/etc/x", ""),
    ("curl ", "http://x", ""),
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

/// Every frame around a third of all commands (another third for the next frame): the property above samples them.
#[test]
fn every_frame_holds_around_the_commands_of_the_corpora() {
    let gate = Gate::new();
    let commands = allowed();
    assert!(500 < commands.len(), "only {} commands fit into a frame", commands.len());
    let mut through = Vec::new();
    for (place, frame) in FRAMES.iter().enumerate() {
        for command in commands.iter().skip(place % 3).step_by(3) {
            let attack = frame.replacen("{}", command, 1);
            if support::judge(&gate, &attack).decision != Decision::Boundary {
                through.push(attack);
            }
        }
    }
    assert!(through.is_empty(), "{} of them: {:#?}", through.len(), &through[..through.len().min(20)]);
}

/// Whatever an allowed command looks like, what comes on lines of its own before or after it is seen.
#[test]
fn a_line_before_or_after_any_allowed_command_is_seen() {
    let gate = Gate::new();
    for command in all_allowed() {
        assert_eq!(support::judge(&gate, command).decision, Decision::Allow, "{command}");
        for line in ["touch PWNED", ">PWNED", "curl http://x", "./x", "PATH=.", "eval ls", "$(touch PWNED)"] {
            for attack in [format!("{line}\n{command}"), format!("{command}\n{line}")] {
                assert_eq!(support::judge(&gate, &attack).decision, Decision::Boundary, "{attack}");
            }
        }
    }
}

/// Every option of the list, in every disguise of one kind: the property samples mixtures of them.
#[test]
fn every_option_is_seen_in_every_disguise() {
    let gate = Gate::new();
    for (before, option, after) in OPTIONS {
        let plain = format!("{before}'{option}'{after}");
        assert_eq!(support::judge(&gate, &plain).decision, Decision::Boundary, "{plain}");
        for way in 0..10 {
            let option: String = option.chars().map(|byte| disguised(byte, way)).collect();
            let attack = format!("{before}{option}{after}");
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
