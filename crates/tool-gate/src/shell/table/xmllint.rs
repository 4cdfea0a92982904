//! `xmllint`, if it reads the files that it is given, and nothing that those name.
//!
//! Whatever makes libxml2 load what a document names (a DTD, an entity, an inclusion, a schema) can read any file and
//! any address. `--c14n` is one of these, because a canonical form has its entities replaced.

use crate::EffectKind::{Network, ReadsOutside, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{Operands, Spec};
use crate::shell::value::Arg;

pub(super) const XMLLINT: Spec = Spec {
    long: "auto copy debug format html huge memory noblanks nocatalogs nocdata nocompact nodefdtd nodict noenc nonet noout nowarning nowrap \
           nsclean push quiet recover sax stream strict-namespace testIO timing version walker xmlout encode= maxmem= pattern= pretty= \
           xpath=",
    refuses: &[
        ("o output compress", WritesWorkspace, "xmllint writes its output to a file"),
        ("shell", WritesWorkspace, "the shell of xmllint writes and loads files"),
        (
            "c14n c14n11 exc-c14n noent loaddtd dtdattr valid postvalid xinclude noxincludenode nofixup-base-uris",
            ReadsOutside,
            "xmllint loads what the document names, from any file or address",
        ),
        (
            "dtdvalid dtdvalidfpi schema relaxng schematron catalogs path load-trace",
            ReadsOutside,
            "xmllint loads what a schema or a catalog names, from any file or address",
        ),
        ("insert repeat", WritesWorkspace, "xmllint measures or tests itself"),
    ],
    abbreviates: false,
    ..Spec::new(&["xmllint"], Operands::Custom)
};

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let mut nonet = false;
    let mut rest = args.iter();
    let mut files: Vec<&Arg> = Vec::new();
    while let Some(arg) = rest.next() {
        // One dash means the same as two, `--` does not end the options, and no value is attached.
        let name = arg.text().and_then(|text| text.strip_prefix('-'));
        let name = name.map(|name| name.strip_prefix('-').unwrap_or(name)).filter(|name| !name.is_empty());
        let Some(name) = name else {
            files.push(arg);
            continue;
        };
        let known = |mark: &str| {
            XMLLINT.long.split_ascii_whitespace().any(|entry| entry.strip_suffix(mark) == Some(name))
        };
        if known("=") {
            if rest.next().is_none_or(|value| value.many) {
                return judge.unknown("a value of xmllint that is not known before it runs", arg.span);
            }
        } else if known("") && !name.ends_with('=') {
            nonet |= name == "nonet";
        } else {
            let refused =
                XMLLINT.refuses.iter().find(|(names, ..)| names.split(' ').any(|other| other == name));
            return match refused {
                Some((_, kind, detail)) => judge.refuse(*kind, *detail, arg.span),
                None => judge.unknown(format!("the option --{name} is not understood"), arg.span),
            };
        }
    }
    for file in files {
        read(judge, file);
    }
    if !nonet && !args.is_empty() {
        judge.insert_behind(span, " --nonet");
    }
}

/// Reads an operand. Xmllint takes it for an address if it looks like one, and then decodes its `%2e`.
fn read(judge: &mut Judge<'_>, file: &Arg) {
    if file.is("-") {
        return;
    }
    if file.prefix.windows(3).any(|part| part == b"://") {
        return judge.refuse(Network, "xmllint reads an address", file.span);
    }
    if file.prefix.iter().any(|byte| matches!(byte, b':' | b'%')) {
        return judge.refuse(ReadsOutside, "a name that xmllint reads as an address", file.span);
    }
    if file.exact {
        judge.reads_input &= !file.is_a_file();
    } else if file.really_dash || !file.prefix.contains(&b'/') || judge.source(file.span).contains([':', '%'])
    {
        // A name that is not known may begin with `file:`.
        return judge.unknown("a name that xmllint could read as an option or an address", file.span);
    }
    judge.read_file(file);
}
