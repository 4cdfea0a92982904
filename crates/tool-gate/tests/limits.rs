//! A text that is too large is refused, whatever it consists of, and nothing that is made from a text grows without a
//! limit.
//!
//! `benches/worst.rs` shows how long this takes. Here each family of texts is judged on a small stack, at sizes on both
//! sides of every limit. A text that would take seconds or gigabytes would also be noticed here.

mod support;
#[path = "support/worst.rs"]
mod worst;

use headstart_tool_gate::{Decision, EffectKind, Gate, Reason, Verdict};
use worst::FAMILIES;

/// Half of the stack that WebAssembly has, for code that is not optimised.
const STACK: usize = 512 * 1024;
/// The longest text that is judged.
const LONGEST: usize = 32 * 1024;

/// Runs `work` on a thread with a small stack.
fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread can be started");
    thread.join().expect("the thread ends as it should")
}

/// A text of `family` with about `size` bytes, but not longer than what is judged.
fn sized(family: fn(usize) -> String, size: usize) -> String {
    let mut text = family(size);
    if size <= LONGEST {
        let most = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(most);
    }
    text
}

fn bounded(name: &str, verdict: &Verdict, text: &str) {
    // Effects that do more than read are only listed up to a limit. Reads are listed once for each path.
    let more = verdict.effects.iter().filter(|effect| effect.kind != EffectKind::ReadOnly).count();
    assert!(more <= 640 && verdict.effects.len() <= 16 * 1024, "{name}: {} effects", verdict.effects.len());
    assert!(verdict.reads.len() <= 16 * 1024, "{name}: {} paths", verdict.reads.len());
    let command = verdict.hardened.as_ref().and_then(|hardened| hardened.shown());
    // Inserted options make each git command longer.
    assert!(command.is_none_or(|command| command.len() < 64 * text.len()), "{name}");
    for effect in &verdict.effects {
        assert!(
            effect.span.is_none_or(|(start, end)| start <= end && end <= text.len()),
            "{name}: {effect:?}"
        );
    }
}

#[test]
fn a_megabyte_of_anything_is_over_a_limit() {
    on_small_stack(|| {
        let gate = Gate::new();
        for (name, family) in FAMILIES {
            let text = family(1 << 20);
            // A family whose own text stays small is recognized by its length.
            if LONGEST < text.len() {
                let verdict = support::judge(&gate, &text);
                assert_eq!((verdict.decision, verdict.reason), (Decision::Boundary, Reason::Limit), "{name}");
            }
        }
        let large = FAMILIES.iter().filter(|(_, family)| LONGEST < family(1 << 20).len()).count();
        assert!(FAMILIES.len() - 8 < large, "only {large} families grow");
    });
}

#[test]
fn every_family_gets_a_verdict_at_every_size() {
    on_small_stack(|| {
        let gate = Gate::new();
        for (name, family) in FAMILIES {
            for size in [60, 250, 1_000, 4_000, 12_000, LONGEST] {
                let text = sized(*family, size);
                bounded(name, &support::judge(&gate, &text), &text);
            }
        }
    });
}

#[test]
fn each_limit_says_that_it_is_one() {
    let gate = Gate::new();
    let texts = [
        ("length", "a".repeat(LONGEST + 1)),
        ("nesting", format!("{}ls{}", "(".repeat(100), ")".repeat(100))),
        ("commands", "ls;".repeat(600)),
        ("words", format!("echo {}", "a ".repeat(5_000))),
        ("expansions", format!("echo {}", "$? ".repeat(600))),
        ("here-documents", format!("cat {}", "<<A ".repeat(20))),
        ("programs that start programs", format!("{} ls", "nice ".repeat(20))),
        ("rounds of nested loops", {
            let depth = 12;
            format!("{}cat a;{}", "for x in a b; do y=$x; x=$y$y; ".repeat(depth), " done;".repeat(depth))
        }),
        ("copies of what is known", {
            let many: Vec<String> = (0..2_000).map(|number| format!("a{number}=")).collect();
            format!("{}; ls{}", many.join(" "), " && ls".repeat(100))
        }),
        ("text put together", {
            let value = "b".repeat(4_000);
            format!("a={value}; echo {}", "\"$a$a$a$a$a$a$a$a\" ".repeat(100))
        }),
        ("the second reading", format!("echo $(pwd) {}", "a'b'\"c\"".repeat(4_000))),
    ];
    for (limit, text) in texts {
        let verdict = support::judge(&gate, &text);
        let found = (verdict.decision, verdict.reason);
        assert_eq!(found, (Decision::Boundary, Reason::Limit), "{limit}: {}", verdict.detail);
    }
}

#[test]
fn just_below_a_limit_a_command_runs() {
    let gate = Gate::new();
    let texts = [
        format!("cat <<'A'\n{}A", "a line of text\n".repeat(2_000)),
        "ls;".repeat(500),
        format!("echo {}", "a ".repeat(2_000)),
        format!("echo {}", "$? ".repeat(400)),
        format!("{} ls", "nice ".repeat(10)),
        "for x in a b; do for y in c d; do cat \"$x\" \"$y\"; done; done".to_owned(),
        format!("x=a; {}", "ls \"$x\" && x=\"${x}b\"; ".repeat(100)),
    ];
    for text in texts {
        let verdict = support::judge(&gate, &text);
        let shown: String = text.chars().take(40).collect();
        assert_eq!(verdict.decision, Decision::Allow, "{shown}: {}", verdict.detail);
    }
}

#[test]
fn a_value_that_doubles_is_not_kept() {
    // The text would have a length of two to the power of 500 if it were kept.
    let gate = Gate::new();
    for step in ["a=$a$a;", "a=\"$a$a\";", "b=$a$a a=$b$b;", "a=${b:-$a$a};", "a=($a $a);"] {
        let text = format!("a=aaaaaaaaaaaaaaaa;{}echo \"$a\"", step.repeat(400));
        bounded(step, &support::judge(&gate, &text), &text);
        // That the value is not kept must not allow a command which a short value would not allow.
        let text = format!("a=../../x;{}cat \"$a\"", step.repeat(400));
        assert_eq!(support::judge(&gate, &text).decision, Decision::Boundary, "{step}");
    }
}
