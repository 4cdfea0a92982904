//! Programs that show bytes, compute checksums, or print bytes in another notation.

use crate::EffectKind::{ReadsOutside, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{self, FILES, Operands, Spec};
use crate::shell::value::Arg;

pub(super) const PROGRAMS: &[Spec] = &[
    Spec {
        flags: "bwzt",
        values: "l",
        long: "binary ignore-missing length= quiet status strict tag text warn zero help version",
        // A list of checksums names the files that are read.
        refuses: &[("c check", ReadsOutside, "reads the files that a list names")],
        tame: true,
        ..Spec::new(
            &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"],
            FILES,
        )
    },
    Spec { flags: "rs", long: "sysv help version", ..Spec::new(&["sum"], FILES) },
    Spec {
        flags: "z",
        values: "al",
        long: "algorithm= base64 length= raw tag untagged zero help version",
        refuses: &[("c check", ReadsOutside, "reads the files that a list names")],
        ..Spec::new(&["cksum"], FILES)
    },
    Spec {
        flags: "bt01U",
        values: "a",
        long: "algorithm= binary text tag UNIVERSAL help version",
        refuses: &[("c check", ReadsOutside, "reads the files that a list names")],
        ..Spec::new(&["shasum"], FILES)
    },
    Spec {
        flags: "di",
        values: "w",
        long: "decode ignore-garbage wrap= base64 base64url base32 base32hex base16 base2msbf base2lsbf z85 help version",
        tame: true,
        ..Spec::new(&["base64", "base32", "basenc"], FILES)
    },
    Spec {
        flags: "abcdfiosxvBDeFhHIlLOX",
        values: "AjNSt",
        attached: "w",
        long: "address-radix= endian= skip-bytes= read-bytes= format= output-duplicates strings? traditional width? help version",
        tame: true,
        ..Spec::new(&["od"], FILES)
    },
    Spec { flags: "bcCdovx", values: "ens", ..Spec::new(&["hexdump", "hd"], FILES) },
    Spec {
        flags: "afw",
        values: "ntes",
        long: "all print-file-name bytes= radix= encoding= include-all-whitespace output-separator= help version",
        digits: true,
        ..Spec::new(&["strings"], FILES)
    },
    Spec {
        flags: "cls",
        values: "ft",
        long: "from-code= to-code= list silent help version",
        refuses: &[("o output", WritesWorkspace, "iconv writes its output to a file")],
        ..Spec::new(&["iconv"], FILES)
    },
];

/// Whether shasum, a Perl script, would take the argument for an option: to it `+c` is `-c`. With `--` before it, it
/// is a file.
pub(super) fn is_option_with_plus(arg: &Arg) -> bool {
    match arg.prefix.first() {
        Some(first) => *first == b'+',
        None => !arg.exact && !arg.really_dash,
    }
}

pub(super) const XXD: Spec =
    // The operand behind the first file is one that is written.
    Spec {
        flags: "abCeEipur",
        values: "cglos",
        long: "revert",
        stops: true,
        ..Spec::new(&["xxd"], Operands::Files(1))
    };

/// `xxd`, which parses its options by hand, and whose `-r` writes a file from a dump.
pub(super) fn xxd(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let several = |arg: &Arg| match arg.bytes() {
        Some([b'-', b'-', ..]) => false,
        // Only a number may be attached to a letter; letters behind a letter are not read as options.
        Some([b'-', _, rest @ ..]) => !rest.is_empty() && !rest.iter().all(u8::is_ascii_digit),
        Some(_) => false,
        None => arg.dash,
    };
    if args.iter().any(several) {
        return judge.unknown("options that xxd does not bundle as others do", span);
    }
    let parsed = options::judge(judge, &XXD, args, span);
    if parsed.has(&["r", "revert"]) && !parsed.operands.is_empty() {
        judge.refuse(WritesWorkspace, "xxd writes the reverse of a dump", span);
    }
}
