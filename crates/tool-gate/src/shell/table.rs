//! The programs that the gate understands.

mod archives;
mod awk;
mod builtins;
mod bytes;
mod compare;
mod compress;
mod files;
mod find;
pub(super) mod foreign;
mod git;
mod jq;
mod openssl;
#[cfg(test)]
mod page;
mod refused;
mod search;
mod sed;
mod system;
mod text;
mod variables;
mod versions;
mod wrappers;

use std::sync::LazyLock;

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
    if versions::asks(name, args) {
        return;
    }
    if archives::takes_arguments_from_files(name)
        && args.iter().any(|arg| arg.prefix.first().is_none_or(|first| *first == b'@'))
    {
        return judge.unknown("a file of arguments", span);
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
        "ag" => search::ag(judge, args, span),
        "openssl" => openssl::judge(judge, args, span),
        "jq" => jq::judge(judge, args, span),
        "tar" => archives::tar(judge, args, span),
        "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "lzma" | "unlzma" | "zstd" | "unzstd" => {
            compress::compressor(judge, name, args, span);
        }
        "zgrep" | "zegrep" | "zfgrep" | "xzgrep" | "xzegrep" | "xzfgrep" => {
            compress::zgrep(judge, args, span);
        }
        "cpio" => archives::cpio(judge, args, span),
        "bat" | "batcat" => files::bat(judge, args, span),
        "xxd" => bytes::xxd(judge, args, span),
        "tput" => system::tput(judge, args, span),
        // Where no shell starts them, programs of the same name do what the shell's commands do.
        "pwd" | "true" | "false" | "sleep" => {
            builtins::judge(judge, name, span, args);
        }
        "unzip" | "zipinfo" => archives::unzip(judge, name, args, span),
        "ar" => archives::ar(judge, args, span),
        "date" => system::date(judge, args),
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

/// Programs that a table describes whole.
const TABLES: [&[Spec]; 7] = [
    archives::PROGRAMS,
    bytes::PROGRAMS,
    compare::PROGRAMS,
    compress::PROGRAMS,
    files::PROGRAMS,
    system::PROGRAMS,
    text::PROGRAMS,
];

/// The table of a program, looked up in a list by name that is sorted once.
fn find_spec(name: &str) -> Option<&'static Spec> {
    static BY_NAME: LazyLock<Vec<(&str, &Spec)>> = LazyLock::new(|| {
        let specs = TABLES.into_iter().flatten();
        let mut names: Vec<_> =
            specs.flat_map(|spec| spec.names.iter().map(move |name| (*name, spec))).collect();
        names.sort_unstable_by_key(|(name, _)| *name);
        names
    });
    let place = BY_NAME.binary_search_by_key(&name, |(name, _)| *name).ok()?;
    BY_NAME.get(place).map(|(_, spec)| *spec)
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
    if name != "tree" {
        return false;
    }
    // A letter that takes a value takes the next argument, wherever in the bundle it stands.
    let suspicious = |rest: &[u8]| {
        let level = matches!(rest, [b'L', digits @ ..] if digits.iter().all(u8::is_ascii_digit));
        let before = rest.split_last().map_or(rest, |(_, before)| before);
        !level && before.iter().any(|byte| b"PIHTLoR".contains(byte))
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

/// What `ls`, `echo` and `printf` are told to print, and the hashes that `git log` prints.
fn told(words: &[&str]) -> Option<Value> {
    let inside = |words: &[&str]| words.iter().all(|word| !word.starts_with('/') && !word.contains(".."));
    match words {
        ["ls", rest @ ..] => {
            let plain = |word: &&str| {
                let letters = |letters: &str| letters.bytes().all(|letter| b"1ABdrtSUvX".contains(&letter));
                word.strip_prefix('-').is_none_or(|rest| !rest.is_empty() && letters(rest))
            };
            (inside(rest) && rest.iter().all(plain)).then_some(Value::Some(Shape::LISTED))
        }
        ["echo", rest @ ..] | ["printf", "%s\\n", rest @ ..] => {
            let name = |word: &&str| {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-*?".contains(&byte);
                !word.starts_with('-') && word.bytes().all(plain)
            };
            let names = !rest.is_empty() && inside(rest) && rest.iter().all(name);
            names.then_some(Value::Some(Shape::LISTED))
        }
        ["git", "log", rest @ ..] => {
            let hash = |word: &&str| {
                let format = word
                    .strip_prefix("--format=")
                    .or(word.strip_prefix("--pretty=format:"))
                    .unwrap_or_default();
                matches!(format, "%h" | "%H")
            };
            let known = |word: &&str| {
                let count = word.strip_prefix("-n").or(word.strip_prefix('-')).unwrap_or("none");
                let number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
                hash(word) || number || matches!(*word, "--all" | "--reverse" | "--merges" | "--no-merges")
            };
            let hashes = Shape { not_number: true, splits: true, ..Shape::NUMBER };
            (rest.iter().any(hash) && rest.iter().all(known)).then_some(Value::Some(hashes))
        }
        _ => None,
    }
}

/// What is known of the lines that a command with these words prints, if it is given such `lines`.
pub(crate) fn lines_of(words: &[&str], lines: &Value) -> Value {
    if let Some(value) = told(words) {
        return value;
    }
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
