//! `jq`: its options, and a check of its program.

use crate::EffectKind::{self, Environment, Executes};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{Operands, Spec};
use crate::shell::value::Arg;

/// Names with which a program reaches beyond its input.
const REFUSED: [&str; 6] = ["env", "ENV", "import", "include", "modulemeta", "get_search_list"];

pub(super) const JQ: Spec = Spec {
    flags: "nrajsceSCMRVh",
    long: "null-input raw-output ascii-output join-output slurp compact-output exit-status sort-keys color-output \
           monochrome-output raw-input tab seq stream unbuffered help version",
    ..Spec::new(&["jq"], Operands::Custom)
};

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    // Options with two values are taken out first, because the other code expects one value at most.
    let mut program = None;
    let mut rest = args.iter();
    let mut named_positional = false;
    let mut operands_only = false;
    while let Some(arg) = rest.next() {
        let Some(text) = arg.text() else {
            if program.is_none() || arg.prefix.starts_with(b"-") {
                return judge.unknown("an argument of jq that is not known before it runs", arg.span);
            }
            if arg.dash && !operands_only {
                judge.end_options(arg.span);
                operands_only = true;
            }
            if !named_positional {
                judge.read_file(arg);
            }
            continue;
        };
        if operands_only && text.starts_with('-') {
            return judge.unknown("an option behind an argument that could be one", arg.span);
        }
        match text {
            // It is there in the hardened form, behind the program.
            "--" if program.is_some() => {
                for file in rest.by_ref().filter(|_| !named_positional) {
                    judge.read_file(file);
                }
            }
            "--arg" | "--argjson" => {
                for _ in 0..2 {
                    if rest.next().is_none_or(|value| value.many) {
                        return judge.unknown("a value of jq that is not known before it runs", arg.span);
                    }
                }
            }
            "--slurpfile" | "--rawfile" => {
                let (name, file) = (rest.next(), rest.next());
                match (name, file) {
                    (Some(name), Some(file)) if !name.many && !file.many => judge.read_file(file),
                    _ => return judge.unknown("a value of jq that is not known before it runs", arg.span),
                }
            }
            "--indent" => {
                if rest.next().is_none_or(|value| !value.number) {
                    return judge.unknown("a value of jq that is not understood", arg.span);
                }
            }
            "--args" | "--jsonargs" => named_positional = true,
            option if option.starts_with('-') && option != "-" && 1 < option.len() => {
                crate::shell::options::parse(judge, &JQ, std::slice::from_ref(arg));
            }
            _ if program.is_none() => program = Some(text.to_owned()),
            _ if named_positional => {}
            _ => judge.read_file(arg),
        }
    }
    let Some(program) = program else { return };
    if let Some((kind, why)) = beyond(&program) {
        judge.refuse(kind, why, span);
    }
}

/// What a program does besides filtering its input; `None` if that is all.
pub(super) fn beyond(program: &str) -> Option<(EffectKind, String)> {
    let mut end = 0;
    for word in
        program.split_inclusive(|character: char| !character.is_ascii_alphanumeric() && character != '_')
    {
        let name =
            word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        if REFUSED.contains(&name) && !is_field(&program[..end]) {
            let kind = if name.eq_ignore_ascii_case("env") { Environment } else { Executes };
            return Some((kind, format!("the jq program uses {name}")));
        }
        end += word.len();
    }
    None
}

/// Whether a name behind this text is a field's name: behind one dot, without a number or another dot before that.
pub(super) fn is_field(before: &str) -> bool {
    let Some(rest) = before.strip_suffix('.') else { return false };
    !rest.ends_with(|last: char| last == '.' || last.is_ascii_alphanumeric() || last == '_')
}
