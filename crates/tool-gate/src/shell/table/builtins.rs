//! Builtins of the shell.

use crate::EffectKind::{Environment, Executes, NonTerminating, Unknown};
use crate::shell::analyse::{Folder, Judge};
use crate::shell::options::{Operands, Spec, parse};
use crate::shell::table::{Caller, judge_program, variables};
use crate::shell::value::Arg;
use crate::shell::{Span, by_policy};

pub(super) const PWD: Spec = Spec { flags: "LP", ..Spec::new(&["pwd"], Operands::None) };

pub(super) const TYPE: Spec = Spec { flags: "afpPt", tame: true, ..Spec::new(&["type"], Operands::Data) };

/// Judges `name` if it is a builtin that the gate knows.
pub(super) fn judge(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg]) -> bool {
    match name {
        // Without arguments these list what was defined, which is nothing here.
        "alias" | "dirs" | "trap" if args.is_empty() => {}
        "trap" if matches!(args, [only] if only.is("-l") || only.is("-p")) => {}
        "kill" if matches!(args, [list, rest @ ..] if list.is("-l") && rest.iter().all(|arg| arg.exact && !arg.dash)) =>
            {}
        "compgen" if lists_commands(args) => {}
        "jobs" if args.iter().all(|arg| has_only(arg, b"lnprs")) => {}
        "hash" if args.iter().all(|arg| has_only(arg, b"rlt") || is_plain_name(arg)) => {}
        "help" if args.iter().all(|arg| has_only(arg, b"dms") || (arg.exact && !arg.dash)) => {}
        "true" | "false" | ":" | "times" | "exit" => {}
        // The state here also holds behind the loop.
        "break" | "continue" => judge.jump(!args.is_empty()),
        "pwd" => {
            parse(judge, &PWD, args);
        }
        "cd" => cd(judge, args, span),
        "pushd" => match args {
            [folder] if !folder.dash && !folder.prefix.starts_with(b"+") => cd(judge, args, span),
            _ => judge.unknown("a stack of folders that nobody keeps", span),
        },
        "popd" if args.is_empty() => {
            judge.state.folders = vec![Folder::Outside];
            judge.judged.leaves_folder = true;
        }
        "read" => variables::read(judge, args, span),
        "mapfile" | "readarray" => variables::mapfile(judge, args, span),
        "export" => variables::export(judge, args, span),
        "unset" => variables::unset(judge, args, span),
        "shopt" => variables::shopt(judge, args, span),
        "set" => variables::set(judge, args, span),
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
            // `-p` names a variable, possibly with an index that is evaluated.
            if args.iter().any(|arg| !arg.number && arg.dash) {
                judge.unknown("an option of wait", span);
            }
        }
        "ulimit" | "umask" => {
            let letters: &[u8] = if name == "umask" { b"pS" } else { b"HSabcdefiklmnpqrstuvxPRT" };
            let shows = |arg: &Arg| has_only(arg, letters);
            if !args.iter().all(shows) {
                judge.refuse(Environment, format!("{name} changes a limit of what follows"), span);
            }
        }
        _ => return false,
    }
    true
}

/// Whether an argument is a bundle of these letters only.
fn has_only(arg: &Arg, letters: &[u8]) -> bool {
    let bundle = arg.bytes().and_then(|bytes| bytes.strip_prefix(b"-"));
    bundle.is_some_and(|bundle| !bundle.is_empty() && bundle.iter().all(|letter| letters.contains(letter)))
}

/// Whether `compgen` only lists names of commands. Its other letters list variables, expand words or run programs.
fn lists_commands(args: &[Arg]) -> bool {
    let kinds = ["builtin", "command", "keyword", "signal"];
    let rest = match args {
        [letter, rest @ ..] if ["-b", "-c", "-k"].into_iter().any(|known| letter.is(known)) => rest,
        [letter, kind, rest @ ..] if letter.is("-A") && kinds.into_iter().any(|known| kind.is(known)) => rest,
        _ => return false,
    };
    match rest {
        [] => true,
        [start] => start.exact && !start.dash,
        _ => false,
    }
}

fn is_plain_name(arg: &Arg) -> bool {
    arg.text().is_some_and(|text| !text.starts_with('-') && !text.contains('/'))
}

/// Judges a builtin that `builtin` may run.
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
            // The previous folder is not kept, so it could be anywhere.
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
    judge.judged.leaves_folder |= new != folders;
    judge.state.folders = new;
    judge.failed_folders = Some(folders);
}

fn command(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    match args.split_first() {
        Some((first, _)) if first.is("-v") || first.is("-V") => {}
        // `-p` searches the system's own folders, which the shell would search anyway.
        Some((first, rest)) if first.is("-p") && rest.first().is_some_and(|next| !next.dash) => {
            command(judge, rest, span);
        }
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
    let all = args.iter().try_fold(0_u64, |sum, arg| sum.checked_add(milliseconds(arg.text()?)?));
    if all.is_none_or(|all| 30_000 < all) {
        judge.refuse(NonTerminating, "sleeps for long", span);
    }
}

/// The milliseconds that `sleep` waits for a text, rounded up. Parsed by hand, because reading floats in general adds
/// large tables to the wasm module.
fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim_end_matches('s');
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.len() + part.len() == 0 || !whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    let digits = part.bytes().chain(*b"000").take(3);
    let thousandths = digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let rest = part.bytes().skip(3).any(|digit| digit != b'0');
    seconds.checked_mul(1000)?.checked_add(thousandths + u64::from(rest))
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

/// Whether a format of printf contains `%n`, or a width or precision that is an argument or has more than four
/// digits.
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

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn a_time_is_read_as_sleep_reads_it() {
        let cases = [
            ("1", Some(1_000)),
            ("2s", Some(2_000)),
            ("0.25", Some(250)),
            (".5", Some(500)),
            ("5.", Some(5_000)),
            ("30.0000", Some(30_000)),
            ("30.0001", Some(30_001)),
            ("", None),
            (".", None),
            ("s", None),
            ("1m", None),
            ("-1", None),
            ("inf", None),
            ("99999999999999999999", None),
            ("18446744073709551615", None),
        ];
        for (text, expected) in cases {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
