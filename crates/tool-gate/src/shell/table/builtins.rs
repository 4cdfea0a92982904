//! Commands of the shell itself.

use crate::EffectKind::{Environment, Executes, NonTerminating, Unknown};
use crate::shell::analyse::{Folder, Judge};
use crate::shell::options::{Operands, Spec, parse};
use crate::shell::table::{Caller, judge_program};
use crate::shell::value::{Arg, Value};
use crate::shell::{Span, by_policy};

pub(super) const PWD: Spec = Spec { flags: "LP", ..Spec::new(&["pwd"], Operands::None) };

pub(super) const TYPE: Spec = Spec { flags: "afpPt", tame: true, ..Spec::new(&["type"], Operands::Data) };

/// Judges `name` if it is a command of the shell that the gate knows.
pub(super) fn judge(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg]) -> bool {
    match name {
        // Without arguments they list what there is, which is nothing.
        "jobs" | "hash" | "alias" if args.is_empty() => {}
        "true" | "false" | ":" | "times" | "exit" => {}
        // A variable keeps the value that it has at the jump, and the end of the body is not what follows it.
        "break" | "continue" => judge.unknown("a jump out of a loop", span),
        "pwd" => {
            parse(judge, &PWD, args);
        }
        "cd" => cd(judge, args, span),
        "read" => read(judge, args, span),
        "set" => set(judge, args, span),
        "type" => {
            parse(judge, &TYPE, args);
        }
        "command" => command(judge, args, span),
        "builtin" => match args.split_first() {
            Some((inner, rest))
                if inner.text().is_some_and(|name| judge_known(judge, name, inner.span, rest)) => {}
            _ => judge.unknown("builtin without a command that is understood", span),
        },
        "sleep" => sleep(judge, args, span),
        "wait" => {
            if args.iter().any(|arg| !arg.number && (arg.dash || arg.many)) {
                judge.unknown("an option of wait", span);
            }
        }
        "ulimit" | "umask" => {
            let shows = |arg: &Arg| {
                arg.bytes().is_some_and(|bytes| {
                    bytes.len() == 2 && bytes[0] == b'-' && bytes[1].is_ascii_alphabetic()
                })
            };
            if !args.iter().all(shows) {
                judge.refuse(Environment, format!("{name} changes a limit of what follows"), span);
            }
        }
        _ => return false,
    }
    true
}

/// A command of the shell that `builtin` may run.
fn judge_known(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg]) -> bool {
    by_policy::stop(judge, name, span, args);
    match name {
        "echo" => true,
        "printf" => {
            printf(judge, args, span);
            true
        }
        "test" | "[" => {
            test(judge, name, args, span);
            true
        }
        "builtin" | "command" => false,
        name => self::judge(judge, name, span, args),
    }
}

pub(super) const CD: Spec = Spec { flags: "LPe", ..Spec::new(&["cd"], Operands::Custom) };

fn cd(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let operands = parse(judge, &CD, args).operands;
    let folders = judge.state.folders.clone();
    let new = match operands.as_slice() {
        [target] => match target.bytes() {
            // Back to where it was before, which nobody keeps.
            Some(b"-") | None => vec![Folder::Outside],
            Some(b"") => folders.clone(),
            Some(path) => {
                let resolve = |folder| judge.resolve(path, folder).map_or(Folder::Outside, Folder::Inside);
                folders.iter().map(resolve).collect()
            }
        },
        [] => vec![Folder::Outside],
        _ => return judge.unknown("cd to several places", span),
    };
    judge.state.folders = new;
    judge.failed_folders = Some(folders);
}

pub(super) const READ: Spec = Spec { flags: "rs", values: "dnNpt", ..Spec::new(&["read"], Operands::Custom) };

fn read(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &READ, args);
    // A line as it is, where nothing splits it and no backslash is taken out.
    let mut nul = false;
    let mut lines = true;
    for given in &parsed.options {
        match given.name.as_str() {
            "r" | "s" | "p" => {}
            "d" if given.value.as_ref().is_some_and(|value| value.is("")) => nul = true,
            _ => lines = false,
        }
    }
    lines &= nul || !judge.input.shape().nul;
    if !lines {
        // What it leaves may start anywhere in a line.
        judge.input = Value::ANY;
    }
    let whole = lines && parsed.operands.len() == 1 && parsed.has(&["r"]);
    let value = if whole { judge.input.join(&Value::empty()) } else { Value::ANY };
    for name in parsed.operands {
        let plain = |text: &&str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        };
        match name.text().filter(plain) {
            Some(text) => judge.assign(text, value.clone(), span),
            None => judge.refuse(Executes, "a name that may hold a subscript, which is evaluated", name.span),
        }
    }
}

fn set(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let mut rest = args.iter();
    let mut any = false;
    while let Some(arg) = rest.next() {
        any = true;
        let Some(text) = arg.text() else {
            return judge.unknown("set with arguments that are not known", span);
        };
        let letters = text.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty());
        let known = letters.is_some_and(|letters| letters.bytes().all(|letter| b"eufxo".contains(&letter)));
        let named = letters.is_some_and(|letters| letters.ends_with('o'));
        let option = if named { rest.next().and_then(Arg::text) } else { None };
        if !known || (named && !matches!(option, Some("pipefail" | "errexit" | "nounset" | "noglob"))) {
            return judge.refuse(Environment, "set changes how what follows is read", span);
        }
    }
    if !any {
        judge.refuse(Environment, "prints every variable", span);
    }
}

fn command(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    match args.split_first() {
        Some((first, _)) if first.is("-v") || first.is("-V") => {}
        Some((first, rest)) => match first.text() {
            Some(name) if !name.starts_with('-') => {
                judge_program(judge, name, first.span, rest, Caller::Shell);
            }
            _ => judge.refuse(Executes, "command runs a program that is not known", span),
        },
        None => {}
    }
}

fn sleep(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let seconds = |arg: &Arg| arg.text().and_then(|text| text.trim_end_matches('s').parse::<f64>().ok());
    let all = args.iter().map(|arg| seconds(arg).unwrap_or(f64::INFINITY)).sum::<f64>();
    if !(0.0..=30.0).contains(&all) {
        judge.refuse(NonTerminating, "sleeps for long", span);
    }
}

pub(super) fn test(judge: &mut Judge<'_>, name: &str, args: &[Arg], span: Span) {
    let args = match (name, args.split_last()) {
        ("[", Some((last, rest))) if last.is("]") => rest,
        ("[", _) => return judge.unknown("a test that is not closed", span),
        _ => args,
    };
    judge.single_bracket(args, span);
}

pub(super) fn printf(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    match args.first() {
        Some(format) if format.is("--") => {}
        Some(format) if format.prefix.starts_with(b"-v") => {
            judge.refuse(Executes, "printf -v assigns, and evaluates a subscript", span);
        }
        Some(format) if format.dash || format.many => {
            judge.refuse(Unknown, "a format that could be an option", span);
        }
        None | Some(_) => {}
    }
    let format = match args {
        [first, format, ..] if first.is("--") => Some(format),
        args => args.first(),
    };
    match format.map(Arg::bytes) {
        Some(None) => judge.refuse(Unknown, "a format that is not known could assign with %n", span),
        Some(Some(bytes)) if assigns_or_floods(bytes) => {
            judge.refuse(Executes, "a format that assigns, or that is wider than anybody reads", span);
        }
        None | Some(Some(_)) => {}
    }
}

/// Whether a format of printf has a `%n`, or a width or precision of more than four digits (or one that is an argument).
fn assigns_or_floods(format: &[u8]) -> bool {
    let mut conversions = format.split(|byte| *byte == b'%').skip(1);
    conversions.any(|conversion| {
        let modifiers =
            conversion.iter().take_while(|byte| b"-+ #'0123456789.*$hlLjzt".contains(byte)).count();
        let (modifiers, rest) = conversion.split_at(modifiers);
        let digits = modifiers.iter().filter(|byte| byte.is_ascii_digit()).count();
        4 < digits || modifiers.contains(&b'*') || rest.first() == Some(&b'n')
    })
}
