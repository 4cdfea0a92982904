//! The programs that the gate knows.

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
mod known;
pub(crate) mod lines;
mod openssl;
mod python;
mod refused;
mod search;
mod sed;
mod sqlite;
mod system;
mod text;
mod variables;
mod versions;
mod wrappers;
mod xmllint;
mod yq;

use std::sync::LazyLock;

pub use known::{KnownProgram, ProgramKind, known_programs};

use super::analyse::Judge;
use super::names::listed;
use super::options::{self, Spec};
use super::value::Arg;
use super::{Extent, Span, by_policy};
use crate::EffectKind;
use crate::environment::is_special_variable;

/// Who starts the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The shell, which has builtins besides programs.
    Shell,
    /// Another program, such as xargs.
    Program,
}

/// Folders in which a name stands for the system's program.
const TRUSTED_FOLDERS: [&str; 4] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/"];

/// Judges one command. `args` do not include its name.
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
    judge.judged.command(name, span, args);
    judge.note_closed(args);
    if name == "git" {
        judge.note_kept(args);
    }
    if !judge.context.policies.is_empty() {
        return by_policy::judge(judge, name, span, args, caller);
    }
    judge_by_table(judge, name, span, args, caller);
}

/// Judges one command by the gate's own table.
pub(super) fn judge_by_table(judge: &mut Judge<'_>, name: &str, span: Span, args: &[Arg], caller: Caller) {
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
    if name == "shasum" && args.iter().any(bytes::is_option_with_plus) {
        return judge.unknown("an argument that shasum may take for an option", span);
    }
    if does_not_bundle(name, args) {
        return judge.unknown("options that this program does not bundle as others do", span);
    }
    if name == "tail" && args.iter().any(|arg| arg.prefix.starts_with(b"+") && arg.prefix.contains(&b'f')) {
        return judge.refuse(EffectKind::NonTerminating, "follows a file and does not end", span);
    }
    if name == "iconv" && names_a_character_map(args) {
        return judge.unknown("iconv reads a file as the map of an encoding", span);
    }
    if let Some(spec) = find_spec(name) {
        let parsed = options::judge(judge, spec, args, span);
        judge.printed = lines::of_program(judge, name, &parsed);
        match name {
            "ls" | "dir" | "vdir" if parsed.has(&["R", "recursive"]) && parsed.has(&["L", "dereference"]) => {
                let detail = "ls follows links, which may lead out of the workspace";
                judge.refuse(EffectKind::ReadsOutside, detail, span);
            }
            // Either of the two may be a folder, in which the other one is looked up.
            "sdiff" => parsed.operands.iter().for_each(|operand| judge.read(operand, Extent::Below)),
            "seq" if parsed.operands.iter().any(text::is_endless) => {
                judge.refuse(EffectKind::NonTerminating, "counts for ever", span);
            }
            // By default diff follows the links that it meets.
            "diff" if parsed.has(&["r", "recursive"]) && !parsed.has(&["no-dereference"]) => {
                judge.insert_behind(span, " --no-dereference");
            }
            _ => {}
        }
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
        "yq" => yq::judge(judge, args, span),
        "xmllint" => xmllint::judge(judge, args, span),
        "sqlite3" => sqlite::judge(judge, args, span),
        "python" | "python3" => python::judge(judge, name, args, span),
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
        "stty" if matches!(args, [only] if ["-a", "-g", "size", "speed"].into_iter().any(|shown| only.is(shown))) =>
            {}
        "sysctl" => system::sysctl(judge, args, span),
        "tput" => system::tput(judge, args, span),
        // If no shell starts them, these are programs, which do the same as the shell's builtins.
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
    if matches!(name, "awk" | "gawk" | "mawk" | "sed" | "date" | "echo" | "printf") {
        judge.printed = lines::of_arguments(judge, name, args);
    }
    if matches!(name, "sed" | "jq") {
        // The last argument is certainly a file: a script that is not known is refused.
        let file = |last: &Arg| !last.exact && !last.number && last.is_a_file();
        let named = args.split_last().is_some_and(|(last, rest)| !rest.is_empty() && file(last));
        let other = |arg: &Arg| arg.may_be_input() || arg.prefix.starts_with(b"--");
        judge.reads_input &= !named || args.iter().any(other);
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

/// Whether the table knows of a program only that it runs others.
pub(super) fn is_said_to_run_others(name: &str) -> bool {
    refused::REFUSED.iter().any(|(kind, detail, names)| {
        *kind == EffectKind::Executes && *detail == refused::RUNS_OTHERS && listed(names, name)
    })
}

/// The programs that are described completely by a [`Spec`].
const TABLES: [&[Spec]; 7] = [
    archives::PROGRAMS,
    bytes::PROGRAMS,
    compare::PROGRAMS,
    compress::PROGRAMS,
    files::PROGRAMS,
    system::PROGRAMS,
    text::PROGRAMS,
];

/// The spec of a program. The list is sorted by name once.
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

/// Whether `name=value` before `program` changes nothing but its language, its time zone or its colours.
pub(crate) fn is_harmless_prefix(name: &str, value: &str, program: &str) -> bool {
    let plain = |extra: &str| {
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || extra.as_bytes().contains(&byte))
            && !value.contains("..")
    };
    match name {
        "LANG" | "LC_ALL" | "LC_COLLATE" | "LC_CTYPE" | "LC_MESSAGES" | "LC_NUMERIC" | "LC_TIME" => {
            // In another encoding a backslash or a quote may be the second byte of a character.
            let encoding = value.to_ascii_lowercase();
            let utf8 = matches!(encoding.rsplit_once('.'), Some((_, "utf-8" | "utf8")));
            plain("_.-@") && (utf8 || matches!(value, "C" | "POSIX" | ""))
        }
        "TZ" => plain("_/+-") && !value.starts_with('/'),
        "NO_COLOR" | "CLICOLOR" | "FORCE_COLOR" | "COLUMNS" | "LINES" => plain(""),
        "GIT_PAGER" | "PAGER" => value == "cat",
        "GIT_OPTIONAL_LOCKS" => value == "0",
        "TERM" => value == "dumb",
        // This only sets the field separator of one `read`.
        "IFS" => program == "read",
        // Builtins of the shell only look at special variables.
        _ => {
            matches!(program, "echo" | "printf" | "pwd" | "true" | "false" | ":")
                && !is_special_variable(name)
        }
    }
}

/// Whether the name of an encoding, as the value of an option, may be the path of a character map.
fn names_a_character_map(args: &[Arg]) -> bool {
    let mut after_option = false;
    args.iter().any(|arg| {
        let of_option = std::mem::replace(&mut after_option, arg.dash) || arg.dash;
        let name = arg.bytes().map(|bytes| {
            let ends: [&[u8]; 3] = [b"//TRANSLIT", b"//IGNORE", b"//"];
            ends.into_iter().find_map(|end| bytes.strip_suffix(end)).unwrap_or(bytes)
        });
        of_option && name.is_none_or(|name| name.contains(&b'/'))
    })
}

/// Whether a program that parses its options by hand may read one of `args` as another option, or as a file to write.
fn does_not_bundle(name: &str, args: &[Arg]) -> bool {
    if name != "tree" {
        return false;
    }
    // A letter with a value takes the next argument, wherever it stands in the bundle.
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
