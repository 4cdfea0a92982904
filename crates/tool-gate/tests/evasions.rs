//! Commands that are based on what an analysis may get wrong: jumps, failures, listings, and what the hardened form
//! inserts.

mod support;

use headstart_tool_gate::{Decision, Gate, GateContext};

/// One command on each line, in which `\n` is spelled out.
const EVASIONS: &str = include_str!("data/evasions.txt");

fn lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("##"));
    lines.map(|line| line.replace("\\n", "\n"))
}

#[test]
fn every_evasion_is_a_boundary() {
    let gate = Gate::new();
    let through: Vec<String> = lines(EVASIONS)
        .filter(|command| support::judge(&gate, command).decision != Decision::Boundary)
        .collect();
    assert!(through.is_empty(), "{through:#?}");
    assert!(100 < lines(EVASIONS).count());
}

const LINES: &str = r" | LC_ALL=C sed -E '\,(^|/)[.][.](/|$)|^[-/],d'";
const NULS: &str = r" | LC_ALL=C sed -zE '\,(^|/)[.][.](/|$)|^[-/],d'";
const WORDS: &str = r" | LC_ALL=C sed -E '\,(^|/)[.][.](/|$)|^[-/]|[]*?\\[:blank:][],d'";

/// A command, and its hardened form, in which the inserted filters are written by their names.
const HARDENED: &[(&str, &str)] = &[
    ("find . -name x | xargs cat", "find . -name x{LINES} | xargs -d '\\n' cat"),
    ("find . | sort | head -3 | xargs cat", "find . | sort | head -3{LINES} | xargs -d '\\n' cat"),
    ("find . # c\n", ""),
    ("find . -print0 | xargs -0 cat", ""),
    ("find . -print0 | sort -z | xargs -0 cat", ""),
    ("git ls-files -z | xargs -0 cat", "git ls-files -z{NULS} | xargs -0 cat"),
    (
        "git diff --name-only HEAD~1 | xargs cat",
        "git diff --no-ext-diff --no-textconv --ignore-submodules=dirty --name-only HEAD~1{LINES} | xargs -d '\\n' cat",
    ),
    ("ls | tr '\\n' '\\0' | xargs -0 cat", "ls | tr '\\n' '\\0'{NULS} | xargs -0 cat"),
    ("ls | xargs -I{} cat {}", "ls{LINES} | xargs -d '\\n' -I{} cat {}"),
    ("ls | xargs -d '\\n' cat", "ls{LINES} | xargs -d '\\n' cat"),
    ("cat $(find . -name x)", "cat $(find . -name x{WORDS})"),
    ("cat `find . -name x`", "cat `find . -name x{WORDS}`"),
    ("cat \"$(find . -name x | head -1)\"", "cat \"$(find . -name x | head -1{LINES})\""),
    ("cat $(find . -name x # c\n)", "cat $(find . -name x{WORDS} # c\n)"),
    ("cat $(find . 2>/dev/null )", "cat $(find . 2>/dev/null{WORDS} )"),
    ("f=$(ls | head -1); cat \"$f\"", "f=$(ls | head -1{LINES}); cat \"$f\""),
    ("f=$(ls); echo \"$f\"", ""),
    ("echo \"$(ls)\"", ""),
    ("f=$(ls); cat $f", "f=$(ls{WORDS}); cat $f"),
    ("for f in $(ls); do cat \"$f\"; done", "for f in $(ls{WORDS}); do cat \"$f\"; done"),
    ("ls | while read -r f; do echo \"$f\"; done", ""),
    ("ls | while read -r f; do cat \"$f\"; done", "ls{LINES} | while IFS= read -r f; do cat \"$f\"; done"),
    (
        "ls | while IFS= read -r f; do cat \"$f\"; done",
        "ls{LINES} | while IFS= read -r f; do cat \"$f\"; done",
    ),
    (
        "ls src | while read f; do cat \"src/$f\"; done",
        "ls src{LINES} | while IFS= read -r f; do cat \"src/$f\"; done",
    ),
    ("ls | while read f; do echo \"$f\"; done", ""),
    (
        "while read -r f; do wc -l \"$f\"; done < <(find .)",
        "while IFS= read -r f; do wc -l \"$f\"; done < <(find .{LINES})",
    ),
    (
        "ls | while read -r f; do x=$f; [ -f \"$x\" ] && head -1 \"$x\"; done",
        "ls{LINES} | while IFS= read -r f; do x=$f; [ -f \"$x\" ] && head -1 \"$x\"; done",
    ),
    (
        "x=$(ls | head -1); [ -z \"$x\" ] && x=$(find . | head -1); cat \"$x\"",
        "x=$(ls | head -1{LINES}); [ -z \"$x\" ] && x=$(find . | head -1{LINES}); cat \"$x\"",
    ),
    ("(cd src; find .) | wc -l", ""),
    ("(find .) | xargs cat", "(find .){LINES} | xargs -d '\\n' cat"),
    ("find . 2>&1 | xargs cat", "find . 2>&1{LINES} | xargs -d '\\n' cat"),
    (
        "grep -rn x src | cut -d: -f1 | sort -u | xargs wc -l",
        "grep -rn x src | cut -d: -f1 | sort -u{LINES} | xargs -d '\\n' wc -l",
    ),
    (
        "find . -name x | sed 's|^./||' | xargs cat",
        "find . -name x | sed 's|^./||'{LINES} | xargs -d '\\n' cat",
    ),
    (
        "find . | xargs -n1 dirname | sort -u | xargs ls",
        "find .{LINES} | xargs -d '\\n' -n1 dirname | sort -u{LINES} | xargs -d '\\n' ls",
    ),
    ("wc -l *", "wc -l -- *"),
    ("wc -l *.rs *.md", "wc -l -- *.rs *.md"),
    ("wc -l src/*.rs", ""),
    ("wc -l -- *", ""),
    ("wc -l $(ls)", "wc -l $(ls{WORDS})"),
    ("for f in *; do wc -l \"$f\"; done", "for f in *; do wc -l -- \"$f\"; done"),
    ("grep -c foo *", "grep -c foo -- *"),
    ("sha256sum *", "sha256sum -- *"),
    ("du -sh *", "du -sh -- *"),
    ("du -sh */", "du -sh -- */"),
    ("cat *", ""),
    ("grep -rn TODO src --include=*.rs", ""),
    ("grep -rn TODO --include=*.{rs,md} *", "grep -rn TODO --include=*.{rs,md} -- *"),
    ("git ls-files *", "git ls-files -- *"),
    ("grep -R foo src", "grep -r foo src"),
    ("grep -RIn foo .", "grep -rIn foo ."),
    ("grep -nReR .", "grep -nreR ."),
    ("diff -r a b", "diff --no-dereference -r a b"),
    ("time find . | timeout 5 xargs cat", "time find .{LINES} | timeout 5 xargs -d '\\n' cat"),
];

#[test]
fn what_rests_on_a_listing_runs_behind_a_filter() {
    let gate = Gate::new();
    for (command, expected) in HARDENED {
        let verdict = support::judge(&gate, command);
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.detail);
        let expected = expected.replace("{LINES}", LINES).replace("{NULS}", NULS).replace("{WORDS}", WORDS);
        let hardened = verdict.hardened.as_ref().and_then(|hardened| hardened.shown());
        assert_eq!(hardened.unwrap_or_default(), expected, "{command}");
    }
}

/// Commands that are similar to the evasions, but read-only.
const ALLOWED: &[&str] = &[
    "for i in 1 2 3; do [ -f a ] && break; echo $i; done",
    "while read -r l; do [ -z \"$l\" ] && continue; echo \"$l\"; done < a.txt",
    "cd src && ls || echo none",
    "cd src || exit 1; ls",
    "[ $(wc -l < a.txt) -gt 10 ] && echo long",
    "n=$(grep -c foo a.txt); if [ $n -gt 3 ]; then echo many; fi",
    "n=$(wc -l < a.txt); tail -n $n a.txt; echo $((n + 1))",
    "for i in $(seq 1 3); do head -n $i a.txt; done",
    "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
    "i=0; while ((i < 3)); do echo $i; ((i++)); done",
    "for f in *.rs; do n=$(wc -l < \"$f\"); echo \"$f $n\"; done",
];

#[test]
fn what_is_near_an_evasion_runs() {
    let gate = Gate::new();
    for command in ALLOWED {
        let verdict = support::judge(&gate, command);
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {}", verdict.detail);
    }
}

#[test]
fn names_that_begin_with_the_path_of_the_workspace_are_read_from_there() {
    let gate = Gate::new();
    for command in [
        "cd sub && find /ws/pkg -name x | xargs cat",
        "cd sub && find /ws/pkg -name x | while read -r f; do cat \"$f\"; done",
        "cd sub && for f in $(find /ws/pkg -name x); do cat \"$f\"; done",
    ] {
        let reads = support::texts(&support::judge(&gate, command).reads);
        assert!(reads.contains(&".".to_owned()), "{command}: {reads:?}");
    }
    // A path with a character that means something to the filter gets none.
    for workspace in ["/w s", "/w,s", "/w+s", "/w'", "/w$s"] {
        let context = GateContext { workspace: workspace.to_owned(), ..support::context() };
        let verdict = gate.judge_command(&format!("find \"{workspace}\" -name x | xargs cat"), &context);
        assert_eq!(verdict.decision, Decision::Boundary, "{workspace}");
    }
}
