//! The programs that the gate understands.

mod awk;
mod builtins;
mod files;
mod find;
mod git;
mod jq;
mod refused;
mod search;
mod sed;
mod text;
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
    if matches!(name, "strings" | "size")
        && args.iter().any(|arg| arg.prefix.first().is_none_or(|first| *first == b'@'))
    {
        return judge.unknown("a file of arguments", span);
    }
    if let Some(spec) = find_spec(name) {
        options::judge(judge, spec, args, span);
        return;
    }
    match name {
        "awk" | "gawk" | "mawk" => awk::judge(judge, args, span),
        "sed" => sed::judge(judge, args, span),
        "find" => find::judge(judge, args, span),
        "git" => git::judge(judge, args, span),
        "grep" | "egrep" | "fgrep" => search::grep(judge, args, span),
        "rg" => search::rg(judge, args, span),
        "fd" | "fdfind" => search::fd(judge, args, span),
        "jq" => jq::judge(judge, args, span),
        "tar" => files::tar(judge, args, span),
        "date" => files::date(judge, args),
        "test" | "[" => builtins::test(judge, name, args, span),
        "echo" => {}
        "printf" => builtins::printf(judge, args, span),
        "xargs" => wrappers::xargs(judge, args, span),
        "env" => wrappers::env(judge, args, span),
        "timeout" => wrappers::timeout(judge, args, span),
        "nice" => wrappers::nice(judge, args, span),
        "time" => wrappers::time(judge, args, span),
        "tee" => wrappers::tee(judge, args),
        _ => refused::judge(judge, name, span),
    }
}

fn find_spec(name: &str) -> Option<&'static Spec> {
    [text::PROGRAMS, files::PROGRAMS].into_iter().flatten().find(|spec| spec.names.contains(&name))
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

/// What is known of the lines that a command with these words prints, if it is given such `lines`.
pub(crate) fn lines_of(words: &[&str], lines: &Value) -> Value {
    let inside = |words: &[&str]| words.iter().all(|word| !word.starts_with('/') && !word.contains(".."));
    let options = |words: &[&str]| {
        words.iter().all(|word| word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let has = |words: &[&str], names: &[&str]| words.iter().any(|word| names.contains(word));
    let lists = match words {
        ["wc", "-l" | "-c" | "-w" | "-m"] | ["nproc"] | ["date", "+%s" | "+%Y"] => return Value::NUMBER,
        ["git", "ls-files", rest @ ..] => inside(rest) && !rest.iter().any(|word| word.starts_with("--f")),
        ["find", rest @ ..] => {
            let acts =
                |word: &&str| word.starts_with("-printf") || word.starts_with("-exec") || *word == "-ls";
            inside(rest) && !rest.iter().any(acts)
        }
        ["ls"] => true,
        ["rg", rest @ ..] => inside(rest) && has(rest, &["-l", "--files", "--files-with-matches"]),
        ["grep", rest @ ..] => {
            let names = has(rest, &["-l", "-rl", "-lr", "-ril", "-rli", "-lri", "--files-with-matches"]);
            // Without that it passes lines on, unless it is told files to search.
            let operands = rest.iter().filter(|word| !word.starts_with('-')).count();
            let filters = operands == 1
                && !rest
                    .iter()
                    .any(|word| word.contains(['r', 'R', 'o', 'f', 'n', 'H']) && word.starts_with('-'));
            if !names && filters {
                return lines.clone();
            }
            names && inside(rest)
        }
        ["fd" | "fdfind", rest @ ..] => inside(rest) && !has(rest, &["-a", "--absolute-path"]),
        ["sort" | "uniq" | "head" | "tail" | "tac" | "cat", rest @ ..] if options(rest) => {
            return lines.clone();
        }
        _ => false,
    };
    if lists { Value::Some(Shape::LISTED) } else { Value::ANY }
}
