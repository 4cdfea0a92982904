//! Programs that read text and print text.

use crate::EffectKind::{Executes, NonTerminating, ReadsOutside, WritesWorkspace};
use crate::shell::options::{FILES, Operands, Spec};
use crate::shell::value::Arg;

pub(super) const PROGRAMS: &[Spec] = &[
    // It has options of Go's kind: each its own argument, with one dash or two.
    Spec {
        flags: "les",
        refuses: &[
            ("w", WritesWorkspace, "gofmt writes the files"),
            ("cpuprofile", WritesWorkspace, "gofmt writes a profile"),
            ("d", Executes, "gofmt, until Go 1.19, runs diff over files that it makes"),
        ],
        abbreviates: false,
        tame: true,
        ..Spec::new(&["gofmt"], Operands::Trees)
    },
    Spec {
        flags: "AbeEnstTuv",
        long: "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version",
        tame: true,
        ..Spec::new(&["cat"], FILES)
    },
    Spec {
        flags: "br",
        values: "s",
        long: "before regex separator= help version",
        tame: true,
        ..Spec::new(&["tac"], FILES)
    },
    Spec {
        flags: "qvz",
        values: "cn",
        long: "bytes= lines= quiet silent verbose zero-terminated help version",
        digits: true,
        tame: true,
        ..Spec::new(&["head"], FILES)
    },
    Spec {
        flags: "qvz",
        values: "cns",
        long: "bytes= lines= quiet silent verbose zero-terminated help version",
        digits: true,
        refuses: &[("f F follow retry pid", NonTerminating, "follows a file and does not end")],
        ..Spec::new(&["tail"], FILES)
    },
    Spec {
        flags: "clLmw",
        long: "bytes chars lines max-line-length words total= help version",
        refuses: &[("files0-from", ReadsOutside, "reads the files that a list names")],
        tame: true,
        ..Spec::new(&["wc"], FILES)
    },
    Spec {
        flags: "bcdfghiMmnRrsuVzC",
        values: "kt",
        reads: "random-source",
        long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort \
               numeric-sort random-sort reverse sort= version-sort check? parallel= debug key= merge stable field-separator= unique \
               zero-terminated help version",
        refuses: &[
            ("o output", WritesWorkspace, "sort writes its output to a file"),
            ("compress-program", Executes, "sort runs a program to compress"),
            (
                "T temporary-directory S buffer-size files0-from",
                WritesWorkspace,
                "sort may write temporary files elsewhere",
            ),
        ],
        ..Spec::new(&["sort"], FILES)
    },
    Spec {
        flags: "cdDiuz",
        values: "fsw",
        long: "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated check-chars= help version",
        ..Spec::new(&["uniq"], Operands::Files(1))
    },
    Spec {
        flags: "nsz",
        values: "bcdf",
        long: "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated help version",
        tame: true,
        ..Spec::new(&["cut"], FILES)
    },
    Spec {
        flags: "cCdst",
        long: "complement delete squeeze-repeats truncate-set1 help version",
        tame: true,
        ..Spec::new(&["tr"], Operands::Data)
    },
    Spec {
        flags: "p",
        values: "bdfhilnsvw",
        long: "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= \
               number-format= no-renumber number-separator= starting-line-number= number-width= help version",
        tame: true,
        ..Spec::new(&["nl"], FILES)
    },
    Spec { long: "help version", tame: true, ..Spec::new(&["rev"], FILES) },
    Spec {
        flags: "sz",
        values: "d",
        long: "delimiters= serial zero-terminated help version",
        tame: true,
        ..Spec::new(&["paste"], FILES)
    },
    Spec {
        flags: "iz",
        values: "aevjot12",
        long: "ignore-case check-order nocheck-order header zero-terminated help version",
        tame: true,
        ..Spec::new(&["join"], FILES)
    },
    Spec {
        flags: "123z",
        long: "check-order nocheck-order output-delimiter= total zero-terminated help version",
        tame: true,
        ..Spec::new(&["comm"], FILES)
    },
    Spec {
        flags: "bs",
        values: "w",
        long: "bytes spaces width= help version",
        digits: true,
        tame: true,
        ..Spec::new(&["fold"], FILES)
    },
    Spec {
        flags: "cstu",
        values: "gpw",
        long: "crown-margin prefix= split-only tagged-paragraph uniform-spacing width= goal= help version",
        digits: true,
        tame: true,
        ..Spec::new(&["fmt"], FILES)
    },
    Spec {
        flags: "ai",
        values: "t",
        long: "all first-only initial tabs= help version",
        digits: true,
        tame: true,
        ..Spec::new(&["expand", "unexpand"], FILES)
    },
    Spec {
        flags: "acdfFGJmrtT",
        values: "DhlNowW",
        attached: "einsS",
        long: "help version",
        digits: true,
        tame: true,
        ..Spec::new(&["pr"], FILES)
    },
    Spec { long: "help version", ..Spec::new(&["tsort"], FILES) },
    Spec {
        flags: "ez",
        values: "in",
        long: "echo input-range= head-count= zero-terminated help version",
        reads: "random-source",
        refuses: &[
            ("o output", WritesWorkspace, "shuf writes its output to a file"),
            ("r repeat", NonTerminating, "shuf repeats without end"),
        ],
        ..Spec::new(&["shuf"], FILES)
    },
    Spec { long: "help version", tame: true, ..Spec::new(&["expr"], Operands::Data) },
    Spec {
        flags: "aqQuT",
        values: "lnos",
        long: "alternative longoptions= name= options= quiet quiet-output shell= test unquoted help version",
        tame: true,
        stops: true,
        ..Spec::new(&["getopt"], Operands::Data)
    },
    Spec {
        flags: "texJLd",
        values: "csonNHRTECWOIprl",
        long: "table separator= output-separator= columns= fillrows table-columns= table-right= table-truncate= table-noheadings \
               json table-name= keep-empty-lines output-width= help version",
        ..Spec::new(&["column"], FILES)
    },
    Spec {
        flags: "w",
        values: "fs",
        long: "format= separator= equal-width help version",
        digits: true,
        tame: true,
        ..Spec::new(&["seq"], Operands::Data)
    },
    Spec {
        values: "d",
        long: "debug delimiter= field= format= from= from-unit= grouping header? invalid= padding= round= suffix= to= to-unit= \
               zero-terminated help version",
        flags: "z",
        tame: true,
        ..Spec::new(&["numfmt"], Operands::Data)
    },
    Spec {
        flags: "qslg",
        long: "math mathlib quiet standard warn",
        refuses: &[("i interactive", NonTerminating, "waits for input")],
        ..Spec::new(&["bc"], Operands::None)
    },
    Spec { long: "exponents help version", flags: "h", tame: true, ..Spec::new(&["factor"], Operands::Data) },
];

/// Whether `seq` counts without an end to this operand: `inf`, in capitals too, with a sign.
pub(super) fn is_endless(operand: &Arg) -> bool {
    let bytes = operand.prefix.trim_ascii_start();
    let bytes = bytes.strip_prefix(b"+").or(bytes.strip_prefix(b"-")).unwrap_or(bytes);
    bytes.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"inf"))
}
