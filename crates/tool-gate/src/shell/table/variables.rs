//! Builtins that set, read or remove variables and settings.

use crate::EffectKind::{Environment, Executes};
use crate::environment::is_special_variable;
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::names::listed;
use crate::shell::options::{Operands, Spec, parse};
use crate::shell::table::is_harmless_prefix;
use crate::shell::value::{Arg, Value};

pub(super) const READ: Spec =
    Spec { flags: "rs", values: "adnNpt", ..Spec::new(&["read"], Operands::Custom) };

pub(super) fn read(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &READ, args);
    // A line is kept as it is, if nothing splits it and no backslash is removed: the hardened form has a `-r`.
    let mut nul = false;
    let mut lines = true;
    let mut arrays = Vec::new();
    for given in &parsed.options {
        match given.name.as_str() {
            "r" | "s" | "p" => {}
            "a" => arrays.extend(given.value.clone()),
            "d" if given.value.as_ref().is_some_and(|value| value.is("")) => nul = true,
            _ => lines = false,
        }
    }
    lines &= nul || !judge.input.shape().nul;
    if !lines {
        // What it leaves of the input may start anywhere in a line.
        judge.input = Value::ANY;
    }
    let whole = lines && parsed.operands.len() == 1 && arrays.is_empty();
    let value = if whole {
        let line = judge.whole_line(judge.input.join(&Value::empty()));
        if parsed.has(&["r"]) { line } else { judge.raw_line(line, span) }
    } else {
        Value::ANY
    };
    for name in &parsed.operands {
        assign_to(judge, name, value.clone(), span);
    }
    for name in &arrays {
        assign_array(judge, name, Value::ANY, span);
    }
}

pub(super) const MAPFILE: Spec =
    Spec { flags: "t", values: "dns", ..Spec::new(&["mapfile", "readarray"], Operands::Custom) };

/// `mapfile`, which makes an array of the lines that it reads. Its callback and other descriptors are refused.
pub(super) fn mapfile(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &MAPFILE, args);
    let nul = parsed
        .options
        .iter()
        .any(|given| given.name == "d" && given.value.as_ref().is_some_and(|value| value.is("")));
    let whole = parsed.has(&["t"])
        && parsed.options.iter().filter(|given| given.name == "d").count() < 2
        && !parsed.has(&["n", "s"])
        && (nul || !(parsed.has(&["d"]) || judge.input.shape().nul));
    let value = if whole { judge.input.join(&Value::empty()) } else { Value::ANY };
    judge.input = Value::ANY;
    match parsed.operands.as_slice() {
        [name] => assign_array(judge, name, value, span),
        _ => judge.unknown("an array that is not named", span),
    }
}

/// Gives a value to the variable that an argument names. The name may contain an index, which bash evaluates.
fn assign_to(judge: &mut Judge<'_>, name: &Arg, value: Value, span: Span) {
    match name.text().filter(|text| is_name(text)) {
        // The next command overwrites it, and nothing here relies on it.
        Some("_") => {}
        Some(text) => judge.assign(text, value, span),
        None => judge.refuse(Executes, "a name that may hold a subscript, which is evaluated", name.span),
    }
}

/// As [`assign_to`], for an array each of whose elements is a text that `value` stands for.
fn assign_array(judge: &mut Judge<'_>, name: &Arg, value: Value, span: Span) {
    assign_to(judge, name, value.clone(), span);
    if let Some(text) = name.text() {
        judge.state.set_array(text, value);
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// `export` of variables that only change a program's language, time zone or colours.
pub(super) fn export(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    if args.is_empty() {
        return judge.refuse(Environment, "prints the environment", span);
    }
    for arg in args {
        let Some((name, value)) = arg.text().and_then(|text| text.split_once('=')) else {
            judge.refuse(Environment, "export changes what later programs do", arg.span);
            continue;
        };
        if !is_harmless_prefix(name, value, "") {
            judge.refuse(Environment, format!("{name} may change what later programs do"), arg.span);
        } else if !is_special_variable(name) {
            judge.assign(name, Value::Exact(value.as_bytes().to_vec()), arg.span);
        }
    }
}

/// `unset` of plain variables.
pub(super) fn unset(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let names = match args.split_first() {
        Some((first, rest)) if first.is("-v") => rest,
        _ => args,
    };
    for name in names {
        assign_to(judge, name, Value::empty(), span);
    }
}

/// Settings of `shopt` that only change which names a wildcard matches.
const GLOBBING: &str = "nullglob globstar dotglob nocaseglob";

pub(super) fn shopt(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let known = |arg: &Arg| arg.text().is_some_and(|text| listed(GLOBBING, text));
    let asks = |arg: &Arg| {
        let letters = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        arg.is("-p") || arg.is("-q") || arg.text().is_some_and(letters)
    };
    match args.split_first() {
        // Asks which settings are on.
        _ if args.iter().all(asks) => {}
        Some((first, rest))
            if (first.is("-s") || first.is("-u")) && !rest.is_empty() && rest.iter().all(known) => {}
        _ => judge.refuse(Environment, "shopt changes how what follows is read", span),
    }
}

pub(super) fn set(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    if matches!(args, [only] if only.is("-o") || only.is("+o")) {
        // Prints which settings are on.
        return;
    }
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
        if !known
            || (named && !matches!(option, Some("pipefail" | "errexit" | "nounset" | "noglob" | "xtrace")))
        {
            return judge.refuse(Environment, "set changes how what follows is read", span);
        }
    }
    if !any {
        judge.refuse(Environment, "prints every variable", span);
    }
}
