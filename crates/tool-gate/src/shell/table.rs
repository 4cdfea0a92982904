//! The programs that the gate understands.

mod archives;
mod awk;
mod builtins;
mod files;
mod find;
mod git;
mod jq;
#[cfg(test)]
mod page;
mod refused;
mod search;
mod sed;
mod text;
mod versions;
mod wrappers;

use super::Span;
use super::analyse::Judge;
use super::options::{self, Spec};
use super::value::{Arg, Shape, Value};
use crate::EffectKind;
use crate::environment::is_special_variable;

/// Who starts the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The shell, which has commands of its own.
    Shell,
    /// Another program, as xargs.
    Program,
}

/// Folders in which a name means the system's program.
const TRUSTED_FOLDERS: [&str; 4] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/"];

/// Judges one command. `args` are without the name.
pub(crate) fn judge_program(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg], caller: Caller) {
    judge.start(args.len(), span, |judge| judge_started(judge, name, span, args, caller));
}

fn judge_started(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg], caller: Caller) {
    let trusted = TRUSTED_FOLDERS.iter().find_map(|folder| name.strip_prefix(folder));
    let (name, caller) = match trusted {
        Some(base) if !base.contains('/') => (base, Caller::Program),
        _ if name.contains('/') => {
            let detail = format!("runs {name:?}, which is not one of the system's programs");
            return judge.refuse(EffectKind::Executes, detail, span);
        }
        _ => (name, caller),
    };
    if caller == Caller::Shell && builtins::judge(judge, name, span, args) {
        return;
    }
    if versions::asks(name, args) {
        return;
    }
    if archives::takes_arguments_from_files(name)
        && args.iter().any(|arg| arg.prefix.first().is_none_or(|first| *first == b'@'))
    {
        return judge.unknown("a file of arguments", span);
    }
    if matches!(name, "bat" | "batcat") && args.iter().any(|arg| arg.is("cache")) {
        return judge.refuse(EffectKind::WritesOutside, "bat changes its cache", span);
    }
    if does_not_bundle(name, args) {
        return judge.unknown("options that this program does not bundle as others do", span);
    }
    if let Some(spec) = find_spec(name) {
        options::judge(judge, spec, args, span);
        return;
    }
    match name {
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => awk::judge(judge, args, span),
        "sed" => sed::judge(judge, args, span),
        "find" => find::judge(judge, args, span),
        "git" => git::judge(judge, args, span),
        "grep" | "egrep" | "fgrep" => search::grep(judge, args, span),
        "rg" => search::rg(judge, args, span),
        "fd" | "fdfind" => search::fd(judge, args, span),
        "jq" => jq::judge(judge, args, span),
        "tar" => archives::tar(judge, args, span),
        "gzip" | "gunzip" => archives::gzip(judge, name, args, span),
        "unzip" | "zipinfo" => archives::unzip(judge, name, args, span),
        "ar" => archives::ar(judge, args, span),
        "date" => files::date(judge, args),
        "test" | "[" => builtins::test(judge, name, args, span),
        "echo" => {}
        "printf" => builtins::printf(judge, args, span),
        "xargs" => wrappers::xargs(judge, args, span),
        "env" => wrappers::env(judge, args, span),
        "timeout" => wrappers::timeout(judge, args, span),
        "stdbuf" => wrappers::stdbuf(judge, args, span),
        "nice" => wrappers::nice(judge, args, span),
        "time" => wrappers::time(judge, args, span),
        "tee" => wrappers::tee(judge, args),
        _ => refused::judge(judge, name, span),
    }
}

/// Whether a sed script only edits its stream.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn check_sed(script: &[u8]) -> bool {
    sed::check(script).is_ok()
}

/// Whether an awk program only reads its input and prints.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn check_awk(program: &[u8]) -> bool {
    awk::check(program).is_ok()
}

fn find_spec(name: &str) -> Option<&'static Spec> {
    [text::PROGRAMS, files::PROGRAMS, archives::PROGRAMS]
        .into_iter()
        .flatten()
        .find(|spec| spec.names.contains(&name))
}

/// Whether `name=value` before `program` changes nothing but its language, its clock's zone or its colours.
pub(crate) fn is_harmless_prefix(name: &str, value: &str, program: &str) -> bool {
    let plain = |extra: &str| {
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || extra.as_bytes().contains(&byte))
            && !value.contains("..")
    };
    match name {
        "LANG" | "LC_ALL" | "LC_COLLATE" | "LC_CTYPE" | "LC_MESSAGES" | "LC_NUMERIC" | "LC_TIME" => {
            plain("_.-@")
        }
        "TZ" => plain("_/+-") && !value.starts_with('/'),
        "NO_COLOR" | "CLICOLOR" | "FORCE_COLOR" | "COLUMNS" | "LINES" => plain(""),
        "GIT_PAGER" | "PAGER" => value == "cat",
        "GIT_OPTIONAL_LOCKS" => value == "0",
        "TERM" => value == "dumb",
        // The field separator of one `read`.
        "IFS" => program == "read",
        // A command of the shell itself looks at special variables only.
        _ => {
            matches!(program, "echo" | "printf" | "pwd" | "true" | "false" | ":" | "read")
                && !is_special_variable(name)
        }
    }
}

/// Whether one of `args` may be read as another option, or as a file to write, by a program that parses options by hand.
fn does_not_bundle(name: &str, args: &[Arg]) -> bool {
    let suspicious: fn(&[u8]) -> bool = match name {
        "xxd" => |rest| 1 < rest.len() && !rest[1..].iter().all(u8::is_ascii_digit),
        "tree" => |rest| 1 < rest.len() && rest.iter().any(|byte| b"PIHTLoR".contains(byte)),
        _ => return false,
    };
    args.iter().any(|arg| match arg.bytes() {
        Some([b'-', b'-', ..]) => false,
        Some([b'-', rest @ ..]) => suspicious(rest),
        Some(_) => false,
        None => arg.dash,
    })
}

/// Whether `find` prints names only.
fn plain_find(words: &[&str]) -> bool {
    let acts = |word: &&str| word.starts_with("-printf") || word.starts_with("-exec") || *word == "-ls";
    !words.iter().any(acts)
}

/// What is known of the lines that a command with these words prints, if it is given such `lines`.
pub(crate) fn lines_of(words: &[&str], lines: &Value) -> Value {
    let inside = |words: &[&str]| words.iter().all(|word| !word.starts_with('/') && !word.contains(".."));
    let options = |words: &[&str]| {
        let digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        // `-n 5` for head and tail; any other operand is a file.
        words.iter().enumerate().all(|(place, word)| {
            let counted = || place.checked_sub(1).is_some_and(|before| words[before] == "-n");
            matches!(*word, "-n" | "-r" | "-u" | "-f" | "-z" | "-0")
                || word.strip_prefix("-n").or(word.strip_prefix('-')).is_some_and(digits)
                || (digits(word) && counted())
        })
    };
    let has = |words: &[&str], names: &[&str]| words.iter().any(|word| names.contains(word));
    let nul = words.iter().skip(1).any(|word| {
        let bundle = word.starts_with('-') && !word.starts_with("--") && word.contains(['z', 'Z', '0']);
        bundle || word.starts_with("--nul") || word.starts_with("--print0") || word.starts_with("--z")
    });
    let lists = match words {
        ["wc", "-l" | "-c" | "-w" | "-m"] | ["nproc"] | ["date", "+%s" | "+%Y"] => return Value::NUMBER,
        ["git", "rev-list", rest @ ..]
            if has(rest, &["--count"])
                && rest.iter().all(|word| {
                    !word.starts_with('-') || matches!(*word, "--count" | "--all" | "--no-merges")
                }) =>
        {
            return Value::NUMBER;
        }
        // Without a revision: what the index holds, whose paths git checks.
        ["git", "diff", rest @ ..] => {
            has(rest, &["--name-only"])
                && rest.iter().all(|word| {
                    matches!(
                        *word,
                        "--name-only"
                            | "--cached"
                            | "--staged"
                            | "-z"
                            | "--no-ext-diff"
                            | "--no-textconv"
                            | "--ignore-submodules=dirty"
                    ) || word.starts_with("--diff-filter=")
                })
        }
        ["git", "grep", rest @ ..] => {
            inside(rest) && has(rest, &["-l", "--files-with-matches", "--name-only"])
        }
        ["git", "ls-files", rest @ ..] => inside(rest) && !rest.iter().any(|word| word.starts_with("--f")),
        ["find", start, .., "-print0"]
            if start.starts_with('.') && inside(&words[1..]) && plain_find(words) =>
        {
            return Value::Some(Shape { nul: true, dash_first: false, ..Shape::LISTED });
        }
        ["find", rest @ ..] => inside(rest) && plain_find(words),
        ["ls"] => true,
        ["rg", rest @ ..] => inside(rest) && has(rest, &["-l", "--files", "--files-with-matches"]),
        ["grep", rest @ ..] => {
            let names = has(rest, &["-l", "-rl", "-lr", "-ril", "-rli", "-lri", "--files-with-matches"]);
            // Without that it passes lines on, unless it is told files to search.
            let operands = rest.iter().filter(|word| !word.starts_with('-')).count();
            let known = |word: &&str| {
                !word.starts_with('-') || matches!(*word, "-v" | "-E" | "-F" | "-i" | "-w" | "-x" | "-a")
            };
            let filters = operands == 1
                && rest.iter().all(known)
                && !rest
                    .iter()
                    .any(|word| word.contains(['r', 'R', 'o', 'f', 'n', 'H']) && word.starts_with('-'));
            if !names && filters {
                return lines.clone();
            }
            names && inside(rest)
        }
        ["fd" | "fdfind", rest @ ..] => inside(rest) && !has(rest, &["-a", "--absolute-path"]),
        ["sort" | "uniq" | "head" | "tail" | "cat", rest @ ..] if options(rest) => {
            return lines.clone();
        }
        _ => false,
    };
    if lists { Value::Some(Shape { nul, ..Shape::LISTED }) } else { Value::ANY }
}
