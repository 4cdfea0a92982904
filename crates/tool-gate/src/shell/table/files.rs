//! Programs that look at files and at the system.

use crate::EffectKind::{Executes, NonTerminating, ReadsOutside, Unknown, WritesWorkspace};
use crate::shell::analyse::Judge;
use crate::shell::options::{FILES, Operands, Spec, parse};
use crate::shell::value::Arg;

pub(super) const PROGRAMS: &[Spec] = &[
    Spec {
        flags: "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
        values: "ITw",
        long: "all almost-all author escape block-size= ignore-backups color? directory dired classify? file-type format= full-time \
               group-directories-first no-group human-readable si dereference-command-line dereference hide= hyperlink? \
               indicator-style= inode ignore= kibibytes literal numeric-uid-gid hide-control-chars show-control-chars \
               quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero help version",
        tame: true,
        ..Spec::new(&["ls", "dir", "vdir"], Operands::Names)
    },
    Spec {
        flags: "Lft",
        values: "c",
        long: "dereference file-system cached= format= printf= terse help version",
        tame: true,
        ..Spec::new(&["stat"], FILES)
    },
    Spec {
        flags: "0abchklmPsSx",
        values: "Btd",
        long: "null all apparent-size block-size= bytes total max-depth= human-readable inodes \
               no-dereference separate-dirs si summarize threshold= time? time-style= exclude= one-file-system help version",
        reads: "X exclude-from",
        refuses: &[
            ("files0-from", ReadsOutside, "reads the folders that a list names"),
            (
                "L D H dereference dereference-args",
                ReadsOutside,
                "follows links, which may lead out of the workspace",
            ),
        ],
        tame: true,
        ..Spec::new(&["du"], Operands::Names)
    },
    Spec {
        flags: "aHhiklPTv",
        values: "Btx",
        long: "all block-size= human-readable si inodes local no-sync output? portability total type= print-type exclude-type= help version",
        ..Spec::new(&["df"], Operands::Data)
    },
    Spec {
        flags: "bEhiIkLnNrsv0",
        values: "eFP",
        long: "brief mime mime-type mime-encoding extension keep-going dereference no-dereference no-pad no-buffer raw \
               special-files print0 separator= exclude= help version",
        refuses: &[
            ("f files-from", ReadsOutside, "reads the files that a list names"),
            ("C compile", WritesWorkspace, "file compiles a magic file"),
            ("z uncompress Z uncompress-noreport", Executes, "file runs programs to decompress"),
            ("m magic-file", Unknown, "a magic file of the command's own"),
            ("p preserve-date", WritesWorkspace, "file sets the time of access"),
        ],
        ..Spec::new(&["file"], FILES)
    },
    Spec {
        flags: "az",
        values: "s",
        long: "multiple suffix= zero help version",
        tame: true,
        ..Spec::new(&["basename"], Operands::Data)
    },
    Spec { flags: "z", long: "zero help version", tame: true, ..Spec::new(&["dirname"], Operands::Data) },
    Spec {
        flags: "emLPqsz",
        long: "canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero relative-to= \
               relative-base= help version",
        tame: true,
        ..Spec::new(&["realpath"], FILES)
    },
    Spec {
        flags: "femnqsvz",
        long: "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help version",
        tame: true,
        ..Spec::new(&["readlink"], FILES)
    },
    Spec {
        flags: "abBdeEiNpqrstTuwyZ",
        values: "CUWxIS",
        long: "normal brief report-identical-files context? unified? ed rcs side-by-side width= left-column suppress-common-lines \
               show-c-function show-function-line= label= expand-tabs initial-tab tabsize= suppress-blank-empty recursive \
               no-dereference new-file unidirectional-new-file ignore-file-name-case no-ignore-file-name-case exclude= \
               ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space \
               ignore-blank-lines ignore-matching-lines= text strip-trailing-cr minimal horizon-lines= \
               speed-large-files color? palette= help version",
        reads: "X exclude-from from-file to-file",
        digits: true,
        refuses: &[("l paginate", Executes, "diff runs pr")],
        ..Spec::new(&["diff"], Operands::Trees)
    },
    Spec {
        flags: "bls",
        values: "in",
        long: "print-bytes ignore-initial= bytes= verbose quiet silent help version",
        tame: true,
        ..Spec::new(&["cmp"], FILES)
    },
    Spec {
        flags: "acCdDfFghiJnNpqrsStuUvxX",
        values: "HILPT",
        long: "dirsfirst filesfirst noreport prune du si inodes device gitignore ignore-case matchdirs metafirst sort? timefmt= \
               filelimit= charset= help version",
        refuses: &[
            ("o output R", WritesWorkspace, "tree writes its output to a file"),
            ("l", ReadsOutside, "follows links, which may lead out of the workspace"),
        ],
        ..Spec::new(&["tree"], Operands::Names)
    },
    Spec { flags: "as", tame: true, ..Spec::new(&["which"], Operands::Data) },
    Spec {
        flags: "asnrvmpio",
        long: "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system help version",
        tame: true,
        ..Spec::new(&["uname"], Operands::None)
    },
    Spec { long: "all ignore= help version", tame: true, ..Spec::new(&["nproc"], Operands::None) },
    Spec {
        flags: "agGnruzZ",
        long: "groups group name real user zero context help version",
        tame: true,
        ..Spec::new(&["id"], Operands::Data)
    },
    Spec {
        long: "help version",
        tame: true,
        ..Spec::new(&["whoami", "groups", "arch", "tty", "logname"], Operands::None)
    },
    Spec { flags: "Is", ..Spec::new(&["hostname"], Operands::None) },
    Spec {
        flags: "ps",
        long: "pretty since help version",
        tame: true,
        ..Spec::new(&["uptime"], Operands::None)
    },
    Spec {
        flags: "abJyxrV",
        attached: "epC",
        long: "all bytes json help version",
        ..Spec::new(&["lscpu"], Operands::None)
    },
    Spec {
        flags: "bkmghtlwv",
        long: "bytes kilo mega giga tera human si total wide help version",
        refuses: &[("s c seconds count", NonTerminating, "free repeats")],
        ..Spec::new(&["free"], Operands::None)
    },
    Spec { flags: "13jmywh", values: "ABCHd", ..Spec::new(&["cal", "ncal"], Operands::Data) },
    Spec { flags: "ABGdotx", long: "format= common totals help version", ..Spec::new(&["size"], FILES) },
    Spec { long: "version help", ..Spec::new(&["locate"], Operands::None) },
    Spec {
        flags: "abfJlmnopPrstAdDOST",
        values: "oIewx",
        long: "all bytes fs json list ascii output= nodeps noheadings paths pairs raw tree topology perms help version",
        abbreviates: false,
        ..Spec::new(&["lsblk"], Operands::None)
    },
    Spec { flags: "a", long: "all-locales charmaps", ..Spec::new(&["locale"], Operands::None) },
    Spec { flags: "a", ..Spec::new(&["getconf"], Operands::Data) },
    Spec { flags: "bms", ..Spec::new(&["whereis"], Operands::Data) },
    Spec {
        flags: "bHqTu",
        long: "boot heading count users help version",
        ..Spec::new(&["who", "users"], Operands::None)
    },
    Spec {
        flags: "lahrRT1dgiSFmuUH",
        values: "IsLt",
        long: "long all header reverse recurse tree oneline git-ignore group-directories-first icons? no-icons level= sort= \
               ignore-glob= time= time-style= color= colour= only-dirs only-files no-permissions no-user no-time no-filesize",
        abbreviates: false,
        ..Spec::new(&["eza", "exa"], Operands::Names)
    },
];

pub(super) const DATE: Spec = Spec {
    flags: "uR",
    values: "d",
    attached: "I",
    long: "date= debug iso-8601? rfc-email rfc-3339= utc universal help version",
    reads: "r reference f file",
    refuses: &[("s set", WritesWorkspace, "sets the system's clock")],
    ..Spec::new(&["date"], Operands::Custom)
};

/// `date`: prints the time unless it is told one.
pub(super) fn date(judge: &mut Judge<'_>, args: &[Arg]) {
    for operand in parse(judge, &DATE, args).operands {
        if operand.many || !operand.prefix.starts_with(b"+") {
            judge.refuse(WritesWorkspace, "sets the system's clock", operand.span);
        }
    }
}
