//! `find`: starting points, then an expression of tests and actions.

use super::lines;
use super::{system, wrappers};
use crate::EffectKind::{Executes, ReadsOutside, WritesWorkspace};
use crate::shell::analyse::Judge;
use crate::shell::names::listed;
use crate::shell::printed::{Names, Printed};
use crate::shell::value::{Arg, Value};
use crate::shell::{Extent, Span};

/// Tests and actions without an argument.
pub(super) const PLAIN: &str = "-print -print0 -ls -prune -quit -depth -d -mount -xdev -noleaf -daystart -warn -nowarn -empty \
    -executable -readable -writable -nouser -nogroup -true -false -not -a -and -o -or -ignore_readdir_race \
    -noignore_readdir_race ! ( ) ,";
/// Tests and actions with one argument that is data.
pub(super) const DATA: &str = "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype \
    -size -mtime -atime -ctime -mmin -amin -cmin -perm -user -group -uid -gid -inum -links -maxdepth -mindepth -fstype -used \
    -printf";
/// Tests with one argument that is a file.
pub(super) const FILES: &str = "-newer -anewer -cnewer -samefile";

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let options = args.iter().take_while(|arg| arg.is("-H") || arg.is("-L") || arg.is("-P")).count();
    if let Some(arg) = args.iter().find(|arg| arg.is("-L") || arg.is("-follow")) {
        return judge.refuse(
            ReadsOutside,
            "find follows links, which may lead out of the workspace",
            arg.span,
        );
    }
    let args = &args[options..];
    if matches!(args, [only] if only.is("--help") || only.is("--version")) {
        return;
    }
    let starts_expression =
        |arg: &&Arg| !arg.exact && arg.dash || arg.prefix.starts_with(b"-") || is_punctuation(arg);
    let starts: Vec<&Arg> = args.iter().take_while(|arg| !starts_expression(arg)).collect();
    if starts.is_empty() {
        judge.read_here(Extent::Names, span);
    }
    let opaque = |arg: &&Arg| !arg.exact && arg.prefix.is_empty() && !arg.number;
    for start in &starts {
        if opaque(start) && start.escapes {
            judge.unknown("a starting point that is not known before it runs", start.span);
        }
        judge.read(start, Extent::Names);
    }
    // Names that find passes to a program begin as the starting points do.
    let named: Vec<Arg> = starts.iter().map(|start| below(start)).collect();
    let named = if named.is_empty() { vec![below(&Arg::exact(*b".", span))] } else { named };
    let rest = &args[starts.len()..];
    expression(judge, rest, &named, span);
    judge.printed = printed(judge, rest, &starts);
    judge.reads_input = false;
}

/// What the expression prints, if it prints names only.
fn printed(judge: &Judge<'_>, expression: &[Arg], starts: &[&Arg]) -> Option<Printed> {
    let uses = |names: &[&str]| expression.iter().any(|arg| names.iter().any(|name| arg.is(name)));
    let acts = uses(&["-printf", "-ls", "-exec", "-execdir", "-ok"]);
    let names = lines::below(judge, starts.iter().copied()).filter(|_| !acts)?;
    let nul = uses(&["-print0"]);
    if nul && uses(&["-print"]) {
        return None;
    }
    // Each name begins with its starting point, and a newline or NUL ends it.
    let begun = starts.iter().all(|start| start.exact && !start.dash);
    Some(Printed::Names(Names { nul, begun, clean: nul && begun, ..names }))
}

fn is_punctuation(arg: &Arg) -> bool {
    ["(", ")", "!", ","].into_iter().any(|text| arg.is(text))
}

fn below(start: &Arg) -> Arg {
    let mut prefix = start.prefix.clone();
    if start.exact && !prefix.ends_with(b"/") {
        prefix.push(b'/');
    }
    Arg {
        exact: false,
        many: true,
        number: false,
        dash: start.dash,
        really_dash: start.really_dash,
        escapes: start.escapes,
        empty: false,
        rooted: start.rooted,
        fixes: 0,
        prefix,
        span: start.span,
        template: None,
    }
}

fn expression(judge: &mut Judge<'_>, args: &[Arg], named: &[Arg], span: Span) {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        let Some(text) = arg.text() else {
            // More names than one test takes are an error of find, but only if none of them is an action.
            let harmless = !arg.dash && !arg.prefix.is_empty() && !b"(!,".contains(&arg.prefix[0]);
            if !harmless {
                judge.unknown("an argument that could be an action", arg.span);
            }
            continue;
        };
        if listed(PLAIN, text) {
            continue;
        }
        if listed(DATA, text) || listed(FILES, text) || is_newer(text) {
            let Some(value) = args.get(at) else {
                return judge.unknown("a test without its argument", arg.span);
            };
            at += 1;
            if value.many && (value.dash || value.prefix.is_empty() || b"(!,".contains(&value.prefix[0])) {
                return judge.unknown("an argument that could be an action", value.span);
            }
            let date = is_newer(text) && text.ends_with('t');
            if date && value.bytes().is_none_or(system::names_a_zone) {
                return judge.unknown("a date that may name a file as its time zone", value.span);
            }
            if listed(FILES, text) || (is_newer(text) && !date) {
                judge.read_file(value);
            }
            continue;
        }
        match text {
            "-exec" => {
                let rest = &args[at..];
                let ends = |place: usize| {
                    rest[place].is(";") || (rest[place].is("+") && 0 < place && rest[place - 1].is("{}"))
                };
                let Some(length) = (0..rest.len()).find(|place| ends(*place)) else {
                    return judge.unknown("-exec without its end", arg.span);
                };
                if rest[..length].iter().any(|word| word.many || !word.exact) {
                    return judge.refuse(Executes, "-exec with a command that is not known", arg.span);
                }
                for name in named {
                    if judge.is_limited() {
                        return;
                    }
                    let words: Vec<Arg> = rest[..length].iter().map(|word| replaced(word, name)).collect();
                    wrappers::inner(judge, &words, span);
                }
                // The program may stop anywhere in a line of the input.
                judge.input = Value::ANY;
                at += length + 1;
            }
            "-execdir" | "-ok" | "-okdir" => {
                return judge.refuse(Executes, format!("find {text} runs a program"), arg.span);
            }
            "-delete" => judge.refuse(WritesWorkspace, "find -delete removes files", arg.span),
            "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                return judge.refuse(WritesWorkspace, format!("find {text} writes a file"), arg.span);
            }
            _ => return judge.unknown(format!("find {text:?} is not understood"), arg.span),
        }
    }
}

/// `word` with `{}` replaced by a name that find gives.
fn replaced(word: &Arg, name: &Arg) -> Arg {
    if word.is("{}") {
        return Arg { span: word.span, ..name.clone() };
    }
    let rooted = name.rooted || name.prefix.starts_with(b"/");
    let given = Arg { prefix: Vec::new(), dash: true, really_dash: true, rooted, ..name.clone() };
    wrappers::replace(word, "{}", &given)
}

/// `-newerXY`
fn is_newer(text: &str) -> bool {
    let Some(letters) = text.strip_prefix("-newer") else { return false };
    letters.len() == 2
        && letters.bytes().zip([&b"aBcm"[..], b"aBcmt"]).all(|(letter, known)| known.contains(&letter))
}
