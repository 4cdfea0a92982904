//! Options as GNU programs and similar ones read them: bundled, attached, separate, ended by `--`.

use super::analyse::Judge;
use super::names::{listed, marks_behind};
use super::value::Arg;
use super::{Extent, Span};
use crate::EffectKind;

/// What a program does with its operands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operands {
    /// There are none.
    None,
    /// Text.
    Data,
    /// Files that are read; at most this many.
    Files(usize),
    /// Folders or files that are read with everything below them.
    Trees,
    /// Folders or files whose names are listed; the current folder if there is none.
    Names,
    /// The program's own code looks at them.
    Custom,
}

/// Any number of files.
pub(crate) const FILES: Operands = Operands::Files(usize::MAX);

/// What the gate knows of a program. An option that is not listed is a boundary.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "a table of independent properties")]
pub(crate) struct Spec {
    pub(crate) names: &'static [&'static str],
    /// Short options without a value.
    pub(crate) flags: &'static str,
    /// Short options with a value that is plain data.
    pub(crate) values: &'static str,
    /// Short options whose value may only be attached, and may be absent.
    pub(crate) attached: &'static str,
    /// Long options, separated by blanks: `name` without a value, `name=` with one, `name?` with one that may be
    /// attached.
    pub(crate) long: &'static str,
    /// Options whose value is a file that is read: `f file`.
    pub(crate) reads: &'static str,
    /// Options that do more than read: names, kind of effect, and description.
    pub(crate) refuses: &'static [(&'static str, EffectKind, &'static str)],
    pub(crate) operands: Operands,
    /// Whether `-5` is allowed, as a number of lines.
    pub(crate) digits: bool,
    /// Whether no option of the program, listed or not, does more than read. Then an argument that may turn out to be
    /// an option is harmless.
    pub(crate) tame: bool,
    /// Whether the first operand ends the options.
    pub(crate) stops: bool,
    /// Whether a long option may be abbreviated to a start that no other one has.
    pub(crate) abbreviates: bool,
}

impl Spec {
    pub(crate) const fn new(names: &'static [&'static str], operands: Operands) -> Self {
        Self {
            names,
            flags: "",
            values: "",
            attached: "",
            long: "",
            reads: "",
            refuses: &[],
            operands,
            digits: false,
            tame: false,
            stops: false,
            abbreviates: true,
        }
    }
}

/// An option that was given.
#[derive(Debug)]
pub(crate) struct Given {
    /// The letter or the long name.
    pub(crate) name: String,
    pub(crate) value: Option<Arg>,
}

/// A command's options and operands.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) options: Vec<Given>,
    pub(crate) operands: Vec<Arg>,
    /// Whether the hardened form has a `--` before one of the operands.
    operands_only: bool,
}

impl Parsed {
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|given| names.contains(&given.name.as_str()))
    }

    /// Whether the program does not read its standard input because it reads files instead.
    pub(crate) fn leaves_input(&self) -> bool {
        let values = self.options.iter().filter_map(|given| given.value.as_ref());
        self.operands.iter().any(Arg::is_a_file) && !self.operands.iter().chain(values).any(Arg::may_be_input)
    }
}

enum Kind {
    Flag,
    Value,
    Optional,
    Reads,
}

/// Reads the arguments by `spec`. What the spec does not know is refused; files that options name are recorded as
/// read.
pub(crate) fn parse(judge: &mut Judge<'_>, spec: &Spec, args: &[Arg]) -> Parsed {
    let mut parsed = Parsed::default();
    let mut rest = args.iter();
    let mut options_end = false;
    while let Some(arg) = rest.next() {
        if options_end || (spec.stops && !parsed.operands.is_empty()) {
            parsed.operands.push(arg.clone());
            continue;
        }
        if !arg.exact || arg.many {
            parse_unknown(judge, spec, arg, &mut parsed);
            continue;
        }
        let bytes = arg.prefix.as_slice();
        if parsed.operands_only && arg.dash && 1 < bytes.len() {
            judge.unknown("an option behind an argument that could be one", arg.span);
        }
        if bytes == b"--" {
            options_end = true;
        } else if bytes.starts_with(b"--") {
            parse_long(judge, spec, arg, &mut rest, &mut parsed);
        } else if bytes.len() < 2 || bytes[0] != b'-' {
            parsed.operands.push(arg.clone());
        } else if spec.digits && bytes[1..].iter().all(u8::is_ascii_digit) {
            let name = "digits".to_owned();
            parsed.options.push(Given { name, value: Some(arg.without(1)) });
        } else {
            parse_short(judge, spec, arg, &mut rest, &mut parsed);
        }
    }
    parsed
}

/// Parses the arguments, and records the operands as read as the spec says.
pub(crate) fn judge(judge: &mut Judge<'_>, spec: &Spec, args: &[Arg], span: Span) -> Parsed {
    let parsed = parse(judge, spec, args);
    let read_all = |judge: &mut Judge<'_>, extent| {
        for operand in parsed.operands.iter().filter(|operand| !operand.is("-")) {
            judge.read(operand, extent);
        }
    };
    match spec.operands {
        Operands::None if parsed.operands.is_empty() => {}
        Operands::None => judge.unknown("an operand that is not understood", parsed.operands[0].span),
        Operands::Data | Operands::Custom => {}
        Operands::Files(most) => {
            let many = parsed.operands.iter().any(|operand| operand.many);
            if most < parsed.operands.len() || (most != usize::MAX && many) {
                judge.refuse(
                    EffectKind::WritesWorkspace,
                    "a further operand is a file that is written",
                    span,
                );
            }
            read_all(judge, Extent::File);
            judge.reads_input &= !parsed.leaves_input();
        }
        Operands::Trees => {
            read_all(judge, Extent::Below);
            judge.reads_input &= !parsed.leaves_input();
        }
        Operands::Names if parsed.operands.is_empty() => judge.read_here(Extent::Names, span),
        Operands::Names => read_all(judge, Extent::Names),
    }
    if matches!(spec.operands, Operands::Names) {
        judge.reads_input = false;
    }
    parsed
}

/// Reads an argument of which only the start is known.
fn parse_unknown(judge: &mut Judge<'_>, spec: &Spec, arg: &Arg, parsed: &mut Parsed) {
    let meant = arg.prefix.starts_with(b"-");
    if meant && parsed.operands_only {
        judge.unknown("an option behind an argument that could be one", arg.span);
    }
    // All names that a wildcard stands for start with the same option.
    if let Some((name, length)) = attached_value(spec, &arg.prefix).filter(|_| arg.dash) {
        let value = arg.without(length);
        given(judge, spec, name, Some(value), parsed);
        return;
    }
    if arg.dash {
        // An option that takes a file, or does more than read, would reach further than an operand does.
        let reaches = !spec.reads.is_empty() || !spec.refuses.is_empty();
        if !spec.tame || (reaches && meant) || (arg.escapes && !spec.reads.is_empty()) {
            judge.unknown("an argument that is not known before it runs could be an option", arg.span);
        }
        if reaches && arg.really_dash && !parsed.operands_only {
            judge.end_options(arg.span);
            parsed.operands_only = true;
        }
        judge.read_as_option(arg);
    }
    parsed.operands.push(arg.clone());
}

/// The option to which the unknown rest of an argument is the value, and its length with its dashes.
fn attached_value(spec: &Spec, prefix: &[u8]) -> Option<(String, usize)> {
    let text = std::str::from_utf8(prefix).ok()?;
    if let Some(long) = text.strip_prefix("--") {
        let (name, _) = long.split_once('=')?;
        return (!matches!(long_kind(spec, name)?, Kind::Flag)).then(|| (name.to_owned(), name.len() + 3));
    }
    let letter = text.strip_prefix('-')?.chars().next()?;
    let known = spec.values.contains(letter) || listed(spec.reads, &letter.to_string());
    known.then(|| (letter.to_string(), 2))
}

fn parse_long(
    judge: &mut Judge<'_>,
    spec: &Spec,
    arg: &Arg,
    rest: &mut std::slice::Iter<'_, Arg>,
    parsed: &mut Parsed,
) {
    let text = String::from_utf8_lossy(&arg.prefix[2..]).into_owned();
    let (name, attached) = match text.split_once('=') {
        Some((name, _)) => (name.to_owned(), Some(arg.without(name.len() + 3))),
        None => (text, None),
    };
    if refused(judge, spec, &name, arg.span) {
        return;
    }
    let Some((name, kind)) = long_option(judge, spec, name, arg.span) else { return };
    let value = match (kind, attached) {
        (Kind::Flag, Some(_)) => {
            return judge.unknown(format!("the option --{name} takes no value"), arg.span);
        }
        (Kind::Flag, None) => None,
        (Kind::Optional, attached) => attached,
        (Kind::Value | Kind::Reads, Some(attached)) => Some(attached),
        (Kind::Value | Kind::Reads, None) => match separate_value(judge, spec, arg, rest) {
            None => return,
            value => value,
        },
    };
    given(judge, spec, name, value, parsed);
}

fn parse_short(
    judge: &mut Judge<'_>,
    spec: &Spec,
    arg: &Arg,
    rest: &mut std::slice::Iter<'_, Arg>,
    parsed: &mut Parsed,
) {
    for (place, byte) in arg.prefix.iter().enumerate().skip(1) {
        let letter = char::from(*byte);
        let name = letter.to_string();
        if refused(judge, spec, &name, arg.span) {
            return;
        }
        if byte.is_ascii() && spec.flags.contains(letter) {
            parsed.options.push(Given { name, value: None });
            continue;
        }
        if byte.is_ascii() && spec.attached.contains(letter) {
            let value = (place + 1 < arg.prefix.len()).then(|| arg.without(place + 1));
            return given(judge, spec, name, value, parsed);
        }
        if !byte.is_ascii() || !(spec.values.contains(letter) || listed(spec.reads, &name)) {
            return judge.unknown(format!("the option -{letter} is not understood"), arg.span);
        }
        let value = if place + 1 < arg.prefix.len() {
            Some(arg.without(place + 1))
        } else {
            separate_value(judge, spec, arg, rest)
        };
        if value.is_some() {
            given(judge, spec, name, value, parsed);
        }
        return;
    }
}

/// The next argument, as the value of the option `arg`.
fn separate_value(
    judge: &mut Judge<'_>,
    spec: &Spec,
    arg: &Arg,
    rest: &mut std::slice::Iter<'_, Arg>,
) -> Option<Arg> {
    let value = rest.next();
    match value {
        None => judge.unknown("an option without its value", arg.span),
        Some(value) if spec.tame && (!value.many || value.number) => {}
        // Words besides the value are options, all harmless here, or operands.
        Some(value) if spec.tame && !value.escapes && spec.reads.is_empty() && spec.refuses.is_empty() => {
            judge.read_here(Extent::Below, value.span);
        }
        // If the number is missing, the option takes the next argument for one, and the program reports an error.
        Some(value)
            if value.many
                && value.number
                && !spec.stops
                && !rest.as_slice().iter().any(|arg| arg.is("--")) => {}
        // A value that may become none or several arguments moves what follows to another position.
        Some(value) if value.many => {
            judge.unknown("an option whose value is not known before it runs", value.span);
        }
        // If a version of the program takes no value here, this would be an option of its own.
        Some(value)
            if value.dash && (!value.exact || !value.prefix.get(1).is_none_or(u8::is_ascii_digit)) =>
        {
            judge.unknown("an option whose value looks like another option", value.span);
        }
        Some(_) => {}
    }
    value.cloned()
}

fn given(judge: &mut Judge<'_>, spec: &Spec, name: String, value: Option<Arg>, parsed: &mut Parsed) {
    if let Some(value) = value.as_ref().filter(|value| listed(spec.reads, &name) && !value.is("-")) {
        // If operands may be folders, the value may be one too.
        let is_tree = matches!(spec.operands, Operands::Trees);
        judge.read(value, if is_tree { Extent::Below } else { Extent::File });
    }
    parsed.options.push(Given { name, value });
}

fn refused(judge: &mut Judge<'_>, spec: &Spec, name: &str, span: Span) -> bool {
    for (names, kind, detail) in spec.refuses {
        if listed(names, name) {
            judge.refuse(*kind, *detail, span);
            return true;
        }
    }
    false
}

/// The long option that `name` is, or that only it abbreviates.
///
/// A real program may have more options than the table. A start that the table reads as one option is that option to
/// the program, or, if the program has a further one with that start, an error. Only a complete name of a further
/// option would win, and all options that do more than read are listed.
fn long_option(judge: &mut Judge<'_>, spec: &Spec, name: String, span: Span) -> Option<(String, Kind)> {
    if let Some(kind) = long_kind(spec, &name) {
        return Some((name, kind));
    }
    let long = spec.long.split_ascii_whitespace().map(|entry| entry.trim_end_matches(['=', '?']));
    let reads = spec.reads.split_ascii_whitespace();
    let refuses = spec.refuses.iter().flat_map(|(names, ..)| names.split_ascii_whitespace());
    let mut matching: Vec<&str> = long
        .chain(reads)
        .chain(refuses)
        .filter(|entry| spec.abbreviates && 1 < entry.len() && !name.is_empty() && entry.starts_with(&name))
        .collect();
    matching.dedup();
    match matching.as_slice() {
        [only] if refused(judge, spec, only, span) => None,
        [only] => long_kind(spec, only).map(|kind| ((*only).to_owned(), kind)),
        _ => {
            judge.unknown(format!("the option --{name} is not understood"), span);
            None
        }
    }
}

fn long_kind(spec: &Spec, name: &str) -> Option<Kind> {
    // The name of a short option is not one of a long option: `--f` is an abbreviation.
    if 1 < name.len() && listed(spec.reads, name) {
        return Some(Kind::Reads);
    }
    marks_behind(spec.long, name).find_map(|mark| match mark {
        b' ' => Some(Kind::Flag),
        b'=' => Some(Kind::Value),
        b'?' => Some(Kind::Optional),
        _ => None,
    })
}
