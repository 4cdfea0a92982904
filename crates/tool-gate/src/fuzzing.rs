//! Properties that hold for every text: shared by the fuzz targets and by the tests that replay what they found.

use crate::shell::checks;
use crate::{Decision, EffectKind, Gate, GateContext, Verdict};

/// The reader does not panic, gives the same result twice, and its spans lie within the text.
pub fn parse(text: &str) {
    checks::parse(text);
}

/// A sed script that is judged harmless ends where another command could start.
pub fn sed(script: &[u8]) {
    assert_eq!(checks::sed(script), checks::sed(script));
    if checks::sed(script) {
        for more in [&b"w x"[..], b"s/a/b/w x", b"e", b"s/a/b/e", b"1e ls", b"$!{p;W x\n}"] {
            assert!(!checks::sed(&[script, b"\n", more].concat()), "{more:?} after {script:?}");
        }
        assert!(checks::sed(&[b"p\n", script, b"\np"].concat()), "{script:?} between two commands");
    }
}

/// An awk program that is judged harmless ends where another rule could start.
pub fn awk(program: &[u8]) {
    assert_eq!(checks::awk(program), checks::awk(program));
    if checks::awk(program) {
        let rules = [
            &b"BEGIN { system(\"x\") }"[..],
            b"{ print > \"x\" }",
            b"{ print | \"x\" }",
            b"{ print >> \"x\" }",
            b"BEGIN { \"x\" | getline }",
        ];
        for rule in rules {
            assert!(!checks::awk(&[program, b"\n", rule].concat()), "{rule:?} after {program:?}");
            assert!(!checks::awk(&[rule, b"\n", program].concat()), "{rule:?} before {program:?}");
        }
    }
}

/// A verdict is the same twice and its spans lie within the text. An allowed command stays allowed with a comment
/// behind it and not with a write behind it, and its hardened form is allowed too, unless it has backquotes.
pub fn classify(text: &str) {
    let gate = Gate::new();
    let context = GateContext { workspace: "/ws".to_owned(), ..GateContext::default() };
    let judge = |text: &str| gate.judge_command(text, &context);
    let verdict = judge(text);
    assert_eq!(verdict, judge(text));
    assert!(!verdict.effects.is_empty());
    for (start, end) in verdict.effects.iter().filter_map(|effect| effect.span) {
        // A front end highlights this part of the text, so it must be a valid range.
        assert!(start <= end && text.get(start..end).is_some(), "{start}..{end} of {text:?}");
    }
    match verdict.decision {
        Decision::Allow => allowed(text, &verdict, judge),
        Decision::Boundary => assert!(verdict.hardened.is_none()),
        Decision::Redirect | Decision::Shadow => panic!("a command that runs now is never staged: {text:?}"),
    }
}

fn allowed(text: &str, verdict: &Verdict, judge: impl Fn(&str) -> Verdict) {
    assert!(verdict.effects.iter().all(|effect| effect.kind == EffectKind::ReadOnly));
    assert!(verdict.writes.is_empty());
    for path in &verdict.reads {
        let path = path.to_string();
        assert!(!path.starts_with('/') && path.split('/').all(|name| name != ".."), "{path:?} in {text:?}");
    }
    for (before, after) in
        [("touch x\n", ""), ("", "\ntouch x"), ("", "\n>x"), ("", "\n\n>>x\n"), ("{ ", "\n} >x")]
    {
        let attack = format!("{before}{text}{after}");
        assert_eq!(judge(&attack).decision, Decision::Boundary, "{attack:?}");
    }
    // Behind a comment the appended text would be part of the comment.
    if !text.lines().next_back().is_some_and(|line| line.contains('#')) {
        let attack = format!("{text} >x");
        assert_eq!(judge(&attack).decision, Decision::Boundary, "{attack:?}");
    }
    // A text close to a limit exceeds it once something is appended.
    if text.len() < 4 * 1024 {
        for after in ["\n", "\n\n# a comment", "\n# >x\n\n"] {
            let longer = format!("{text}{after}");
            let again = judge(&longer);
            assert_eq!((again.decision, &again.reads), (Decision::Allow, &verdict.reads), "{longer:?}");
        }
        let hardened = verdict.hardened.as_ref().and_then(|hardened| hardened.command.as_ref());
        // Between backquotes the backslashes of an inserted filter are doubled, and the gate does not read that form.
        if let Some(command) = hardened.filter(|command| !command.contains('`')) {
            assert_eq!(judge(command).decision, Decision::Allow, "{command:?} for {text:?}");
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the inputs that were found are files")]
mod tests {
    use std::path::Path;

    const DATA: [&str; 2] =
        [include_str!("../tests/data/attacks.txt"), include_str!("../tests/data/everyday.txt")];
    const ROWS: [&str; 2] =
        [include_str!("../tests/data/sample.jsonl"), include_str!("../tests/data/cases.jsonl")];

    fn commands() -> Vec<String> {
        let lines = DATA.iter().flat_map(|text| text.lines());
        let lines = lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t"));
        let row = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).expect("the fixture is JSON lines");
            row["cmd"].as_str().expect("a row has a command").to_owned()
        };
        lines.chain(ROWS.iter().flat_map(|text| text.lines()).map(row)).collect()
    }

    /// The texts between single quotes in all known commands that name `program`.
    fn programs(program: &str) -> Vec<String> {
        let commands = commands().into_iter().filter(|command| command.contains(program));
        commands.flat_map(|command| command.split('\'').map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Inputs on which a check once failed or hung.
    fn found(target: &str) -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fuzz").join(target);
        let entries = std::fs::read_dir(&folder).expect("each target has a folder");
        let paths = entries.map(|entry| entry.expect("an entry can be read").path());
        paths.map(|path| std::fs::read(path).expect("an input can be read")).collect()
    }

    fn text(bytes: &[u8]) -> Option<&str> {
        std::str::from_utf8(bytes).ok()
    }

    #[test]
    fn parse_holds_for_seeds_and_finds() {
        for command in commands() {
            super::parse(&command);
        }
        found("parse").iter().filter_map(|bytes| text(bytes)).for_each(super::parse);
    }

    #[test]
    fn sed_holds_for_seeds_and_finds() {
        for program in programs("sed") {
            super::sed(program.as_bytes());
        }
        for bytes in found("sed") {
            super::sed(&bytes);
        }
    }

    #[test]
    fn awk_holds_for_seeds_and_finds() {
        for program in programs("awk") {
            super::awk(program.as_bytes());
        }
        for bytes in found("awk") {
            super::awk(&bytes);
        }
    }

    #[test]
    fn classify_holds_for_seeds_and_finds() {
        for command in commands() {
            super::classify(&command);
        }
        found("classify").iter().filter_map(|bytes| text(bytes)).for_each(super::classify);
    }

    #[test]
    fn a_check_fails_where_it_should() {
        assert!(std::panic::catch_unwind(|| super::allowed("ls >x", &verdict("ls"), verdict)).is_err());
        assert!(std::panic::catch_unwind(|| super::allowed("ls", &verdict("rm x"), verdict)).is_err());
        assert!(std::panic::catch_unwind(|| super::allowed("ls", &verdict("ls"), verdict)).is_ok());
        assert!(
            std::panic::catch_unwind(|| super::allowed("ls", &verdict("ls"), |_| verdict("ls"))).is_err()
        );
    }

    fn verdict(text: &str) -> crate::Verdict {
        let context = crate::GateContext { workspace: "/ws".to_owned(), ..crate::GateContext::default() };
        crate::Gate::new().judge_command(text, &context)
    }
}
