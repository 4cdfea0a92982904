//! `yq`: two programs have this name, one written in Go, the other a wrapper of jq in Python. A command is allowed
//! only if it reads in both.
//!
//! They differ in which word is the program and which a file, so a word that could be either is treated as both.

use super::jq;
use crate::EffectKind::{Environment, Executes, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::names::listed;
use crate::shell::options::{Operands, Spec, parse};
use crate::shell::value::Arg;

pub(super) const YQ: Spec = Spec {
    flags: "0CMNPVYSacejnrvyh",
    values: "Iop",
    long: "colors exit-status help indent= input-format= no-colors no-doc null-input output-format= prettyPrint raw-output unwrapScalar version \
           yaml-output yaml-roundtrip",
    refuses: &[
        ("i inplace in-place", WritesWorkspace, "yq edits files in place"),
        (
            "s split-exp split-exp-file",
            WritesWorkspace,
            "yq writes a file for each result, or reads all as one",
        ),
        (
            "f from-file L front-matter expression",
            Executes,
            "yq runs a program from a file, or takes another word for it",
        ),
    ],
    abbreviates: false,
    ..Spec::new(&["yq"], Operands::Custom)
};

/// What reaches beyond the input in either program. The one in Go does not need blanks between words: `orload` is `or
/// load`.
const BEYOND: [&str; 5] = ["load", "env", "eval", "system", "exec"];
/// Formats, by their names and letters.
const FORMATS: &str =
    "yaml yml y json j xml x props p csv c tsv t toml lua l shell s base64 uri auto a ini i";
/// Subcommands of the one in Go, which the other takes for the program.
const COMMANDS: &str = "e eval ea eval-all";

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let mut named = Vec::new();
    let mut plain = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg.is("--arg") || arg.is("--argjson") {
            named.extend([rest.next(), rest.next()]);
        } else {
            plain.push(arg.clone());
        }
    }
    if named.iter().any(|value| value.is_none_or(|value| value.many || value.dash)) {
        return judge.unknown("a value of yq that is not known before it runs", span);
    }
    let parsed = parse(judge, &YQ, &plain);
    for given in &parsed.options {
        let Some(value) = &given.value else { continue };
        let text = value.text().unwrap_or_default();
        // The one in Go accepts `-o=json`.
        let text = text.strip_prefix('=').unwrap_or(text);
        let known = match given.name.as_str() {
            "I" | "indent" => value.number,
            _ => listed(FORMATS, text),
        };
        if !known {
            return judge.unknown("a value of an option of yq that is not understood", value.span);
        }
    }
    let shifts = parsed.options.iter().any(|given| given.value.is_some());
    let mut operands = parsed.operands.as_slice();
    let mut commanded = false;
    if let Some((first, after)) = operands.split_first()
        && first.text().is_some_and(|text| listed(COMMANDS, text))
    {
        operands = after;
        commanded = true;
    }
    let Some((program, files)) = operands.split_first() else {
        if !parsed.has(&["help", "version", "h", "V"]) || commanded {
            judge.unknown("yq without a program", span);
        }
        return;
    };
    let Some(text) = program.text() else {
        return judge.unknown("a yq program that is not known before it runs", program.span);
    };
    if let Some(name) = reaches_beyond(text) {
        let kind = if name == "env" { Environment } else { Executes };
        return judge.refuse(kind, format!("the yq program uses {name}"), program.span);
    }
    if let Some((kind, why)) = jq::beyond(text) {
        return judge.refuse(kind, why, program.span);
    }
    could_be_file(judge, program, shifts || commanded);
    for file in files.iter().filter(|file| !file.is("-")) {
        // In one of the programs an option may also stand behind a file.
        if file.really_dash {
            return judge
                .unknown("an argument that is not known before it runs could be an option", file.span);
        }
        judge.read_file(file);
    }
    judge.reads_input &= files.is_empty();
}

/// Treats the program text as a file too, which it is if there is a file of that name or a word before it is the
/// program.
fn could_be_file(judge: &mut Judge<'_>, program: &Arg, shifts: bool) {
    let text = program.text().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
    if text == "." || text == ".." {
        return;
    }
    if text.strip_suffix(".yq").is_some() {
        return judge.refuse(Executes, "yq runs a program from a file", program.span);
    }
    let climbs = text.split('/').any(|name| name == "..");
    if text.starts_with('/') || climbs || (shifts && text.contains('/')) || text.bytes().all(plain) {
        judge.read_file(program);
    }
}

/// What a program uses besides the fields of its input.
fn reaches_beyond(program: &str) -> Option<&'static str> {
    let part_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    BEYOND.into_iter().find(|name| {
        program.match_indices(name).any(|(at, _)| {
            let before = program[..at].trim_end_matches(part_of_name);
            !jq::is_field(before)
        })
    })
}
