//! `git`: which subcommands only read, and how they have to be run so that they do.

mod commands;
mod harden;

use super::lines;
use crate::EffectKind::{Executes, Network, ReadsOutside, WritesWorkspace};
use crate::shell::analyse::{Folder, Judge};
use crate::shell::names::listed;
use crate::shell::options::{Given, Operands, Parsed, Spec, parse};
use crate::shell::value::Arg;
use crate::shell::{Extent, Span};
use commands::{COMMANDS, Command, PrintedContent, REFUSED};

/// Settings that only change how output looks.
const HARMLESS_SETTINGS: [&str; 8] = [
    "color.ui",
    "color.diff",
    "color.status",
    "color.branch",
    "core.quotepath",
    "core.quotePath",
    "diff.renames",
    "log.decorate",
];

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let folders = judge.state.folders.clone();
    judge.judged.is_git = true;
    if let Some(rest) = global_options(judge, args) {
        sub_command(judge, rest, span);
    }
    judge.judged.is_git = false;
    judge.state.folders = folders;
}

/// Steps over what stands before the subcommand; `None` if there is nothing left to judge.
fn global_options<'a>(judge: &mut Judge<'_>, args: &'a [Arg]) -> Option<&'a [Arg]> {
    let mut rest = args;
    loop {
        let Some((first, after)) = rest.split_first() else {
            // Without arguments git prints its usage.
            return None;
        };
        let Some(text) = first.text() else {
            judge.unknown("a git command that is not known before it runs", first.span);
            return None;
        };
        rest = after;
        match text {
            "--version" | "-v" | "--help" | "-h" | "--exec-path" | "--html-path" | "--man-path"
            | "--info-path" | "help"
                if after.is_empty() =>
            {
                return None;
            }
            "--no-pager"
            | "-P"
            | "--no-optional-locks"
            | "--literal-pathspecs"
            | "--icase-pathspecs"
            | "--no-replace-objects" => {}
            "-C" => {
                let (folder, after) = rest.split_first()?;
                rest = after;
                let inside = |judge: &Judge<'_>, from: &Folder| {
                    folder
                        .bytes()
                        .and_then(|path| judge.resolve(path, from))
                        .map_or(Folder::Outside, Folder::Inside)
                };
                judge.state.folders = judge.state.folders.iter().map(|from| inside(judge, from)).collect();
            }
            "-c" => {
                let (setting, after) = rest.split_first()?;
                rest = after;
                let text = setting.text().unwrap_or_default();
                let key = text.split('=').next().unwrap_or_default();
                if !HARMLESS_SETTINGS.contains(&key) && text != "core.pager=cat" {
                    judge.refuse(Executes, "a git setting that may name a program", setting.span);
                    return None;
                }
            }
            text if text.starts_with('-') => {
                judge.refuse(
                    Executes,
                    format!("git {text} may choose another repository or program"),
                    first.span,
                );
                return None;
            }
            _ => return rest_from(args, first),
        }
    }
}

/// `args` from `first` on.
fn rest_from<'a>(args: &'a [Arg], first: &Arg) -> Option<&'a [Arg]> {
    args.iter().position(|arg| std::ptr::eq(arg, first)).map(|at| &args[at..])
}

/// Commands that show nothing of what a repository's configuration says of servers and passwords.
const SHOWS_NO_SETTING: &str = "annotate blame branch cat-file check-ignore cherry count-objects describe diff diff-files diff-index \
    diff-tree grep log ls-files ls-tree merge-base name-rev notes reflog rev-list rev-parse shortlog show show-branch show-ref \
    stash status symbolic-ref tag whatchanged worktree";

fn sub_command(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let Some((name, rest)) = args.split_first() else { return };
    let text = name.text().unwrap_or_default();
    match text {
        "apply" => return apply(judge, rest, name.span),
        "ls-remote" if !rest.first().is_some_and(|first| first.is("--get-url")) => {
            return judge.refuse(Network, "git ls-remote opens a connection", name.span);
        }
        _ => {}
    }
    judge.judged.shows_settings |= !listed(SHOWS_NO_SETTING, text);
    // Some subcommands have subcommands of their own, named by the second word.
    let two_words = |second: &Arg| second.text().map(|second| format!("{text} {second}"));
    let pair = rest.first().and_then(two_words);
    let found = |wanted: &str| COMMANDS.iter().find(|command| command.spec.names.contains(&wanted));
    let (command, last, rest) = match pair.as_deref().and_then(found) {
        Some(command) => (Some(command), &rest[0], &rest[1..]),
        None => (found(text), name, rest),
    };
    let Some(command) = command else {
        for (kind, detail, names) in REFUSED {
            if listed(names, text) {
                return judge.refuse(*kind, format!("git {text} {detail}"), name.span);
            }
        }
        return judge.unknown(format!("git {text} is not understood"), name.span);
    };
    // The command may already be in its hardened form.
    let inserted: Vec<&str> = command.insert.split_ascii_whitespace().collect();
    let is_hardened =
        inserted.len() <= rest.len() && inserted.iter().zip(rest).all(|(option, arg)| arg.is(option));
    let given = if is_hardened { &rest[inserted.len()..] } else { rest };
    let parsed = parse(judge, &Spec { abbreviates: false, ..command.spec }, given);
    formats(judge, &parsed);
    operands(judge, &parsed);
    if let Some(why) = does_more(text, &parsed) {
        return judge.refuse(WritesWorkspace, why, span);
    }
    if text == "remote" {
        remote(judge, &parsed, span);
    }
    access(judge, command, &parsed, span);
    judge.harden_git(harden::environment());
    // `git reflog show` takes its options behind the second word.
    let last = match rest.first() {
        Some(show) if text == "reflog" && show.is("show") => show,
        _ => last,
    };
    if !is_hardened {
        judge.insert_behind(last.span, command.insert);
    }
    if text == "config" && !parsed.has(&["local", "worktree"]) {
        // The user's own configuration may hold tokens.
        let word = rest.first().filter(|first| first.is("list") || first.is("get"));
        judge.insert_behind(word.unwrap_or(last).span, " --local");
    }
    // Only rev-parse prints the `--` that it is given.
    let prints_dashes = text == "rev-parse" && rest.iter().any(|arg| arg.is("--"));
    judge.printed = lines::of_git(text, &parsed).filter(|_| !prints_dashes);
    judge.reads_input &= READS_INPUT.contains(&text);
}

/// Subcommands that may read their standard input.
const READS_INPUT: [&str; 11] = [
    "apply",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "column",
    "get-tar-commit-id",
    "name-rev",
    "patch-id",
    "shortlog",
    "stripspace",
];

/// The subcommands, each with the options inserted into it, for the page that documents them.
pub(super) fn documented() -> impl Iterator<Item = (&'static Spec, &'static str)> {
    let apply = std::iter::once((&APPLY, ""));
    COMMANDS.iter().map(|command| (&command.spec, command.insert)).chain(apply)
}

fn access(judge: &mut Judge<'_>, command: &Command, parsed: &Parsed, span: Span) {
    const PATCH: [&str; 19] = [
        "p",
        "u",
        "patch",
        "U",
        "unified",
        "L",
        "W",
        "function-context",
        "c",
        "cc",
        "binary",
        "patch-with-stat",
        "patch-with-raw",
        "word-diff",
        "color-words",
        "word-diff-regex",
        "check",
        "m",
        "diff-merges",
    ];
    // An object's name may stand for a file's content, and a format can ask for that content.
    let is_raw = |given: &Given| {
        given.name == "format"
            && given.value.as_ref().and_then(Arg::text).is_some_and(|text| text.contains("raw"))
    };
    let content = match command.shows {
        PrintedContent::Names => parsed.options.iter().any(is_raw),
        PrintedContent::Content => true,
        PrintedContent::Asked => parsed.has(&PATCH),
    };
    judge.read_workspace(if content { Extent::Below } else { Extent::Names }, span);
}

/// Whether a format contains `%G…`, also as `%+G`, `%-G` or `% G`.
fn checks_signature(format: &str) -> bool {
    format.split('%').skip(1).any(|rest| rest.trim_start_matches(['+', '-', ' ']).starts_with('G'))
}

/// Refuses formats that ask for a signature to be checked, or for git to be started again.
fn formats(judge: &mut Judge<'_>, parsed: &Parsed) {
    const NAMED: [&str; 9] =
        ["oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw"];
    for given in &parsed.options {
        let Some(value) = &given.value else { continue };
        let Some(text) = value.text() else {
            if matches!(given.name.as_str(), "format" | "pretty" | "diff-merges") {
                judge.refuse(Executes, "a git format that is not known before it runs", value.span);
            }
            continue;
        };
        let bad = match given.name.as_str() {
            "sort" => text.contains("signature") || text.contains("describe"),
            "pretty" | "format" => {
                let named = text.starts_with("format:") || text.starts_with("tformat:") || text.contains('%');
                let asks = checks_signature(text) || text.contains("signature") || text.contains("describe");
                // The name may be that of a format which the repository defines.
                asks || (!named && !text.is_empty() && !NAMED.contains(&text))
            }
            "diff-merges" => text.starts_with('r'),
            _ => false,
        };
        if bad {
            judge.refuse(Executes, "a git format that may run a program", value.span);
        }
    }
}

/// Checks revisions and paths: none may lead out of the workspace.
fn operands(judge: &mut Judge<'_>, parsed: &Parsed) {
    for operand in &parsed.operands {
        let leads_out = |text: &[u8]| {
            text.starts_with(b"/") || text.split(|byte| b":/".contains(byte)).any(|name| name == b"..")
        };
        // A range contains two dots and leads nowhere.
        let bad = match operand.readings() {
            Some(readings) => readings.iter().any(|text| leads_out(text)),
            None => leads_out(&operand.prefix) || (!operand.exact && operand.escapes),
        };
        if bad {
            judge.refuse(
                ReadsOutside,
                "a path or revision that may lead outside the workspace",
                operand.span,
            );
        }
    }
}

/// Sub-commands of `git config` that do more than read.
const CONFIG_WORDS: [&str; 5] = ["edit", "set", "unset", "rename-section", "remove-section"];

/// Subcommands that only list, unless their operands say otherwise.
fn does_more(name: &str, parsed: &Parsed) -> Option<&'static str> {
    let count = parsed.operands.len();
    let first = parsed.operands.first().and_then(Arg::text);
    let lists = parsed.has(&["l", "list", "contains", "no-contains", "merged", "no-merged", "points-at"]);
    let many = parsed.operands.iter().any(|operand| operand.many);
    match name {
        "branch" if 0 < count && !lists => Some("git branch with a name makes a branch"),
        "tag" if 0 < count && !lists && !parsed.has(&["n"]) => Some("git tag with a name makes a tag"),
        // With three trees it merges in memory and prints; the newer form writes objects.
        "merge-tree" if count != 3 || many => Some("git merge-tree writes a tree"),
        "clean" if !parsed.has(&["n", "dry-run"]) => Some("git clean removes files"),
        "symbolic-ref" if count != 1 || many => Some("git symbolic-ref with two names writes a reference"),
        "config" => {
            let asks = parsed.has(&["get", "get-all", "get-regexp", "get-urlmatch", "list", "l"]);
            // Newer versions have subcommands, which take effect behind any option.
            let word = |operand: &Arg| operand.text().is_none_or(|text| CONFIG_WORDS.contains(&text));
            let key = first.is_some_and(|text| text.contains('.') || text == "list");
            let reads =
                (asks || (count == 1 && key) || first == Some("get")) && !parsed.operands.iter().any(word);
            (!reads).then_some("git config with a value writes the configuration")
        }
        "reflog"
            if 0 < count
                && !first.is_some_and(|text| matches!(text, "show" | "exists") || is_revision(text)) =>
        {
            Some("git reflog changes the reflog")
        }
        _ => None,
    }
}

/// Whether the operand of `git reflog` cannot be one of its subcommands.
fn is_revision(text: &str) -> bool {
    text.contains(['@', '/', '~', '^']) || matches!(text, "HEAD" | "main" | "master")
}

fn remote(judge: &mut Judge<'_>, parsed: &Parsed, span: Span) {
    let words: Vec<Option<&str>> = parsed.operands.iter().map(Arg::text).collect();
    match words.as_slice() {
        [] | [Some("show" | "get-url"), Some(_)] | [Some("show")] => {
            let asks = words.len() == 2 && words[0] == Some("show") && !parsed.has(&["n", "no-query"]);
            let odd = !words.is_empty() && parsed.has(&["v", "verbose"]);
            if asks || odd {
                judge.refuse(Network, "git remote asks the remote", span);
            }
        }
        _ => judge.refuse(WritesWorkspace, "git remote changes the remotes", span),
    }
}

pub(super) const APPLY: Spec = Spec {
    flags: "Rz",
    values: "p",
    long: "stat numstat summary check reverse",
    ..Spec::new(&["apply"], Operands::Custom)
};

/// `git apply`, if it only says what a patch would do.
fn apply(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &APPLY, args);
    if !parsed.has(&["stat", "numstat", "summary", "check"]) {
        return judge.refuse(WritesWorkspace, "git apply changes the work tree", span);
    }
    for file in parsed.operands.iter().filter(|file| !file.is("-")) {
        judge.read_file(file);
    }
    judge.read_workspace(Extent::Below, span);
    judge.harden_git(harden::environment());
}
