//! Programs that list or print what is in compressed files and object files.

use crate::EffectKind::{Executes, Network, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{FILES, Operands, Spec, parse};
use crate::shell::value::Arg;

pub(super) const PROGRAMS: &[Spec] = &[
    Spec { flags: "lvt", long: "list verbose test help version", ..Spec::new(&["zcat"], FILES) },
    Spec { flags: "s", ..Spec::new(&["bzcat"], FILES) },
    Spec { flags: "qv", long: "quiet verbose help version", ..Spec::new(&["xzcat", "zstdcat"], FILES) },
    Spec {
        flags: "aABCDglnoPprsSuvX",
        long: "debug-syms demangle? dynamic extern-only line-numbers no-sort numeric-sort portability print-armap print-file-name \
               print-size reverse-sort size-sort undefined-only defined-only help version",
        refuses: &[("plugin", Executes, "loads a library")],
        ..Spec::new(&["nm"], FILES)
    },
    Spec {
        flags: "aehlsSgtnrduVAIW",
        values: "xpR",
        long: "all file-header program-headers segments section-headers sections section-groups section-details headers syms symbols \
               dyn-syms notes relocs dynamic version-info arch-specific histogram wide hex-dump= string-dump= help version",
        ..Spec::new(&["readelf"], FILES)
    },
    Spec {
        flags: "afphxdDtTrRsCw",
        values: "j",
        long: "archive-headers file-headers private-headers section-headers headers all-headers disassemble disassemble-all syms \
               dynamic-syms reloc dynamic-reloc full-contents section= demangle? wide help version",
        ..Spec::new(&["objdump"], FILES)
    },
    Spec { flags: "np", values: "s", long: "help version", ..Spec::new(&["c++filt"], Operands::Data) },
];

/// Whether one of the options takes a file of further arguments: an operand that starts with `@`.
pub(super) fn takes_arguments_from_files(name: &str) -> bool {
    matches!(name, "strings" | "size" | "nm" | "readelf" | "objdump" | "c++filt")
}

pub(super) const GZIP: Spec = Spec {
    flags: "cdlqvt",
    long: "stdout to-stdout decompress uncompress list quiet verbose test version help",
    abbreviates: false,
    ..Spec::new(&["gzip"], Operands::Custom)
};

/// `gzip` and its like, as far as they list or print.
pub(super) fn gzip(judge: &mut Judge<'_>, name: &str, args: &[Arg], span: Span) {
    let parsed = parse(judge, &GZIP, args);
    let prints = parsed.has(&["c", "stdout", "to-stdout", "l", "list", "t", "test", "version", "help"]);
    // Without an operand it works on its input and prints.
    if !prints && !parsed.operands.is_empty() {
        return judge.refuse(WritesWorkspace, format!("{name} replaces the file"), span);
    }
    for file in parsed.operands.iter().filter(|file| !file.is("-")) {
        judge.read_file(file);
    }
}

pub(super) const UNZIP: Spec =
    Spec { flags: "lvtpqZ12shmTz", abbreviates: false, ..Spec::new(&["unzip"], Operands::Custom) };

/// `unzip` and `zipinfo`, as far as they list or print.
pub(super) fn unzip(judge: &mut Judge<'_>, name: &str, args: &[Arg], span: Span) {
    let parsed = parse(judge, &UNZIP, args);
    let options = args.iter().filter_map(Arg::text).filter(|text| text.starts_with('-'));
    // Only the first argument says that it is a listing in the long form.
    let lists = name == "zipinfo" || parsed.has(&["l", "v", "t", "p", "Z", "z"]);
    if !lists {
        return judge.refuse(WritesWorkspace, "unzip writes the files of the archive", span);
    }
    if name == "unzip"
        && !parsed.has(&["Z"])
        && options.flat_map(str::bytes).any(|byte| b"12shmT".contains(&byte))
    {
        return judge.unknown("an option of unzip that is not understood", span);
    }
    let Some(archive) = parsed.operands.first() else { return };
    let plain = archive.text().filter(|text| !text.contains(['*', '?', '[']));
    let Some(text) = plain else {
        return judge.unknown("an archive that is not known before it runs", archive.span);
    };
    // It tries the name with this ending too.
    let longer = Arg::exact(format!("{text}.zip").into_bytes(), archive.span);
    judge.read_file(archive);
    judge.read_file(&longer);
}

/// `ar t`: what is in a library.
pub(super) fn ar(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let [operation, library] = args else {
        return judge.refuse(WritesWorkspace, "ar may write a library", span);
    };
    if !["t", "-t", "tv", "-tv"].into_iter().any(|list| operation.is(list)) {
        return judge.refuse(WritesWorkspace, "ar may write a library", span);
    }
    if library.dash || library.prefix.first().is_none_or(|first| *first == b'@') {
        return judge.unknown("a library that could be an option", library.span);
    }
    judge.read_file(library);
}

pub(super) const TAR: Spec = Spec {
    flags: "tvzjJ",
    long: "list verbose gzip bzip2 xz wildcards no-wildcards file= version",
    values: "f",
    abbreviates: false,
    ..Spec::new(&["tar"], Operands::Custom)
};

/// `tar`, as far as it lists.
pub(super) fn tar(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let mut args = args.to_vec();
    // The old form: the first argument is a bundle without a dash, whose values follow it.
    if let Some(first) =
        args.first_mut().filter(|first| first.exact && !first.many && !first.prefix.starts_with(b"-"))
    {
        if first.prefix.split_last().is_none_or(|(last, before)| *last != b'f' || before.contains(&b'f')) {
            return judge.unknown("a form of tar that is not understood", span);
        }
        first.prefix.insert(0, b'-');
    }
    let parsed = parse(judge, &TAR, &args);
    if parsed.has(&["version"]) && args.len() == 1 {
        return;
    }
    if !parsed.has(&["t", "list"]) {
        return judge.refuse(WritesWorkspace, "tar does more than list", span);
    }
    let archives: Vec<&Arg> = parsed
        .options
        .iter()
        .filter(|given| matches!(given.name.as_str(), "f" | "file"))
        .filter_map(|given| given.value.as_ref())
        .collect();
    let [archive] = archives.as_slice() else {
        return judge.unknown("tar without an archive reads a tape", span);
    };
    if !archive.exact || archive.prefix.contains(&b':') {
        return judge.refuse(Network, "an archive on another host", archive.span);
    }
    judge.read_file(archive);
}
