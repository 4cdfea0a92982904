//! `jq`: its options, and a check of its program.

use crate::EffectKind::{self, Environment, Executes, NonTerminating};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{Operands, Spec};
use crate::shell::progress::{Change, Sum, compared, never_ends};
use crate::shell::value::Arg;

/// Names with which a program reaches beyond its input.
const REFUSED: [&str; 6] = ["env", "ENV", "import", "include", "modulemeta", "get_search_list"];

pub(super) const JQ: Spec = Spec {
    flags: "nrajsceSCMRVh",
    long: "null-input raw-output ascii-output join-output slurp compact-output exit-status sort-keys color-output \
           monochrome-output raw-input tab seq stream unbuffered help version",
    ..Spec::new(&["jq"], Operands::Custom)
};

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    // Options with two values are taken out first, because the other code expects one value at most.
    let mut program = None;
    let mut rest = args.iter();
    let mut named_positional = false;
    while let Some(arg) = rest.next() {
        let Some(text) = arg.text() else {
            if arg.dash || program.is_none() {
                return judge.unknown("an argument of jq that is not known before it runs", arg.span);
            }
            if !named_positional {
                judge.read_file(arg);
            }
            continue;
        };
        match text {
            "--arg" | "--argjson" => {
                for _ in 0..2 {
                    if rest.next().is_none_or(|value| value.many) {
                        return judge.unknown("a value of jq that is not known before it runs", arg.span);
                    }
                }
            }
            "--slurpfile" | "--rawfile" => {
                let (name, file) = (rest.next(), rest.next());
                match (name, file) {
                    (Some(name), Some(file)) if !name.many && !file.many => judge.read_file(file),
                    _ => return judge.unknown("a value of jq that is not known before it runs", arg.span),
                }
            }
            "--indent" => {
                if rest.next().is_none_or(|value| !value.number) {
                    return judge.unknown("a value of jq that is not understood", arg.span);
                }
            }
            "--args" | "--jsonargs" => named_positional = true,
            option if option.starts_with('-') && option != "-" && 1 < option.len() => {
                crate::shell::options::parse(judge, &JQ, std::slice::from_ref(arg));
            }
            _ if program.is_none() => program = Some(text.to_owned()),
            _ if named_positional => {}
            _ => judge.read_file(arg),
        }
    }
    let Some(program) = program else { return };
    if let Some((kind, why)) = beyond(&program) {
        judge.refuse(kind, why, span);
    }
}

/// What a program does besides filtering its input; `None` if that is all.
pub(super) fn beyond(program: &str) -> Option<(EffectKind, String)> {
    let mut end = 0;
    for word in
        program.split_inclusive(|character: char| !character.is_ascii_alphanumeric() && character != '_')
    {
        let name =
            word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        if REFUSED.contains(&name) && !is_field(&program[..end]) {
            let kind = if name.eq_ignore_ascii_case("env") { Environment } else { Executes };
            return Some((kind, format!("the jq program uses {name}")));
        }
        end += word.len();
    }
    endless(program).map(|why| (NonTerminating, why.to_owned()))
}

/// Why a program goes on for ever: a filter that repeats itself, a number without an end, or a condition that never
/// changes.
fn endless(program: &str) -> Option<&'static str> {
    let bare: String = program.chars().filter(|character| !character.is_whitespace()).collect();
    let named = |name: &str| {
        let is_name =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '$' | '"');
        program.match_indices(name).any(|(at, _)| {
            !program[..at].ends_with(is_name)
                && !program[at + name.len()..]
                    .starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
        })
    };
    if named("repeat") || named("infinite") {
        return Some("a loop in the jq program does not end");
    }
    if let Some(why) = steps_for_ever(&bare) {
        return Some(why);
    }
    let constant = ["until(false;", "until(null;", "while(true;", "while(1;", "until(empty;"];
    if constant.iter().any(|start| bare.contains(start)) || calls_itself(program) {
        return Some("a loop in the jq program may not end");
    }
    None
}

/// Finds a filter that is applied to its own result again and again, with a condition that never changes.
fn steps_for_ever(bare: &str) -> Option<&'static str> {
    for call in calls(bare, "range") {
        if matches!(call.as_slice(), [_, _, "0"]) {
            return Some("a range in the jq program whose steps are nothing");
        }
    }
    for call in calls(bare, "recurse") {
        match call.as_slice() {
            // This filter gives one number for every number, so it is applied for ever.
            [step] if Sum::read(step).is_some() => {
                return Some("a recurse in the jq program that does not end");
            }
            [step, condition] => {
                if let Some(why) = goes_on(condition, step, false) {
                    return Some(why);
                }
            }
            _ => {}
        }
    }
    for (name, negated) in [("while", false), ("until", true)] {
        for call in calls(bare, name) {
            if let [condition, step] = call.as_slice()
                && let Some(why) = goes_on(condition, step, negated)
            {
                return Some(why);
            }
        }
    }
    None
}

/// Why the results of `step` never change whether `condition` holds.
fn goes_on(condition: &str, step: &str, negated: bool) -> Option<&'static str> {
    if step == "." || (condition == "true" && !negated) {
        return Some("a loop in the jq program whose condition never changes");
    }
    let (left, compare, right) = compared(condition)?;
    let change = |name: &str| match (name, Sum::read(step)) {
        (".", Some(sum)) => sum.assigned_to(".", &|_| None),
        (".", None) => Change::Unknown,
        _ => Change::NONE,
    };
    never_ends(&left, if negated { compare.negated() } else { compare }, &right, &change, &|_| None)
}

/// The arguments of each call of `name` in a program without blanks.
fn calls<'a>(bare: &'a str, name: &str) -> Vec<Vec<&'a str>> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '$');
    let mut calls = Vec::new();
    for (at, _) in bare.match_indices(name) {
        let Some(rest) = bare[at + name.len()..].strip_prefix('(') else { continue };
        if bare[..at].ends_with(is_name) {
            continue;
        }
        let (mut depth, mut start, mut arguments) = (0_usize, 0, Vec::new());
        for (place, character) in rest.char_indices() {
            match character {
                '(' | '[' | '{' => depth += 1,
                ';' | ')' if depth == 0 => {
                    arguments.push(&rest[start..place]);
                    start = place + 1;
                    if character == ')' {
                        break;
                    }
                }
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        calls.push(arguments);
    }
    calls
}

/// Whether a function is named within its own definition. The end of the definition is not looked for: the text up to
/// the next definition counts, or up to the first `;` outside parentheses.
fn calls_itself(program: &str) -> bool {
    program.split("def ").skip(1).any(|definition| {
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let name: &str = definition.trim_start();
        let name = &name[..name.find(|character| !is_name(character)).unwrap_or(name.len())];
        let Some((_, body)) = definition.split_once(':') else { return false };
        let mut depth = 0_usize;
        let end = body.find(|character| {
            match character {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                ';' => return depth == 0,
                _ => {}
            }
            false
        });
        let body = &body[..end.unwrap_or(body.len())];
        !name.is_empty() && body.split(|character| !is_name(character)).any(|word| word == name)
    })
}

/// Whether a name behind this text is a field's name: behind one dot, without a number or another dot before that.
pub(super) fn is_field(before: &str) -> bool {
    let Some(rest) = before.strip_suffix('.') else { return false };
    !rest.ends_with(|last: char| last == '.' || last.is_ascii_alphanumeric() || last == '_')
}
