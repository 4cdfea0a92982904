//! Every effect of a shell command says where it comes from, so that a front end can colour the command.

mod support;

use headstart_tool_gate::{Decision, EffectKind, Gate, Reason, Verdict};
use proptest::prelude::*;
use proptest::sample::select;

const FIXTURES: [&str; 2] = [include_str!("data/sample.jsonl"), include_str!("data/cases.jsonl")];
const LINES: [&str; 2] = [include_str!("data/everyday.txt"), include_str!("data/attacks.txt")];

fn corpora() -> Vec<String> {
    let rows = FIXTURES.iter().flat_map(|text| text.lines()).map(support::of_row);
    let lines = LINES.iter().flat_map(|text| text.lines());
    rows.chain(lines.map(support::spelled_out)).collect()
}

/// Describes what is wrong with the spans and sentences of a verdict, if anything is.
fn fault(command: &str, verdict: &Verdict) -> Option<String> {
    if verdict.effects.is_empty() {
        return Some(format!("{command:?} has no effect"));
    }
    for effect in &verdict.effects {
        let Some((start, end)) = effect.span else {
            return Some(format!("{command:?}: {effect:?} has no place"));
        };
        let Some(text) = command.get(start..end) else {
            return Some(format!("{command:?}: {effect:?} is not in it"));
        };
        if text.is_empty() && !command.is_empty() {
            return Some(format!("{command:?}: {effect:?} shows nothing"));
        }
        if effect.detail.len() < 7 || !effect.detail.contains(' ') {
            return Some(format!("{command:?}: {:?} is no sentence", effect.detail));
        }
        // A secret also stops a command that only reads it.
        let only_reads = verdict.decision == Decision::Allow || verdict.reason == Reason::SecretPath;
        if effect.kind == EffectKind::ReadOnly && !only_reads
            || effect.kind != EffectKind::ReadOnly && verdict.decision == Decision::Allow
        {
            return Some(format!("{command:?}: {effect:?} in a {:?}", verdict.decision));
        }
    }
    None
}

#[test]
fn every_effect_of_the_corpora_has_its_place() {
    let gate = Gate::new();
    let faults: Vec<_> =
        corpora().iter().filter_map(|command| fault(command, &support::judge(&gate, command))).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn limits_and_odd_texts_have_their_place() {
    let long = "é".repeat(20_000);
    let texts = [
        String::new(),
        "ls \u{a0}x".into(),
        "ls é\u{200b}".into(),
        "ls 'é".into(),
        "ls \"é".into(),
        "ls $(é".into(),
        "ls )é".into(),
        "é\0".into(),
        "cat <<é".into(),
        long.clone(),
        format!("ls;{long}"),
        "ls é;".repeat(600),
        "(".repeat(100),
        "é$(".repeat(60),
        "$x".repeat(2_000),
        "for x in a; do y=$y$x; done".into(),
        "for f in é; do x=$z; z=$y; y=$w; w=$v; v=$u; u=$t; t=$s; s=\"$f$s\"; done; ls".into(),
        "x=1".into(),
        "[[ -f a ]]".into(),
        "(( 1 + 1 ))".into(),
    ];
    for text in texts {
        assert_eq!(fault(&text, &support::judge(&Gate::new(), &text)), None);
    }
}

/// The coloured parts in the order of the text: what is said about each, and its text.
fn shown(command: &str) -> Vec<String> {
    let verdict = support::judge(&Gate::new(), command);
    let line = |effect: &headstart_tool_gate::Effect| {
        let (start, end) = effect.span.expect("every effect has a place");
        format!("{} <- {}", effect.detail, &command[start..end])
    };
    verdict.effects.iter().map(line).collect()
}

#[test]
fn a_front_end_can_colour_an_allowed_command() {
    assert_eq!(
        shown("cd src && grep -rn 'TODO é' lib 2>/dev/null | head -5 && timeout 5 cat \"a b\""),
        [
            "reads and prints <- cd src",
            "reads and prints <- grep -rn 'TODO é' lib",
            "reads what is below src/lib <- lib",
            "reads and prints <- head -5",
            "reads and prints <- timeout 5 cat \"a b\"",
            "reads src/a b <- \"a b\"",
        ]
    );
    assert_eq!(
        shown("for f in *.rs; do wc -l \"$f\"; echo $(cat list); done"),
        [
            "looks at names in the workspace <- *.rs",
            "reads and prints <- wc -l \"$f\"",
            "reads what is in the workspace <- \"$f\"",
            "reads and prints <- echo $(cat list)",
            "reads and prints <- cat list",
            "reads list <- list",
        ]
    );
    assert_eq!(shown("x=1"), ["computes, and reads nothing <- x=1"]);
    assert_eq!(shown("cat <a")[0], "reads and prints <- cat");
}

#[test]
fn a_refusal_points_at_its_cause() {
    let cases = [
        ("echo é; rm -rf x", "rm writes, moves or removes files <- rm"),
        ("ls >out", "writes to \"out\" <- >out"),
        ("cat a ../é", "reads \"../é\", outside the workspace <- ../é"),
        ("cat <<A\n$(touch x)\nA", "touch writes, moves or removes files <- touch"),
        ("cat `rm x`", "rm writes, moves or removes files <- rm"),
        ("ls é\u{200b}x", "a control or invisible character <- \u{200b}"),
    ];
    for (command, expected) in cases {
        assert_eq!(shown(command)[0], expected, "{command}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_change_to_a_command_loses_a_place(
        command in select(corpora()),
        other in select(corpora()),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0..6_u8, "[é🦀'\"`$(){}<>|&;\\\\ \n#=~*\u{200b}a-]{1,3}"), 1..4),
    ) {
        let mut characters: Vec<char> = command.chars().collect();
        for (place, way, text) in changes {
            let at = place.index(characters.len() + 1);
            match way {
                0 => characters.truncate(at),
                1 if at < characters.len() => drop(characters.remove(at)),
                2 => characters.splice(at..at, other.chars()).for_each(drop),
                _ => characters.splice(at..at, text.chars()).for_each(drop),
            }
        }
        let text: String = characters.into_iter().collect();
        prop_assert_eq!(fault(&text, &support::judge(&Gate::new(), &text)), None);
    }
}
