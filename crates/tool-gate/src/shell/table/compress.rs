//! Compressors, if they print: without an option that says so they replace the file.

use crate::EffectKind::{Executes, ReadsOutside, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{FILES, Operands, Spec, parse};
use crate::shell::value::Arg;

/// Programs that can only print.
pub(super) const PROGRAMS: &[Spec] = &[
    Spec {
        flags: "cdflqvt",
        long: "force list quiet verbose test help version",
        ..Spec::new(&["zcat"], FILES)
    },
    Spec { flags: "s", ..Spec::new(&["bzcat"], FILES) },
    Spec {
        flags: "qv",
        long: "quiet verbose help version",
        ..Spec::new(&["xzcat", "lzcat", "zstdcat"], FILES)
    },
];

pub(super) const GZIP: Spec = Spec {
    flags: "cdfhklLnNqtvV123456789",
    long: "stdout to-stdout decompress uncompress force help keep list license no-name name quiet test verbose version fast best rsyncable",
    abbreviates: false,
    ..Spec::new(&["gzip", "gunzip"], Operands::Custom)
};

pub(super) const BZIP2: Spec = Spec {
    flags: "cdfhkLqstvVz123456789",
    long: "stdout decompress compress force keep test quiet verbose small license version help fast best",
    abbreviates: false,
    ..Spec::new(&["bzip2", "bunzip2"], Operands::Custom)
};

pub(super) const XZ: Spec = Spec {
    flags: "cdefhHklqQtvVz0123456789",
    values: "CFT",
    long: "stdout to-stdout decompress uncompress compress force keep list test quiet verbose no-warn extreme fast best robot \
           no-sparse ignore-check single-stream format= check= threads= help long-help version",
    refuses: &[("files files0", ReadsOutside, "reads the files that a list names")],
    abbreviates: false,
    ..Spec::new(&["xz", "unxz", "lzma", "unlzma"], Operands::Custom)
};

pub(super) const ZSTD: Spec = Spec {
    flags: "cdfhHklqtvVz0123456789",
    long: "stdout decompress uncompress compress force keep list test quiet verbose no-progress ultra single-thread help version",
    refuses: &[
        ("o", WritesWorkspace, "zstd writes its output to a file"),
        ("rm", WritesWorkspace, "zstd removes the file"),
    ],
    abbreviates: false,
    ..Spec::new(&["zstd", "unzstd"], Operands::Custom)
};

/// The table of a compressor.
fn spec_of(name: &str) -> Option<&'static Spec> {
    [&GZIP, &BZIP2, &XZ, &ZSTD].into_iter().find(|spec| spec.names.contains(&name))
}

/// `gzip` and similar programs, if they list or print.
pub(super) fn compressor(judge: &mut Judge<'_>, name: &str, args: &[Arg], span: Span) {
    let Some(spec) = spec_of(name) else { return judge.unknown("a compressor that is not understood", span) };
    let parsed = parse(judge, spec, args);
    // The options for help or a version do not count, because bzip2 answers them and goes on.
    let looks = parsed.has(&["l", "list", "t", "test"]);
    // In all of these but gzip only the last mode counts, and that is not always the last one on the line.
    let replaces =
        parsed.has(&["d", "decompress", "uncompress", "z", "compress"]) && !GZIP.names.contains(&name);
    let prints = parsed.has(&["c", "stdout", "to-stdout"]) || (looks && !replaces);
    // Without an operand it compresses its input and prints.
    if !prints && !parsed.operands.is_empty() {
        return judge.refuse(WritesWorkspace, format!("{name} replaces the file"), span);
    }
    for file in parsed.operands.iter().filter(|file| !file.is("-")) {
        if file.dash {
            judge.unknown("a file that could be an option", file.span);
        }
        judge.read_file(file);
    }
}

pub(super) const ZGREP: Spec = Spec {
    flags: "EFGPivwxcLlqsobHhnaIy",
    values: "emABC",
    digits: true,
    abbreviates: false,
    ..Spec::new(&["zgrep", "zegrep", "zfgrep", "xzgrep", "xzegrep", "xzfgrep"], Operands::Custom)
};

/// `grep` over compressed files. These are scripts of the shell, which split unusual names.
pub(super) fn zgrep(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &ZGREP, args);
    let files = if parsed.has(&["e"]) {
        parsed.operands.as_slice()
    } else {
        parsed.operands.get(1..).unwrap_or_default()
    };
    if parsed.operands.is_empty() {
        return judge.unknown("a search without a pattern", span);
    }
    if parsed.operands.iter().any(|operand| operand.many || operand.dash) {
        return judge.unknown("an argument that is not known before it runs could be an option", span);
    }
    for file in files {
        let plain =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/+-".contains(&byte));
        if file.text().is_some_and(plain) {
            judge.read_file(file);
        } else {
            judge.refuse(Executes, "a name that the script may take apart", file.span);
        }
    }
}
