//! Programs that run another program, which their arguments name.

use crate::EffectKind::{Environment, Executes, WritesWorkspace};
use crate::environment::is_special_variable;
use crate::shell::analyse::Judge;
use crate::shell::options::{Operands, Parsed, Spec, parse};
use crate::shell::table::{Caller, is_harmless_prefix, judge_program};
use crate::shell::value::Arg;
use crate::shell::{Span, by_policy};

/// Judges the command that `words` form.
pub(super) fn inner(judge: &mut Judge<'_>, words: &[Arg], span: Span) {
    let Some((program, rest)) = words.split_first() else {
        return judge.unknown("no program to run", span);
    };
    match program.text() {
        Some(name) => judge_program(judge, name, program.span, rest, Caller::Program),
        None => judge.refuse(Executes, "the program to run is not known", program.span),
    }
}

pub(super) const XARGS: Spec = Spec {
    flags: "0rtx",
    values: "dILnPsE",
    long: "null no-run-if-empty verbose exit delimiter= max-args= max-procs= max-chars= max-lines? help version",
    reads: "a arg-file",
    refuses: &[("p interactive o open-tty", Executes, "xargs asks at the terminal")],
    stops: true,
    ..Spec::new(&["xargs"], Operands::Custom)
};

pub(super) fn xargs(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &XARGS, args);
    if parsed.operands.is_empty() {
        // Without a program xargs runs echo, at which only a policy can stop.
        return by_policy::stop(judge, "echo", span, &[]);
    }
    let replaced =
        parsed.options.iter().rev().find(|given| given.name == "I").map(|given| given.value.clone());
    // The last of these options wins, and with a count the replacement mark means nothing.
    if replaced.is_some() && parsed.has(&["L", "n", "max-args", "max-lines"]) {
        return judge.unknown("a mark and a count in one xargs", span);
    }
    let mut words = parsed.operands.clone();
    let given = taken(judge, &parsed, span);
    match replaced {
        None => words.push(given),
        Some(value) => {
            let Some(mark) = value.as_ref().and_then(Arg::text).filter(|mark| !mark.is_empty()) else {
                return judge.unknown("a mark that is not known", span);
            };
            for word in &mut words {
                *word = replace(word, mark, &given);
            }
        }
    }
    inner(judge, &words, span);
}

/// What is known of the arguments that xargs takes from its input.
fn taken(judge: &mut Judge<'_>, parsed: &Parsed, span: Span) -> Arg {
    let shape = judge.input.shape();
    let mut nul = parsed.has(&["0", "null"]);
    let mut newline = false;
    let mut other = parsed.has(&["a", "arg-file", "E"]);
    for given in parsed.options.iter().filter(|given| matches!(given.name.as_str(), "d" | "delimiter")) {
        match given.value.as_ref().and_then(Arg::text) {
            Some("\\n" | "\n") => newline = true,
            Some("\\0") => nul = true,
            _ => other = true,
        }
    }
    // Otherwise an argument may start anywhere within a name.
    let whole = !(other || (nul && newline)) && nul == shape.nul;
    let known = whole && !shape.climbs && !shape.slash_first;
    if !known {
        return Arg { escapes: true, ..Arg::listed(span) };
    }
    if !nul && !newline && shape.not_number {
        // A whole name becomes one argument, with its blanks and quotes.
        judge.insert_behind(span, r" -d '\n'");
    }
    judge.make(shape.fixes, false);
    // Without a mark or a delimiter, a blank in a listed name begins another argument.
    let splits = !nul && !newline && !parsed.has(&["I"]) && shape.fixes != 0;
    Arg {
        dash: shape.dash_first || splits,
        really_dash: shape.really_dash,
        escapes: false,
        rooted: shape.rooted,
        ..Arg::listed(span)
    }
}

/// `word` with each `mark` in it replaced by what is known of `given`.
pub(super) fn replace(word: &Arg, mark: &str, given: &Arg) -> Arg {
    let Some(text) = word.text() else {
        // The mark may be in the part that is not known.
        return Arg { escapes: true, dash: true, really_dash: true, ..word.clone() };
    };
    let Some(at) = text.find(mark) else { return word.clone() };
    let prefix = text.as_bytes()[..at].to_vec();
    let dash = if prefix.is_empty() { given.dash } else { prefix.starts_with(b"-") };
    let really_dash = if prefix.is_empty() { given.really_dash } else { dash };
    // A `.` or `./` of the listing becomes a `..` if it is joined to itself or to a dot.
    let dot_beside = text.contains(&format!(".{mark}")) || text.contains(&format!("{mark}."));
    // Right behind the path of the workspace, anything but a slash would make the name of another folder.
    let behind = &text[at + mark.len()..];
    let beside_root = given.rooted && !(behind.is_empty() || behind.starts_with('/'));
    let several = 1 < text.matches(mark).count();
    let escapes = given.escapes || text.contains("..") || several || dot_beside || beside_root;
    Arg {
        prefix,
        exact: false,
        many: false,
        dash,
        really_dash,
        escapes,
        number: false,
        empty: false,
        rooted: given.rooted,
        fixes: 0,
        span: word.span,
        template: None,
    }
}

pub(super) fn env(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let mut rest = args;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.text() else { break };
        let Some((name, value)) = text.split_once('=') else { break };
        if !is_harmless_prefix(name, value, "") {
            return judge.refuse(Environment, format!("{name} may change what a program does"), first.span);
        }
        rest = after;
    }
    // This removes a variable by its plain name, on which the program did not depend.
    if let [first, name, after @ ..] = rest
        && first.is("-u")
        && name.text().is_some_and(|name| {
            !is_special_variable(name)
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    {
        return match after.first() {
            None => judge.refuse(Environment, "prints the environment", span),
            Some(_) => judge_program(judge, "env", span, after, Caller::Program),
        };
    }
    match rest.first() {
        None => judge.refuse(Environment, "prints the environment", span),
        Some(first) if first.dash => judge.refuse(Executes, "an option of env that is not understood", span),
        Some(_) => inner(judge, rest, span),
    }
}

pub(super) const TIMEOUT: Spec = Spec {
    flags: "v",
    values: "ks",
    long: "foreground preserve-status kill-after= signal= verbose",
    stops: true,
    ..Spec::new(&["timeout"], Operands::Custom)
};

pub(super) fn timeout(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &TIMEOUT, args);
    match parsed.operands.split_first() {
        Some((duration, rest))
            if duration.bytes().is_some_and(|bytes| bytes.first().is_some_and(u8::is_ascii_digit)) =>
        {
            inner(judge, rest, span);
        }
        _ => judge.unknown("a time limit that is not understood", span),
    }
}

pub(super) const STDBUF: Spec = Spec {
    values: "ioe",
    long: "input= output= error=",
    stops: true,
    ..Spec::new(&["stdbuf"], Operands::Custom)
};

pub(super) fn stdbuf(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &STDBUF, args);
    inner(judge, &parsed.operands, span);
}

pub(super) const NICE: Spec = Spec {
    values: "n",
    long: "adjustment=",
    digits: true,
    stops: true,
    ..Spec::new(&["nice"], Operands::Custom)
};

pub(super) fn nice(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &NICE, args);
    inner(judge, &parsed.operands, span);
}

/// The shell's keyword `time`, whose only option is `-p`. That it times a whole pipeline changes nothing here.
pub(super) fn time(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let rest = match args.split_first() {
        Some((first, rest)) if first.is("-p") => rest,
        _ => args,
    };
    match rest.split_first() {
        None => {}
        Some((program, rest)) => match program.text().filter(|name| !name.starts_with('-')) {
            Some(name) => judge_program(judge, name, program.span, rest, Caller::Shell),
            None => judge.refuse(Executes, "the program to time is not known", span),
        },
    }
}

pub(super) const TEE: Spec = Spec {
    flags: "aip",
    long: "append ignore-interrupts help version",
    ..Spec::new(&["tee"], Operands::Custom)
};

/// Targets that are nobody's files.
const PRINTED: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

pub(super) fn tee(judge: &mut Judge<'_>, args: &[Arg]) {
    let parsed = parse(judge, &TEE, args);
    if let Some(target) =
        parsed.operands.iter().find(|operand| !PRINTED.into_iter().any(|place| operand.is(place)))
    {
        judge.refuse(WritesWorkspace, "tee writes a file", target.span);
    }
}
