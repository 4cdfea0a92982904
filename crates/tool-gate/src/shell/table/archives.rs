//! Programs that list or print the contents of archives and object files.

use crate::EffectKind::{Executes, Network, WritesOutside, WritesWorkspace};
use crate::shell::analyse::Judge;
use crate::shell::options::{FILES, Operands, Spec, parse};
use crate::shell::value::Arg;
use crate::shell::{Extent, Span};

pub(super) const PROGRAMS: &[Spec] = &[
    Spec {
        flags: "aABCDglnoPprsSuvXhV",
        values: "ft",
        long: "debug-syms demangle? dynamic extern-only line-numbers no-sort numeric-sort portability print-armap print-file-name \
               print-size reverse-sort size-sort undefined-only defined-only extern-only format= radix= no-demangle quiet no-weak \
               without-symbol-versions with-symbol-versions help version",
        refuses: &[("plugin", Executes, "loads a library")],
        ..Spec::new(&["nm"], FILES)
    },
    Spec {
        flags: "aehlsSgtnrduVAIWcDHv",
        values: "xpR",
        long: "all file-header program-headers segments section-headers sections section-groups section-details headers syms symbols \
               dyn-syms notes relocs dynamic version-info arch-specific histogram wide hex-dump= string-dump= relocated-dump= use-dynamic \
               archive-index decompress unwind demangle? silent-truncation got-contents lint help version",
        ..Spec::new(&["readelf"], FILES)
    },
    Spec {
        flags: "afphxdDtTrRsCwzHv",
        values: "bjmM",
        long: "archive-headers file-headers private-headers section-headers headers all-headers disassemble? disassemble-all \
               disassemble-zeroes disassembler-options= disassembler-color= architecture= target= syms dynamic-syms reloc dynamic-reloc \
               full-contents section= demangle? no-show-raw-insn show-raw-insn no-addresses prefix-addresses start-address= \
               stop-address= visualize-jumps? wide help version",
        refuses: &[("i info", WritesOutside, "objdump makes a temporary file")],
        ..Spec::new(&["objdump"], FILES)
    },
    Spec {
        flags: "ABGdotxfVv",
        long: "format= common totals radix= help version",
        ..Spec::new(&["size"], FILES)
    },
    Spec { flags: "npi_", values: "s", long: "help version", ..Spec::new(&["c++filt"], Operands::Data) },
];

/// Whether the program takes an operand that starts with `@` for a file of further arguments.
pub(super) fn takes_arguments_from_files(name: &str) -> bool {
    matches!(name, "strings" | "size" | "nm" | "readelf" | "objdump" | "c++filt")
}

pub(super) const UNZIP: Spec =
    Spec { flags: "clvtpqZ12shmTzaCjLb", abbreviates: false, ..Spec::new(&["unzip"], Operands::Custom) };

/// `unzip` and `zipinfo`, if they list or print.
pub(super) fn unzip(judge: &mut Judge<'_>, name: &str, args: &[Arg], span: Span) {
    let parsed = parse(judge, &UNZIP, args);
    let options = args.iter().filter_map(Arg::text).filter(|text| text.starts_with('-'));
    // Only as the first argument it asks for a listing in the long form.
    let lists = name == "zipinfo" || parsed.has(&["l", "v", "t", "p", "Z", "z", "c"]);
    if !lists {
        return judge.refuse(WritesWorkspace, "unzip writes the files of the archive", span);
    }
    if name == "unzip"
        && !parsed.has(&["Z"])
        && options.flat_map(str::bytes).any(|byte| b"12shmT".contains(&byte))
    {
        return judge.unknown("an option of unzip that is not understood", span);
    }
    // Behind `--` unzip goes on reading options, and one of them may undo the listing.
    let is_odd = |arg: &&Arg| arg.is("--") || (arg.dash && !arg.exact);
    if let Some(odd) = args.iter().find(is_odd) {
        return judge.unknown("an argument that unzip may take for an option", odd.span);
    }
    let Some(archive) = parsed.operands.first() else { return };
    let plain = archive.text().filter(|text| !text.contains(['*', '?', '[']));
    let Some(text) = plain else {
        return judge.unknown("an archive that is not known before it runs", archive.span);
    };
    // It also tries the name with this ending.
    let longer = Arg::exact(format!("{text}.zip").into_bytes(), archive.span);
    judge.read_file(archive);
    judge.read_file(&longer);
}

/// `ar t`, which lists a library. The members of a thin library lie elsewhere.
pub(super) fn ar(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let [operation, library, members @ ..] = args else {
        return judge.refuse(WritesWorkspace, "ar may write a library", span);
    };
    if members.iter().any(|member| member.dash || member.prefix.starts_with(b"@")) {
        return judge.unknown("a member that could be an option", span);
    }
    if !["t", "-t", "tv", "-tv"].into_iter().any(|list| operation.is(list)) {
        return judge.refuse(WritesWorkspace, "ar may write a library", span);
    }
    if library.dash || library.prefix.first().is_none_or(|first| *first == b'@') {
        return judge.unknown("a library that could be an option", library.span);
    }
    judge.read_file(library);
}

pub(super) const CPIO: Spec = Spec {
    flags: "itvn",
    long: "list quiet verbose extract numeric-uid-gid",
    abbreviates: false,
    ..Spec::new(&["cpio"], Operands::Custom)
};

/// `cpio`, if it lists its input.
pub(super) fn cpio(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let parsed = parse(judge, &CPIO, args);
    if !parsed.has(&["t", "list"]) {
        judge.refuse(WritesWorkspace, "cpio does more than list", span);
    }
}

pub(super) const TAR: Spec = Spec {
    flags: "tcxOvzjJakpP",
    values: "f",
    long: "list create extract get to-stdout verbose gzip bzip2 xz zstd lzma auto-compress wildcards no-wildcards wildcards-match-slash \
           no-wildcards-match-slash file= exclude= exclude-vcs strip-components= full-time numeric-owner utc block-number \
           show-transformed-names quoting-style= one-file-system totals sort= owner= group= mode= occurrence? version",
    refuses: &[
        (
            "I use-compress-program to-command checkpoint-action rsh-command rmt-command info-script new-volume-script F",
            Executes,
            "tar runs a program",
        ),
        ("remove-files u update r append delete A catenate", WritesWorkspace, "tar changes files"),
    ],
    abbreviates: false,
    ..Spec::new(&["tar"], Operands::Custom)
};

/// `tar`, if it lists, prints or packs to its output.
pub(super) fn tar(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let mut args = args.to_vec();
    // In the old form the first argument is a bundle without a dash, whose values follow it.
    if let Some(first) =
        args.first_mut().filter(|first| first.exact && !first.many && !first.prefix.starts_with(b"-"))
    {
        let letter = first.prefix.iter().position(|byte| *byte == b'f');
        if letter.is_some_and(|place| place + 1 < first.prefix.len()) || first.prefix.is_empty() {
            return judge.unknown("a form of tar that is not understood", span);
        }
        first.prefix.insert(0, b'-');
    }
    let parsed = parse(judge, &TAR, &args);
    if parsed.has(&["version"]) && args.len() == 1 {
        return;
    }
    let creates = parsed.has(&["c", "create"]);
    let extracts = parsed.has(&["x", "extract", "get"]);
    let lists = parsed.has(&["t", "list"]);
    match (lists, extracts, creates) {
        (true, false, false) | (false, false, true) => {}
        (false, true, false) if parsed.has(&["O", "to-stdout"]) => {}
        (false, true, false) => {
            return judge.refuse(WritesWorkspace, "tar writes the files of the archive", span);
        }
        _ => return judge.refuse(WritesWorkspace, "tar does more than list", span),
    }
    let archives: Vec<&Arg> = parsed
        .options
        .iter()
        .filter(|given| matches!(given.name.as_str(), "f" | "file"))
        .filter_map(|given| given.value.as_ref())
        .collect();
    let archive = match archives.as_slice() {
        [archive] => *archive,
        _ => return judge.unknown("tar without an archive reads or writes a tape", span),
    };
    if creates {
        if !archive.is("-") {
            return judge.refuse(WritesWorkspace, "tar writes an archive", archive.span);
        }
        for operand in &parsed.operands {
            if operand.dash || operand.prefix.starts_with(b"@") {
                return judge.unknown("a file that could be an option", operand.span);
            }
            judge.read(operand, Extent::Below);
        }
        return;
    }
    if archive.is("-") {
        return;
    }
    if !archive.exact || archive.many || archive.prefix.contains(&b':') {
        return judge.refuse(Network, "an archive on another host", archive.span);
    }
    judge.read_file(archive);
}
